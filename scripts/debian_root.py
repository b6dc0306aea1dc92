#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unpacks packages of Debian into a folder (mmdebstrap, variant extract), without installing anything on the machine.

    scripts/debian_root.py python 3.14 FOLDER      a CPython that this Debian lacks; prints the path of its interpreter
    scripts/debian_root.py sysroot aarch64 FOLDER  what Baton links on another architecture: CMAKE_SYSROOT of a cross build

Each is unpacked once. A folder with an interpreter stays where it was made: paths to it are written into it.
"""

from __future__ import annotations

import argparse
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

RELEASE = "bookworm"
RELEASES_OF_PYTHON = {"3.14": "forky"}  # the Debian that has this CPython
DEBIAN_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# The libraries and headers for Baton: the packages of scripts/packages.txt, group base, that are no programs.
SYSROOT = [
    "libc6-dev",
    "libstdc++6",
    "libasio-dev",
    "libboost-dev",
    "libcli11-dev",
    "libyaml-dev",
    "nlohmann-json3-dev",
    "systemtap-sdt-dev",
]


class Failed(Exception):
    pass


def archive(release: str) -> str:
    """The line of sources for a release, from the archive of which this machine's apt takes its own."""
    wanted = [
        "apt-get",
        "indextargets",
        "--format",
        "$(REPO_URI)",
        "Created-By: Packages",
        "Origin: Debian",
        "Component: main",
    ]
    try:
        addresses = subprocess.run(wanted, capture_output=True, text=True, check=False).stdout.splitlines()
    except FileNotFoundError:
        addresses = []
    for address in addresses:
        if "security" not in address:
            return f"deb {address} {release} main"
    raise Failed("apt knows no archive of Debian (apt-get update)")


def extract(release: str, architecture: str, packages: list[str], folder: Path) -> None:
    if not shutil.which("mmdebstrap"):
        raise Failed("mmdebstrap is missing (Debian package mmdebstrap)")
    # A mirror may lag behind the date until which it is valid. Its signature is checked all the same.
    late = '--aptopt=Acquire::Check-Valid-Until "false"'
    done = subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=extract", late, f"--architectures={DEBIAN_ARCHITECTURES[architecture]}",
         f"--include={','.join(packages)}", release, folder, archive(release)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise Failed(f"mmdebstrap of {release} failed:\n{done.stdout}")


def sysroot(architecture: str, folder: Path) -> Path:
    if architecture not in DEBIAN_ARCHITECTURES:
        raise Failed(f"no Debian for {architecture}; known are {', '.join(DEBIAN_ARCHITECTURES)}")

    def make() -> None:
        extract(RELEASE, architecture, SYSROOT, folder)
        # qemu-user looks for every file below its root first: this machine's /dev, /etc and /tmp must not be hidden.
        for found in folder.iterdir():
            if found.name != "usr" and not found.name.startswith("lib"):
                shutil.rmtree(found)

    return once(folder, make)


def python(version: str, folder: Path) -> Path:
    """An interpreter that makes environments, builds wheels and runs them. It runs with the C library of its own Debian; what it builds is
    compiled by this machine's compiler against this machine's C library, so a wheel's platform tag stays as old as this machine."""
    if version not in RELEASES_OF_PYTHON:
        raise Failed(f"no Debian is known to have CPython {version}")

    folder = folder.absolute()

    def make() -> None:
        packages = [f"python{version}-venv", f"libpython{version}-dev", "libstdc++6"]
        extract(RELEASES_OF_PYTHON[version], platform.machine(), packages, folder)
        make_interpreter(version, folder)

    return once(folder, make) / "usr/bin/python3"


def make_interpreter(version: str, folder: Path) -> None:
    triplet = f"{platform.machine()}-linux-gnu"
    include, library = folder / "usr/include", folder / f"usr/lib/python{version}"
    # Only Python's headers stay: the C library's would come before this machine's. pyconfig.h names the architecture's by its path.
    shutil.copy(include / triplet / f"python{version}/pyconfig.h", include / f"python{version}/pyconfig.h")
    for found in include.iterdir():
        if found.name != f"python{version}":
            shutil.rmtree(found) if found.is_dir() else found.unlink()
    # pip comes from the folder, not from this machine's /usr/share.
    wheels = "/usr/share/python-wheels"
    for file in (library / "ensurepip/__init__.py", *library.glob("_sysconfig*")):
        file.write_text(re.sub(f"(?<=['\"]){wheels}", f"{folder}{wheels}", file.read_text()))
    loader = next((folder / "usr/lib" / triplet).glob("ld-linux*"))
    interpreter = folder / "usr/bin/python3"
    interpreter.unlink(missing_ok=True)
    interpreter.write_text(
        "#!/bin/sh\n"
        f'exec "{loader}" --library-path "{folder}/usr/lib/{triplet}" --argv0 "$0" "{folder}/usr/bin/python{version}" "$@"\n'
    )
    interpreter.chmod(0o755)


def once(folder: Path, make) -> Path:
    done = folder / ".unpacked"
    if not done.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        make()
        done.touch()
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=("python", "sysroot"))
    parser.add_argument("which", help="a version of CPython, or an architecture")
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    try:
        print((python if arguments.kind == "python" else sysroot)(arguments.which, arguments.folder))
    except Failed as failure:
        sys.exit(f"debian_root: failed: {failure}")


if __name__ == "__main__":
    main()
