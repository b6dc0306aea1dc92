# SPDX-License-Identifier: Apache-2.0
"""Parameters of nodes, in the words of rclpy."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

ParameterValue: TypeAlias = (
    "bool | int | float | str | bytes | Sequence[bool] | Sequence[int] | Sequence[float] | Sequence[str] | None"
)


class Parameter:
    """A name with its value. The type follows from the value."""

    class Type(enum.IntEnum):
        """With the numbers of rcl_interfaces/ParameterType."""

        NOT_SET = 0
        BOOL = 1
        INTEGER = 2
        DOUBLE = 3
        STRING = 4
        BYTE_ARRAY = 5
        BOOL_ARRAY = 6
        INTEGER_ARRAY = 7
        DOUBLE_ARRAY = 8
        STRING_ARRAY = 9

    def __init__(self, name: str, type_: Type | None = None, value: ParameterValue = None) -> None:
        """rclpy's order of arguments; `type_` is only needed for an empty list."""
        if type_ is not None and not isinstance(type_, enum.Enum):
            raise TypeError(
                f"the second argument of Parameter('{name}', {type_!r}) is a Parameter.Type; write Parameter('{name}', value={type_!r})"
            )
        self._name = name
        self._value: Any = value
        self._type = _type_of(value) if type_ is None else Parameter.Type(type_.value)

    @property
    def name(self) -> str:
        return self._name

    @property
    def value(self) -> Any:
        """bool, int, float, str, bytes, a list of them, or None."""
        return self._value

    @property
    def type_(self) -> Type:
        return self._type

    def __repr__(self) -> str:
        return f"Parameter({self._name!r}, {self._type.name}, {self._value!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parameter) and (self._name, self._type, self._value) == (
            other._name,
            other._type,
            other._value,
        )

    __hash__ = None  # type: ignore[assignment]


_TYPES = {
    bool: Parameter.Type.BOOL,
    int: Parameter.Type.INTEGER,
    float: Parameter.Type.DOUBLE,
    str: Parameter.Type.STRING,
    bytes: Parameter.Type.BYTE_ARRAY,
    bytearray: Parameter.Type.BYTE_ARRAY,
}
_ARRAYS = {
    Parameter.Type.BOOL: Parameter.Type.BOOL_ARRAY,
    Parameter.Type.INTEGER: Parameter.Type.INTEGER_ARRAY,
    Parameter.Type.DOUBLE: Parameter.Type.DOUBLE_ARRAY,
    Parameter.Type.STRING: Parameter.Type.STRING_ARRAY,
}


def _type_of(value: Any) -> Parameter.Type:
    if value is None:
        return Parameter.Type.NOT_SET
    if hasattr(value, "tolist"):  # NumPy
        value = value.tolist()
    for of, type_ in _TYPES.items():
        if isinstance(value, of):
            return type_
    if isinstance(value, (list, tuple)):
        if not value:
            return Parameter.Type.STRING_ARRAY
        inner = {_type_of(one) for one in value}
        if inner == {Parameter.Type.INTEGER, Parameter.Type.DOUBLE}:
            return Parameter.Type.DOUBLE_ARRAY
        if len(inner) == 1 and inner <= set(_ARRAYS):
            return _ARRAYS[inner.pop()]
    raise TypeError(
        f"a parameter is a bool, an int, a float, a str, bytes, or a list of one of these types but bytes, not {value!r}"
    )


@dataclass(frozen=True)
class IntegerRange:
    """Bounds, both inclusive. `step` > 0: only from_value + n * step, and to_value."""

    from_value: int
    to_value: int
    step: int = 0


@dataclass(frozen=True)
class FloatingPointRange:
    """Bounds, as IntegerRange."""

    from_value: float
    to_value: float
    step: float = 0.0


@dataclass
class ParameterDescriptor:
    """The description of a parameter, and its constraints. Functions also take rcl_interfaces' messages in its place."""

    description: str = ""
    additional_constraints: str = ""
    read_only: bool = False
    dynamic_typing: bool = False
    integer_range: IntegerRange | None = None
    floating_point_range: FloatingPointRange | None = None


@dataclass
class SetParametersResult:
    """Whether parameters were set; if not, why."""

    successful: bool = True
    reason: str = ""


@dataclass
class ListParametersResult:
    """Names of parameters, and the prefixes of those that have a dot."""

    names: list[str]
    prefixes: list[str]


OnSetCallback: TypeAlias = Callable[[list[Parameter]], Any]


def parameter(raw: tuple[str, int, Any]) -> Parameter:
    """The Parameter of a tuple of the extension."""
    return Parameter(raw[0], Parameter.Type(raw[1]), raw[2])


def pairs(parameters: Iterable[Any]) -> list[tuple[str, Any]]:
    """Parameters, of rclpy too, for the extension."""
    return [(p.name, p.value) for p in parameters]


def _range(found: Any) -> tuple[Any, ...] | None:
    if found is None:
        return None
    if isinstance(found, (IntegerRange, FloatingPointRange)):
        return found.from_value, found.to_value, found.step
    if not len(found):
        return None
    first = found[0]  # of a message's list, which in Baton's messages is an array
    return first.item() if hasattr(first, "item") else (first.from_value, first.to_value, first.step)


def described(descriptor: Any) -> tuple[Any, ...]:
    """A descriptor for the extension."""
    d = ParameterDescriptor() if descriptor is None else descriptor
    return (
        str(d.description),
        str(d.additional_constraints),
        bool(d.read_only),
        bool(d.dynamic_typing),
        _range(d.integer_range),
        _range(d.floating_point_range),
    )


def descriptor(raw: tuple[Any, ...]) -> ParameterDescriptor:
    """The descriptor of a tuple of the extension."""
    description, constraints, read_only, dynamic, integers, numbers = raw
    return ParameterDescriptor(
        description,
        constraints,
        read_only,
        dynamic,
        IntegerRange(*integers) if integers else None,
        FloatingPointRange(*numbers) if numbers else None,
    )


def asking(callback: OnSetCallback) -> Callable[[list[Any]], tuple[bool, str]]:
    """An on-set callback for the extension."""

    def ask(raw: list[Any]) -> tuple[bool, str]:
        result = callback([parameter(one) for one in raw])
        if not hasattr(result, "successful"):
            raise TypeError(
                f"a callback of add_on_set_parameters_callback() returns a SetParametersResult, not {result!r}"
            )
        return bool(result.successful), str(result.reason)

    return ask
