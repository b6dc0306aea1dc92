# SPDX-License-Identifier: Apache-2.0
"""The tests of this room import modules that lie beside them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
