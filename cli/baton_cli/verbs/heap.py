# SPDX-License-Identifier: Apache-2.0
"""`baton heap`: the shared heaps of a domain (docs/guides/shared-objects.md)."""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .. import live
from ..examples import examples
from ..groups import VerbGroup
from ..output import json_text


@examples("baton heap list")
@click.group(cls=VerbGroup)
def command() -> None:
    """Look at shared heaps."""


@examples("baton heap list", "baton heap list --json")
@command.command("list")
@live.domain_option
@click.option("--json", "as_json", is_flag=True)
def list_(domain: int | None, as_json: bool) -> None:
    """List the shared heaps that processes have open, with the processes and sizes. The command joins each heap for a moment."""
    baton = live.load()
    try:
        heaps = baton._core._shared_heaps(live.chosen_domain(domain))
    except baton.BatonError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        click.echo(json_text(heaps))
        return
    if not heaps:
        click.echo("nobody has a shared heap open")
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("heap")
    for title in ("processes", "objects", "orphans", "used", "backed", "limit"):
        table.add_column(title, justify="right", no_wrap=True)
    for heap in heaps:
        if "error" in heap:
            click.echo(live.harmless(f"{heap['name']}: {heap['error']}"), err=True)
            continue
        sizes = (f"{heap[key] / 1e6:.3f} MB" for key in ("used_bytes", "backed_bytes", "limit_bytes"))
        table.add_row(
            Text(live.harmless(heap["name"])), *(str(heap[key]) for key in ("processes", "objects", "orphans")), *sizes
        )
    Console().print(table)
