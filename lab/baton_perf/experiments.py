# SPDX-License-Identifier: Apache-2.0
"""What `baton perf` measures: the experiments of the papers that Baton builds on, and the machine's own limits.

An experiment is a list of cells per profile. `quick` finishes in about two minutes with all peers; `full` is the paper's own
schedule, for a quiet hour. Every round runs all cells of all peers once, in a rotating order, so that disturbances of the machine meet all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from . import cells
from .network import PROFILES
from .runs import Cell

# What `--clock` calls the three clocks of every message, and the column of a recording (lab/runner/runner.cpp).
CLOCKS = {"hand-over": "hand_over_ns", "fill": "fill_ns", "construction": "construct_ns"}


def clock_of(cell: Cell) -> str:
    """The clock by which a comparison of this cell is shown, unless another one is asked for."""
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


# The peers that carry messages between hosts (docs/guides/perf.md, "Two hosts").
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

NO_INTRA_PROCESS = {
    "rclcpp, intra-process": "PyPI's wheels of ROS 2 have rcl and rclpy and no rclcpp, which alone passes messages within a process"
}
NO_ACH = {"Ach, on Xenomai and RTnet": "this kernel is no Xenomai, and neither Debian 12 nor PyPI has Ach"}
_FIFO = (
    "Every end is at SCHED_FIFO 80 and locks its memory; Baton's publisher also takes its pool at the start. Needs the right to do so "
    "(root, or RLIMIT_RTPRIO and RLIMIT_MEMLOCK)."
)

# ROS 1: stock roscpp; the scheme of ETHZ-ASL's transport; and Baton's ways. `roscpp:tzc` and `roscpp:lotros` play the papers' own.
ROSCPP_WAYS = ("roscpp:tcpros", "roscpp:preload", "roscpp:tzc", "roscpp:lotros")

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
            cells.field,
            ("lines_over_size", "cpu_bars", "ratio_table", "spread"),
        ),
        Experiment(
            "tzc-fig7",
            "How does latency grow with the number of subscribers?",
            "TZC, Fig. 7",
            cells.tzc_fig7,
            ("boxes_over_size", "lines_over_subscribers", "summary_table"),
        ),
        Experiment(
            "tzc-fig8",
            "How much do latency and period vary, with 4 MB to eight subscribers?",
            "TZC, Fig. 8",
            cells.tzc_fig8,
            ("histogram", "period", "summary_table"),
        ),
        Experiment(
            "tzc-fig7-ros2",
            "ROS 2: how does latency grow with the number of subscribers?",
            "TZC, Fig. 7, group 2",
            cells.tzc_fig7,
            ("boxes_over_size", "lines_over_subscribers", "summary_table"),
            peers=("ros2:default", "ros2:baton", "ros2:heap", "ros2:loans"),
            unavailable=NO_INTRA_PROCESS,
        ),
        Experiment(
            "tzc-fig7-intra",
            "How does latency grow with the number of subscribers, when all ends are in one process?",
            "TZC, Fig. 7, groups 1 and 2",
            cells.tzc_fig7_intra,
            ("boxes_over_size", "lines_over_subscribers", "summary_table"),
            peers=("roscpp:nodelet", "baton"),
            unavailable=NO_INTRA_PROCESS,
        ),
        Experiment(
            "tzc-fig7-rt",
            "How does latency grow with the number of subscribers, at a real-time priority?",
            "TZC, Fig. 7, group 3",
            cells.tzc_fig7_rt,
            ("boxes_over_size", "lines_over_subscribers", "summary_table"),
            peers=("baton", "serialized_shm", "unix_socket", "bare"),
            note=f"serialized_shm is Ach's scheme: a ring into which the publisher serializes, and out of which each subscriber copies. {_FIFO}",
            unavailable=NO_ACH,
        ),
        Experiment(
            "tzc-fig8-fifo",
            "How much do latency and period vary at a real-time priority, with 4 MB to eight subscribers?",
            "TZC, Fig. 8",
            cells.tzc_fig8_fifo,
            ("histogram", "period", "summary_table"),
            peers=("baton", "serialized_shm", "unix_socket", "bare"),
            note=_FIFO,
            unavailable=NO_ACH,
        ),
        Experiment(
            "tzc-fig9-ros2",
            "ROS 2: how many messages arrive, by the number of subscribers?",
            "TZC, Fig. 9",
            cells.tzc_fig9_subscribers,
            ("success_over_subscribers", "summary_table"),
            peers=("ros2:default", "ros2:baton", "ros2:loans"),
        ),
        Experiment(
            "tzc-fig9",
            "How many messages arrive while the CPUs are busy?",
            "TZC, Fig. 9",
            cells.tzc_fig9,
            ("success", "summary_table"),
        ),
        Experiment(
            "tzc-table1",
            "How often is a message copied?",
            "TZC, Table I",
            cells.tzc_table1,
            ("copies_table",),
            rounds=(1, 1),
            note="Counted by a preloaded library in every process: copies through memcpy and memmove and through read, write, "
            "send and receive calls, in units of the payload. What the runner itself writes into the payload is not a copy.",
        ),
        Experiment(
            "lot-fig6",
            "How does latency grow with size, with processes pinned to two CPUs, to one, and not?",
            "LOT, Fig. 6a-c",
            cells.lot_fig6,
            ("lines_over_size", "boxes_over_size", "summary_table"),
        ),
        Experiment(
            "lot-fig6d",
            "What happens to small messages at 2000 Hz?",
            "LOT, Fig. 6d",
            cells.lot_fig6d,
            ("sequence", "summary_table"),
            peers=("all", "tcp:nagle", "roscpp:tcpros_nagle"),
            note="The paper's bursts are of TCP without TCP_NODELAY: `tcp:nagle` and `roscpp:tcpros_nagle`. All other peers set the option.",
        ),
        Experiment(
            "lot-fig7",
            "Is one of five subscribers served later than the others?",
            "LOT, Fig. 7",
            cells.lot_fig7,
            ("boxes_by_end", "gap_table", "summary_table"),
        ),
        Experiment(
            "lot-fig5",
            "Is one of five publishers served later than the others?",
            "LOT, Fig. 5",
            cells.lot_fig5,
            ("boxes_by_end", "summary_table"),
        ),
        Experiment(
            "lot-fig3",
            "What does it cost to send between containers?",
            "LOT, Fig. 3",
            cells.lot_fig3,
            ("boxes_by_isolation", "summary_table"),
            note="A container here is a set of Linux namespaces (mount, IPC, network, PID, UTS) that shares only the file "
            "system with the run's directory. Peers that need a shared network or /dev/shm fail in separate ones; that is shown.",
        ),
        Experiment(
            "lot-fig3a",
            "What does TCP cost between containers?",
            "LOT, Fig. 3a",
            cells.lot_fig3a,
            ("boxes_by_isolation", "summary_table"),
            peers=("tcp", "roscpp:tcpros"),
            note="Separate containers have networks of their own, which a pair of virtual devices joins, as Docker does it. In lot-fig3 their "
            "networks have a loopback device only, so no message of TCP reaches the other container there.",
        ),
        Experiment(
            "lot-graphs",
            "Are shared objects or topics faster, when every process has namespaces of its own?",
            "LOT, Section V",
            cells.lot_graphs,
            ("summary_table",),
            peers=("baton", "shared_objects"),
            note="Each process has mount, IPC, network, PID and UTS namespaces of its own and shares only the file system with "
            "the run's directory. By shared objects: a pusher puts a pointer into the queue of each subscriber.",
        ),
        Experiment(
            "lot-table1",
            "Where does the CPU time go in a long run at 16 MB?",
            "LOT, Table 1 and Fig. 8",
            cells.lot_table1,
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
            cells.trosb,
            ("cost_table", "cost_bars", "boxes_over_size", "summary_table", "usage_table"),
        ),
        Experiment(
            "trosb-rcl",
            "What do 4 MB at 100 Hz cost through ROS 2's API?",
            "TogetheROS.Bot, zero-copy page",
            cells.trosb_rcl,
            ("cost_table", "cost_bars", "boxes_over_size", "summary_table", "usage_table"),
            peers=("ros2:default", "ros2:baton", "ros2:loans", "baton"),
            note="ros2:loans borrows its messages from rcl, which is what the page calls zero-copy.",
        ),
        Experiment(
            "rossf-fig3",
            "ROS 1: what does the program of Fig. 3 cost, as it is printed?",
            "ROS-SF, Fig. 3",
            cells.rossf_fig13,
            ("boxes_over_size", "summary_table"),
            clock="construct_ns",
            peers=("roscpp:printed", "roscpp_recompiled:printed", "roscpp_recompiled:pointer"),
            note="printed: each turn makes an object on the stack, resizes its array, fills it, and publishes the object. pointer: the same with "
            "a message on the heap that is published by pointer.",
        ),
        Experiment(
            "rossf-fig13",
            "How long does an image take, its construction included?",
            "ROS-SF, Fig. 13",
            cells.rossf_fig13,
            ("boxes_over_size", "summary_table"),
            clock="construct_ns",
        ),
        Experiment(
            "rossf-fig14",
            "How long does the same image take through other serializers?",
            "ROS-SF, Fig. 14",
            cells.rossf_fig13,
            ("boxes_over_size", "summary_table"),
            clock="construct_ns",
            peers=("baton", "serializers", "baton_serialized"),
        ),
        Experiment(
            "rossf-fig15",
            "How long does a message take to another host and back?",
            "ROS-SF, Fig. 15",
            cells.rossf_fig15,
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
            cells.rossf_fig16,
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
            cells.link_fanout,
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
            cells.link_rate,
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
            cells.real_time,
            ("histogram", "period", "summary_table"),
            peers=("baton", "bare", "unix_socket"),
            note=_FIFO,
        ),
        Experiment(
            "spin",
            "How long does a message take to a subscriber that polls?",
            "the field",
            cells.spin,
            ("lines_over_size", "summary_table"),
        ),
        Experiment(
            "read",
            "How long does it take until the subscriber has read every byte?",
            "the field",
            cells.read,
            ("lines_over_size", "summary_table"),
            clock="with_read_ns",
        ),
        Experiment(
            "round-trip",
            "How long does a message take there and back?",
            "the field",
            cells.round_trip,
            ("lines_over_size", "summary_table"),
            clock="round_trip_ns",
        ),
        Experiment(
            "ros2",
            "How long does a message take in ROS 2 (C++): rmw_fastrtps_cpp as installed and tuned, and rmw_baton_cpp?",
            "the field",
            cells.ros2,
            ("lines_over_size", "ratio_table", "summary_table"),
            peers=("ros2:default", "ros2:tuned", "ros2:baton", "ros2:heap", "ros2:loans", "baton"),
        ),
        Experiment(
            "ros2-large-data",
            "How long does a message take in ROS 2 (C++): Fast DDS's LARGE_DATA transports, and rmw_baton_cpp?",
            "the field",
            lambda profile: cells.for_large_data(cells.ros2(profile)),
            ("lines_over_size", "ratio_table", "summary_table"),
            peers=("ros2:large_data", "ros2:baton"),
        ),
        Experiment(
            "ros2-python",
            "How long does a message take in ROS 2 (Python): rmw_fastrtps_cpp, rmw_baton_cpp, and accelerated?",
            "the field",
            cells.ros2_python,
            ("lines_over_size", "ratio_table", "summary_table"),
            peers=("rclpy:default", "rclpy:tuned", "rclpy:baton", "rclpy:accelerated", "rclpy:heap"),
        ),
        Experiment(
            "ros2-python-large-data",
            "How long does a message take in ROS 2 (Python): Fast DDS's LARGE_DATA transports, rmw_baton_cpp, and accelerated?",
            "the field",
            lambda profile: cells.for_large_data(cells.ros2_python(profile)),
            ("lines_over_size", "ratio_table", "summary_table"),
            peers=("rclpy:large_data", "rclpy:baton", "rclpy:accelerated"),
        ),
        Experiment(
            "ros1-tzc-fig7",
            "ROS 1: how does latency grow with the number of subscribers?",
            "TZC, Fig. 7, group 1",
            cells.tzc_fig7,
            ("boxes_over_size", "lines_over_subscribers", "summary_table"),
            peers=("roscpp:tcpros", "serialized_shm", *ROSCPP_WAYS[1:]),
            note="serialized_shm is the scheme of ETHZ-ASL's transport. roscpp:tzc has TZC's: handles over TCPROS, payload in shared memory.",
        ),
        Experiment(
            "ros1-tzc-fig9",
            "ROS 1: how many messages arrive, by the number of subscribers?",
            "TZC, Fig. 9",
            cells.ros1_tzc_fig9,
            ("success_over_subscribers", "summary_table"),
            peers=("roscpp:tcpros", "serialized_shm", *ROSCPP_WAYS[1:]),
            note="Queues have ten messages at both ends. The paper's rate is 30 Hz.",
        ),
        Experiment(
            "ros1-tzc-table1",
            "ROS 1: how often is a message copied?",
            "TZC, Table I",
            cells.tzc_table1,
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
            cells.rossf_fig13,
            ("boxes_over_size", "summary_table"),
            clock="construct_ns",
            peers=(
                "roscpp:tcpros",
                "roscpp:preload",
                "roscpp_recompiled:printed",
                "roscpp_recompiled:pointer",
                "roscpp:lotros",
            ),
            note="roscpp_recompiled is the program of tcpros, compiled with Baton's message headers. It makes a new message for each publish, and "
            "sets its pixels to zero first; tcpros uses a message again. Its variant printed publishes an object, as the program of the paper's Fig. 11.",
        ),
        Experiment(
            "ros1-lot-fig5",
            "ROS 1: is one of five publishers served later than the others?",
            "LOT, Fig. 5",
            cells.ros1_lot_fig5,
            ("boxes_by_end", "summary_table"),
            peers=ROSCPP_WAYS,
        ),
        Experiment(
            "ros1-lot-fig6",
            "ROS 1: how does latency grow with size, with processes pinned to two CPUs, to one, and not?",
            "LOT, Fig. 6a-c",
            cells.lot_fig6,
            ("lines_over_size", "boxes_over_size", "summary_table"),
            peers=ROSCPP_WAYS,
        ),
        Experiment(
            "ros1-lot-fig7",
            "ROS 1: is one of five subscribers served later than the others?",
            "LOT, Fig. 7",
            cells.ros1_lot_fig7,
            ("boxes_by_end", "gap_table", "summary_table"),
            peers=ROSCPP_WAYS,
        ),
        Experiment(
            "varying",
            "Do images of varying size take longer?",
            "the field",
            cells.varying,
            ("boxes_over_size", "summary_table"),
        ),
    )
}
