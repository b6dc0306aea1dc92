# SPDX-License-Identifier: Apache-2.0
"""The steps of the demo, and the figures that follow from what their processes report. Times in µs unless a name says otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field

RECEIVERS = ("detector", "recorder", "viewer")
SIZES = {"720p": (1280, 720), "1080p": (1920, 1080), "4k": (3840, 2160)}
TRANSPORTS = {"baton": "Baton", "socket": "sockets"}


@dataclass
class DemoStep:
    """One resolution with one transport; `reports` holds the newest report of each role."""

    size: str
    transport: str
    rate: float = 0.0  # frames per second; 0: not decided yet
    reports: dict[str, dict] = field(default_factory=dict)
    state: str = "waiting"

    def receivers(self) -> list[dict]:
        return [self.reports[role] for role in RECEIVERS if role in self.reports]

    def frame(self) -> str:
        width, height = SIZES[self.size]
        return f"{self.size}, {3 * width * height / 1e6:.1f} MB"

    def copies_per_message(self) -> float:
        sent = self.reports.get("camera", {}).get("messages", 0)
        total = sum(report["copies"] for report in self.reports.values())
        return total / sent if sent else 0.0

    def cpu_per_message(self) -> float:
        """Over all receivers. The camera's share is mostly scaling, which is the same for both transports."""
        return sum(report["cpu_us_per_message"] for report in self.receivers())

    def median_and_tail(self) -> tuple[float, float]:
        """The middle one of the receivers' p50, the worst of their p99."""
        latency = [report["latency_us"] for report in self.receivers()]
        return sorted(entry["p50"] for entry in latency)[len(latency) // 2], max(entry["p99"] for entry in latency)


def milliseconds(microseconds: float) -> str:
    """Three significant digits, and three decimals at most: 0.047, 3.21, 41.3, 190."""
    value = microseconds / 1000
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{digits}f}"
