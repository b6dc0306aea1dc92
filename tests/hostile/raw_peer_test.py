# SPDX-License-Identifier: Apache-2.0
"""The raw peer is honest as long as its caller is: an honest process never reads a value that the caller did not intend."""

import mmap
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from raw_peer import PAGE, memfd

WRITER = """
import mmap, sys
from raw_peer import store
view = mmap.mmap(int(sys.argv[1]), 4096)
print("going", flush=True)
while True:
    for value in (-1, 1 << 20 | 5):
        store(view, 64, value, size=int(sys.argv[2]))
"""


@pytest.mark.parametrize("size", [4, 8])
def test_a_word_is_stored_in_one_piece(size):
    fd = memfd(PAGE)
    words = {(1 << 8 * size) - 1, 1 << 20 | 5}
    arguments = [sys.executable, "-c", WRITER, str(fd), str(size)]
    here = Path(__file__).resolve().parent
    with subprocess.Popen(arguments, pass_fds=[fd], cwd=here, stdout=subprocess.PIPE) as writer:
        try:
            with mmap.mmap(fd, PAGE) as view:
                assert writer.stdout.readline() == b"going\n"
                unpack = {4: struct.Struct("<I"), 8: struct.Struct("<Q")}[size].unpack_from
                while unpack(view, 64)[0] == 0:
                    assert writer.poll() is None
                for _ in range(500):
                    assert unpack(view, 64)[0] in words
                    time.sleep(0.001)  # so that each read meets the writer at another position
        finally:
            writer.kill()
            os.close(fd)
