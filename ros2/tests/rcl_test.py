# SPDX-License-Identifier: Apache-2.0
"""C++ programs over rcl: large images between C++ and C++ and from C++ to Python, their copies counted."""

import mmap
from pathlib import Path

import pytest
from ros2_processes import carried

BYTES = 6_220_800
IMAGES = 30


def test_a_large_image_arrives_intact_in_cpp(processes):
    listener = processes.start_cpp("baton", "listen", str(IMAGES))
    talker = processes.start_cpp("baton", "talk", str(BYTES), str(IMAGES), "30")
    heard, said = processes.result(listener), processes.result(talker)
    assert heard["intact"] and heard["heard"] >= 1  # on a busy machine the reader's five places may overflow
    (sent, copied_in), (got, copied_out) = carried(said["log"], "/image"), carried(heard["log"], "/image")
    assert sent >= got >= 1
    # One copy in, of little more than the data; one copy out, of exactly the data.
    assert sent * BYTES <= copied_in <= sent * (BYTES + 4096)
    assert copied_out == got * BYTES


def huge_pages_can_be_asked_for():
    """As the take asks: madvise(MADV_HUGEPAGE), and the kernel says so in smaps."""
    with mmap.mmap(-1, 4 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        try:
            memory.madvise(mmap.MADV_HUGEPAGE)
        except OSError:
            return False
        flags = [line for line in Path("/proc/self/smaps").read_text().splitlines() if line.startswith("VmFlags:")]
        return any("hg" in line.split() for line in flags)


@pytest.mark.parametrize("wanted", ["huge", "system"])
def test_large_arrays_lie_in_huge_pages_unless_the_system_is_to_decide(processes, wanted):
    if not huge_pages_can_be_asked_for():
        pytest.skip("this kernel has no transparent huge pages")
    listener = processes.start_cpp("baton", "listen", "5", BATON_RMW_MALLOC=wanted)
    talker = processes.start_cpp("baton", "talk", str(BYTES), "5", "30")
    heard = processes.result(listener)
    processes.result(talker)
    taken, _ = carried(heard["log"], "/image")
    assert heard["intact"] and taken >= 1
    assert heard["huge"] >= taken if wanted == "huge" else heard["huge"] == 0


def test_python_hears_what_cpp_says(processes):
    hearer = processes.start("baton", "hear_images", "5")
    talker = processes.start_cpp("baton", "talk", "10000", "5", "30")
    got = processes.result(hearer)["got"]
    processes.result(talker)
    assert [(height, encoding) for height, encoding, _ in got] == [(i, str(i)) for i in range(5)]
    assert all(data[0] == i and data[8192] == i + 2 and len(data) == 10000 for i, (_, _, data) in enumerate(got))
