# SPDX-License-Identifier: Apache-2.0
"""Where the Python package under test is: in the build tree BATON_BUILD, by default build/release."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = Path(os.environ.get("BATON_BUILD", ROOT / "build" / "release"))
PACKAGE = BUILD / "python"
sys.path.insert(0, str(ROOT / "scripts"))  # ros_domain
