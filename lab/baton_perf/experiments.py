# SPDX-License-Identifier: Apache-2.0
"""What `baton perf` measures: the experiments of the papers that Baton builds on, and the machine's own limits.

An experiment is a list of cells per profile. `quick` finishes in about two minutes with all peers; `full` is the paper's own
schedule, for a quiet hour. Every round runs all cells of all peers once, in a rotating order, so that the machine's moods meet all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

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
    256 * KB,
    1 * MB,
    2 * MB,
    4 * MB,
    16 * MB,
]


# What `--clock` calls the three clocks of every message, and the column of a recording (lab/runner/runner.cpp).
CLOCKS = {"hand-over": "hand_over_ns", "fill": "fill_ns", "construction": "construct_ns"}
FULL_HD = 1920 * 1080 * 3  # bytes: the 6 MB image of ROS-SF


def clock_of(cell: Cell) -> str:
    """What a comparison of this cell shows unless another clock is asked for."""
    return "round_trip_ns" if cell.round_trip else "with_read_ns" if cell.read_all else "hand_over_ns"


@dataclass(frozen=True)
class Experiment:
    id: str
    title: str  # a question
    source: str  # where the original is
    cells: Callable[[str], list[Cell]]  # profile -> cells
    figures: tuple[str, ...]  # drawn by report.py, in this order
    clock: str = "hand_over_ns"  # shown unless another is asked for
    peers: tuple[str, ...] = ("all",)
    rounds: tuple[int, int] = (1, 10)  # quick, full
    note: str = ""
    unavailable: dict[str, str] = field(
        default_factory=dict
    )  # peers that belong here and cannot be had, with the reason


def _tzc_fig7(profile: str) -> list[Cell]:
    if profile == "quick":
        return [Cell(bytes=b, subscribers=s, messages=30, rate=100) for b in (4 * KB, 4 * MB) for s in (1, 8)]
    return [
        Cell(bytes=b, subscribers=s, messages=1000, rate=30)
        for b in (4 * KB, 64 * KB, MB, 4 * MB)
        for s in (1, 2, 4, 8)
    ]


def _tzc_fig8(profile: str) -> list[Cell]:
    return [Cell(bytes=4 * MB, subscribers=8, messages=90 if profile == "quick" else 1000, rate=30)]


def _tzc_fig9(profile: str) -> list[Cell]:
    loads = (0.0, 0.9) if profile == "quick" else (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    return [
        Cell(bytes=4 * MB, subscribers=4, messages=40 if profile == "quick" else 600, rate=30, load=x) for x in loads
    ]


def _tzc_table1(profile: str) -> list[Cell]:
    subscribers = (1, 4) if profile == "quick" else (1, 2, 4, 8)
    return [Cell(bytes=MB, subscribers=s, messages=20, rate=30, count_copies=True) for s in subscribers]


def _lot_fig6(profile: str) -> list[Cell]:
    sizes = (128, 16 * MB) if profile == "quick" else LOT_SIZES
    messages, rate = (20, 60) if profile == "quick" else (2000, 30)
    return [Cell(bytes=b, messages=messages, rate=rate, pinned=pinned) for b in sizes for pinned in (False, True)]


def _lot_fig6d(profile: str) -> list[Cell]:
    messages = 200 if profile == "quick" else 2000
    return [Cell(bytes=b, messages=messages, rate=2000) for b in (512, 1 * KB)]


def _lot_fig7(profile: str) -> list[Cell]:
    sizes = (4 * KB, 4 * MB) if profile == "quick" else (4 * KB, 64 * KB, MB, 4 * MB, 16 * MB)
    messages, rate = (20, 60) if profile == "quick" else (2000, 30)
    cells = [
        Cell(bytes=b, subscribers=5, messages=messages, rate=rate, connect_in_order=ordered)
        for b in sizes
        for ordered in (False, True)
    ]
    return cells[:-1] if profile == "quick" else cells  # all four take longer than two minutes


def _lot_fig5(profile: str) -> list[Cell]:
    return [replace(c, publishers=5, subscribers=1) for c in _lot_fig7(profile)]


def _lot_fig3(profile: str) -> list[Cell]:
    sizes = (64 * KB,) if profile == "quick" else (4 * KB, 64 * KB, MB, 4 * MB, 16 * MB)
    messages, rate = (40, 60) if profile == "quick" else (2000, 30)
    return [
        Cell(bytes=b, messages=messages, rate=rate, isolation=isolation)
        for b in sizes
        for isolation in ("host", "container", "containers")
    ]


def _lot_graphs(profile: str) -> list[Cell]:
    sizes = (64 * KB,) if profile == "quick" else (128, 64 * KB, 4 * MB, 16 * MB)
    messages, rate = (60, 60) if profile == "quick" else (1000, 30)
    return [
        Cell(bytes=b, publishers=p, subscribers=s, messages=messages, rate=rate, isolation="containers")
        for b in sizes
        for p, s in ((1, 1), (1, 5), (5, 1))
    ]


def _lot_table1(profile: str) -> list[Cell]:
    seconds = 3 if profile == "quick" else 60
    return [Cell(bytes=16 * MB, messages=seconds * 30, rate=30, timeline=True)]


def _trosb(profile: str) -> list[Cell]:
    seconds = 3 if profile == "quick" else 30
    return [Cell(bytes=4 * MB, message="Array4m", messages=seconds * 100, rate=100)]


def _rossf_fig13(profile: str) -> list[Cell]:
    # The three images of ROS-SF: 256x256, 800x600 and 1920x1080 in RGB.
    sizes = (256 * 256 * 3, 800 * 600 * 3, FULL_HD)
    messages, rate = (20, 30) if profile == "quick" else (2000, 10)
    return [Cell(bytes=b, message="Image", messages=messages, rate=rate) for b in sizes]


# Whatever carries messages between hosts (docs/guides/perf.md, "Two hosts").
BETWEEN_HOSTS = (
    "baton_link",
    "tcp",
    "roscpp:tcpros",
    "ros2:default",
    "ros2:large_data",
    "cyclonedds:tcp",
    "cyclonedds:udp",
    "cyclonedds:default",
    "zenoh:tcp",
    "ecal:tcp",
)
NOT_BETWEEN_HOSTS = {
    "rmw_cyclonedds_cpp": "neither PyPI nor Debian 12 has it; cyclonedds:default is the library below it, as installed",
}


def _rossf_fig15(profile: str) -> list[Cell]:
    """The answer is not copied, and no message is filled while the clock runs: what is measured is the transport."""
    if profile == "quick":
        networks, sizes, messages, rate = ("veth", "10gbit"), (64, MB, FULL_HD), 20, 50
    else:
        networks, sizes, messages, rate = PROFILES, (64, 4 * KB, 64 * KB, MB, FULL_HD, 16 * MB), 60, 30
    return [
        Cell(bytes=b, message="Image", messages=messages, rate=rate, network=n, **_PING_PONG, echo=False)
        for n in networks
        for b in sizes
        if not (PROFILES[n].lossy and b > FULL_HD)
    ]


def _rossf_fig16(profile: str) -> list[Cell]:
    return [replace(cell, network="10gbit", **_PING_PONG) for cell in _rossf_fig13(profile)]


def _link_fanout(profile: str) -> list[Cell]:
    sizes, messages = ((FULL_HD,), 20) if profile == "quick" else ((64, MB, FULL_HD), 60)
    subscribers = (1, 8) if profile == "quick" else (1, 2, 4, 8)
    return [
        Cell(bytes=b, message="Image", subscribers=s, messages=messages, rate=20, network="10gbit")
        for b in sizes
        for s in subscribers
    ]


def _link_rate(profile: str) -> list[Cell]:
    flows = ((16 * MB, 30),) if profile == "quick" else ((FULL_HD, 30), (FULL_HD, 60), (16 * MB, 10), (16 * MB, 30))
    seconds = 2 if profile == "quick" else 10
    return [Cell(bytes=b, message="Image", messages=seconds * rate, rate=rate, network="10gbit") for b, rate in flows]


_PING_PONG = {"round_trip": True, "answer_s": 10}


def _field(profile: str) -> list[Cell]:
    """All peers at all sizes, one and eight subscribers: what `baton perf accept` compares."""
    sizes = (64, 64 * KB, 4 * MB) if profile == "quick" else (64, 4 * KB, 64 * KB, MB, 4 * MB, 16 * MB)
    subscribers = (1,) if profile == "quick" else (1, 8)
    return [Cell(bytes=b, subscribers=s, messages=40, rate=100 if b < MB else 60) for b in sizes for s in subscribers]


def _real_time(profile: str) -> list[Cell]:
    seconds = 3 if profile == "quick" else 60
    return [
        Cell(bytes=4 * MB, messages=seconds * 100, rate=100, priority=priority, load=load)
        for priority in (0, 80)
        for load in (0.0, 0.9)
    ]


def _spin(profile: str) -> list[Cell]:
    sizes = (64, 4 * MB) if profile == "quick" else (64, 4 * KB, 64 * KB, MB, 4 * MB, 16 * MB)
    return [Cell(bytes=b, messages=100, rate=200 if b < MB else 60, spin=True, pinned=True) for b in sizes]


def _read(profile: str) -> list[Cell]:
    return [replace(cell, read_all=True) for cell in _field(profile) if cell.subscribers == 1]


def _round_trip(profile: str) -> list[Cell]:
    return [replace(cell, round_trip=True) for cell in _field(profile) if cell.subscribers == 1]


def _varying(profile: str) -> list[Cell]:
    return [
        Cell(bytes=4 * MB, message=m, varying=v, messages=60, rate=60) for m, v in (("Image", False), ("Image", True))
    ]


def _ros2(profile: str) -> list[Cell]:
    """16 MB to eight subscribers is left out: the tuned profile alone would take 16 GB of memory for it."""
    cells = [(640, 1), (640, 8), (64 * KB, 1), (64 * KB, 8), (MB, 1), (MB, 8), (4 * MB, 8), (16 * MB, 1)]
    return [_ros2_cell(b, s) for b, s in cells if profile != "quick" or s == 1]


def _ros2_python(profile: str) -> list[Cell]:
    cells = [(640, 1), (640, 8), (MB, 1), (MB, 8), (16 * MB, 1)]
    return [_ros2_cell(b, s) for b, s in cells if profile != "quick" or s == 1]


def _for_large_data(cells: list[Cell]) -> list[Cell]:
    """Without large messages to eight subscribers: there LARGE_DATA now and then does not finish in the 150 s that a run has."""
    return [cell for cell in cells if cell.subscribers == 1 or cell.bytes < MB]


def _ros2_cell(bytes: int, subscribers: int) -> Cell:
    return Cell(bytes=bytes, subscribers=subscribers, messages=25, rate=40 if bytes < MB else 20)


# ROS 1: stock roscpp; the scheme of ETHZ-ASL's transport; and Baton's ways. `roscpp:tzc` and `roscpp:lotros` play the papers' own.
ROSCPP_WAYS = ("roscpp:tcpros", "roscpp:preload", "roscpp:tzc", "roscpp:lotros")


def _ros1_tzc_fig9(profile: str) -> list[Cell]:
    """At the paper's rate, and at one that stock roscpp does not sustain on two of today's processors."""
    subscribers, messages = ((1, 8), 40) if profile == "quick" else ((1, 2, 4, 8), 600)
    return [Cell(bytes=4 * MB, subscribers=s, messages=messages, rate=rate) for rate in (30, 200) for s in subscribers]


def _ros1_lot_fig7(profile: str) -> list[Cell]:
    sizes, messages, rate = ((4 * MB,), 30, 30) if profile == "quick" else (LOT_SIZES[8:], 2000, 30)
    return [
        Cell(bytes=b, subscribers=5, messages=messages, rate=rate, connect_in_order=ordered)
        for b in sizes
        for ordered in (False, True)
    ]


def _ros1_lot_fig5(profile: str) -> list[Cell]:
    return [replace(c, publishers=5, subscribers=1) for c in _ros1_lot_fig7(profile) if c.connect_in_order]


_ROUND_TRIPS = "Times are round trips, not halved. "
_TWO_HOSTS = (
    "Two hosts are network namespaces of this machine with a pair of virtual devices between them, and "
    "each has a /dev/shm of its own: so both hosts' work shares this machine's processors. Profiles: "
    + "; ".join(f"{name}: {profile.what}" for name, profile in PROFILES.items())
    + "."
)

EXPERIMENTS: dict[str, Experiment] = {
    e.id: e
    for e in (
        Experiment(
            "field",
            "How long does a message take, by size and number of subscribers?",
            "the field",
            _field,
            ("lines_over_size", "cpu_bars", "ratio_table", "spread"),
        ),
        Experiment(
            "tzc-fig7",
            "How does latency grow with the number of subscribers?",
            "TZC, Fig. 7",
            _tzc_fig7,
            ("boxes_over_size", "lines_over_subscribers", "summary_table"),
        ),
        Experiment(
            "tzc-fig8",
            "How much do latency and period vary, with 4 MB to eight subscribers?",
            "TZC, Fig. 8",
            _tzc_fig8,
            ("histogram", "period", "summary_table"),
        ),
        Experiment(
            "tzc-fig9",
            "How many messages arrive while the CPUs are busy?",
            "TZC, Fig. 9",
            _tzc_fig9,
            ("success", "summary_table"),
        ),
        Experiment(
            "tzc-table1",
            "How often is a message copied?",
            "TZC, Table I",
            _tzc_table1,
            ("copies_table",),
            rounds=(1, 1),
            note="Counted by a preloaded library in every process: copies through memcpy and memmove and through read, write, "
            "send and receive calls, in units of the payload. What the runner itself writes into the payload is not a copy.",
        ),
        Experiment(
            "lot-fig6",
            "How does latency grow with size, with processes pinned to CPUs and not?",
            "LOT, Fig. 6a-c",
            _lot_fig6,
            ("lines_over_size", "boxes_over_size", "summary_table"),
        ),
        Experiment(
            "lot-fig6d",
            "What happens to small messages at 2000 Hz?",
            "LOT, Fig. 6d",
            _lot_fig6d,
            ("sequence", "summary_table"),
        ),
        Experiment(
            "lot-fig7",
            "Is one of five subscribers served later than the others?",
            "LOT, Fig. 7",
            _lot_fig7,
            ("boxes_by_end", "gap_table", "summary_table"),
        ),
        Experiment(
            "lot-fig5",
            "Is one of five publishers served later than the others?",
            "LOT, Fig. 5",
            _lot_fig5,
            ("boxes_by_end", "summary_table"),
        ),
        Experiment(
            "lot-fig3",
            "What does it cost to send between containers?",
            "LOT, Fig. 3",
            _lot_fig3,
            ("boxes_by_isolation", "summary_table"),
            note="A container here is a set of Linux namespaces (mount, IPC, network, PID, UTS) that shares only the file "
            "system with the run's directory. Peers that need a shared network or /dev/shm fail in separate ones; that is shown.",
        ),
        Experiment(
            "lot-graphs",
            "Are shared objects or topics faster, when every process has namespaces of its own?",
            "LOT, Section V",
            _lot_graphs,
            ("summary_table",),
            peers=("baton", "shared_objects"),
            note="Each process has mount, IPC, network, PID and UTS namespaces of its own and shares only the file system with "
            "the run's directory. By shared objects: a pusher puts a pointer into the queue of each subscriber.",
        ),
        Experiment(
            "lot-table1",
            "Where does the CPU time go in a long run at 16 MB?",
            "LOT, Table 1 and Fig. 8",
            _lot_table1,
            ("timeline", "lot_table1", "cpu_bars", "usage_table"),
            rounds=(1, 1),
            note="Not measured: the paper's columns of spin time and of most active functions. They are a profiler's (Intel VTune): which "
            "part of the CPU time went into waiting in a loop is its attribution of samples to calls, and neither getrusage(2) nor /proc "
            "tells it. Spinning is contained in the CPU time here. `perf record` beside a run names functions.",
        ),
        Experiment(
            "trosb",
            "What do 4 MB at 100 Hz cost?",
            "TogetheROS.Bot, zero-copy page",
            _trosb,
            ("cost_table", "boxes_over_size", "summary_table", "usage_table"),
        ),
        Experiment(
            "rossf-fig13",
            "How long does an image take, its construction included?",
            "ROS-SF, Fig. 13",
            _rossf_fig13,
            ("boxes_over_size", "summary_table"),
            clock="construct_ns",
        ),
        Experiment(
            "rossf-fig14",
            "How long does the same image take through other serializers?",
            "ROS-SF, Fig. 14",
            _rossf_fig13,
            ("boxes_over_size", "summary_table"),
            clock="construct_ns",
            peers=("baton", "serializers", "baton_serialized"),
        ),
        Experiment(
            "rossf-fig15",
            "How long does a message take to another host and back?",
            "ROS-SF, Fig. 15",
            _rossf_fig15,
            ("lines_over_size", "ratio_table", "cpu_bars", "summary_table"),
            clock="round_trip_ns",
            peers=BETWEEN_HOSTS,
            rounds=(1, 6),
            note=f"{_ROUND_TRIPS}{_TWO_HOSTS} The clock runs from publish() of the message until the first byte of the answer is seen. The answer is as large as "
            "the message and has its stamp; no payload is copied for it, so that only transports are compared.",
            unavailable=NOT_BETWEEN_HOSTS,
        ),
        Experiment(
            "rossf-fig16",
            "How long does an image take to another host and back, both constructions included?",
            "ROS-SF, Fig. 16",
            _rossf_fig16,
            ("mean_bars", "ping_pong_table", "boxes_over_size", "summary_table"),
            clock="construct_round_trip_ns",
            peers=BETWEEN_HOSTS,
            rounds=(1, 3),
            note=f"{_ROUND_TRIPS}{_TWO_HOSTS} As in the paper the clock runs from before the message is made until the answer is seen, and the other host makes "
            "a message of its own for the answer and copies the image into it. The paper has pub and sub in two processes of one host, and "
            "a line of 10 Gbit/s between two machines.",
            unavailable=NOT_BETWEEN_HOSTS,
        ),
        Experiment(
            "link-fanout",
            "What do more subscriptions on the other host cost?",
            "the link",
            _link_fanout,
            ("lines_over_subscribers", "wire_table", "cpu_bars", "summary_table"),
            peers=BETWEEN_HOSTS,
            rounds=(1, 6),
            note=f"{_TWO_HOSTS} Times are one way: both hosts have this machine's clock.",
            unavailable=NOT_BETWEEN_HOSTS,
        ),
        Experiment(
            "link-rate",
            "How many images arrive on the other host at a high rate?",
            "the link",
            _link_rate,
            ("summary_table", "wire_table", "cpu_bars"),
            peers=BETWEEN_HOSTS,
            rounds=(1, 6),
            note="16 MB at 30 Hz are 4 Gbit/s. A message that does not arrive within a second after the last one is lost.",
            unavailable=NOT_BETWEEN_HOSTS,
        ),
        Experiment(
            "real-time",
            "Does a periodic node at SCHED_FIFO keep its period beside busy CPUs?",
            "TZC-RT, as TZC, Fig. 8",
            _real_time,
            ("histogram", "period", "summary_table"),
            peers=("baton", "bare", "unix_socket"),
            note="FIFO 80: every end has that priority and locks its memory; Baton's publisher also takes its pool at the start. "
            "Needs the right to do so (root, or RLIMIT_RTPRIO and RLIMIT_MEMLOCK).",
        ),
        Experiment(
            "spin",
            "How long does a message take to a subscriber that polls?",
            "the field",
            _spin,
            ("lines_over_size", "summary_table"),
        ),
        Experiment(
            "read",
            "How long does it take until the subscriber has read every byte?",
            "the field",
            _read,
            ("lines_over_size", "summary_table"),
            clock="with_read_ns",
        ),
        Experiment(
            "round-trip",
            "How long does a message take there and back?",
            "the field",
            _round_trip,
            ("lines_over_size", "summary_table"),
            clock="round_trip_ns",
        ),
        Experiment(
            "ros2",
            "How long does a message take in ROS 2 (C++): rmw_fastrtps_cpp as installed and tuned, and rmw_baton_cpp?",
            "the field",
            _ros2,
            ("lines_over_size", "ratio_table", "summary_table"),
            peers=("ros2:default", "ros2:tuned", "ros2:baton", "ros2:heap", "ros2:loans", "baton"),
        ),
        Experiment(
            "ros2-large-data",
            "How long does a message take in ROS 2 (C++): Fast DDS's LARGE_DATA transports, and rmw_baton_cpp?",
            "the field",
            lambda profile: _for_large_data(_ros2(profile)),
            ("lines_over_size", "ratio_table", "summary_table"),
            peers=("ros2:large_data", "ros2:baton"),
        ),
        Experiment(
            "ros2-python",
            "How long does a message take in ROS 2 (Python): rmw_fastrtps_cpp, rmw_baton_cpp, and accelerated?",
            "the field",
            _ros2_python,
            ("lines_over_size", "ratio_table", "summary_table"),
            peers=("rclpy:default", "rclpy:tuned", "rclpy:baton", "rclpy:accelerated", "rclpy:heap"),
        ),
        Experiment(
            "ros2-python-large-data",
            "How long does a message take in ROS 2 (Python): Fast DDS's LARGE_DATA transports, rmw_baton_cpp, and accelerated?",
            "the field",
            lambda profile: _for_large_data(_ros2_python(profile)),
            ("lines_over_size", "ratio_table", "summary_table"),
            peers=("rclpy:large_data", "rclpy:baton", "rclpy:accelerated"),
        ),
        Experiment(
            "ros1-tzc-fig7",
            "ROS 1: how does latency grow with the number of subscribers?",
            "TZC, Fig. 7, group 1",
            _tzc_fig7,
            ("boxes_over_size", "lines_over_subscribers", "summary_table"),
            peers=("roscpp:tcpros", "serialized_shm", *ROSCPP_WAYS[1:]),
            note="serialized_shm is the scheme of ETHZ-ASL's transport. roscpp:tzc has TZC's: handles over TCPROS, payload in shared memory.",
        ),
        Experiment(
            "ros1-tzc-fig9",
            "ROS 1: how many messages arrive, by the number of subscribers?",
            "TZC, Fig. 9",
            _ros1_tzc_fig9,
            ("success_over_subscribers", "summary_table"),
            peers=("roscpp:tcpros", "serialized_shm", *ROSCPP_WAYS[1:]),
            note="Queues have ten messages at both ends. The paper's rate is 30 Hz.",
        ),
        Experiment(
            "ros1-tzc-table1",
            "ROS 1: how often is a message copied?",
            "TZC, Table I",
            _tzc_table1,
            ("copies_table",),
            peers=("roscpp:tcpros", "serialized_shm", "roscpp:preload_copying", *ROSCPP_WAYS[1:]),
            rounds=(1, 1),
            note="Serialization and deserialization count as copies, as in the paper: ROS 1 + 3 x subscribers, ETHZ-ASL 1 + 1 x subscribers, "
            "TZC 0. Counted by a preloaded library in every process.",
        ),
        Experiment(
            "ros1-rossf-fig13",
            "ROS 1: how long does an image take, its construction included?",
            "ROS-SF, Fig. 13",
            _rossf_fig13,
            ("boxes_over_size", "summary_table"),
            clock="construct_ns",
            peers=("roscpp:tcpros", "roscpp:preload", "roscpp_recompiled:pointer", "roscpp:lotros"),
            note="roscpp_recompiled is the program of tcpros, compiled with Baton's message headers. It makes a new message for each publish, and "
            "sets its pixels to zero first; tcpros uses a message again.",
        ),
        Experiment(
            "ros1-lot-fig5",
            "ROS 1: is one of five publishers served later than the others?",
            "LOT, Fig. 5",
            _ros1_lot_fig5,
            ("boxes_by_end", "summary_table"),
            peers=ROSCPP_WAYS,
        ),
        Experiment(
            "ros1-lot-fig6",
            "ROS 1: how does latency grow with size, with processes pinned to CPUs and not?",
            "LOT, Fig. 6a-c",
            _lot_fig6,
            ("lines_over_size", "boxes_over_size", "summary_table"),
            peers=ROSCPP_WAYS,
        ),
        Experiment(
            "ros1-lot-fig7",
            "ROS 1: is one of five subscribers served later than the others?",
            "LOT, Fig. 7",
            _ros1_lot_fig7,
            ("boxes_by_end", "gap_table", "summary_table"),
            peers=ROSCPP_WAYS,
        ),
        Experiment(
            "varying",
            "Do images of varying size take longer?",
            "the field",
            _varying,
            ("boxes_over_size", "summary_table"),
        ),
    )
}
