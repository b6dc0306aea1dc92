# SPDX-License-Identifier: Apache-2.0
"""Refuses databases that would give more than they have: SQLite computes what a file asks for, without an end."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .bag_errors import BagError

_READ_WHOLE = ("topics", "message_definitions")  # all of their rows are in memory at once
_LONG_DEFAULT = 100  # characters of a value that rows have without storing it


def connected(file: Path) -> Any:
    """A context with a connection that only reads, and whose texts may be any bytes."""
    connection = sqlite3.connect(f"file:{quote(str(file))}?mode=ro&immutable=1", uri=True)
    connection.text_factory = bytes
    return contextlib.closing(connection)


def check_database(file: Path) -> None:
    """Raises BagError for a database that is none of rosbag2's, with the reason."""
    # rosbags puts the path into a URI as it is, and would open another file.
    if re.search(r"[?#]|%[0-9A-Fa-f]{2}", str(file)):
        raise BagError(f"{file}: a path with ?, # or % before two digits cannot be read")
    if sqlite3.sqlite_version_info < (3, 37):  # pragma_table_list
        raise BagError(f"{file}: this Python has SQLite {sqlite3.sqlite_version}, and 3.37 is needed")
    try:
        with connected(file) as connection:
            why = _what_it_computes(connection) or _what_repeats(connection, file.stat().st_size)
    except (sqlite3.Error, ValueError) as error:  # it quotes names of the file, which may be any bytes
        raise BagError(f"{file}: SQLite cannot read it: {error}") from None
    if why:
        raise BagError(f"{file} is no database of rosbag2: {why}")


def _what_it_computes(connection: sqlite3.Connection) -> str:
    # What sqlite_master says of a row's kind is not what SQLite makes of it.
    tables = connection.execute("SELECT name, type FROM pragma_table_list WHERE schema = 'main'").fetchall()
    if any(kind in (b"view", b"virtual") for _, kind in tables):
        return "it has a view or a virtual table"
    computed = "SELECT 1 FROM pragma_table_xinfo(CAST(? AS TEXT)) WHERE hidden != 0 OR length(dflt_value) > ?"
    if any(connection.execute(computed, (name, _LONG_DEFAULT)).fetchone() for name, _ in tables):
        return "it has columns with values that no row stores"
    return ""


def _what_repeats(connection: sqlite3.Connection, size: int) -> str:
    """Rows of a damaged database may share their pages, and aliases of YAML, which the library reads, multiply what they name."""
    total = 0.0
    for table in _READ_WHOLE:
        columns = [row[0].decode() for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]
        for column in columns:
            quoted = '"' + column.replace('"', '""') + '"'
            (bytes_,) = connection.execute(f"SELECT total(length(CAST({quoted} AS BLOB))) FROM {table}").fetchone()
            total += bytes_
            if (
                column == "offered_qos_profiles"
                and connection.execute(f"SELECT 1 FROM {table} WHERE instr(CAST({quoted} AS BLOB), x'2a')").fetchone()
            ):
                return "its QoS has aliases"
    return "its topics and types have more bytes than the file" if total > size else ""
