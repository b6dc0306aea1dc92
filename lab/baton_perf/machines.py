# SPDX-License-Identifier: Apache-2.0
"""The machine of a recording. Figures of two machines are not compared and make no table, since their ratios may be opposite."""

from __future__ import annotations

from typing import Any

_SAME = ("cpu", "cpus", "memory_gb", "kernel", "architecture", "virtual", "governor", "idle_driver")


def key(header: dict[str, Any]) -> tuple[Any, ...]:
    """A key that is equal for recordings of one machine: all of the header about the machine, but for its load."""
    return tuple(header["machine"].get(name, "") for name in _SAME)


def text(header: dict[str, Any]) -> str:
    """The parts of key() as a text for people."""
    machine = header["machine"]
    virtual = f", virtual ({machine['virtual']})" if machine["virtual"] else ""
    return (
        f"{machine['cpu']}, {machine['cpus']} CPUs, {machine['memory_gb']} GB, Linux {machine['kernel']} {machine['architecture']}"
        f"{virtual}, governor {machine['governor']}, idle driver {machine['idle_driver']}"
    )
