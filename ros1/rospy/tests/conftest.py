# SPDX-License-Identifier: Apache-2.0
"""The Python package of a build with ROS 1."""

import sys

from support.build import PACKAGE, has_package

if has_package() and (PACKAGE / "baton/rospy.py").exists():
    sys.path.insert(0, str(PACKAGE))
else:
    collect_ignore_glob = ["*_test.py"]
