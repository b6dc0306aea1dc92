# SPDX-License-Identifier: Apache-2.0
"""Message packages for rclpy, made by ROS 2's own generators: the same as `colcon build` makes of .msg files, without ament.

The wheels bring rosidl's generators, their templates and the headers. Generated C and the converters that rosidl_generator_py
writes are compiled into one extension module, which rclpy imports as it imports those of an installed package: the classes are
stock in every respect. The two kinds of type support, of which an RMW picks its own, are libraries in the folder `lib`. Types of
other packages are those of the wheels.

Runs in the Python of ROS 2, of its wheels or of an installation (AMENT_PREFIX_PATH). Needs a C++ compiler.
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

C = "rosidl_typesupport_c"  # chooses, at run time, among
IMPLEMENTATIONS = ("rosidl_typesupport_fastrtps_c", "rosidl_typesupport_introspection_c")


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


def _prefix() -> Path:
    """The prefix with the generators, their templates and the headers."""
    prefixes = [Path(sys.prefix), *map(Path, filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(":")))]
    for prefix in prefixes:
        if (prefix / "share/rosidl_typesupport_c").is_dir():
            return prefix
    raise SystemExit(
        f"rosidl's generators are in none of {', '.join(map(str, prefixes))}: install ROS 2 with its generators and source its setup file"
    )


def _make(package: str, definitions: dict[str, str], place: Path) -> None:
    from rosidl_adapter.msg import convert_msg_to_idl
    from rosidl_generator_c.cli import GenerateC
    from rosidl_generator_py.cli import GeneratePython
    from rosidl_typesupport_c.cli import GenerateCTypesupport
    from rosidl_typesupport_fastrtps_c.cli import GenerateFastRTPSCTypesupport
    from rosidl_typesupport_introspection_c.cli import GenerateIntrospectionCTypesupport

    prefix = _prefix()
    source, output = place / "source" / package, place / package
    (source / "msg").mkdir(parents=True)
    os.environ["AMENT_PREFIX_PATH"] = str(prefix)
    arguments = {
        "package_name": package,
        "interface_files": [f"{source}:msg/{name}.idl" for name in definitions],
        "include_paths": [str(prefix / "share")],
        "output_path": output,
    }
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for name, text in definitions.items():
            (source / "msg" / f"{name}.msg").write_text(text + "\n")
            convert_msg_to_idl(source, package, Path("msg") / f"{name}.msg", source / "msg")
        GenerateC("c").generate(**arguments)
        GenerateFastRTPSCTypesupport("fastrtps_c").generate(**arguments)
        # Its files are named like others.
        beside = {**arguments, "output_path": place / "introspection" / package}
        GenerateIntrospectionCTypesupport("introspection_c").generate(**beside)
        GenerateCTypesupport("c", typesupport_implementations=list(IMPLEMENTATIONS)).generate(**arguments)
        GeneratePython("py", typesupport_implementations=[C]).generate(**arguments)
    _compile(package, place, output, prefix)


def _compile(package: str, place: Path, output: Path, prefix: Path) -> None:
    import numpy

    sources = [p for p in place.rglob("*") if p.suffix in (".c", ".cpp") and ".ep." not in p.name]
    sources += [p for p in output.rglob(f"*.ep.{C}.c")]
    includes = [
        place,
        place / "introspection",
        prefix / "include",
        *(p for p in (prefix / "include").iterdir() if p.is_dir()),
    ]
    includes += [Path(sysconfig.get_paths()["include"]), Path(numpy.get_include())]
    compiler = os.environ.get("CXX", "c++")
    objects: dict[Path, Path] = {}
    running = []
    for number, path in enumerate(sources):
        objects[path] = place / f"{number}.o"
        language = ["-x", "c++", "-std=c++17"] if path.suffix == ".cpp" else ["-x", "c", "-std=gnu11"]
        command = [compiler, *language, "-O2", "-DNDEBUG", "-fPIC", "-w", "-c", path, "-o", objects[path]]
        running.append(subprocess.Popen([*command, *(f"-I{p}" for p in includes)]))
        if len(running) == 2 and running.pop(0).wait() != 0:
            raise RuntimeError(f"{package}: the compiler refused the files that rosidl generated")
    if any([process.wait() != 0 for process in running]):
        raise RuntimeError(f"{package}: the compiler refused the files that rosidl generated")

    def link(result: Path, parts: list[Path], libraries: list[Path]) -> Path:
        paths = [f"-Wl,-soname,{result.name}", f"-Wl,-rpath,$ORIGIN,-rpath,$ORIGIN/../lib,-rpath,{prefix / 'lib'}"]
        options = [*paths, "-Wl,--allow-shlib-undefined,--no-as-needed"]
        subprocess.run([compiler, "-shared", *options, *parts, "-o", result, *libraries], check=True)
        return result

    needed = ["rosidl_runtime_c", C, *IMPLEMENTATIONS, "rosidl_typesupport_fastrtps_cpp", "rcutils", "fastcdr"]
    ros = [prefix / "lib" / f"lib{name}.so" for name in needed]

    def library_of(path: Path) -> str:
        if not path.is_relative_to(output):
            return IMPLEMENTATIONS[1]
        if path.name.endswith("__type_support_c.cpp"):
            return IMPLEMENTATIONS[0]
        return "rosidl_generator_c" if path.parent.name == "detail" else C

    parts = {name: [o for p, o in objects.items() if library_of(p) == name] for name in (*IMPLEMENTATIONS, C)}
    of_structs = [o for p, o in objects.items() if library_of(p) == "rosidl_generator_c"]
    libraries = place / "lib"
    libraries.mkdir()
    structs = link(libraries / f"lib{package}__rosidl_generator_c.so", of_structs, ros)
    kinds = [link(libraries / f"lib{package}__{name}.so", parts[name], [structs, *ros]) for name in IMPLEMENTATIONS]
    # With the kinds, so that they are there when they are asked for by name.
    link(output / f"{package}_s__{C}.so", parts[C], [structs, *kinds, *ros])
    for path in objects.values():
        path.unlink()
