# SPDX-License-Identifier: Apache-2.0
"""Arrays of messages that are being built."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core


class CopyWarning(RuntimeWarning):
    """A loan had to be copied to be published, because an array of it is still in use."""


class Array(np.ndarray):
    """A numeric field of a loan or private message: an ndarray on the message's memory that can also change its length."""

    _message: _core.Message | None
    _field: int

    def __array_finalize__(self, other: Any) -> None:
        # Slices and reshaped views are not the field.
        self._message = None
        self._field = -1

    def resize(self, *shape: Any, refcheck: bool = True) -> None:
        """Sets the field's length; new numbers are unspecified, as in numpy.empty. Fetch the field again afterwards: this array
        keeps its old length, and shows what the message has left behind if the field had to move."""
        if self._message is None:
            raise ValueError("this is a part of a field; resize the field itself: message.field.resize(n)")
        count = shape[0] if len(shape) == 1 else int(np.prod(shape))
        if isinstance(count, tuple):
            count = int(np.prod(count))
        if count < 0:
            raise ValueError("a sequence cannot have a negative length")
        _core._resize(self._message, self._field, count)

    def __reduce__(self) -> Any:
        return np.array(self).__reduce__()
