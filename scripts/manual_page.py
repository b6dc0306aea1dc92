#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the manual page baton(1): every verb with its help, as the command itself prints it (packaging/debian/rules)."""

from __future__ import annotations

import inspect
import re

import click
from baton_cli.examples import examples_of
from baton_cli.main import _version, baton


def escaped(text: str) -> str:
    """Text as troff prints it unchanged."""
    text = (
        text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha").replace("`", "\\(ga")
    )
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def paragraphs(help_text: str) -> list[str]:
    """Click's rules: a blank line ends a paragraph, a paragraph after \\b keeps its lines, nothing after \\f is shown."""
    lines = []
    for paragraph in inspect.cleandoc(help_text).partition("\f")[0].split("\n\n"):
        kept = paragraph.startswith("\b\n")
        text = escaped(paragraph.removeprefix("\b\n"))
        lines += [".PP", ".nf", text, ".fi"] if kept else [".PP", text]
    return lines


def options_of(command: click.Command, context: click.Context) -> list[str]:
    lines = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record and "--help" not in parameter.opts:
            lines += [".TP", f"\\fB{escaped(record[0])}\\fR", escaped(record[1])]
    return lines


def section(command: click.Command, context: click.Context) -> list[str]:
    """The command, then the commands below it."""
    pieces = " ".join(command.collect_usage_pieces(context))
    lines = [f'.SS "{escaped(context.command_path)}"', f"\\fB{escaped(context.command_path)}\\fR {escaped(pieces)}"]
    lines += paragraphs(command.help or "") + options_of(command, context)
    if examples := examples_of(command):
        lines += [".PP", "Examples:", ".PP", ".nf", *(escaped(f"  {example}") for example in examples), ".fi"]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            if not below.hidden:
                lines += section(below, click.Context(below, info_name=name, parent=context))
    return lines


def page() -> str:
    context = click.Context(baton, info_name="baton")
    lines = [
        f'.TH BATON 1 "" "Baton {_version()}" "User Commands"',
        ".SH NAME",
        "baton \\- zero\\-copy messages between robot processes",
        ".SH SYNOPSIS",
        "\\fBbaton\\fR [\\fIOPTIONS\\fR] \\fIVERB\\fR [\\fIARGUMENTS\\fR]...",
        ".PP",
        "\\fBbaton\\fR \\fIVERB\\fR \\fB\\-\\-help\\fR prints the help of one verb.",
        ".SH VERBS",
    ]
    for name in baton.list_commands(context):
        verb = baton.get_command(context, name)
        assert verb is not None
        if not verb.hidden:
            lines += section(verb, click.Context(verb, info_name=name, parent=context))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
