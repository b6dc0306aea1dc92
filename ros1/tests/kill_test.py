# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of any node, or of the master, at random moments: the others go on, and nothing is left. The long version is kill_run.py."""

import kill_run
import pytest

pytestmark = pytest.mark.own_master  # which may be killed, too


@pytest.mark.parametrize("kind", kill_run.KINDS)
def test_kills_at_random_moments_cost_the_others_nothing(ros, kind):
    kill_run.random_kills(ros, kills=25, seed=1, kind=kill_run.KINDS[kind])
