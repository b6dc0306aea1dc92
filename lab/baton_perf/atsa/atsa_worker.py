# SPDX-License-Identifier: Apache-2.0
"""One end of a measurement of atsa.py: `atsa_worker.py WORLD publisher|subscriber|stage MESSAGE`. Reads commands from stdin,
answers on stdout: "COUNT PERIOD" publishes, anything else to a subscriber asks for the ages that it saw."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from atsa_messages import PIPELINE
from atsa_worlds import WORLDS


def nanoseconds(stamp: Any) -> int:
    return stamp.sec * 10**9 + stamp.nanosec


def main(name: str, role: str, kind: str) -> None:
    # Libraries write to stdout too; answers go to what it was.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(text: str) -> None:
        print(text, file=answers, flush=True)

    make, variant, _ = WORLDS[name]
    world = make(variant)
    if role == "publisher":
        send, matched = world.publisher(kind)
        while not matched():
            time.sleep(0.01)
        answer("ready")
        for line in sys.stdin:
            count, period = line.split()
            for _ in range(int(count)):
                send()
                time.sleep(float(period))
            answer("sent")
    elif role == "subscriber":
        ages: list[int] = []
        world.subscribe(kind, lambda stamp: ages.append(time.monotonic_ns() - nanoseconds(stamp)))
        world.spin()
        answer("ready")
        for _ in sys.stdin:
            answer(json.dumps(ages))
            ages.clear()
    else:  # a stage of the workflow: takes one message and sends the next
        send, matched = world.publisher(kind)
        world.subscribe(PIPELINE[PIPELINE.index(kind) - 1], lambda stamp: send(nanoseconds(stamp)))
        while not matched():
            time.sleep(0.01)
        world.spin()
        answer("ready")
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
