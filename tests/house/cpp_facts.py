# SPDX-License-Identifier: Apache-2.0
"""Facts read from C++ sources without a compiler: constants, enumerations, and the layout of plain structs."""

import re

SIZES = {
    "bool": 1, "std::uint8_t": 1, "std::uint16_t": 2, "std::uint32_t": 4, "std::int32_t": 4,
    "std::uint64_t": 8, "std::int64_t": 8, "std::size_t": 8,
}  # fmt: skip
CONSTANT = re.compile(r"\bconstexpr\s+[\w:<>]+\s+(k\w+)\s*(?:=\s*|\{)([^;{}]+?)\}?;")


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def number(expression, known):
    """The value of a C++ expression of integers, or None."""
    python = re.sub(r"\b(0x[0-9A-Fa-f]+|\d+)[uUlL]+\b", r"\1", expression.replace("'", ""))
    if re.search(r"[^\w\s+*/<>()|-]", python):
        return None
    try:
        value = eval(python.replace("/", "//"), {"__builtins__": {}}, known)
    except (NameError, SyntaxError, TypeError):
        return None
    return value if isinstance(value, int) else None


def constants(*texts):
    """name: value, of all constexpr integers."""
    known = {}
    for text in texts:
        plain = re.sub(r"\b(?:std::)?(?:u?int\d+_t|size_t)\{(\w+)\}", r"\1", without_comments(text))
        for name, expression in CONSTANT.findall(plain):
            value = number(expression, known)
            if value is not None:
                known[name] = value
    return known


def enumeration(text, name, known=None):
    """enumerator: value, in order."""
    body = re.search(rf"\benum class {name}\b[^{{;]*\{{(.*?)\}}", without_comments(text), re.DOTALL)
    assert body, f"there is no enum class {name}"
    values, following = {}, 0
    for part in filter(None, (part.strip() for part in body[1].split(","))):
        enumerator, _, expression = (piece.strip() for piece in part.partition("="))
        value = number(expression, known or {}) if expression else following
        assert value is not None, f"{name}::{enumerator} = {expression} cannot be read"
        values[enumerator] = value
        following = value + 1
    return values


def layout(text, name, sizes):
    """[(offset, bytes, field)] of a struct whose fields are naturally aligned; `sizes` adds types to SIZES."""
    body = re.search(rf"\bstruct\s+(?:alignas\(\d+\)\s+)?{name}\s*\{{(.*?)\n\}};", without_comments(text), re.DOTALL)
    assert body, f"there is no struct {name}"
    fields, at = [], 0
    for kind, field, count in re.findall(
        r"^\s*([\w:<> ]+?)\s+(\w+)(?:\[(\d+)\])?(?:\s*=[^;]*)?;", body[1], re.MULTILINE
    ):
        element = {**SIZES, **sizes}[kind]
        at = -(-at // element) * element
        fields.append((at, element * int(count or 1), field))
        at += element * int(count or 1)
    return fields
