# SPDX-License-Identifier: Apache-2.0
"""Colours of Baton in every plot, page and picture of this room. (cli/baton_cli/demo_picture.py has the first one, too: it knows no lab.)"""

from __future__ import annotations

BATON = "#0b5fae"
