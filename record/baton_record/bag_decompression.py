# SPDX-License-Identifier: Apache-2.0
"""Decompression of chunks of ROS 1's bags, and of files and messages that rosbag2 compressed, with bounds. The library rosbags alone would
take as much memory as the bag claims to need."""

from __future__ import annotations

import bz2
import functools
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .bag_errors import BagError, check_file, needed
from .bag_mcap import MOST_CHUNK_BYTES

PART_OF_DISK = 2  # decompressed files may take this part (one in so many) of the free space for temporary files
_STEP_BYTES = 1 << 20


def ros1_reader(path: Path) -> Any:
    """The library's reader of a bag of ROS 1. It refuses a chunk whose size differs from its header, or is above the bound, and indexes that make
    more of the file than it has."""
    library, lz4 = needed("rosbags.rosbag1.reader"), needed("lz4.frame")
    whole, ids = path.stat().st_size, set[int]()
    makers = {
        library.decompressors["bz2"]: bz2.BZ2Decompressor,
        library.decompressors["lz4"]: lz4.LZ4FrameDecompressor,
    }

    class Bounded(library.Reader):
        indexed = 0  # bytes of chunks' heads and indexes

        def read_connection(self) -> Any:
            connection = super().read_connection()
            if connection.id in ids:  # each would have all messages of the number once more
                raise BagError(f"two connections have the number {connection.id}")
            ids.add(connection.id)
            return connection

        def read_chunk(self) -> Any:
            begin = self.bio.tell()
            size = library.Header.read(self.bio, library.RecordType.CHUNK).get_uint32("size")
            self._count_index(begin)
            self.bio.seek(begin)
            chunk = super().read_chunk()
            make = makers.get(chunk.decompressor)
            return chunk if make is None else chunk._replace(decompressor=functools.partial(_chunk, make, size))

        def read_index_data(self, pos: int, indexes: dict[int, list[Any]]) -> None:
            begin = self.bio.tell()
            super().read_index_data(pos, indexes)
            self._count_index(begin)

        def _count_index(self, begin: int) -> None:
            self.indexed += self.bio.tell() - begin
            if self.indexed > whole:
                raise BagError("its chunks are named more than once")

        @property
        def message_count(self) -> int:  # the library's visits all chunks for each connection
            counts: Counter[int] = Counter()
            for chunk in self.chunk_infos:
                counts.update(chunk.connection_counts)
            return sum(counts[each.id] for each in self.connections)

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
    try:
        size = zstandard.frame_content_size(data)  # -1: the frame does not say it
        if size > MOST_CHUNK_BYTES:
            raise BagError(f"a message of {size} bytes: at most {MOST_CHUNK_BYTES} are read")
        plain: bytes = zstandard.ZstdDecompressor().decompress(data, max_output_size=MOST_CHUNK_BYTES)
    except zstandard.ZstdError as error:
        raise BagError(f"a message that zstd does not read: {error}") from None
    return plain


class Unpacked:
    """A temporary folder for files that rosbag2 compressed. They do not fill its disk."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="baton-bag-")
        self._room = shutil.disk_usage(self._folder.name).free // PART_OF_DISK  # for all files together

    def file(self, path: Path) -> Path:
        """The decompressed file."""
        check_file(path)
        library = needed("zstandard")
        plain = Path(tempfile.mkdtemp(dir=self._folder.name)) / path.stem  # files may share a stem
        with path.open("rb") as source, plain.open("wb") as target:
            reader = library.ZstdDecompressor().stream_reader(source, read_across_frames=True)
            try:
                while step := reader.read(_STEP_BYTES):
                    self._room -= len(step)
                    if self._room < 0:
                        disk = Path(self._folder.name).parent
                        raise BagError(
                            f"{path} needs more than half of the free space in {disk}: set TMPDIR to a larger disk"
                        )
                    target.write(step)
            except library.ZstdError as error:
                raise BagError(f"{path} cannot be read: {error}") from None
        return plain

    def close(self) -> None:
        self._folder.cleanup()
