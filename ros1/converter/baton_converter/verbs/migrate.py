# SPDX-License-Identifier: Apache-2.0
"""`baton migrate`: what the messages of a ROS program go through, and what to write instead."""

from __future__ import annotations

import importlib.metadata
import json
import os
from pathlib import Path

import click
from baton_cli import ros_names

from ..compile_commands import Command, NoCompileCommands, NoDatabase, find, read
from ..findings import LEVELS, TreeReport
from ..linked import NotRead, in_words, mismatches
from ..parser import NoClang, NotParsed
from ..rewrite import diff, rewrite
from ..sarif import sarif
from ..text import as_json, text
from ..tree import SOURCES
from ..tree import report as report_of

_EXAMPLES = "\b\nExamples:\n"
_REPORT = "  baton migrate report src -p build\n  baton migrate report . --level warning\n  baton migrate report . --format sarif > migrate.sarif"
_APPLY = "  baton migrate apply src -p build --dry-run\n  baton migrate apply src -p build"
_CHECK = "  baton migrate check build/listener -p build --target listener"


@click.group(epilog=f"{_EXAMPLES}{_REPORT}\n{_APPLY}\n{_CHECK}")
def command() -> None:
    """Advise on sources of ROS programs.

    Reports names of ROS that Baton does not have. Reads C++ sources by libclang, reports what happens to their messages, and rewrites them.
    """


_tree = click.argument("tree", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
_build = click.option(
    "-p",
    "--build",
    type=click.Path(path_type=Path),
    metavar="BUILD_DIR",
    help="The folder with compile_commands.json, or with one such folder per package. Default: DIR, DIR/build, or a folder above.",
)
_jobs = click.option("-j", "--jobs", type=click.IntRange(1), help="Sources read at a time. Default: one per CPU.")


def _analysed(tree: Path, build: Path | None, jobs: int | None) -> tuple[TreeReport, list[Command]]:
    try:
        databases = find(tree, build.resolve() if build is not None else None)
        commands = read(databases, lambda arguments: not _is_recompiled(arguments))
        # Baton's messages are not looked for: of a recompiled source the report would say that it has no messages.
        stock = {command.source for command in commands}
        recompiled = {c.source for c in read(databases, _is_recompiled) if c.source not in stock}
        below = sorted(str(source.relative_to(tree)) for source in recompiled if source.is_relative_to(tree))
        if below and not any(source.is_relative_to(tree) for source in stock):
            found = TreeReport(str(tree))
        else:
            found = report_of(tree, commands, databases, jobs or os.cpu_count() or 1)
    except (NoCompileCommands, NoClang) as error:
        raise click.ClickException(str(error)) from error
    found.not_analysed.update(dict.fromkeys(below, _RECOMPILED))
    found.not_compiled[:] = [path for path in found.not_compiled if path not in below]
    return found, commands


_RECOMPILED = "compiled with Baton's messages; name the build with ROS's own ones by -p (without baton_ros1_messages)"


def _is_recompiled(arguments: list[str]) -> bool:
    return any(word.endswith("baton/ros1/recompiled/first.hpp") for word in arguments)


@command.command(epilog=_EXAMPLES + _REPORT)
@_tree
@_build
@click.option("--format", "form", type=click.Choice(["text", "json", "sarif"]), default="text", show_default=True)
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    default=LEVELS[0],
    show_default=True,
    help="The least level that is shown. note: all. warning: without notes, which need no change. The table is of all.",
)
@_jobs
@click.pass_context
def report(ctx: click.Context, tree: Path, build: Path | None, form: str, level: str, jobs: int | None) -> None:
    """Report what the sources below DIR do with messages, and names of ROS that Baton does not have.

    Shows where each message is made, filled, passed and published, where ROS-SF's three assumptions do not hold (with the paper's
    Table 1), and what is faster. Exit status 1: a source could not be analysed. Names are notes; they are found in C++, Python and
    shell sources as text, without libclang and without a build.
    """
    tree = tree.resolve()
    suffixes = {path.suffix for path in ros_names.sources(tree)}
    found = TreeReport(str(tree))
    if build is not None or not suffixes or suffixes & SOURCES:  # not of Python alone
        try:
            found, _ = _analysed(tree, build, jobs)
        except click.ClickException as error:
            # Names need no build, so a tree without one has no fault.
            found.obstacle = error.message
            found.failed = build is not None or not isinstance(error.__cause__, NoDatabase)
    found.names = ros_names.find(tree)
    if form == "text":
        click.echo(text(found, level))
    else:
        shown = as_json(found, level) if form == "json" else sarif(found, _version(), level)
        click.echo(json.dumps(shown, indent=2))
    if found.not_analysed or found.failed:
        ctx.exit(1)


