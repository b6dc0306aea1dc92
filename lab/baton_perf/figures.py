# SPDX-License-Identifier: Apache-2.0
"""Statistics. Times in ns unless a name says otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy

from .significant import digits


@dataclass(frozen=True)
class Interval:
    """A median with the 95 % confidence interval of its order statistics (exact, free of any distribution)."""

    middle: float
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        return f"{digits(self.middle)} [{digits(self.low)}, {digits(self.high)}]"


def median_interval(values) -> Interval:
    """The number of values below the true median is binomial(n, 1/2). Below six values no interval has 95 %: all of the range."""
    ordered = numpy.sort(numpy.asarray(values, dtype=float))
    n = len(ordered)
    if n == 0:
        raise ValueError("no values")
    cut, tail = 0, 0.0
    for k in range(n // 2):
        tail += comb(n, k) / 2**n
        if tail > 0.025:
            break
        cut = k
    # cut is the index of the lower end: fewer than cut+1 values below the true median has probability <= 2.5 %.
    return Interval(float(numpy.median(ordered)), float(ordered[cut]), float(ordered[n - 1 - cut]), n)


def summary(values) -> dict[str, float]:
    """min, p50, p90, p99, p99.9, max, mean and variance."""
    v = numpy.asarray(values, dtype=float)
    if len(v) == 0:
        return {}
    p50, p90, p99, p999 = numpy.quantile(v, (0.5, 0.9, 0.99, 0.999))
    return {
        "count": len(v),
        "min": float(v.min()),
        "p50": float(p50),
        "p90": float(p90),
        "p99": float(p99),
        "p99.9": float(p999),
        "max": float(v.max()),
        "mean": float(v.mean()),
        "variance": float(v.var()),
    }


def subscribers(run: dict) -> list[dict]:
    return [p for p in run.get("processes", []) if p["role"] == "subscriber"]


def publishers(run: dict) -> list[dict]:
    return [p for p in run.get("processes", []) if p["role"] == "publisher"]


def times(end: dict, name: str):
    """One end's values of a column; none where it has no such column."""
    samples = end["samples"]
    if name == "with_read_ns":
        return numpy.asarray(samples["hand_over_ns"], dtype=float) + numpy.asarray(samples["read_ns"], dtype=float)
    return numpy.asarray(samples.get(name, []), dtype=float)


OF_PUBLISHERS = frozenset(("round_trip_ns", "construct_round_trip_ns", "publish_call_ns"))


def column(run: dict, name: str):
    """All subscribers' values of one column; of a round trip the publisher's."""
    ends = publishers(run) if name in OF_PUBLISHERS else subscribers(run)
    parts = [times(end, name) for end in ends]
    return numpy.concatenate(parts) if parts else numpy.empty(0)


def sent(run: dict) -> int:
    return sum(p["sent"] for p in publishers(run))


def received(run: dict) -> int:
    return sum(len(s["samples"]["sequence"]) for s in subscribers(run))


def lost(run: dict) -> int:
    """Messages that a subscriber did not get, over all subscribers; a message that came twice counts once. Of a round trip: messages without an
    answer."""
    if any("round_trip_ns" in end["samples"] for end in publishers(run)):
        return max(0, sent(run) - len(column(run, "round_trip_ns")))
    total = 0
    for subscriber in subscribers(run):
        columns = subscriber["samples"]
        total += sent(run) - len(set(zip(columns["publisher"], columns["sequence"], strict=True)))
    return total


def usage(run: dict, key: str) -> float:
    """Sum over the processes of a run."""
    return float(sum(p.get("usage", {}).get(key, 0) for p in run.get("processes", [])))


def cpu_us_per_message(run: dict) -> float:
    """User and system time of all processes, per message sent."""
    return (usage(run, "utime_us") + usage(run, "stime_us")) / max(1, sent(run))


def copies_per_message(run: dict) -> tuple[float, float]:
    """Publisher side per message, subscriber side per message and subscriber; in units of the payload."""
    size = run["cell"]["bytes"]
    there = sum(p["usage"]["copied_bytes"] for p in publishers(run)) / max(1, sent(run)) / size
    here = sum(s.get("usage", {}).get("copied_bytes", 0) for s in subscribers(run)) / max(1, received(run)) / size
    return there, here


def copies_of_a_message(run: dict) -> float:
    """All of them, to all subscribers; in units of the payload."""
    there, here = copies_per_message(run)
    return there + here * len(subscribers(run))


def wire_per_message(run: dict) -> float | None:
    """Bytes that the publishers' host sent to the other host, headers included, per message; in units of the payload. None: on one host.
    The publishers share the host, so each has counted for all."""
    counted = [p["wire_bytes"] for p in publishers(run) if "wire_bytes" in p]
    return max(counted) / max(1, sent(run)) / run["cell"]["bytes"] if counted else None


METRICS = {
    "hand_over": lambda run: numpy.median(column(run, "hand_over_ns")),
    "hand_over_p99": lambda run: numpy.quantile(column(run, "hand_over_ns"), 0.99),
    "hand_over_mean": lambda run: column(run, "hand_over_ns").mean(),
    "fill": lambda run: numpy.median(column(run, "fill_ns")),
    "construct": lambda run: numpy.median(column(run, "construct_ns")),
    "construct_mean": lambda run: column(run, "construct_ns").mean(),
    "with_read": lambda run: numpy.median(column(run, "with_read_ns")),
    "round_trip": lambda run: numpy.median(column(run, "round_trip_ns")),
    "construct_round_trip_mean": lambda run: column(run, "construct_round_trip_ns").mean(),
    "cpu": cpu_us_per_message,
    "loss": lambda run: lost(run) / max(1, sent(run) * len(subscribers(run))),
    "faults": lambda run: (usage(run, "minor_faults") + usage(run, "major_faults")) / max(1, sent(run)),
    "switches": lambda run: (usage(run, "voluntary_switches") + usage(run, "involuntary_switches")) / max(1, sent(run)),
    "rss_kb": lambda run: usage(run, "rss_kb"),
    "maxrss_kb": lambda run: usage(run, "peak_rss_kb"),
    "copies": copies_of_a_message,
    "gap": lambda run: subscriber_gap(run),
    "wire": wire_per_message,
}


def subscriber_gap(run: dict) -> float:
    """Median over messages of last minus first subscriber's arrival."""
    arrivals: dict[tuple[int, int], list[float]] = {}
    ends = subscribers(run)
    for end in ends:
        c = end["samples"]
        for p, s, published, latency in zip(
            c["publisher"], c["sequence"], c["publish_ns"], c["hand_over_ns"], strict=True
        ):
            arrivals.setdefault((p, s), []).append(published + latency)
    gaps = [max(times) - min(times) for times in arrivals.values() if len(times) == len(ends)]
    return float(numpy.median(gaps)) if gaps else float("nan")


def metric(run: dict, name: str) -> float | None:
    """None for a run that failed or received nothing, or has no such figure."""
    if "processes" not in run or received(run) == 0:
        return None
    value = METRICS[name](run)
    return None if value is None else float(value)
