# SPDX-License-Identifier: Apache-2.0
"""Arrays of messages that are being built."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core


class CopyWarning(RuntimeWarning):
    """A warning: a loan was copied when it was published, because an array of it was still in use."""


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
        keeps its old length; if the field had to move, it shows the memory that the field has left."""
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


def converted(value: Any, dtype: np.dtype[Any], field: str) -> np.ndarray[Any, Any] | None:
    """The elements of anything with a buffer as a C-contiguous array of a field's dtype. Precision may be lost, nothing else:
    integers must fit, floats do not become integers, and structs have the same fields, in any order. None for an array of Python
    objects, which are looked at one by one."""
    if isinstance(value, (bytes, bytearray)):
        source = np.frombuffer(value, dtype if dtype.kind in "iu" and dtype.itemsize == 1 else np.uint8)
    else:
        source = np.asarray(value)
    if source.dtype == object:
        return None
    target = np.empty(source.shape, dtype)
    _fill(target, source, field)
    return target


def _fill(target: np.ndarray[Any, Any], source: np.ndarray[Any, Any], field: str) -> None:
    if target.dtype.names is not None or source.dtype.names is not None:
        wanted, given = target.dtype.names or (), source.dtype.names or ()
        if set(wanted) != set(given):
            what = f"fields {', '.join(given)}" if given else f"elements of {source.dtype}"
            raise TypeError(f"field '{field}' takes structs of {', '.join(wanted) or target.dtype}, not {what}")
        for name in wanted:
            _fill(target[name], source[name], f"{field}.{name}")
        return
    if not source.size:
        return  # numpy.array([]) has floats
    casting: Any = "same_kind"
    if source.dtype.kind in "iu" and target.dtype.kind in "iub" and not np.can_cast(source.dtype, target.dtype):
        limits = (0, 1) if target.dtype.kind == "b" else (np.iinfo(target.dtype).min, np.iinfo(target.dtype).max)
        for extreme in (int(source.min()), int(source.max())):
            if not limits[0] <= extreme <= limits[1]:
                raise OverflowError(f"field '{field}': {extreme} is outside its range")
        casting = "unsafe"
    try:
        np.copyto(target, source, casting=casting)
    except TypeError as error:
        raise TypeError(f"field '{field}': {error}") from None