@command.command(epilog=_EXAMPLES + _APPLY)
@_tree
@_build
@click.option("--dry-run", is_flag=True, help="Print the changes as a patch, and write nothing.")
@_jobs
@click.pass_context
def apply(ctx: click.Context, tree: Path, build: Path | None, dry_run: bool, jobs: int | None) -> None:
    """Make published messages by make_shared or make_unique.

    Rewrites messages on the stack that are published as objects, so that they are published by pointer (ROS 2: as unique_ptr).

    Only where nothing can change the message after it is published; `report` names the reason elsewhere. Exit status 1: a source
    could not be analysed, or a rewritten file did not parse and was left as it was.
    """
    tree = tree.resolve()
    found, commands = _analysed(tree, build, jobs)
    result = rewrite(found, commands)
    for path, new in result.texts.items():
        if dry_run:
            click.echo(diff(tree, path, new), nl=False)
        else:
            (tree / path).write_bytes(new)
            click.echo(f"{path}: {result.places[path]} rewritten")
    if not result.texts and not dry_run:
        click.echo("nothing to rewrite")
    for path, why in {**result.refused, **found.not_analysed}.items():
        click.echo(f"{path}: left as it was: {why}", err=True)
    if found.not_analysed or result.refused:
        ctx.exit(1)


@command.command(epilog=_EXAMPLES + _CHECK)
@click.argument("program", type=click.Path(dir_okay=False, path_type=Path), metavar="PROGRAM")
@click.option(
    "-p",
    "--build",
    type=click.Path(path_type=Path),
    metavar="BUILD_DIR",
    default=".",
    help="The folder with compile_commands.json. Default: this one.",
)
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="NAME",
    help="The CMake target of PROGRAM, and each library of the project inside it. Default: all that is recompiled.",
)
@click.option(
    "--archive",
    "archives",
    type=click.Path(dir_okay=False, path_type=Path),
    multiple=True,
    metavar="FILE",
    help="A static library inside PROGRAM that was compiled with ROS's own messages.",
)
@click.pass_context
def check(ctx: click.Context, program: Path, build: Path, targets: tuple[str, ...], archives: tuple[Path, ...]) -> None:
    """Find libraries with ROS's own messages inside a recompiled program.

    PROGRAM is an executable or a shared library whose sources were compiled with the headers of baton_ros1_messages
    (docs/guides/ros1.md), which runs this check when it is built.

    Exit status 1: the program shares a class, a function or a variable with a stock library, which knows it with ROS's own messages.
    """

    def is_recompiled(arguments: list[str]) -> bool:
        if targets and not any(f"/{name}.dir/" in f"/{word}" for name in targets for word in arguments):
            return False
        return _is_recompiled(arguments)

    try:
        databases = find(build, build.resolve())
        commands = read(databases, is_recompiled)
        if not commands:
            names = ", ".join(map(str, databases))
            raise click.ClickException(
                f"{names} has no recompiled source{' of ' + ', '.join(targets) if targets else ''}. Link the target that "
                "baton_ros1_messages makes"
            )
        found = mismatches(program, commands, archives)
    except (NoCompileCommands, NoClang, NotParsed, NotRead) as error:
        raise click.ClickException(str(error)) from None
    if found:
        click.echo(in_words(program, found), err=True)
        ctx.exit(1)


def _version() -> str:
    try:
        return importlib.metadata.version("baton-ipc")
    except importlib.metadata.PackageNotFoundError:
        return "0"
