# SPDX-License-Identifier: Apache-2.0
"""`baton migrate apply`: what is rewritten compiles and prints the same; what may change after it was published stays.

tiny_ros.hpp keeps what is published by pointer, as a subscriber of the same process does, so a wrong rewrite changes the output.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from baton_converter import findings, tree
from baton_converter.compile_commands import Command
from baton_converter.findings import FileReport
from baton_converter.verbs.migrate import command
from click.testing import CliRunner, Result

pytest.importorskip("clang.cindex", reason="no libclang; `make test` installs it")
CASES = Path(__file__).parent / "cases"


def project(folder: Path, name: str, text: str) -> Path:
    """A folder with one source and its compile command."""
    for header in ("tiny_ros.hpp", "tiny_ros2.hpp"):
        shutil.copy(CASES / header, folder)
    source = folder / name
    source.write_text(text)
    entry = {"directory": str(folder), "file": name, "command": f"c++ -std=c++17 -c {name}"}
    (folder / "compile_commands.json").write_text(json.dumps([entry]))
    return source


def output_of(source: Path) -> str:
    program = source.with_suffix("")
    subprocess.run(["c++", "-std=c++17", "-w", "-o", str(program), str(source)], check=True, timeout=300)
    return subprocess.run([str(program)], capture_output=True, text=True, check=True, timeout=60).stdout


def apply(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(command, ["apply", str(folder), *options])


def report_of(source: Path) -> FileReport:
    unit = tree.analyse(Command(source, source.parent, ("-std=c++17",)), source.parent.resolve(), [])
    assert unit.failed == ""
    return next(report for report in unit.files if report.path == source.name)


# The file, its header, what a rewritten message looks like, and the number of rewritten messages.
KNOWN = [
    (
        "rewrite.cpp",
        "+  auto img_ptr = boost::make_shared<sensor_msgs::Image>();\n+  sensor_msgs::Image& img = *img_ptr;\n",
        21,
    ),
    ("ros2.cpp", "+  auto image_ptr = std::make_unique<Image>();\n+  Image& image = *image_ptr;\n", 6),
]


@pytest.mark.parametrize(("file", "rewritten", "number"), KNOWN, ids=[case[0] for case in KNOWN])
def test_known_cases_are_rewritten_or_stay(tmp_path: Path, file: str, rewritten: str, number: int) -> None:
    text = (CASES / file).read_text()
    source = project(tmp_path, file, text)
    expected = {
        (at, word)
        for at, line in enumerate(text.splitlines(), 1)
        if (word := line.partition("  // ")[2].strip()) in ("rewritten", "stays")
    }
    report = report_of(source)
    found = [finding for finding in report.findings if finding.rule == findings.PUBLISH]
    copies = [finding for finding in found if finding.edits or "It stays as it is: " in finding.message]
    assert {(finding.line, "rewritten" if finding.edits else "stays") for finding in copies} == expected
    before = output_of(source)
    patch = apply(tmp_path, "--dry-run")
    assert patch.exit_code == 0 and source.read_text() == text
    assert rewritten in patch.output
    assert apply(tmp_path).output == f"{file}: {number} rewritten\n"
    assert source.read_text() != text
    assert output_of(source) == before
    assert apply(tmp_path).output == "nothing to rewrite\n"


# Statements of a function with the message `img`; {n} is a number. The later ones keep a way to the message, or use a kept one.
STATEMENTS = [
    "publisher.publish(img);",
    "publisher.publish(img);",
    "img.height = {n};",
    "img.height += {n};",
    'img.encoding = "{n}";',
    "img.data.push_back({n});",
    "img.data.resize({n});",
    "if (!img.data.empty()) img.data[0] = {n};",
    "std::fill(img.data.begin(), img.data.end(), {n});",
    'img.header.frame_id += "{n}";',
    "total += img.height + img.data.size();",
    "total += look(img);",
    "for (auto& byte : img.data) byte += {n};",
    "for (auto byte : img.data) total += byte;",
    "if (total % 2) return;",
    "{{ sensor_msgs::Image copy = img; copy.height = {n}; publisher.publish(copy); }}",
    "{{ sensor_msgs::Image other; other.height = {n}; img = other; }}",
    "++reference.height;",
    "pointer->height = {n};",
    'header.frame_id = "{n}";',
    "change();",
    "change_kept();",
    "keep(img);",
]
KEEPERS = {
    "reference": "sensor_msgs::Image& reference = img;",
    "pointer": "sensor_msgs::Image* pointer = &img;",
    "header": "std_msgs::Header& header = img.header;",
    "change": "auto change = [&] {{ img.height += 7; }};",
}


def function(name: str, pick: random.Random) -> str:
    """A function with one message or two in an array, a few statements in blocks, branches and loops, and the variables that they use."""
    body: list[str] = []
    depth = 0
    for _ in range(pick.randint(2, 7)):
        opening = pick.choice(["", "", "", "if (total % 3) {", "for (int i = 0; i < 2; ++i) {"])
        depth += opening != ""
        body.append(opening + pick.choice(STATEMENTS).format(n=pick.randint(1, 9)))
        if depth and pick.random() < 0.6:
            body.append("}")
            depth -= 1
    body += ["publisher.publish(img);"] * pick.randint(0, 1) + ["}"] * depth
    text = "\n  ".join(body)
    kept = [
        line.format()
        for word, line in KEEPERS.items()
        if f"{word}." in text or f"{word}->" in text or f"{word}(" in text
    ]
    held = "boost::shared_ptr<sensor_msgs::Image> held(new sensor_msgs::Image);\n  sensor_msgs::Image& img = *held;"
    made = pick.choice(
        ["sensor_msgs::Image img;", "sensor_msgs::Image img, unused;", held, held.replace("boost", "std")]
    )
    inner = "\n  ".join([made, *kept, text])
    if pick.random() < 0.3:  # each line uses one of two elements
        array = pick.choice(["sensor_msgs::Image images[2];", "std::vector<sensor_msgs::Image> images(2);"])
        inner = "\n  ".join([array, *kept, text])
        elements = ["images[0]", "images[1]", "images[total % 2]"]
        inner = "\n".join(re.sub(r"\bimg\b", pick.choice(elements), line) for line in inner.splitlines())
    if pick.random() < 0.3:
        inner = f"for (int turn = 0; turn < 2; ++turn) {{\n  {inner}\n  given_away.clear();\n  }}"
    return f"void {name}() {{\n  {inner}\n  given_away.clear();\n}}\n"


def program(seed: int, functions: int) -> str:
    """The known cases and random functions, each of which prints what it published."""
    pick = random.Random(seed)
    names = [f"random_{number}" for number in range(functions)]
    known = (CASES / "rewrite.cpp").read_text().replace("int main() {", "void known_cases() {")
    calls = "".join(f'  show("{name}", {name});\n' for name in ["known_cases", *names])
    show = (
        "void show(const char* name, void (*function)()) {\n"
        "  std::cout << name << '\\n';\n  function();\n  given_away.clear();\n  ros::print_published();\n  ros::kept().clear();\n}\n"
    )
    return (
        f"{known}\nunsigned long total = 0;\n{''.join(function(name, pick) for name in names)}{show}"
        f"int main() {{\n{calls}  std::cout << total << '\\n';\n}}\n"
    )


@pytest.mark.parametrize("seed", [1])
def test_rewritten_programs_print_the_same(tmp_path: Path, seed: int) -> None:
    source = project(tmp_path, "random.cpp", program(seed, functions=120))
    before = output_of(source)
    said = apply(tmp_path)
    assert said.exit_code == 0
    assert int(said.output.split()[1]) > 20
    assert output_of(source).splitlines() == before.splitlines()


def test_a_rewrite_that_does_not_parse_is_not_written(tmp_path: Path) -> None:
    text = (
        '#include "tiny_ros.hpp"\nros::Publisher publisher;\n'
        "namespace boost { template <> shared_ptr<sensor_msgs::Image> make_shared<sensor_msgs::Image>() = delete; }\n"
        "void f() {\n  sensor_msgs::Image img;\n  publisher.publish(img);\n}\n"
    )
    source = project(tmp_path, "refused.cpp", text)
    said = apply(tmp_path)
    assert source.read_text() == text
    assert said.exit_code == 1
    assert "refused.cpp: left as it was: " in said.output and "deleted" in said.output
