# SPDX-License-Identifier: Apache-2.0
"""ATSA's Table 1 in one Python: `atsa_table1.py ros2|debian|peers`. One JSON line: milliseconds per system and shape.

An object of the three-layer message becomes a native struct, or bytes, and an object again; Baton's own class needs neither, so
its row measures publish() and take() of a filled loan.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
import time
from typing import Any

from atsa_messages import PACKAGE, genpy_text, shape

SHAPES = [
    (1, 1, 10000), (1, 10, 1000), (1, 20, 500), (1, 50, 200), (1, 100, 100), (1, 200, 50), (1, 500, 20), (1, 1000, 10),
    (1, 2000, 5), (1, 2500, 4), (1, 5000, 2), (1, 10000, 1), (10, 10, 100), (100, 10, 10), (500, 5, 2), (500, 10, 2),
]  # fmt: skip


def conversions(x: int, y: int, _: int) -> int:
    """As the paper counts them: elements of the outer layers."""
    return x + x * y


def least(function: Any, repeat: int) -> float:
    """Milliseconds: the least of several."""
    best = float("inf")
    for _ in range(repeat):
        begin = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - begin)
    return 1000 * best


def ros2(repeat: int) -> dict[str, list[float]]:
    import array

    import atsa_steps
    import atsa_worlds
    import baton

    module = atsa_worlds.rosidl_classes()
    baton.search(os.path.join(os.environ["ATSA_PACKAGES"], "source"))
    node = baton.Node("table1")
    publisher = node.advertise("t", f"{PACKAGE}/A")
    subscription = node.subscribe("t", f"{PACKAGE}/A")
    publisher.wait_for_subscriptions(1)
    result: dict[str, list[float]] = {k: [] for k in ("rclpy", "converters", "one walk", "objects", "baton")}

    for size in SHAPES:
        message = shape(*size, lambda name, **f: getattr(module, name)(**f), lambda n: array.array("d", [0.5] * n))
        stock, fast = (atsa_steps.low(message, which, repeat) for which in (False, True))
        result["rclpy"].append(stock.convert + stock.deconvert)
        result["converters"].append(fast.convert + fast.deconvert)
        result["one walk"].append(atsa_steps.high(message, repeat).sum)

        def objects(m: Any = message) -> Any:
            publisher.publish(m)
            return baton.convert(subscription.take(None), module.A)

        result["objects"].append(least(objects, repeat))
        best = float("inf")
        for _ in range(max(repeat, 20)):
            loan = publisher.loan()
            loan.b_array = message.b_array  # the fill is not part of it
            begin = time.perf_counter()
            publisher.publish(loan)
            taken = subscription.take(None)
            numbers = taken.b_array[0].c_array[0].f
            best = min(best, time.perf_counter() - begin)
            assert len(numbers) == size[2]
            del numbers, taken
        result["baton"].append(1000 * best)
    return result


def debian(repeat: int) -> dict[str, list[float]]:
    import baton.rospy
    import genpy.dynamic

    classes = genpy.dynamic.generate_dynamic(f"{PACKAGE}/A", genpy_text("A"))
    result: dict[str, list[float]] = {"genpy": [], "genpy, one walk": []}
    top = classes[f"{PACKAGE}/A"]
    for size in SHAPES:
        message = shape(*size, lambda name, **f: classes[f"{PACKAGE}/{name}"](**f), lambda n: [0.5] * n)

        def both(m: Any = message) -> Any:
            buffer = io.BytesIO()
            m.serialize(buffer)
            return top().deserialize(buffer.getvalue())

        baton.rospy.decelerate()
        result["genpy"].append(least(both, repeat))
        baton.rospy.accelerate_class(top)
        result["genpy, one walk"].append(least(both, repeat))
    return result


def peers(repeat: int) -> dict[str, list[float]]:
    import atsa_worlds

    classes = atsa_worlds.CycloneDDS.classes_of_messages()
    result: dict[str, list[float]] = {"cyclonedds": []}
    for size in SHAPES:
        message = shape(*size, lambda name, **f: classes[name](**f), lambda n: [0.5] * n)
        result["cyclonedds"].append(least(lambda m=message: classes["A"].deserialize(m.serialize()), repeat))
    return result


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        os.environ.setdefault("BATON_RUNTIME_DIR", directory)
        answer = {"ros2": ros2, "debian": debian, "peers": peers}[sys.argv[1]](int(sys.argv[2]))
    print(json.dumps(answer), flush=True)
    os._exit(0)
