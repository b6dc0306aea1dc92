# SPDX-License-Identifier: Apache-2.0
"""Parts of messages as YAML, in the form in which format_message() writes whole ones."""

from __future__ import annotations

import json
import math
import re
from typing import Any

_PLAIN_TEXT = re.compile(r"/?[A-Za-z_][\w/.-]*", re.ASCII)
_NOT_TEXT = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def text_of(value: Any, indent: str = "") -> str:
    """A result of live.plain() as YAML: one field in each line, arrays of values in brackets."""
    if isinstance(value, dict) and value:
        return "".join(f"{indent}{name}:{_below(part, indent)}" for name, part in value.items())
    if _nested(value):
        lines = []
        for part in value:
            text = text_of(part, indent + "  ") if isinstance(part, (dict, list)) else f"{indent}  {_scalar(part)}\n"
            lines.append(f"{indent}- {text[len(indent) + 2 :]}")
        return "".join(lines)
    return f"{indent}{_scalar(value)}\n"


def _nested(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(part, (dict, list)) for part in value)


def _below(value: Any, indent: str) -> str:
    if isinstance(value, dict) and value:
        return "\n" + text_of(value, indent + "  ")
    if _nested(value):
        return "\n" + text_of(value, indent)
    return f" {_scalar(value)}\n"


def _scalar(value: Any) -> str:
    """A value that a YAML parser reads back as the same; strings are quoted where they would be something else."""
    if isinstance(value, list):
        return "[" + ", ".join(_scalar(part) for part in value) + "]"
    if isinstance(value, str):
        if _PLAIN_TEXT.fullmatch(value) and value.lower() not in _NOT_TEXT:
            return value
        return "'" + value.replace("'", "''") + "'" if value.isprintable() else json.dumps(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {"nan": ".nan", "inf": ".inf", "-inf": "-.inf"}[str(value)]
    return str(value).lower() if isinstance(value, bool) else str(value)
