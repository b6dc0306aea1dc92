# SPDX-License-Identifier: Apache-2.0
"""Examples at the end of a verb's help. A test parses each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

_C = TypeVar("_C", bound=click.Command)


def examples(*lines: str) -> Callable[[_C], _C]:
    """Shows these command lines below the options of a command."""

    def add(command: _C) -> _C:
        # \b keeps click from filling the lines into a paragraph.
        shown = "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
        command.epilog = shown + (f"\n\n{command.epilog}" if command.epilog else "")
        return command

    return add


def examples_of(command: click.Command) -> list[str]:
    """The lines that examples() added."""
    if not (command.epilog or "").startswith("\b\nExamples:\n"):
        return []
    block = (command.epilog or "").split("\n\n")[0]
    return [line.strip() for line in block.splitlines()[2:]]
