# SPDX-License-Identifier: Apache-2.0
"""The programs that can be measured: ``baton_perf_<peer>`` of this checkout's build/lab, or of this package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import click

CHECKOUT = Path(__file__).resolve().parents[2]
BUILD = CHECKOUT / "build" / "lab"
DESCRIBES_IN_S = 240  # programs in Python import much, and a busy machine must not make a peer disappear
PACKAGED = Path(__file__).parent / "programs"  # a wheel's
PREFIX = "baton_perf_"


@dataclass(frozen=True)
class Peer:
    """One program, as it describes itself."""

    id: str
    program: Path
    name: str
    version: str
    how: str
    variants: tuple[str, ...]
    can_spin: bool
    has_qos: bool
    most_subscribers: int
    largest: int
    one_process_variants: tuple[str, ...] = ()
    polling_variants: tuple[str, ...] = ()
    network_variants: tuple[str, ...] = ()

    def called(self, variant: str) -> str:
        """Its name in tables and verdicts: that of tables.name_of(), but for Baton."""
        return self.id if len(self.variants) == 1 or variant == "stream" else f"{self.id}:{variant}"


def program_folder() -> Path | None:
    """Where the programs are: BATON_PERF_PROGRAMS, the wheel, the checkout's build/lab, or the folder of an installed one."""
    named = os.environ.get("BATON_PERF_PROGRAMS")
    if named:
        return Path(named)
    for folder in (PACKAGED, BUILD / "bin"):
        if (folder / f"{PREFIX}baton").is_file():
            return folder
    installed = shutil.which(f"{PREFIX}baton")
    return Path(installed).parent if installed else None


@lru_cache(maxsize=1)
def built() -> dict[str, Peer]:
    """All peers whose program exists and can describe itself, Baton first."""
    folder = program_folder()
    if folder is None:
        raise click.ClickException(
            "no program to measure was found: run `make build-lab` in the checkout (or `make peers`). A package that was built from source "
            "without CLI11 and nlohmann-json (Debian: libcli11-dev nlohmann-json3-dev) has none; install them and build it again"
        )
    found: dict[str, Peer] = {}
    for program in sorted(folder.glob(f"{PREFIX}*")):
        if not os.access(program, os.X_OK) or program.is_dir():
            continue
        id = program.name.removeprefix(PREFIX)
        try:
            done = subprocess.run(
                [program, "--describe"], capture_output=True, text=True, timeout=DESCRIBES_IN_S, check=True
            )
            said = json.loads(done.stdout)
        except (OSError, subprocess.SubprocessError, ValueError) as problem:
            click.echo(f"{program.name} does not describe itself ({problem}); left out", err=True)
            continue
        found[id] = Peer(
            id=id,
            program=program,
            name=said["name"],
            version=said["version"],
            how=said["how"],
            variants=tuple(said["variants"]),
            can_spin=said.get("can_spin", False),
            has_qos=said.get("has_qos", False),
            most_subscribers=said.get("most_subscribers", 64),
            largest=said.get("largest", 1 << 62),
            one_process_variants=tuple(said.get("one_process_variants", ())),
            polling_variants=tuple(said.get("polling_variants", ())),
            network_variants=tuple(said.get("network_variants", ())),
        )
    return dict(sorted(found.items(), key=lambda item: (not item[0].startswith("baton"), item[0])))


def absent() -> dict[str, str]:
    """Peers that the build left out, with the reason."""
    folder = BUILD / "peers_absent"
    return {file.name: file.read_text().strip() for file in sorted(folder.glob("*"))} if folder.is_dir() else {}


def why_absent(names: Sequence[str]) -> dict[str, str]:
    """Of names like those of choose(), the ones whose peer is not built, with the reason."""
    return {
        name: absent().get(name.partition(":")[0], "not built (make peers)")
        for name in names
        if name != "all" and name.partition(":")[0] not in built()
    }


# Variants that are measured when asked for by name: Baton's copying one is what a program gets that does not use loans, the executor's what
# one with callbacks gets; those with rmw_baton_cpp are Baton's too, and compared with Fast DDS (criteria `ros2-...`), as ROS 1's
# are (criteria `ros1-...`, `rossf-...`); the machine's limit for copying; those that are for two hosts; those of one figure of a paper.
BY_NAME = {
    ("baton", "copy"),
    ("baton", "executor"),
    ("baton_link", "link"),
    ("bare", "copies"),
    *(("cyclonedds", variant) for variant in ("default", "tcp")),
    ("ecal", "tcp"),
    ("tcp", "nagle"),
    *(("ros2", variant) for variant in ("large_data", "baton", "heap", "loans")),
    *(
        ("roscpp", variant)
        for variant in (
            "tcpros_nagle",
            "printed",
            "preload",
            "preload_copying",
            "lotros",
            "lotros_own_thread",
            "tzc",
            "transport_raw",
            "transport_baton",
        )
    ),
    ("roscpp_recompiled", "pointer"),
    ("roscpp_recompiled", "printed"),
}
NO_TRANSPORTS = (
    "synthetic",
    "shared_objects",
    "rclpy",
    "rospy",
    "baton_python",
    "roscpp_floor",
)  # the tool's own test; no transport; as ros2, roscpp and baton; no transport


def _by_default(peer: Peer) -> list[str]:
    return [variant for variant in peer.variants if (peer.id, variant) not in BY_NAME]


def choose(names: list[str]) -> list[tuple[Peer, str]]:
    """Peers with variants for names like ``fastdds``, ``fastdds:shm_tuned`` or ``all``. Unknown names are an error."""
    chosen: list[tuple[Peer, str]] = []
    for name in names or ["all"]:
        id, _, variant = name.partition(":")
        if id == "all":
            others = [p for p in built().values() if p.id not in NO_TRANSPORTS]
            chosen += [(p, v) for p in others for v in _by_default(p)]
        elif id not in built():
            why = absent().get(id)
            raise click.ClickException(
                f"peer '{id}' is not here: {why or 'unknown'}; built: {', '.join(built())}. "
                "`make peers` in a checkout installs and builds all"
            )
        elif variant and variant not in built()[id].variants:
            raise click.ClickException(
                f"peer '{id}' has no variant '{variant}', but: {', '.join(built()[id].variants)}"
            )
        else:
            peer = built()[id]
            # A peer that has nothing but such variants was asked for by its name.
            chosen += [(peer, v) for v in ([variant] if variant else _by_default(peer) or peer.variants)]
    return list(dict.fromkeys(chosen))
