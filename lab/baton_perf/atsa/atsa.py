# SPDX-License-Identifier: Apache-2.0
"""ATSA's measurements: rclpy, rospy, cyclonedds and iceoryx2 for Python beside Baton. Runs under the Python of the
measured ROS 2; `baton perf atsa` starts it there (atsa_program.py).

`atsa.py latencies` (Figs. 9 and 11), `algorithms` (Fig. 10), `steps` (Fig. 4), `table1` (Table 1, Fig. 6), `threshold` (Fig. 8)
and `image`. They print PASS and FAIL lines as `baton perf accept` reads them. A system that is missing on a machine is named and left out.
With `--json FILE` all figures are also written there, for atsa_pictures.py.

All systems of a round run next to each other; a ratio is made per round, and its interval is that of the median over rounds by
order statistics (at least 95 % from six rounds on).
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import correlation, linear_regression, median

import atsa_worlds
import rosidl_package
from atsa_messages import DEFINITIONS, MESSAGES, PACKAGE, PIPELINE

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[2]  # an installed package: it has no checkout, so no build is found there
PYTHONS = {
    "ros2": Path(sys.executable),
    "peers": CHECKOUT / ".venv-peers" / "bin" / "python",
    "debian": Path("/usr/bin/python3"),
}
WORLDS = {  # name -> Python
    "rclpy": "ros2", "accelerated": "ros2", "rmw": "ros2", "rmw-accelerated": "ros2", "rmw-views": "ros2",
    "objects": "ros2", "baton": "ros2", "rospy": "debian", "rospy-accelerated": "debian", "cyclonedds": "peers", "iceoryx2": "peers",
}  # fmt: skip
DISTRIBUTION = Path(sys.prefix).name.removeprefix(".venv-ros2-")
BUILD = Path(os.environ.get("BATON_BUILD", CHECKOUT / "build/lab"))
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "baton"


def rmw_library() -> Path:
    """Baton's RMW of the build, or the one that is installed with ROS 2."""
    built = BUILD / "lib" / DISTRIBUTION / "librmw_baton_cpp.so"
    installed = [
        Path(prefix, "lib", built.name) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(":") if prefix
    ]
    return next((library for library in (built, *installed) if library.exists()), built)


RMW = rmw_library()
RECORDED: dict = {}  # the figures by their names, for --json
PROBES = {
    "rospy": "import rospy, genpy.dynamic",
    "rospy-accelerated": "import rospy, genpy.dynamic, baton.rospy",
    "cyclonedds": "import cyclonedds",
    "iceoryx2": "import iceoryx2",
}
COMPLEX = ("Lidar", "WayPoints", "workflow")
ARRIVED_S = 10  # after the last one was sent
# Of stock rclpy's time, for complex messages. Accelerated rclpy alone still has its RMW's transport; what it saves of conversion and
# serialization, `steps` judges. Stock rclpy over Baton's RMW still converts, and views in it still have its executor, which the
# workflow needs three times.
BARS = {"accelerated": 1, "rmw": None, "rmw-accelerated": 0.10, "rmw-views": 0.05, "objects": 0.10, "baton": 0.03}


def environment(python: str) -> dict[str, str]:
    if python != "debian":
        return dict(os.environ)
    import numpy  # Debian's Python has none of its own; alone, for ROS 2's packages are named like ROS 1's

    alone = Path(os.environ["ATSA_PACKAGES"]) / "numpy_alone"
    alone.mkdir(exist_ok=True)
    for name in ("numpy", "numpy.libs"):
        if not (alone / name).exists():
            (alone / name).unlink(missing_ok=True)  # of an environment that is gone
            (alone / name).symlink_to(Path(numpy.__file__).parents[1] / name)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(alone)])}


def absent(world: str) -> str:
    """Why a world cannot be measured on this machine; empty: it can be measured."""
    python = WORLDS.get(world, "ros2")
    if not PYTHONS[python].exists():
        return f"no {PYTHONS[python]} (make peers)"
    if world.startswith("rmw") and not RMW.exists():
        return f"no {RMW} (make build-lab)"
    if world not in PROBES:
        return ""
    done = subprocess.run(
        [PYTHONS[python], "-c", PROBES[world]], env=environment(python), capture_output=True, text=True
    )
    return (done.stderr.strip().splitlines() or ["failed"])[-1] + " (make peers)" if done.returncode else ""


