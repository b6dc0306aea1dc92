# SPDX-License-Identifier: Apache-2.0
"""A group of verbs that suggests verbs with a similar name when a verb is unknown. click does so from version 8.4 on; Debian 12 has 8.1."""

from __future__ import annotations

import click

from .near import near


class VerbGroup(click.Group):
    def instead_of(self, ctx: click.Context, name: str) -> list[str]:
        """Verbs with a name similar to the one that the user typed."""
        return near(name, self.list_commands(ctx))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None and (found := self.instead_of(ctx, name)):
            ctx.fail(f"No such command '{name}'. Did you mean {' or '.join(repr(each) for each in found)}?")
        return super().resolve_command(ctx, args)
