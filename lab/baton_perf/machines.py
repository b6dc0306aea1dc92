# SPDX-License-Identifier: Apache-2.0
"""Which machine a recording is of. Figures of two machines are not compared and make no table: one can say the opposite of the other."""

from __future__ import annotations

from typing import Any

_SAME = ("cpu", "cpus", "memory_gb", "kernel", "architecture", "virtual", "governor", "idle_driver")


def key(header: dict[str, Any]) -> tuple[Any, ...]:
    """Equal for recordings of one machine: all that a header says of it, but for its load."""
    return tuple(header["machine"].get(name, "") for name in _SAME)


def text(header: dict[str, Any]) -> str:
    """For people: what key() compares."""
    machine = header["machine"]
    virtual = f", virtual ({machine['virtual']})" if machine["virtual"] else ""
    return (
        f"{machine['cpu']}, {machine['cpus']} CPUs, {machine['memory_gb']} GB, Linux {machine['kernel']} {machine['architecture']}"
        f"{virtual}, governor {machine['governor']}, idle driver {machine['idle_driver']}"
    )