def apart(world):
    """The environment of a world's processes: a network of its own, so that no world hears another's messages."""
    number = list(atsa_worlds.WORLDS).index(world)
    directory = Path(os.environ["BATON_RUNTIME_DIR"]) / world
    directory.mkdir(mode=0o700, exist_ok=True)
    # The wheels' librcl names its RMW itself, so another one is preloaded too (docs/guides/ros2.md).
    above = {"LD_PRELOAD": str(RMW), "RMW_IMPLEMENTATION": "rmw_baton_cpp"} if world.startswith("rmw") else {}
    return {
        **environment(WORLDS.get(world, "ros2")),
        **above,
        "BATON_RUNTIME_DIR": str(directory),
        "ROS_DOMAIN_ID": str((int(os.environ["ROS_DOMAIN_ID"]) + number) % 200),
        "ROS_NAMESPACE": f"/{world.replace('-', '_')}",
    }


class AtsaEnd:
    def __init__(self, world, *arguments):
        python = WORLDS.get(world, "ros2")
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [PYTHONS[python], HERE / "atsa_worker.py", world, *arguments],
            env=apart(world), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
        )  # fmt: skip

    def line(self, seconds=120):
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            return ""
        return self.process.stdout.readline()

    def ready(self):
        if self.line() != "ready\n":
            self.process.kill()
            self.errors.seek(0)
            raise RuntimeError(
                f"{self.process.args[2:]} did not start ({self.process.poll()}): {self.errors.read()[-2000:]}"
            )

    def ask(self, line):
        print(line, file=self.process.stdin, flush=True)
        return self.line(600)

    def close(self):
        self.process.kill()
        self.process.communicate()
        self.errors.close()


