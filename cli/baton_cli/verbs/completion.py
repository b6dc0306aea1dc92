# SPDX-License-Identifier: Apache-2.0
"""`baton completion`: the shell's completion of verbs, options, topics, nodes and types."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from ..examples import examples

# Where shells look for completions, below XDG_DATA_HOME or a prefix's share/.
PLACES = {
    "bash": "bash-completion/completions/baton",
    "zsh": "zsh/site-functions/_baton",
    "fish": "fish/vendor_completions.d/baton.fish",
}


def script(shell: str) -> str:
    """The text that the shell reads. It calls `baton` for the completions."""
    from ..main import baton

    found = get_completion_class(shell)
    assert found is not None
    return found(baton, {}, "baton", "_BATON_COMPLETE").source()


def _shell() -> str:
    name = Path(os.environ.get("SHELL", "")).name
    if name not in PLACES:
        raise click.UsageError(f"SHELL is '{name}'; name one of: {', '.join(PLACES)}")
    return name


@examples(
    "baton completion --install",
    'eval "$(baton completion bash)"',
    "baton completion fish > ~/.config/fish/completions/baton.fish",
)
@click.command()
@click.argument("shell", required=False, type=click.Choice(list(PLACES)))
@click.option("--install", is_flag=True, help="Write it where the shell finds it, in your own home.")
def command(shell: str | None, install: bool) -> None:
    """Print or install the completion of a shell.

    The shell is by default yours ($SHELL). New shells then complete verbs, options, topics, nodes, services and types with the Tab key.
    """
    shell = shell or _shell()
    if not install:
        click.echo(script(shell))
        return
    try:
        share = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")
    except RuntimeError:  # as in a container whose user id has no name
        raise click.ClickException("there is no home directory to install into: set HOME or XDG_DATA_HOME") from None
    path = share / PLACES[shell]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script(shell) + "\n", "utf-8")
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from None
    click.echo(path)
    if shell == "bash" and not Path("/usr/share/bash-completion/bash_completion").exists():
        click.echo("bash reads it with the package bash-completion, which is not installed", err=True)
    if shell == "zsh":
        click.echo(f"in ~/.zshrc, before compinit: fpath+=({path.parent})")
