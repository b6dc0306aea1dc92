# SPDX-License-Identifier: Apache-2.0
"""`python -m baton_converter check ...`, for builds: the same as `baton migrate`, without the command line of Baton."""

from .verbs.migrate import command

command(prog_name="baton migrate")
