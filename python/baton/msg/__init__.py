# SPDX-License-Identifier: Apache-2.0
"""Message classes by package: `from baton.msg.sensor_msgs import Image`. Made when asked for (baton._messages)."""

from .._import_hook import install as _install

_install(__name__, "msg")
