# SPDX-License-Identifier: Apache-2.0
"""The constants of ros1/domain/words.hpp, and which domain the processes of a ROS 1 master are in."""

import ast
import re
from pathlib import Path
from typing import Any

_HEADER = Path(__file__).with_name("words.hpp").read_text()
WORDS: dict[str, Any] = {
    name: ast.literal_eval(value)
    for name, value in re.findall(r"^inline constexpr \S+ (\w+)(?:\[\])? = (.+);$", _HEADER, re.MULTILINE)
}


def domain_of_master(uri: str, own_host: str) -> int:
    """As domain_of_master() in ros1/domain/domain.cpp: 0 for the usual master of this machine, else 100 to 9999."""
    uri = uri.partition("://")[2] if "://" in uri else uri
    uri = uri.partition("/")[0]
    host, colon, port = uri.rpartition(":")
    if not colon:
        host, port = uri, "11311"
    host = host.lower()
    if host in ("", own_host.lower(), "[::1]") or host.startswith("127."):
        host = "localhost"
    if (host, port) == ("localhost", "11311"):
        return 0
    value = 2166136261  # FNV-1a
    for byte in f"{host}:{port}".encode():
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return 100 + value % 9900
