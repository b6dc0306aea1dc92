# SPDX-License-Identifier: Apache-2.0
"""The command line `baton`. Every module in ``verbs`` is one verb: its click command is the module's ``command``."""
