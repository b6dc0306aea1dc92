# SPDX-License-Identifier: Apache-2.0
"""`baton migrate apply`: what is rewritten compiles and prints the same; what may change after it was published stays. escapes_test.py has each way
to change a message.

tiny_ros.hpp keeps what is published by pointer, as a subscriber of the same process does, so a wrong rewrite changes the output.
"""

from __future__ import annotations

import json
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
