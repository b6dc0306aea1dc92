# SPDX-License-Identifier: Apache-2.0
"""Python imports this module when it starts: `baton ros1 run` puts its folder on PYTHONPATH where Python does not read
baton_accelerate.pth. It accelerates rospy as that file does, and imports the sitecustomize that it stands before, if there is one."""

import os
import sys

_folder = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _folder]
_own = sys.modules.pop(__name__)
try:
    import sitecustomize  # noqa: F401
except ImportError:
    sys.modules[__name__] = _own
try:
    import baton_accelerate
except ImportError:  # Baton's packages are of another Python
    pass
else:
    baton_accelerate.install(os.environ.get("BATON_ACCELERATE", ""))
