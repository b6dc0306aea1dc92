# SPDX-License-Identifier: Apache-2.0
"""Output of verbs for programs: JSON that every parser reads, and UTF-8 on every stdout."""

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
from baton_cli.output import json_text

CLI = Path(__file__).resolve().parents[1] / "baton_cli"


def read(text):
    """Parses JSON as a browser does: without Python's additions."""

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("value", [1.5, "NaN", None, [1, {"a": [True, "ü"]}], {"b": -0.0}])
def test_values_that_json_can_express_are_written_unchanged(value):
    assert read(json_text(value)) == value
    assert json_text(value, indent=2) == json.dumps(value, indent=2)


def test_numbers_that_json_lacks_are_strings_at_every_depth():
    value = {"a": [math.nan, (math.inf, 1.0)], "b": {"c": -math.inf}}
    assert read(json_text(value)) == {"a": ["NaN", ["Infinity", 1.0]], "b": {"c": "-Infinity"}}


def test_no_verb_writes_json_by_another_way():
    for path in sorted(CLI.rglob("*.py")):
        if path.name in ("output.py", "yaml_text.py"):  # the latter quotes strings only
            continue
        assert not re.search(r"\bjson\.dumps?\(", path.read_text()), f"{path}: write output.json_text()"


def test_a_full_disk_is_an_error_of_one_line():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "baton_cli", "interface", "package", "std_srvs"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=400)
    said = "Error: the output cannot be written: [Errno 28] No space left on device\n"
    assert (done.returncode, done.stderr) == (1, said)


SCANNER = """
import baton
node = baton.Node("scanner")
node.declare_parameter("limit", float("inf"))
kept = baton.QoS(1, durability="transient_local")
scans = node.advertise("scan", "sensor_msgs/LaserScan", kept)
scans.publish({"header": {"frame_id": "grün €☃"}, "ranges": [1.0, float("nan"), float("inf"), float("-inf")]})
print("ready", flush=True)
baton.spin(node)
"""


@pytest.fixture
def scanner(programs):
    return programs.python(SCANNER, ready="ready")


def test_a_scan_with_all_kinds_of_ranges_is_json_for_every_parser(baton, scanner):
    ranges = [1.0, "NaN", "Infinity", "-Infinity"]
    assert read(baton("topic", "echo", "scan", "--once", "--json"))["ranges"] == ranges
    assert read(baton("topic", "echo", "scan", "--once", "--json", "--field", "ranges")) == ranges
    assert read(baton("param", "get", "scanner", "limit", "--json")) == "Infinity"


@pytest.mark.parametrize(
    ("encoding", "form"),
    [
        *(("ascii", form) for form in ("--csv", "--json", "--field=header", "--full-length")),
        ("latin-1", "--csv"),
        ("utf-8", "--full-length"),
    ],
)
def test_texts_are_utf_8_on_a_stdout_of_any_encoding(baton, scanner, encoding, form):
    settings = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    text = baton.done("topic", "echo", "scan", "--once", form, env=settings, encoding="utf-8").stdout
    assert "grün €☃" in (read(text)["header"]["frame_id"] if form == "--json" else text)
