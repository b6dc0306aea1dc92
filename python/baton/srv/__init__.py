# SPDX-License-Identifier: Apache-2.0
"""Service classes by package: `from baton.srv.std_srvs import SetBool`. Made when asked for (baton._messages)."""

from .._import_hook import install as _install

_install(__name__, "srv")
