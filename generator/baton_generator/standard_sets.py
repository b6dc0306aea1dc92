# SPDX-License-Identifier: Apache-2.0
"""The definitions of ROS's standard packages, by distribution ("standard set").

An installation has them as files beside this one, so it needs nothing from PyPI; a checkout and a wheel read those of the package
`rosbags`, from which the files are made: `python -m baton_generator.standard_sets DIRECTORY`.

A definition is (constants, fields): constants are (name, type, value), fields are (name, node); a node is (kind, value) with kind
"BASE" (value: type and bound), "NAME" (value: package/msg/Name), "ARRAY" or "SEQUENCE" (value: node and length or bound).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FILES = Path(__file__).parent / "standard_sets"


def names() -> list[str]:
    """All standard sets; ImportError where there are neither files nor `rosbags`."""
    if FILES.is_dir():
        return sorted(path.stem for path in FILES.glob("*.json"))
    from rosbags.typesys import Stores

    return [store.value for store in Stores if store.value not in ("empty", "latest")]


def definitions(name: str) -> dict[str, Any]:
    """package/msg/Name -> definition, for a name of names()."""
    if FILES.is_dir():
        return json.loads((FILES / f"{name}.json").read_text("utf-8"))
    return _of_rosbags(name)


def _of_rosbags(name: str) -> dict[str, Any]:
    from rosbags.typesys import Stores, get_typestore

    def plain(node: tuple) -> tuple:
        kind, value = node[0].name, node[1]
        return (kind, (plain(value[0]), value[1]) if kind in ("ARRAY", "SEQUENCE") else value)

    return {
        key: (constants, [(field, plain(node)) for field, node in fields])
        for key, (constants, fields) in get_typestore(Stores(name)).fielddefs.items()
    }


def write(directory: Path) -> None:
    """Writes the files of an installation."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in names():
        text = json.dumps(definitions(name), separators=(",", ":"), sort_keys=True)
        (directory / f"{name}.json").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
