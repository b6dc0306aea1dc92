# SPDX-License-Identifier: Apache-2.0
"""The cells of the experiments, for the profiles `quick` and `full`."""

from __future__ import annotations

from dataclasses import replace

from .network import PROFILES
from .runs import Cell

KB, MB = 1 << 10, 1 << 20
LOT_SIZES = [
    128,
    512,
    1 * KB,
    2 * KB,
    4 * KB,
    8 * KB,
    16 * KB,
    32 * KB,
    64 * KB,
    128 * KB,
    256 * KB,
    512 * KB,
    1 * MB,
    2 * MB,
    4 * MB,
    8 * MB,
    16 * MB,
]
REAL_TIME = 80  # a priority of SCHED_FIFO
FULL_HD = 1920 * 1080 * 3  # bytes: the 6 MB image of ROS-SF


def tzc_fig7(profile: str) -> list[Cell]:
    if profile == "quick":
        return [Cell(bytes=b, subscribers=s, messages=30, rate=100) for b in (4 * KB, 4 * MB) for s in (1, 8)]
    return [
        Cell(bytes=b, subscribers=s, messages=1000, rate=30)
        for b in (4 * KB, 64 * KB, MB, 4 * MB)
        for s in (1, 2, 4, 8)
    ]


def tzc_fig8(profile: str) -> list[Cell]:
    return [Cell(bytes=4 * MB, subscribers=8, messages=90 if profile == "quick" else 1000, rate=30)]


def tzc_fig7_intra(profile: str) -> list[Cell]:
    return [replace(c, one_process=True) for c in tzc_fig7(profile)]


def tzc_fig7_rt(profile: str) -> list[Cell]:
    return [replace(c, priority=REAL_TIME) for c in tzc_fig7(profile)]


def tzc_fig8_fifo(profile: str) -> list[Cell]:
    return [replace(c, priority=REAL_TIME) for c in tzc_fig8(profile)]


def tzc_fig9_subscribers(profile: str) -> list[Cell]:
    subscribers, messages = ((1, 8), 40) if profile == "quick" else ((1, 2, 4, 8), 600)
    return [Cell(bytes=4 * MB, subscribers=s, messages=messages, rate=30) for s in subscribers]


