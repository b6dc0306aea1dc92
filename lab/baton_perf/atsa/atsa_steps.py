# SPDX-License-Identifier: Apache-2.0
"""The cost in process of each step of ATSA's Fig. 4: conversion, serialization, deserialization, de-conversion of rclpy's objects.
Runs in the Python of ROS 2's wheels."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import baton.atsa
import baton.rclpy
from rclpy.serialization import deserialize_message, serialize_message

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Conversion:
    """rclpy's conversion of one class alone: to the C struct of rosidl and back, as rclpy calls it."""

    def __init__(self, cls: Any):
        meta = type(cls)
        if meta._TYPE_SUPPORT is None:
            meta.__import_type_support__()
        self._create = ctypes.CFUNCTYPE(ctypes.c_void_p)(_pointer(meta._CREATE_ROS_MESSAGE, None))
        self._destroy = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_pointer(meta._DESTROY_ROS_MESSAGE, None))
        from_type = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.py_object, ctypes.c_void_p)
        self.convert = from_type(_pointer(meta._CONVERT_FROM_PY, None))
        self.back = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(_pointer(meta._CONVERT_TO_PY, None))

    def out(self, message: Any) -> None:
        struct = self._create()
        self.convert(message, struct)
        self._destroy(struct)

    def costs(self, message: Any, repeat: int) -> tuple[float, float]:
        """Seconds for conversion (with making and freeing the struct, as each publish() does) and for de-conversion."""
        struct = self._create()
        self.convert(message, struct)
        try:
            return baton.atsa.measure(lambda: self.out(message), repeat), baton.atsa.measure(
                lambda: self.back(struct), repeat
            )
        finally:
            self._destroy(struct)


@dataclass
class Steps:
    """Milliseconds."""

    convert: float
    serialize: float
    deserialize: float
    deconvert: float

    @property
    def sum(self) -> float:
        return self.convert + self.serialize + self.deserialize + self.deconvert


def low(message: Any, accelerated: bool, repeat: int) -> Steps:
    """Low-layer serialization: stock, or with the converters replaced."""
    cls = type(message)
    baton.rclpy.decelerate()
    if accelerated:
        baton.rclpy.accelerate_class(cls)
    wire = serialize_message(message)
    convert, deconvert = (1000 * c for c in Conversion(cls).costs(message, repeat))
    out = 1000 * baton.atsa.measure(lambda: serialize_message(message), repeat)
    back = 1000 * baton.atsa.measure(lambda: deserialize_message(wire, cls), repeat)
    baton.rclpy.decelerate()
    return Steps(convert, max(0.0, out - convert), max(0.0, back - deconvert), deconvert)


def high(message: Any, repeat: int) -> Steps:
    """High-layer serialization: nothing is converted."""
    cls = type(message)
    wire = baton.rclpy.serialize(message)
    out = 1000 * baton.atsa.measure(lambda: baton.rclpy.serialize(message), repeat)
    back = 1000 * baton.atsa.measure(lambda: baton.rclpy.deserialize(wire, cls), repeat)
    return Steps(0.0, out, back, 0.0)