class Master:
    """A rosmaster for the rospy worlds."""

    def __enter__(self):
        self.process = None
        if not Path("/usr/bin/rosmaster").exists():
            return self
        port = 11500 + os.getpid() % 500
        os.environ["ROS_MASTER_URI"] = f"http://127.0.0.1:{port}"
        os.environ.setdefault("ROS_IP", "127.0.0.1")
        command = ["/usr/bin/python3", "/usr/bin/rosmaster", "--core", "-p", str(port)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def ends_of(world, what):
    """(publisher, subscriber, others) of a message type or of the workflow."""
    if what != "workflow":
        return AtsaEnd(world, "publisher", what), AtsaEnd(world, "subscriber", what), []
    return AtsaEnd(world, "publisher", "Lidar"), AtsaEnd(world, "subscriber", "WayPoints"), [
        AtsaEnd(world, "stage", "Pose"),
        AtsaEnd(world, "stage", "WayPoints"),
    ]  # fmt: skip


def measure(worlds, what, rounds, count):
    """Median latency in ms per world and round."""
    ends, result = {}, {}
    period = 0.15 if what in ("Image", "workflow") else 0.1 if what in COMPLEX else 0.005
    try:
        for world in worlds:
            ends[world] = ends_of(world, what)
        for world, (publisher, subscriber, others) in list(ends.items()):
            try:
                for end in (subscriber, *others, publisher):
                    end.ready()
                result[world] = []
            except RuntimeError as error:
                print(f"FAIL  {what}, {world}: {error}", flush=True)
        for number in range(rounds + 1):  # the first warms up
            order = list(result)
            for world in order[number % len(order) :] + order[: number % len(order)]:
                publisher, subscriber, _ = ends[world]
                publisher.ask(f"{count} {period}")
                ages = taken(subscriber, count, 0.2 if what in COMPLEX else 0.05)
                if number:
                    result[world].append(median(ages) / 1e6 if ages else None)
    finally:
        for publisher, subscriber, others in ends.values():
            for end in (publisher, subscriber, *others):
                end.close()
    return result


def taken(subscriber, count, pause):
    """The ages of `count` messages, of fewer if some do not arrive in a time that is long also on a busy machine."""
    ages = []
    end = time.monotonic() + ARRIVED_S
    while len(ages) < count and time.monotonic() < end:
        time.sleep(pause)
        ages += json.loads(subscriber.ask("take") or "[]")
    return ages


def interval(values):
    """(low, median, high): the interval of the median by order statistics, 95 % or more if there are six values."""
    ordered, n = sorted(values), len(values)
    lowest, tail = 0, 0.0
    for k in range(n // 2):
        tail += math.comb(n, k) / 2**n
        if 2 * tail > 0.05:
            break
        lowest = k
    return ordered[lowest], median(ordered), ordered[n - 1 - lowest]


def verdict(text, ratios, bar, also=""):
    """`bar` 1: passes if the interval includes or beats 1; another bar: if the interval's upper end is at most the bar; None: no verdict, only a row.
    `also`: more text for the row's detail."""
    if not ratios:
        print(f"FAIL  {text}: nothing was received", flush=True)
        return
    low, middle, high = interval(ratios)
    passed = bar is None or (low if bar == 1 else high) <= bar
    says = "#   " if bar is None else "PASS" if passed else "FAIL"
    limit = "" if bar is None else f"  bar <= {bar}"
    print(
        f"{says}  {text}  {middle:.4f}x [{low:.4f}, {high:.4f}]{limit}  ({100 * (1 - middle):.0f} % less{also})",
        flush=True,
    )


def ratios_of(result, a, b):
    return [
        x / y for x, y in zip(result.get(a, []), result.get(b, []), strict=False) if x is not None and y is not None
    ]


def latencies(options):
    worlds = []
    for world in options.worlds or WORLDS:
        if reason := absent(world):
            print(f"# {world} is left out: {reason}", flush=True)
        else:
            worlds.append(world)
    with Master():
        for what in options.messages or [*MESSAGES, "workflow"]:
            result = measure(worlds, what, options.rounds, options.count)
            middles = {w: [v for v in r if v is not None] for w, r in result.items()}
            RECORDED.setdefault("latency_ms", {})[what] = middles
            print(
                f"# {what}: " + ", ".join(f"{w} {median(r):.3f} ms" if r else f"{w} -" for w, r in middles.items()),
                flush=True,
            )
            also = {}
            if what in MESSAGES:
                RECORDED.setdefault("steps_ms", {})[what] = show_steps(what, middles)
            if what in COMPLEX and middles.get("accelerated"):
                share = 1 - of_python(what) / median(middles["accelerated"])
                also["accelerated"] = f"; {100 * share:.0f} % of what is left is the transport of ROS 2's RMW"
            for world, bar in BARS.items():
                if world in result and "rclpy" in result:
                    bar = bar if what in COMPLEX or bar is None else 1
                    verdict(f"{what}, {world} by rclpy", ratios_of(result, world, "rclpy"), bar, also.get(world, ""))
            if "rospy-accelerated" in result and "rospy" in result:
                verdict(f"{what}, rospy accelerated by rospy", ratios_of(result, "rospy-accelerated", "rospy"), 1)
            for peer in ("rospy", "cyclonedds", "iceoryx2"):
                if peer in result and "baton" in result:
                    verdict(f"{what}, baton by {peer}", ratios_of(result, "baton", peer), 1)


@functools.cache
def steps_of(kind, world):
    """The cost of each step in process: of stock rclpy, or with the algorithm that accelerate() chooses."""
    import atsa_steps
    import baton.rclpy

    message = atsa_worlds.rclpy_message(atsa_worlds.rosidl_classes(), kind)
    if world == "rclpy":
        return atsa_steps.low(message, False, 5)
    high = baton.rclpy.complexity(message) > baton.rclpy.threshold()
    return atsa_steps.high(message, 5) if high else atsa_steps.low(message, True, 5)


def of_python(what):
    """Milliseconds of an accelerated latency that are conversion and serialization."""
    return sum(steps_of(kind, "accelerated").sum for kind in (PIPELINE if what == "workflow" else [what]))


def show_steps(kind, middles):
    """Fig. 9: how a latency is divided into steps. The steps are measured in process; transport is the rest of the latency. Returns them, in ms,
    for each system."""
    rows = {world: steps_of(kind, world) for world in ("rclpy", "accelerated")}
    found = {}
    for world, row in rows.items():
        if middles.get(world):
            found[world] = {**vars(row), "transport": median(middles[world]) - row.sum}
            print(
                f"#   {world:11} convert {row.convert:.3f}, serialize {row.serialize:.3f}, transport {found[world]['transport']:.3f}, "
                f"deserialize {row.deserialize:.3f}, de-convert {row.deconvert:.3f} ms"
            )
    return found


def algorithms(options):
    """Fig. 10: one algorithm forced, and the adaptive choice, process to process."""
    worlds = ["rclpy", "rclpy-lsa", "rclpy-hsa", "accelerated"]
    for what in options.messages or ["Image", "WayPoints"]:
        result = measure(worlds, what, options.rounds, options.count)
        middles = {w: [v for v in r if v is not None] for w, r in result.items()}
        RECORDED.setdefault("latency_ms", {})[what] = middles
        said = (f"{w} {median(r):.3f} ms" if r else f"{w} -" for w, r in middles.items())
        print(f"# {what}: " + ", ".join(said), flush=True)
        for other in worlds[:-1]:
            verdict(f"{what}, adaptive by {other}", ratios_of(result, "accelerated", other), 1)


def steps(options):
    """Fig. 4: the cost of conversion and serialization in process: stock, with replaced converters (LSA), and in one walk (HSA)."""
    import atsa_steps
    import baton.rclpy

    limit = baton.rclpy.threshold()
    print(f"# threshold of this machine: {limit}")
    print(f"# {'ms':9} {'':12} {'convert':>9} {'serialize':>10} {'deserialize':>12} {'de-convert':>11} {'sum':>9}")
    module = atsa_worlds.rosidl_classes()
    for kind in MESSAGES:
        message = atsa_worlds.rclpy_message(module, kind)
        ratios = []
        for number in range(options.rounds):
            rows = {
                "stock": atsa_steps.low(message, False, 5),
                "converters": atsa_steps.low(message, True, 5),
                "one walk": atsa_steps.high(message, 5),
            }
            # As accelerate() does: publishers choose by K(x), subscriptions by the type.
            high = rows["one walk"]
            low = rows["converters"]
            out_high = baton.rclpy.complexity(message) > limit
            in_high = limit < 0 or kind in COMPLEX
            out = high.convert + high.serialize if out_high else low.convert + low.serialize
            back = high.deserialize + high.deconvert if in_high else low.deserialize + low.deconvert
            ratios.append((out + back) / rows["stock"].sum)
            if number == 0:
                RECORDED.setdefault("steps_ms", {})[kind] = {name: vars(row) for name, row in rows.items()}
                for name, row in rows.items():
                    print(
                        f"# {kind:9} {name:12} {row.convert:9.3f} {row.serialize:10.3f} {row.deserialize:12.3f} "
                        f"{row.deconvert:11.3f} {row.sum:9.3f}",
                        flush=True,
                    )
        verdict(f"{kind}, conversion and serialization, accelerated by rclpy", ratios, 0.10 if kind in COMPLEX else 1)


PYTHON_END = """
import sys, time, baton
node = baton.Node("image_subscriber")
def on_image(image):
    print(time.monotonic_ns() - baton.info(image).source_monotonic_ns, flush=True)
node.subscribe("image", "sensor_msgs/Image", on_image, 100)
print("ready", flush=True)
baton.spin(node)
"""


def image(options):
    """A 6 MB image: the median time from publish() to a Python callback beside that to a C++ subscriber, alternating."""
    import baton

    peer_program = Path(baton.__file__).parents[2] / "bin" / "python_cpp_peer"
    if not peer_program.exists():
        sys.exit(
            "atsa image: its C++ subscriber is a program of the build tree (python_cpp_peer); run it in a checkout after `make build-lab`"
        )
    node = baton.Node("image_publisher")
    publisher = node.advertise("image", "sensor_msgs/Image", 100)
    count = 20

    def run(command):
        """One subscriber alone, so that neither waits for the other to be woken."""
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as end:
            end.stdout.readline()
            publisher.wait_for_subscriptions(1)
            ages = []
            for _ in range(count):
                with publisher.loan() as loan:
                    loan.data.resize(1920 * 1080 * 3)
                    loan.data[:] = 1
                ages.append(int(end.stdout.readline().split()[-1]))
                time.sleep(0.01)
            end.kill()
        node.wait_for(lambda: publisher.matched == 0, 30)
        return median(ages[3:])

    ratios = []
    for _ in range(options.rounds):
        python, cpp = run([sys.executable, "-c", PYTHON_END]), run([peer_program, "subscribe", "image", "1000"])
        ratios.append(python / cpp)
        print(f"# Python {python / 1000:.0f} us, C++ {cpp / 1000:.0f} us", flush=True)
    verdict("6 MB image to a Python callback by a C++ subscriber (medians)", ratios, 2)


def table1(options):
    """Table 1 and Fig. 6: the cost of conversion in sixteen shapes, and how it depends on the number of conversions."""
    from atsa_table1 import SHAPES, conversions

    columns = {}
    for python in ("ros2", "debian", "peers"):
        command = [PYTHONS[python], HERE / "atsa_table1.py", python, str(options.rounds)]
        try:
            done = subprocess.run(command, env=environment(python), capture_output=True, text=True, timeout=500)
            columns.update(json.loads(done.stdout))
        except (OSError, ValueError):
            print(f"# {python} is left out (make peers)")
    counts = [conversions(*size) for size in SHAPES]
    RECORDED.update(shapes=SHAPES, conversions=counts, cost_ms=columns)
    print(f"# {'ms':18} {'conversions':>11} " + " ".join(f"{name:>15}" for name in columns))
    for number, size in enumerate(SHAPES):
        row = " ".join(f"{column[number]:15.3f}" for column in columns.values())
        print(f"# {' x '.join(map(str, size)):18} {counts[number]:11} {row}")
    slopes = {name: linear_regression(counts, column).slope for name, column in columns.items()}
    print(f"# {'us per conversion':30} " + " ".join(f"{1000 * slope:15.3f}" for slope in slopes.values()))
    for name in ("rclpy", "genpy", "cyclonedds"):
        if name in columns:
            fit = correlation(counts, columns[name])
            print(
                f"{'PASS' if fit >= 0.9 else 'FAIL'}  {name}: cost grows with the conversions  r = {fit:.3f}  bar >= 0.9"
            )
    if {"rclpy", "baton"} <= set(columns):
        for name, bar in (("one walk", 0.10), ("baton", 0.03)):
            slope = slopes[name] / slopes["rclpy"]
            print(
                f"{'PASS' if slope <= bar else 'FAIL'}  {name}: growth per conversion by rclpy's  {slope:.4f}x "
                f"[{slope:.4f}, {slope:.4f}]  bar <= {bar}x  (slopes of lines through sixteen shapes)"
            )
        flat = max(columns["baton"]) - min(columns["baton"])
        grown = max(columns["rclpy"]) - min(columns["rclpy"])
        print(
            f"{'PASS' if flat <= 0.01 * grown else 'FAIL'}  Baton's classes are flat: they differ by {1000 * flat:.0f} us over all "
            f"shapes, rclpy's by {1000 * grown:.0f} us  {flat / grown:.4f}x [{flat / grown:.4f}, {flat / grown:.4f}]  bar <= 0.01x  (one pass)"
        )


def threshold(options):
    """Fig. 8: mean cost of publishing the five messages for thresholds from 0 to 8000."""
    import atsa_steps
    import baton.rclpy

    module = atsa_worlds.rosidl_classes()
    own = baton.rclpy.threshold()
    messages = [atsa_worlds.rclpy_message(module, kind) for kind in MESSAGES]
    ratios, costs = [], []
    for _ in range(options.rounds):
        costs = []
        for message in messages:
            stock, high = atsa_steps.low(message, False, 5), atsa_steps.high(message, 5)
            costs.append((baton.rclpy.complexity(message), stock.convert + stock.serialize, high.serialize))
        ratios.append(sum(high if k > own else low for k, low, high in costs) / sum(low for _, low, _ in costs))
    worst = sum(max(low, high) for _, low, high in costs)
    for limit in (0, 200, 400, 500, 800, 1000, 1500, 2000, 4000, 8000):
        total = sum(high if k > limit else low for k, low, high in costs)
        row = {"threshold": limit, "mean_ms": total / len(costs), "saved_percent": 100 * (1 - total / worst)}
        RECORDED.setdefault("thresholds", []).append(row)
        print(f"{limit:6} {row['mean_ms']:8.3f} ms  {row['saved_percent']:5.1f} %")
    RECORDED["own_threshold"] = own
    verdict("the mean cost of publishing, with this machine's own threshold by stock", ratios, 0.17)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = [latencies, algorithms, steps, image, table1, threshold]
    parser.add_argument("what", nargs="?", choices=[f.__name__ for f in what], default="latencies")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--count", type=int, default=8, help="messages a round")
    parser.add_argument("--full", action="store_true", help="2000 messages of each kind, as the paper")
    parser.add_argument("--messages", nargs="*", choices=[*MESSAGES, "workflow"])
    parser.add_argument("--worlds", nargs="*", choices=list(WORLDS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures there")
    options = parser.parse_args()
    if options.full:
        options.count = math.ceil(2000 / options.rounds)
    with tempfile.TemporaryDirectory() as directory:
        os.environ.setdefault("BATON_RUNTIME_DIR", directory)
        os.environ.setdefault("ROS_DOMAIN_ID", "83")
        place = BUILD / "atsa" if BUILD.is_dir() else CACHE / "atsa"
        os.environ["ATSA_PACKAGES"] = str(rosidl_package.make(PACKAGE, DEFINITIONS, place))
        globals()[options.what](options)
    if options.json is not None:
        options.json.write_text(
            json.dumps({"what": options.what, "rounds": options.rounds, **RECORDED}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
