# SPDX-License-Identifier: Apache-2.0
"""ATSA's measurements with ROS 2's rclpy, accelerated rclpy, rclpy's objects on Baton, and Baton's own classes.

`atsa.py` (Figs. 4, 9, 10, 11; prints PASS and FAIL lines as `baton perf accept` wants them) or `atsa.py table1` (Table 1 and
Fig. 6 with genpy's classes, which can be made for any definition) or `atsa.py threshold` (Fig. 8). Runs under .venv-ros2.

Rounds are interleaved; with six of them the smallest and largest ratio are a 97 % interval of its median.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
WORKER = HERE / "atsa_worker.py"
WORLDS = ["rclpy", "accelerated", "objects", "baton"]
MESSAGES = ["Image", "Lidar", "Novatel", "Pose", "WayPoints"]
COMPLEX = ("Lidar", "WayPoints", "workflow")


class End:
    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, WORKER, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ready(self):
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit(f"{self.process.args} did not start")

    def ask(self, line):
        print(line, file=self.process.stdin, flush=True)
        return self.process.stdout.readline()

    def close(self):
        self.process.kill()
        self.process.wait()


def ends_of(world, what):
    """(publisher, subscriber, others) of a message type or of the workflow."""
    if what != "workflow":
        return End(world, "publisher", what), End(world, "subscriber", what), []
    return End(world, "publisher", "Lidar"), End(world, "subscriber", "WayPoints"), [
        End(world, "stage", "Pose"),
        End(world, "stage", "WayPoints"),
    ]  # fmt: skip


def measure(what, rounds, count):
    """Median latency in ms per world and round."""
    ends = {world: ends_of(world, what) for world in WORLDS}
    result = {world: [] for world in WORLDS}
    period = 0.15 if what in ("Image", "workflow") else 0.1 if what in COMPLEX else 0.005
    try:
        for publisher, subscriber, others in ends.values():
            for end in (subscriber, *others, publisher):
                end.ready()
        for number in range(rounds + 1):  # the first warms up
            for world, (publisher, subscriber, _) in ends.items():
                publisher.ask(f"{count} {period}")
                time.sleep(0.3)
                ages = json.loads(subscriber.ask("take"))
                if number and ages:
                    result[world].append(median(ages) / 1e6)
    finally:
        for publisher, subscriber, others in ends.values():
            for end in (publisher, subscriber, *others):
                end.close()
    return result


def verdict(what, world, ratios, bar):
    if not ratios:
        print(f"FAIL {what}, {world}: nothing was received")
        return
    low, middle, high = min(ratios), median(ratios), max(ratios)
    # Flat messages pass if the interval includes or beats 1.
    passed = (low if bar == 1 else high) <= bar
    print(
        f"{'PASS' if passed else 'FAIL'}  {what}, {world} by rclpy  {middle:.4f}x [{low:.4f}, {high:.4f}]  bar <= {bar}"
        f"  ({100 * (1 - middle):.0f} % less)",
        flush=True,
    )


def latencies(options):
    for what in options.messages or [*MESSAGES, "workflow"]:
        result = measure(what, options.rounds, options.count)
        print(
            f"# {what}: " + ", ".join(f"{w} {median(r):.3f} ms" if r else f"{w} -" for w, r in result.items()),
            flush=True,
        )
        # Accelerated rclpy still has its RMW's transport; what it saves of conversion and serialization, `steps` judges.
        for world, bar in (("accelerated", 1), ("objects", 0.10), ("baton", 0.03)):
            ratios = [a / b for a, b in zip(result[world], result["rclpy"], strict=False)]
            verdict(what, world, ratios, bar if what in COMPLEX else 1)


def steps(options):
    """Fig. 4: what conversion and serialization cost in process, per message: stock, with the converters replaced (LSA), and in
    one walk (HSA)."""
    import atsa_worker
    import baton.atsa
    import baton.rclpy
    from rclpy.serialization import deserialize_message, serialize_message

    limit = baton.rclpy.calibrate()
    print(f"# threshold of this machine: {limit}")
    print(
        f"# {'ms':8} {'serialize':>10} {'deserialize':>12} | {'accelerated':>11} {'':>10} | {'HSA out':>8} {'HSA in':>8} | K"
    )
    for kind in MESSAGES:
        message = atsa_worker.rclpy_message(kind)
        cls = type(message)
        wire = serialize_message(message)
        cost = lambda f: 1000 * baton.atsa.measure(f, options.rounds)  # noqa: E731
        baton.rclpy.decelerate()
        stock = cost(lambda m=message: serialize_message(m)), cost(lambda w=wire, c=cls: deserialize_message(w, c))
        baton.rclpy.accelerate_class(cls)
        fast = cost(lambda m=message: serialize_message(m)), cost(lambda w=wire, c=cls: deserialize_message(w, c))
        high = (
            cost(lambda m=message: baton.rclpy.serialize(m)),
            cost(lambda w=wire, c=cls: baton.rclpy.deserialize(w, c)),
        )
        print(
            f"# {kind:8} {stock[0]:10.3f} {stock[1]:12.3f} | {fast[0]:11.3f} {fast[1]:10.3f} | {high[0]:8.3f} {high[1]:8.3f} | "
            f"{baton.rclpy.complexity(message)}",
            flush=True,
        )
        # What accelerate() does: publishers choose by K(x), subscriptions by the type.
        out = high[0] if baton.rclpy.complexity(message) > limit else fast[0]
        ratio = (out + (high[1] if kind in COMPLEX else fast[1])) / sum(stock)
        verdict(f"{kind}, conversion and serialization", "accelerated", [ratio], 0.10 if kind in COMPLEX else 1)


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
    low, middle, high = min(ratios), median(ratios), max(ratios)
    print(
        f"{'PASS' if high <= 2 else 'FAIL'}  6 MB image to a Python callback by a C++ subscriber  "
        f"{middle:.2f}x [{low:.2f}, {high:.2f}]  bar <= 2  (medians)"
    )


SHAPES = [
    (1, 1, 10000), (1, 10, 1000), (1, 20, 500), (1, 50, 200), (1, 100, 100), (1, 200, 50), (1, 500, 20), (1, 1000, 10),
    (1, 2000, 5), (1, 2500, 4), (1, 5000, 2), (1, 10000, 1), (10, 10, 100), (100, 10, 10), (500, 5, 2), (500, 10, 2),
]  # fmt: skip
SHAPE = "t/B[] b_array\n===\nMSG: t/B\nt/C[] c_array\n===\nMSG: t/C\nfloat64[] f"


def table1(options):
    """Table 1 and Fig. 6 with genpy's classes: object -> wire -> object, and hand-over of Baton's class of the same shape."""
    import io

    import baton
    import baton.atsa
    import baton.rospy
    import genpy.dynamic

    classes = genpy.dynamic.generate_dynamic("t/A", SHAPE.replace("===", "=" * 80))
    a, b, c = (classes[f"t/{n}"] for n in "ABC")
    with tempfile.TemporaryDirectory() as directory:
        for name, text in (("A", "B[] b_array"), ("B", "C[] c_array"), ("C", "float64[] f")):
            (Path(directory) / "t" / "msg").mkdir(parents=True, exist_ok=True)
            (Path(directory) / "t" / "msg" / f"{name}.msg").write_text(text)
        own = baton.TypeSource([directory]).message("t/A")
        node = baton.Node("table1")
        publisher = node.advertise("t", own)
        subscription = node.subscribe("t", own)
        publisher.wait_for_subscriptions(1)
        print(
            f"{'shape':16} {'conversions':>11} {'genpy ms':>9} {'baton.rospy':>11} {'object to Baton':>15} {'Baton class':>11}"
        )
        for x, y, z in SHAPES:
            message = a([b([c([0.5] * z) for _ in range(y)]) for _ in range(x)])

            def both(m=message):
                buffer = io.BytesIO()
                m.serialize(buffer)
                return a().deserialize(buffer.getvalue())

            def hand_over(m=message):
                with publisher.loan() as loan:
                    loan.b_array = m.b_array  # the fill is not part of it
                    begin = time.perf_counter()
                taken = subscription.take(None)
                return time.perf_counter() - begin, taken

            baton.rospy.decelerate()
            stock = baton.atsa.measure(both, options.rounds)
            baton.rospy.accelerate_class(a)
            fast = baton.atsa.measure(both, options.rounds)

            def objects(m=message):
                publisher.publish(m)
                return baton.convert(subscription.take(None), a)

            walked = baton.atsa.measure(objects, options.rounds)
            times = [hand_over()[0] for _ in range(options.rounds)]
            conversions = x + x * y if x > 1 else y + 1
            print(
                f"{f'{x} x {y} x {z}':16} {conversions:11} {1000 * stock:9.2f} {1000 * fast:11.2f} {1000 * walked:15.2f} "
                f"{1000 * min(times):11.3f}"
            )


def threshold(options):
    """Fig. 8: mean cost of publishing the five messages for thresholds from 0 to 8000."""
    import atsa_worker
    import baton.atsa
    import baton.rclpy
    from rclpy.serialization import serialize_message

    messages = [atsa_worker.rclpy_message(kind) for kind in MESSAGES]
    costs = []
    for message in messages:
        baton.rclpy.decelerate()
        low = baton.atsa.measure(lambda m=message: serialize_message(m), options.rounds)
        high = baton.atsa.measure(lambda m=message: baton.rclpy.serialize(m), options.rounds)
        costs.append((baton.rclpy.complexity(message), low, high))
    worst = sum(max(low, high) for _, low, high in costs)
    for limit in (0, 200, 400, 500, 800, 1000, 1500, 2000, 4000, 8000):
        total = sum(high if k > limit else low for k, low, high in costs)
        print(f"{limit:6} {1000 * total / len(costs):8.3f} ms  {100 * (1 - total / worst):5.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "what", nargs="?", choices=["latencies", "steps", "image", "table1", "threshold"], default="latencies"
    )
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--count", type=int, default=15, help="messages a round (the paper sends 2000)")
    parser.add_argument("--messages", nargs="*", choices=[*MESSAGES, "workflow"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        os.environ.setdefault("BATON_RUNTIME_DIR", directory)
        os.environ.setdefault("ROS_DOMAIN_ID", "83")
        globals()[options.what](options)


if __name__ == "__main__":
    main()
