# SPDX-License-Identifier: Apache-2.0
"""Which types are messages, and what the fields of messages are.

A message of ROS 1 is a class template `Name_<Allocator>` for which its generated header specialises ros::message_traits::IsMessage; the
names of packages, typedefs and aliases do not matter. A message of ROS 2 is such a template in the namespace msg, srv or action of its
package, where the runtime of rosidl is included. A message of Baton is a struct in `baton::msg::<package>`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clang.cindex import Cursor, TranslationUnit, Type

_STOCK = re.compile(r"((?:\w+::)+\w+)_<std::allocator<void>\s*>")
_OF_BATON = re.compile(r"baton::msg::\w+::\w+")
_OF_ROS2 = re.compile(r"(?!baton::)(?:\w+::)+(?:msg|srv|action)::\w+")
_POINTER = re.compile(
    r"(?:boost|std)::(?:shared_ptr|unique_ptr|__shared_ptr|__shared_ptr_access|intrusive_ptr)<(.*)>|baton::(?:\w+::)*Loan<(.*)>"
    r"|rclcpp::LoanedMessage<(.*)>"
)
_ELEMENTS = re.compile(
    r"(?:std|boost)::(?:vector|array|deque|list)<(.*)>|baton::sfm::BasicVector<(.*)>|rosidl_runtime_cpp::BoundedVector<(.*)>"
)
_ARRAY = re.compile(r"([^\[\]]+?) ?\[\w*\]")
# Types whose copies share nothing with the message that they were read from.
_VALUE = re.compile(
    r"std::(?:__cxx11::)?basic_string<|std::vector<|boost::array<|std::array<|ros::(?:Time|Duration)\b|baton::sfm::Basic|rosidl_runtime_cpp::BoundedVector<"
)

_SHARES = re.compile(r"[*&]|_ptr<|_wrapper<|_view\b|iterator|span<|function<")


def unqualified(text: str) -> str:
    text = text.removesuffix("&&").removesuffix("&").strip()
    return text.removeprefix("const ").removesuffix(" const").strip()


def first_argument(text: str) -> str:
    """The first of the arguments of a template, as text."""
    depth = 0
    for at, char in enumerate(text):
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            return text[:at]
    return text


class Types:
    """The message types of one translation unit. `of_ros2`: it includes generated headers of ROS 2."""

    def __init__(self, unit: TranslationUnit) -> None:
        self._templates = {
            _qualified(reference.referenced)
            for ros in unit.cursor.get_children()
            if ros.kind.name == "NAMESPACE" and ros.spelling == "ros"
            for traits in ros.get_children()
            if traits.kind.name == "NAMESPACE" and traits.spelling == "message_traits"
            for trait in traits.get_children()
            if trait.kind.name == "CLASS_TEMPLATE_PARTIAL_SPECIALIZATION" and trait.spelling == "IsMessage"
            for reference in trait.get_children()
            if reference.kind.name == "TEMPLATE_REF" and reference.referenced is not None
        }
        self.of_ros2 = any(node.spelling == "rosidl_runtime_cpp" for node in unit.cursor.get_children())
        self._spellings: dict[str, tuple[str | None, str | None, str | None]] = {}
        self._contents: dict[str, set[str]] = {}

    def _sorted_out(self, type: Type | Any) -> tuple[str | None, str | None, str | None]:
        """(the message that it is, the message that it points at, the message that is its element)."""
        text = unqualified(type.get_canonical().spelling)
        known = self._spellings.get(text)
        if known is None:
            pointer = _POINTER.fullmatch(text)
            pointee = (
                text[:-1]
                if text.endswith("*")
                else first_argument(next(filter(None, pointer.groups())))
                if pointer
                else ""
            )
            elements = _ELEMENTS.fullmatch(text)
            array = _ARRAY.fullmatch(text)
            element = first_argument(next(filter(None, elements.groups()))) if elements else array[1] if array else ""
            known = self._spellings[text] = (self.name(text), self.name(pointee), self.name(element))
        return known

    def name(self, spelling: str) -> str | None:
        """ "sensor_msgs::Image" of the canonical spelling of that type."""
        spelling = unqualified(spelling.strip())
        if found := _STOCK.fullmatch(spelling):
            return found[1] if f"{found[1]}_" in self._templates or (self.of_ros2 and is_of_ros2(found[1])) else None
        return spelling if _OF_BATON.fullmatch(spelling) else None

    def message(self, type: Type | Any) -> str | None:
        return self._sorted_out(type)[0]

    def pointee(self, type: Type | Any) -> str | None:
        return self._sorted_out(type)[1]

    def element(self, type: Type | Any) -> str | None:
        return self._sorted_out(type)[2]

    def contents(self, type: Type | Any) -> set[str]:
        """Which of "string" and "vector" a message has, in itself or in the messages that are its fields."""
        text = unqualified(type.get_canonical().spelling)
        if text not in self._contents:
            found = self._contents[text] = set()
            for field in type.get_canonical().get_declaration().type.get_fields():
                if is_string(field.type):
                    found.add("string")
                elif is_vector(field.type):
                    found.add("vector")
                elif self.message(field.type):
                    found |= self.contents(field.type)
        return self._contents[text]

    def named(self, type: Type | Any) -> set[str]:
        """Every message of ROS 1, of which Table 1 is, that a type is made of: of a pointer to const Image, Image."""
        return {
            found[1] for found in _STOCK.finditer(type.get_canonical().spelling) if f"{found[1]}_" in self._templates
        }


def is_of_baton(message: str) -> bool:
    return message.startswith("baton::msg::")


def is_of_ros2(message: str) -> bool:
    return _OF_ROS2.fullmatch(message) is not None


def is_of_ros1(message: str) -> bool:
    return not is_of_baton(message) and not is_of_ros2(message)


def _qualified(cursor: Cursor) -> str:
    names: list[str] = []
    at: Any = cursor
    while at is not None and at.kind.name != "TRANSLATION_UNIT":
        if at.spelling:
            names.append(at.spelling)
        at = at.semantic_parent
    return "::".join(reversed(names))


def is_string(type: Type | Any) -> bool:
    text = unqualified(type.get_canonical().spelling)
    return text.startswith(("std::basic_string<", "std::__cxx11::basic_string<", "baton::sfm::BasicString"))


def is_vector(type: Type | Any) -> bool:
    return unqualified(type.get_canonical().spelling).startswith(
        ("std::vector<", "baton::sfm::BasicVector<", "rosidl_runtime_cpp::BoundedVector<")
    )


def is_number(type: Type | Any) -> bool:
    kind = type.get_canonical().kind.name
    return kind in ("BOOL", "ENUM") or 3 <= type.get_canonical().kind.value <= 23


def is_value(type: Type | Any, types: Types) -> bool:
    """Does a copy of such a value share nothing with where it came from?"""
    if is_number(type) or types.message(type) is not None:
        return True
    text = unqualified(type.get_canonical().spelling)
    return _VALUE.match(text) is not None and _SHARES.search(text) is None
