# SPDX-License-Identifier: Apache-2.0
"""Message packages for rclpy, made by ROS 2's own generators: what `colcon build` would make of .msg files, without ament.

The wheels bring rosidl's generators, their templates and the headers. Generated C and the converters that rosidl_generator_py
writes are compiled into one extension module, which rclpy imports as it imports those of an installed package: the classes are
stock in every respect. Types of other packages are those of the wheels.

Runs in the Python of .venv-ros2. Needs a C++ compiler.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

IDENTIFIERS = ("rosidl_typesupport_c", "rosidl_typesupport_fastrtps_c")


def make(package: str, definitions: dict[str, str], directory: Path) -> Path:
    """Makes `package` with messages {name: text of the .msg file} below `directory`, unless it is there already. Returns what
    belongs on sys.path; its folder `source` has the .msg files."""
    text = repr((definitions, sys.version, Path(__file__).read_text()))
    place = Path(directory) / f"{package}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    if not place.is_dir():
        fresh = place.with_name(f"{place.name}.{os.getpid()}")
        try:
            _make(package, definitions, fresh)
            with contextlib.suppress(OSError):  # another process was quicker
                fresh.rename(place)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return place


def _make(package: str, definitions: dict[str, str], place: Path) -> None:
    from rosidl_adapter.msg import convert_msg_to_idl
    from rosidl_generator_c.cli import GenerateC
    from rosidl_generator_py.cli import GeneratePython
    from rosidl_typesupport_c.cli import GenerateCTypesupport
    from rosidl_typesupport_fastrtps_c.cli import GenerateFastRTPSCTypesupport

    prefix = Path(sys.prefix)
    source, output = place / "source" / package, place / package
    (source / "msg").mkdir(parents=True)
    os.environ["AMENT_PREFIX_PATH"] = str(prefix)
    arguments = {
        "package_name": package,
        "interface_files": [f"{source}:msg/{name}.idl" for name in definitions],
        "include_paths": [str(prefix / "share")],
        "output_path": output,
    }
    fast = [IDENTIFIERS[1]]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for name, text in definitions.items():
            (source / "msg" / f"{name}.msg").write_text(text + "\n")
            convert_msg_to_idl(source, package, Path("msg") / f"{name}.msg", source / "msg")
        GenerateC("c").generate(**arguments)
        GenerateFastRTPSCTypesupport("fastrtps_c").generate(**arguments)
        GenerateCTypesupport("c", typesupport_implementations=fast).generate(**arguments)
        GeneratePython("py", typesupport_implementations=[IDENTIFIERS[0]]).generate(**arguments)
    _compile(package, place, output, prefix)


def _compile(package: str, place: Path, output: Path, prefix: Path) -> None:
    import numpy

    sources = [p for p in output.rglob("*") if p.suffix in (".c", ".cpp") and ".ep." not in p.name]
    sources += [p for p in output.rglob(f"*.ep.{IDENTIFIERS[0]}.c")]
    includes = [place, prefix / "include", *(p for p in (prefix / "include").iterdir() if p.is_dir())]
    includes += [Path(sysconfig.get_paths()["include"]), Path(numpy.get_include())]
    objects = []
    running = []
    for number, path in enumerate(sources):
        objects.append(place / f"{number}.o")
        language = ["-x", "c++", "-std=c++17"] if path.suffix == ".cpp" else ["-x", "c", "-std=gnu11"]
        command = [
            os.environ.get("CXX", "c++"),
            *language,
            "-O2",
            "-DNDEBUG",
            "-fPIC",
            "-w",
            "-c",
            path,
            "-o",
            objects[-1],
        ]
        command += [f"-I{p}" for p in includes]
        running.append(subprocess.Popen(command))
        if len(running) == 2 and running.pop(0).wait() != 0:
            raise RuntimeError(f"{package}: the compiler refused what rosidl generated")
    if any([process.wait() != 0 for process in running]):
        raise RuntimeError(f"{package}: the compiler refused what rosidl generated")
    libraries = [
        "rosidl_runtime_c",
        "rosidl_typesupport_c",
        "rosidl_typesupport_fastrtps_c",
        "rosidl_typesupport_fastrtps_cpp",
    ]
    libraries += ["rcutils", "fastcdr"]
    module = output / f"{package}_s__{IDENTIFIERS[0]}.so"
    command = [os.environ.get("CXX", "c++"), "-shared", *objects, "-o", module, "-Wl,--allow-shlib-undefined"]
    command += [str(prefix / "lib" / f"lib{name}.so") for name in libraries]
    subprocess.run([*command, f"-Wl,-rpath,{prefix / 'lib'}"], check=True)
    for path in objects:
        path.unlink()
