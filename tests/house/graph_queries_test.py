# SPDX-License-Identifier: Apache-2.0
"""Another process may have 65,536 endpoints and change one of them all the time. So code that looks at the graph for a message, after each change,
asks for the endpoints of one topic (Participant::endpoints_of()), which are few, and never for all."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOR_MESSAGES = ("ros1/api/src", "ros1/preload/src", "ros1/recompiled/src", "ros1/rospy/baton")


@pytest.mark.parametrize("folder", FOR_MESSAGES)
def test_no_message_costs_a_look_at_all_endpoints_of_the_domain(folder):
    files = [each for each in (ROOT / folder).iterdir() if each.suffix in (".cpp", ".hpp", ".py")]
    assert files
    found = [each.name for each in files if re.search(r"(?:->|\.)_?endpoints\(\)", each.read_text())]
    assert found == []
