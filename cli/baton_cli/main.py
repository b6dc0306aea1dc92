# SPDX-License-Identifier: Apache-2.0
"""Finds the verbs and runs one."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
import signal
import sys
from typing import Any

import click

from . import verbs


def _version() -> str:
    """Of the distribution that brought this command: the whole package, or cli/ alone."""
    for name in ("baton-ipc", "baton-robotics"):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "unknown"


class Verbs(click.Group):
    """Loads a verb's module only when it is wanted, so that one verb's dependencies do not slow or break another."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(
            m.name.replace("_", "-") for m in pkgutil.iter_modules(verbs.__path__) if not m.name.startswith("_")
        )

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        return importlib.import_module(f"{verbs.__name__}.{cmd_name.replace('-', '_')}").command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # how one leaves a verb that runs until then: no message, the shell's usual status
            ctx.exit(128 + signal.SIGINT)


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(version=_version())
def baton() -> None:
    """Zero-copy messages between robot processes."""


def main() -> None:
    try:
        baton.main(prog_name="baton")
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except BrokenPipeError:  # `baton ... | head`
        sys.stderr.close()
        sys.exit(141)


if __name__ == "__main__":
    main()
