# SPDX-License-Identifier: Apache-2.0
"""Decompression of chunks of ROS 1's bags, and of files and messages that rosbag2 compressed, with bounds. The library rosbags alone would
take as much memory as the bag claims to need."""

from __future__ import annotations

import bz2
import functools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .bag_errors import BagError, needed
from .bag_mcap import MOST_CHUNK_BYTES

PART_OF_DISK = 2  # a decompressed file may take this part (one in so many) of the free space for temporary files
_STEP_BYTES = 1 << 20


def ros1_reader(path: Path) -> Any:
    """The library's reader of a bag of ROS 1. It refuses a chunk whose size differs from its header, or is above the bound."""
    library, lz4 = needed("rosbags.rosbag1.reader"), needed("lz4.frame")
    makers = {
        library.decompressors["bz2"]: bz2.BZ2Decompressor,
        library.decompressors["lz4"]: lz4.LZ4FrameDecompressor,
    }

    class Bounded(library.Reader):
        def read_chunk(self) -> Any:
            begin = self.bio.tell()
            size = library.Header.read(self.bio, library.RecordType.CHUNK).get_uint32("size")
            self.bio.seek(begin)
            chunk = super().read_chunk()
            make = makers.get(chunk.decompressor)
            return chunk if make is None else chunk._replace(decompressor=functools.partial(_chunk, make, size))

    return Bounded(path)


def _chunk(make: Callable[[], Any], size: int, data: bytes) -> bytes:
    if size > MOST_CHUNK_BYTES:
        raise BagError(f"a chunk of {size} bytes: at most {MOST_CHUNK_BYTES} are read")
    decompressor = make()
    plain: bytes = decompressor.decompress(data, max_length=size + 1)
    if len(plain) != size or not decompressor.eof:
        raise BagError(f"a chunk promises {size} bytes, and has others")
    return plain


def message(data: bytes) -> bytes:
    """Decompresses a message that rosbag2 compressed."""
    zstandard = needed("zstandard")
    size = zstandard.frame_content_size(data)  # -1: the frame does not say it
    if size > MOST_CHUNK_BYTES:
        raise BagError(f"a message of {size} bytes: at most {MOST_CHUNK_BYTES} are read")
    plain: bytes = zstandard.ZstdDecompressor().decompress(data, max_output_size=MOST_CHUNK_BYTES)
    return plain


def file(path: Path, folder: Path) -> Path:
    """Decompresses a file that rosbag2 compressed into a folder, and does not fill its disk."""
    room = shutil.disk_usage(folder).free // PART_OF_DISK
    plain = folder / path.stem
    with path.open("rb") as source, plain.open("wb") as target:
        reader = needed("zstandard").ZstdDecompressor().stream_reader(source, read_across_frames=True)
        while step := reader.read(_STEP_BYTES):
            room -= len(step)
            if room < 0:
                raise BagError(
                    f"{path} needs more than half of the free space in {folder.parent}: set TMPDIR to a larger disk"
                )
            target.write(step)
    return plain
