# SPDX-License-Identifier: Apache-2.0
"""Finds the verbs and runs one."""

from __future__ import annotations

import contextlib
import errno
import importlib
import importlib.metadata
import pkgutil
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

import baton_cli

from .examples import examples
from .groups import VerbGroup
from .middleware import load_if_installed
from .output import harmless, make_utf8

# The packages that have verbs; a room may bring a package of its own.
VERB_PACKAGES = (
    "baton_cli.verbs",
    "baton_record.verbs",
    "baton_perf.verbs",
    "baton_converter.verbs",
    "baton_ros1.verbs",
)


def _version() -> str:
    """The version of an installation by CMake, else of the installed distribution, else of this checkout, where it stands in CMakeLists.txt."""
    if baton_cli.version_of_installation:
        return baton_cli.version_of_installation
    try:
        return importlib.metadata.version("baton-ipc")
    except importlib.metadata.PackageNotFoundError:
        settings = Path(__file__).resolve().parents[2] / "CMakeLists.txt"
        found = (
            re.search(r"^project\(baton VERSION ([\d.]+)", settings.read_text(), re.MULTILINE)
            if settings.exists()
            else None
        )
        return f"{found[1]} (a checkout)" if found else "unknown"


def commit_of(checkout: Path) -> str:
    """`git describe` of a checkout: the commit, counted from the last release's tag, and whether files differ from it. Empty for a
    folder that is no checkout, or without git."""
    if not (checkout / ".git").exists():
        return ""
    command = ["git", "-C", str(checkout), "describe", "--tags", "--match", "v*", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """The version; where the command runs from a checkout, also the commit."""
    if not wanted or ctx.resilient_parsing:
        return
    commit = "" if baton_cli.version_of_installation else commit_of(Path(__file__).resolve().parents[2])
    version = _version()
    click.echo(f"baton, version {version.partition(' ')[0]} (git {commit})" if commit else f"baton, version {version}")
    ctx.exit()


def _verbs() -> dict[str, str]:
    """The module of each verb."""
    found: dict[str, str] = {}
    for package in VERB_PACKAGES:
        if (loaded := load_if_installed(package)) is None:
            continue
        modules = (module.name for module in pkgutil.iter_modules(loaded.__path__) if not module.name.startswith("_"))
        found |= {name.replace("_", "-"): f"{package}.{name}" for name in modules}
    return found


class Verbs(VerbGroup):
    """Loads a verb's module only when the verb is called, so that the dependencies of one verb do not slow or break another."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_verbs())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = _verbs().get(cmd_name)
        return importlib.import_module(module).command if module else None

    def instead_of(self, ctx: click.Context, name: str) -> list[str]:
        """Verbs with a similar name, and groups that have a verb of this name: `baton echo` is `baton topic echo`."""
        inside = []
        for verb in self.list_commands(ctx):
            try:
                group = self.get_command(ctx, verb)
            except ImportError:
                continue  # if a verb lacks a package, calling it reports that
            if isinstance(group, click.Group) and name in group.list_commands(ctx):
                inside.append(f"{verb} {name}")
        return [*super().instead_of(ctx, name), *inside]

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            error.message = harmless(error.message)  # it may quote another process, or a file
            raise
        except KeyboardInterrupt:  # the usual way to end a verb that runs on: no message, the shell's usual status
            ctx.exit(128 + signal.SIGINT)


@examples("baton topic list", "baton topic echo /chatter", "baton top", "baton doctor", "baton completion --install")
@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version, in a checkout with its commit, and exit.",
)
def baton() -> None:
    """Zero-copy messages between robot processes."""


def main() -> None:
    make_utf8()
    try:
        baton.main(prog_name="baton")
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except BrokenPipeError:  # `baton ... | head`
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        click.echo(f"Error: the output cannot be written: {error}", err=True)
        with contextlib.suppress(OSError):
            sys.stdout.close()  # else Python would try to write its buffer again at exit
        sys.exit(1)


if __name__ == "__main__":
    main()
