# SPDX-License-Identifier: Apache-2.0
"""Talks to the C++ codecs through the program codec_tool (tests/codec/codec_tool.cpp)."""

from __future__ import annotations

import os
import struct
import subprocess

from support.build import BUILD, ROOT


class CodecError(Exception):
    """The codec's error value."""


def find_tool() -> str:
    """The program BATON_CODEC_TOOL, or that of the release build, or the newest one of another build that runs on this machine."""
    if named := os.environ.get("BATON_CODEC_TOOL"):
        return named
    # Not the program of a cross build.
    native = (path for path in ROOT.glob("build/*/**/codec_tool") if "aarch64" not in path.parts)
    # Another build may be running, and its newest program may be incomplete.
    found = sorted(native, key=lambda path: (path.is_relative_to(BUILD), path.stat().st_mtime))
    if not found:
        raise RuntimeError("codec_tool is not built: run 'make build', or name it in BATON_CODEC_TOOL")
    return str(found[-1])


class Codec:
    def __init__(self):
        self.process = subprocess.Popen([find_tool()], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.known: dict[str, str] = {}

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=120)

    def request(self, line: str, payload: bytes = b"") -> bytes:
        self.process.stdin.write(line.encode() + b"\n" + struct.pack("<I", len(payload)) + payload)
        self.process.stdin.flush()
        head = self.process.stdout.read(5)
        if len(head) != 5:
            raise RuntimeError(f"codec_tool died with {self.process.wait()} on '{line}'")
        status, size = struct.unpack("<BI", head)
        answer = self.process.stdout.read(size)
        if status:
            raise CodecError(answer.decode(errors="replace"))
        return answer

    def define(self, definition: str) -> str:
        """An id for the type of this definition."""
        if definition not in self.known:
            name = f"t{len(self.known)}"
            self.request(f"define {name}", definition.encode())
            self.known[definition] = name
        return self.known[definition]

    def convert(self, definition: str, source: str, target: str, data: bytes) -> bytes:
        return self.request(f"convert {self.define(definition)} {source} {target}", data)

    def split(self, definition: str) -> list[tuple[str, str]]:
        lines = self.request(f"split {self.define(definition)}").decode().splitlines()
        return [tuple(line.split(" ", 1)) for line in lines]
