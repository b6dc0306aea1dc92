# SPDX-License-Identifier: Apache-2.0
"""Every public and every generated header compiles after all common headers of other libraries, and after Qt's macros."""

import shutil
import subprocess
from pathlib import Path

import pytest
from baton_generator import macro_names
from baton_generator.dialect import CONSTANT_NAME, FIELD_NAME
from baton_generator.generate import Wanted, outputs, write
from baton_generator.model import Dialect
from baton_generator.packages import Universe

ROOT = Path(__file__).resolve().parents[2]
ROOMS = (
    "core/os",
    "core/memory",
    "core/message",
    "core/transport",
    "core/objects",
    "core/containers",
    "core/node",
    "link",
)

pytestmark = pytest.mark.skipif(not shutil.which("c++"), reason="needs a C++ compiler")


def test_the_table_of_macros_has_those_of_this_machines_headers():
    standard, others = macro_names.names()
    assert macro_names.defined_by(macro_names.STANDARD) - standard == set(), "python -m baton_generator.macro_names"
    headers = macro_names.STANDARD + macro_names.OTHERS
    assert macro_names.defined_by(headers, more=macro_names.QT) - standard - others == set(), (
        "python -m baton_generator.macro_names"
    )


def hostile_package(folder):
    """Messages whose names are all macros: fields, constants, and types."""
    standard, others = macro_names.names()
    names = sorted(standard | others | {"major", "minor", "makedev", "assert", "offsetof", "stdin", "typeof"})
    fields = [name for name in names if FIELD_NAME[Dialect.ROS2].match(name)]
    constants = [name for name in names if CONSTANT_NAME[Dialect.ROS2].match(name)]
    assert len(fields) > 50 and len(constants) > 4000
    messages, services = folder / "linux" / "msg", folder / "linux" / "srv"
    messages.mkdir(parents=True)
    services.mkdir()
    (messages / "Fields.msg").write_text("".join(f"int32 {name}\n" for name in fields))
    (messages / "Constants.msg").write_text("".join(f"int32 {name}=1\n" for name in constants))
    (messages / "Nested.msg").write_text("TRY signals\nEMPTY[] slots\nENOENT unix\n")
    (messages / "ECHO.msg").write_text("string emit\n")
    for name in ("TRY", "EMPTY", "ENOENT", "slots"):
        (messages / f"{name}.msg").write_text("int32 TRY_AGAIN=2\nstring[] forever\n")
    (services / "EMPTY.srv").write_text("ECHO signals\n---\nslots errno\n")


def test_every_header_compiles_behind_all_others(tmp_path):
    hostile_package(tmp_path)
    universe = Universe(search=[tmp_path], environment={})
    headers = outputs(universe, Wanted(packages=universe.standard_packages(), own=True))
    write(tmp_path / "include", headers)
    public = [
        str(path.relative_to(ROOT / room / "include"))
        for room in ROOMS
        for path in sorted((ROOT / room / "include").rglob("*.hpp"))
    ]
    others = macro_names.STANDARD + macro_names.OTHERS
    source = tmp_path / "all.cpp"
    source.write_text(
        "".join(f"#if __has_include(<{header}>)\n#include <{header}>\n#endif\n" for header in others)
        + macro_names.QT
        + "".join(f"#include <{header}>\n" for header in [*map(str, headers), *public])
        + "int use(baton::msg::linux_::Fields& m) { return m.errno_ + m.linux_ + m.unix_ + m.typeof_; }\n"
        + "#if !defined(TRY_AGAIN) || !defined(signals)\n#error the macros of others are theirs again\n#endif\n"
    )
    run = subprocess.run(
        [
            "c++",
            "-std=gnu++17",
            "-fsyntax-only",
            f"-I{tmp_path / 'include'}",
            *(f"-I{ROOT / room / 'include'}" for room in ROOMS),
            str(source),
        ],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr[:5000]
