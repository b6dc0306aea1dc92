# SPDX-License-Identifier: Apache-2.0
"""What rosbag2's metadata.yaml says of a folder. Its bytes are untrusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML, SafeConstructor, YAMLError

from .bag_errors import BagError, check_file

MOST_METADATA_BYTES = 1 << 23  # of a metadata.yaml


class _WithoutMerge(SafeConstructor):
    """Few maps that merge each other by aliases would be more than a memory has."""

    def flatten_mapping(self, node: Any) -> None:
        if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value):
            raise YAMLError("maps that are merged (<<) are not read")


def read_yaml(text: str) -> Any:
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = _WithoutMerge
    return yaml.load(text)


def read_metadata(folder: Path) -> dict[str, Any] | None:
    """rosbag2's metadata.yaml; None if the folder has none."""
    file = folder / "metadata.yaml"
    if not file.exists():
        return None
    check_file(file)
    if (size := file.stat().st_size) > MOST_METADATA_BYTES:
        raise BagError(f"{file} has {size} bytes: at most {MOST_METADATA_BYTES} are read")
    try:
        content = read_yaml(file.read_text())
        information: dict[str, Any] = content["rosbag2_bagfile_information"]
    except (YAMLError, TypeError, KeyError, ValueError, RecursionError) as error:
        raise BagError(f"{file} cannot be read: {error!r}") from None
    if not isinstance(information, dict):
        raise BagError(f"{file} cannot be read: rosbag2_bagfile_information is no map")
    for key in ("storage_identifier", "compression_mode", "compression_format"):
        if not isinstance(information.get(key) or "", str):
            raise BagError(f"{file} cannot be read: {key} is no text")
    names = information.get("relative_file_paths") or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BagError(f"{file} cannot be read: relative_file_paths is no list of names")
    return information


class Stored(NamedTuple):
    """The files of a bag of rosbag2, in their order."""

    storage: str
    files: list[Path]
    compression: str = ""  # of whole files or of messages; empty: neither is compressed
    by_file: bool = False


def stored_in(folder: Path) -> Stored:
    """What metadata.yaml says. A recording that was killed has none: its files are those that lie there."""
    information = read_metadata(folder)
    if information is None:
        files = sorted(folder.glob("*.mcap"), key=lambda file: (len(file.name), file.name))
        if not files:
            raise BagError(f"{folder} is no bag: it has neither metadata.yaml nor *.mcap")
        return Stored("mcap", files)
    files = [folder / Path(name).name for name in information.get("relative_file_paths") or []]
    if missing := [file.name for file in files if not file.exists()]:
        raise BagError(f"{folder} lacks {', '.join(missing)}, which its metadata.yaml names")
    storage, mode = str(information.get("storage_identifier")), (information.get("compression_mode") or "").lower()
    compression = (information.get("compression_format") or "") if mode in ("file", "message") else ""
    if compression not in ("", "zstd"):
        raise BagError(f"{folder} is compressed by {compression!r}, which is not known")
    return Stored(storage, files, compression, mode == "file" and compression != "")
