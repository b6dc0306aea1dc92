# SPDX-License-Identifier: Apache-2.0
import sys
from pathlib import Path

import pytest
from baton_perf import peers

sys.path.insert(0, str(Path(__file__).parent))  # recorded


@pytest.fixture
def two_peers(monkeypatch):
    from recorded import peer

    known = {"baton": peer(), "slow": peer("slow", ("v",))}
    monkeypatch.setattr(peers, "built", lambda: known)
