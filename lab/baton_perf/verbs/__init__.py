# SPDX-License-Identifier: Apache-2.0
"""The verbs of `baton` that measuring adds; the rules are those of ``baton_cli.verbs``."""
