# SPDX-License-Identifier: Apache-2.0
"""The command line `baton`. Every module in ``verbs`` is one verb: its click command is the module's ``command``."""

version_of_installation: str | None = None  # set by the command that `cmake --install` installs
