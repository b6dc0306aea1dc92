# SPDX-License-Identifier: Apache-2.0
"""Reads the files that a user names. A FIFO or a device of such a name must not stop the generator or fill its memory."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from .diagnostics import InterfaceError, Location, fail

MOST_BYTES = 1 << 20  # the largest interface file of ROS has 14 KB


def read_file(path: Path) -> bytes:
    """The content of an ordinary file of at most MOST_BYTES. Raises InterfaceError."""
    where = Location(str(path))
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a FIFO would wait for its writer
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise fail(where, "is not an ordinary file", "give a file, not a directory, FIFO or device")
            with open(descriptor, "rb", closefd=False) as file:
                content = file.read(MOST_BYTES + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise fail(where, f"cannot be read: {error.strerror}", "check the path and its permissions") from None
    if len(content) > MOST_BYTES:
        raise fail(where, f"has more than {MOST_BYTES} bytes", "check the path: a definition has a few kilobytes")
    return content


def read_text(path: Path) -> str | None:
    """The same as text; None if there is no such file to read."""
    try:
        return read_file(path).decode("utf-8", "replace")
    except InterfaceError:
        return None