def tzc_fig9(profile: str) -> list[Cell]:
    loads = (0.0, 0.9) if profile == "quick" else (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    return [
        Cell(bytes=4 * MB, subscribers=4, messages=40 if profile == "quick" else 600, rate=30, load=x) for x in loads
    ]


def tzc_table1(profile: str) -> list[Cell]:
    subscribers = (1, 4) if profile == "quick" else (1, 2, 4, 8)
    return [Cell(bytes=MB, subscribers=s, messages=20, rate=30, count_copies=True) for s in subscribers]


def lot_fig6(profile: str) -> list[Cell]:
    """Not pinned, pinned to two processors, and pinned to one (Fig. 6b and c)."""
    sizes = (128, 16 * MB) if profile == "quick" else LOT_SIZES
    messages, rate = (20, 60) if profile == "quick" else (2000, 30)
    places = ({}, {"pinned": True}, {"pinned": True, "one_cpu": True})
    cells = [Cell(bytes=b, messages=messages, rate=rate, **place) for b in sizes for place in places]
    # The short form has no time for all.
    return [c for c in cells if c.bytes > 128 or not c.pinned] if profile == "quick" else cells


def lot_fig6d(profile: str) -> list[Cell]:
    messages = 200 if profile == "quick" else 2000
    return [Cell(bytes=b, messages=messages, rate=2000) for b in (512, 1 * KB)]


def lot_fig7(profile: str) -> list[Cell]:
    sizes = (4 * KB, 4 * MB) if profile == "quick" else (4 * KB, 64 * KB, MB, 4 * MB, 16 * MB)
    messages, rate = (20, 60) if profile == "quick" else (2000, 30)
    cells = [
        Cell(bytes=b, subscribers=5, messages=messages, rate=rate, connect_in_order=ordered)
        for b in sizes
        for ordered in (False, True)
    ]
    return cells[:-1] if profile == "quick" else cells  # all four take longer than two minutes


def lot_fig5(profile: str) -> list[Cell]:
    return [replace(c, publishers=5, subscribers=1) for c in lot_fig7(profile)]


def lot_fig3(profile: str) -> list[Cell]:
    sizes = (64 * KB,) if profile == "quick" else (4 * KB, 64 * KB, MB, 4 * MB, 16 * MB)
    messages, rate = (40, 60) if profile == "quick" else (2000, 30)
    return [
        Cell(bytes=b, messages=messages, rate=rate, isolation=isolation)
        for b in sizes
        for isolation in ("host", "container", "containers")
    ]


def lot_fig3a(profile: str) -> list[Cell]:
    """Containers have a network between them, as Docker's do; with only a loopback device of its own nothing reaches the other one."""
    same = [c for c in lot_fig3(profile) if c.isolation != "containers"]
    return [*same, *(replace(c, isolation="host", network="veth") for c in same if c.isolation == "host")]


def lot_graphs(profile: str) -> list[Cell]:
    sizes = (64 * KB,) if profile == "quick" else (128, 64 * KB, 4 * MB, 16 * MB)
    messages, rate = (60, 60) if profile == "quick" else (1000, 30)
    return [
        Cell(bytes=b, publishers=p, subscribers=s, messages=messages, rate=rate, isolation="containers")
        for b in sizes
        for p, s in ((1, 1), (1, 5), (5, 1))
    ]


def lot_table1(profile: str) -> list[Cell]:
    """The paper's graphs: 1p1s, 1p5s and 5p1s. In the short form the first one only, which takes all transports long enough."""
    seconds, ends = (3, ((1, 1),)) if profile == "quick" else (60, ((1, 1), (1, 5), (5, 1)))
    return [
        Cell(bytes=16 * MB, publishers=p, subscribers=s, messages=seconds * 30, rate=30, timeline=True) for p, s in ends
    ]


def trosb(profile: str) -> list[Cell]:
    return [replace(c, message="Array4m") for c in trosb_rcl(profile)]


def trosb_rcl(profile: str) -> list[Cell]:
    seconds = 3 if profile == "quick" else 30
    return [Cell(bytes=4 * MB, messages=seconds * 100, rate=100)]


def rossf_fig13(profile: str) -> list[Cell]:
    # The three images of ROS-SF: 256x256, 800x600 and 1920x1080 in RGB.
    sizes = (256 * 256 * 3, 800 * 600 * 3, FULL_HD)
    messages, rate = (20, 30) if profile == "quick" else (2000, 10)
    return [Cell(bytes=b, message="Image", messages=messages, rate=rate) for b in sizes]


def rossf_fig15(profile: str) -> list[Cell]:
    """Measures the transport alone: the answer is not copied, and no message is filled while the clock runs."""
    if profile == "quick":
        networks, sizes, messages, rate = ("veth", "10gbit"), (64, MB, FULL_HD), 20, 50
    else:
        networks, sizes, messages, rate = PROFILES, (64, 4 * KB, 64 * KB, MB, FULL_HD, 16 * MB), 60, 30
    return [
        Cell(bytes=b, message="Image", messages=messages, rate=rate, network=n, **PING_PONG, echo=False)
        for n in networks
        for b in sizes
        if not (PROFILES[n].lossy and b > FULL_HD)
    ]


def rossf_fig16(profile: str) -> list[Cell]:
    return [replace(cell, network="10gbit", **PING_PONG) for cell in rossf_fig13(profile)]


def link_fanout(profile: str) -> list[Cell]:
    sizes, messages = ((FULL_HD,), 20) if profile == "quick" else ((64, MB, FULL_HD), 60)
    subscribers = (1, 8) if profile == "quick" else (1, 2, 4, 8)
    return [
        Cell(bytes=b, message="Image", subscribers=s, messages=messages, rate=20, network="10gbit")
        for b in sizes
        for s in subscribers
    ]


def link_rate(profile: str) -> list[Cell]:
    flows = ((16 * MB, 30),) if profile == "quick" else ((FULL_HD, 30), (FULL_HD, 60), (16 * MB, 10), (16 * MB, 30))
    seconds = 2 if profile == "quick" else 10
    return [Cell(bytes=b, message="Image", messages=seconds * rate, rate=rate, network="10gbit") for b, rate in flows]


PING_PONG = {"round_trip": True, "answer_s": 10}


def field(profile: str) -> list[Cell]:
    """All peers at all sizes, one and eight subscribers: what `baton perf accept` compares."""
    sizes = (64, 64 * KB, 4 * MB) if profile == "quick" else (64, 4 * KB, 64 * KB, MB, 4 * MB, 16 * MB)
    subscribers = (1,) if profile == "quick" else (1, 8)
    return [Cell(bytes=b, subscribers=s, messages=40, rate=100 if b < MB else 60) for b in sizes for s in subscribers]


def real_time(profile: str) -> list[Cell]:
    seconds = 3 if profile == "quick" else 60
    return [
        Cell(bytes=4 * MB, messages=seconds * 100, rate=100, priority=priority, load=load)
        for priority in (0, 80)
        for load in (0.0, 0.9)
    ]


def spin(profile: str) -> list[Cell]:
    sizes = (64, 4 * MB) if profile == "quick" else (64, 4 * KB, 64 * KB, MB, 4 * MB, 16 * MB)
    return [Cell(bytes=b, messages=100, rate=200 if b < MB else 60, spin=True, pinned=True) for b in sizes]


def read(profile: str) -> list[Cell]:
    return [replace(cell, read_all=True) for cell in field(profile) if cell.subscribers == 1]


def round_trip(profile: str) -> list[Cell]:
    return [replace(cell, round_trip=True) for cell in field(profile) if cell.subscribers == 1]


def varying(profile: str) -> list[Cell]:
    return [
        Cell(bytes=4 * MB, message=m, varying=v, messages=60, rate=60) for m, v in (("Image", False), ("Image", True))
    ]


def ros2(profile: str) -> list[Cell]:
    """16 MB to eight subscribers is left out: the tuned profile alone would take 16 GB of memory for it."""
    cells = [(640, 1), (640, 8), (64 * KB, 1), (64 * KB, 8), (MB, 1), (MB, 8), (4 * MB, 8), (16 * MB, 1)]
    return [ros2_cell(b, s) for b, s in cells if profile != "quick" or s == 1]


def ros2_python(profile: str) -> list[Cell]:
    cells = [(640, 1), (640, 8), (MB, 1), (MB, 8), (16 * MB, 1)]
    return [ros2_cell(b, s) for b, s in cells if profile != "quick" or s == 1]


def for_large_data(cells: list[Cell]) -> list[Cell]:
    """Without large messages to eight subscribers: there LARGE_DATA now and then does not finish in the 150 s that a run has."""
    return [cell for cell in cells if cell.subscribers == 1 or cell.bytes < MB]


def ros2_cell(bytes: int, subscribers: int) -> Cell:
    return Cell(bytes=bytes, subscribers=subscribers, messages=25, rate=40 if bytes < MB else 20)


def ros1_tzc_fig9(profile: str) -> list[Cell]:
    """At the paper's rate, and at one that stock roscpp does not sustain on two of today's processors."""
    subscribers, messages = ((1, 8), 40) if profile == "quick" else ((1, 2, 4, 8), 600)
    return [Cell(bytes=4 * MB, subscribers=s, messages=messages, rate=rate) for rate in (30, 200) for s in subscribers]


def ros1_lot_fig7(profile: str) -> list[Cell]:
    sizes, messages, rate = ((4 * MB,), 30, 30) if profile == "quick" else (LOT_SIZES[8:], 2000, 30)
    return [
        Cell(bytes=b, subscribers=5, messages=messages, rate=rate, connect_in_order=ordered)
        for b in sizes
        for ordered in (False, True)
    ]


def ros1_lot_fig5(profile: str) -> list[Cell]:
    return [replace(c, publishers=5, subscribers=1) for c in ros1_lot_fig7(profile) if c.connect_in_order]
