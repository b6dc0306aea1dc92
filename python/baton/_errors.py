# SPDX-License-Identifier: Apache-2.0
"""The exceptions, one for each line of Baton's table of errors."""

from __future__ import annotations

from . import _core

_CLASSES = {
    name: value
    for name, value in vars(_core).items()
    if isinstance(value, type) and issubclass(value, _core.BatonError) and value is not _core.BatonError
}
globals().update(_CLASSES)
__all__ = sorted(_CLASSES)
