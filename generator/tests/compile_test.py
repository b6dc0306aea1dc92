# SPDX-License-Identifier: Apache-2.0
"""The header of every accepted interface file compiles without warnings: names, comments, defaults and constants are chosen to be hostile."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from baton_generator.generate import Wanted, outputs, write
from baton_generator.packages import Universe

ROOT = Path(__file__).resolve().parents[2]
INCLUDES = [ROOT / "core" / room / "include" for room in ("message", "memory", "os")]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wno-sign-conversion", "-Werror"]

# Words that mean something to C++, to macros, to the templates or to the type model.
NAMES = """class new union default auto int double errno unix linux major minor assert stdin message that a b out std baton msg srv sfm
size data begin end type name hash fields offset operator this true nullptr concept requires export import module final override
k_type get value kind shape count definition header ptr const_ptr string vector array bool char8_t""".split()
ROS1_NAMES = [
    "Ptr",
    "ConstPtr",
    "Type",
    "Field",
    "Kind",
    "TypeOf",
    "kType",
    "kFields",
    "NULL",
    "EOF",
    "Vector",
    "String",
    "std_",
    "X__Y",
    "D",
    "T",
]
TEXTS = [
    "",
    "plain",
    'quote \\" in',
    "back\\\\slash",
    "??=trigraph??/",
    "\\u00e9\\u2603",
    "\\U0001F600",
    "zero\\0inside",
    "\\x41BC",
    "*/ /* //",
    "%s %n",
    'R\\"(raw)\\"',
    "tab\\there",
    "\\177\\200",
]
COMMENTS = [
    "",
    "# plain",
    "# ends in a backslash \\",
    "# in several \\ \\",
    "# */ /* ??/",
    "# \u2603 \u202e right to left",
    "#",
    "## \\u0041 \x07 bell",
]
SCALARS = {
    "bool": ["true", "0"],
    "int8": ["-128", "127"],
    "uint8": ["255", "0x7f"],
    "int16": ["-32768"],
    "uint16": ["65535"],
    "int32": ["-2147483648", "2147483647"],
    "uint32": ["4294967295"],
    "int64": ["-9223372036854775808", "9223372036854775807"],
    "uint64": ["18446744073709551615"],
    "float32": ["1e-50", "3.4e38", "-0.0", "nan", "-inf", "16777217", "5"],
    "float64": ["1e308", "5e-324", "1e-400", "inf", "-1", "0.1"],
}


def quoted(text: str) -> str:
    return f'"{text}"'


def default(chance: random.Random, base: str, shape: str) -> str:
    def one() -> str:
        bound = int(base.partition("<=")[2] or 99)
        if "string" in base:
            return quoted("abc"[:bound]) if bound < 99 else quoted(chance.choice(TEXTS))
        return chance.choice(SCALARS[base])

    if chance.random() < 0.4:
        return ""
    if not shape:
        return " " + one()
    count = int(shape.strip("[<=]")) if shape != "[]" else chance.randint(0, 3)
    return " [" + ", ".join(one() for _ in range(count)) + "]"


def ros2_text(chance: random.Random) -> str:
    lines = []
    for name in chance.sample(NAMES, chance.randint(1, 12)):
        base = chance.choice([*SCALARS, "string", "wstring", "string<=3", "wstring<=2", "std_msgs/Header"])
        shape = chance.choice(["", "", "", "[]", "[1]", "[2]", "[<=3]"])
        lines += [
            chance.choice(COMMENTS),
            f"{base}{shape} {name}{'' if '/' in base else default(chance, base, shape)}  {chance.choice(COMMENTS)}",
        ]
    for i, base in enumerate(chance.sample([*SCALARS, "string", "wstring"], 6)):
        value = quoted(chance.choice(TEXTS).replace("\\0", "")) if "string" in base else chance.choice(SCALARS[base])
        lines.append(
            f"{base} {chance.choice(['NULL', 'EOF', 'NAN', 'INT8_MAX', 'M_PI', 'X'])}{'' if i == 0 else i}={value} {chance.choice(COMMENTS)}"
        )
    return "\n".join(lines) + "\n"


def ros1_text(chance: random.Random) -> str:
    lines = ["time only_ros_1"]
    for name in chance.sample([*NAMES, *ROS1_NAMES], 8):
        lines.append(
            f"{chance.choice([*SCALARS, 'string', 'time', 'Header', 'byte'])}{chance.choice(['', '[]', '[2]'])} {name} {chance.choice(COMMENTS)}"
        )
    lines += [f"string S{i}={chance.choice(TEXTS)} # not a comment \\" for i in range(2)]
    return "\n".join(lines) + "\n"


@pytest.mark.skipif(not shutil.which("c++"), reason="needs a C++ compiler")
@pytest.mark.parametrize("compiler", [c for c in ("c++", "clang++") if shutil.which(c)])
def test_hostile_names_texts_and_comments_compile(compiler: str, tmp_path: Path) -> None:
    chance = random.Random(7)
    package = tmp_path / "namespace" / "msg"
    package.mkdir(parents=True)
    for i in range(40):
        (package / f"Two{i}.msg").write_text(ros2_text(chance))
        (package / f"one{i}.msg").write_text(ros1_text(chance))
    (package / "class.msg").write_text("one0 union\nTwo1[] message\n")
    (package / "baton.msg").write_text("class std\nclass[2] baton\n")
    for name in ("Ptr", "ConstPtr", "Request", "a", "b", "out", "message"):
        (package / f"{name}.msg").write_text("string a\n")
    services = tmp_path / "namespace" / "srv"
    services.mkdir()
    for name in ("Request", "Response", "kName", "message"):
        (services / f"{name}.srv").write_text("string a\n---\nbool b\n")
    headers = outputs(Universe(search=[tmp_path], environment={}), Wanted(own=True))
    write(tmp_path / "include", headers)
    source = tmp_path / "all.cpp"
    uses = "".join(
        f"bool f{i}(const baton::msg::namespace_::Two{i}& a) {{ auto b = a; return a != b; }}\n" for i in range(40)
    )
    source.write_text(
        "#include <cmath>\n#include <climits>\n#include <cstdio>\n"
        + "".join(f"#include <{h}>\n" for h in headers)
        + uses
    )
    command = [
        compiler,
        "-std=gnu++17",
        "-fsyntax-only",
        *WARNINGS,
        f"-I{tmp_path / 'include'}",
        *(f"-I{i}" for i in INCLUDES),
        str(source),
    ]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert result.returncode == 0, result.stderr[:5000]
