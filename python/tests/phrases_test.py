# SPDX-License-Identifier: Apache-2.0
"""Texts of the core have Python's names in Python: in errors, statuses, diagnostics and lines."""

import re

import baton
import pytest
from baton import _core
from support.build import ROOT

ROOMS = ("core/os", "core/memory", "core/message", "core/transport", "core/node", "link")
# Forms of C++ alone: scopes, members, constants, fields of options, braces and dereferenced arguments.
CPP = re.compile(r"[A-Za-z]\w*::\w+|\bk[A-Z]\w+|\w+_bytes\b|\(\*|->\w|\bstd\b|\"\w+\", \"\w+\"\)")
NOT_SAID = re.compile(r"BATON_CRASH_POINT|static_assert|deprecated|#include|^\s*//|static_cast<|printf")
# Names of things that are no API, and texts of functions that Python does not have.
NO_API = re.compile(r"allocate\(|lock_memory\(|memory\.(limit|usage)_in_bytes|^\w+$")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def texts():
    for room in ROOMS:
        for path in sorted((ROOT / room / "src").rglob("*.[ch]pp")):
            if path.stem.endswith(("_test", "_support")) or "testing" in path.parts or "ros2" in path.parts:
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if not NOT_SAID.search(line):
                    for literal in LITERAL.findall(line):
                        yield f"{path.relative_to(ROOT)}:{number}", literal.replace('\\"', '"')


def test_no_text_of_the_core_has_a_name_that_only_cpp_programs_know():
    found = [(where, text) for where, text in texts() if CPP.search(text) and not NO_API.search(text)]
    assert found, "the search finds nothing, so it proves nothing"
    left = [(where, text, _core._in_python(text)) for where, text in found if CPP.search(_core._in_python(text))]
    assert not left


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("raise PublisherOptions::slot_count to at least 20", "raise advertise()'s slots to at least 20"),
        ("raise memory_limit_bytes or slot_count", "raise memory_limit or slots"),
        ("parameter 'max_message_bytes' is not declared", "parameter 'max_message_bytes' is not declared"),
        ("my_max_message_bytes, max_message_bytes_of", "my_max_message_bytes, max_message_bytes_of"),
        ("", ""),
    ],
)
def test_names_that_somebody_chose_stay(said, heard):
    assert _core._in_python(said) == heard


def test_errors_statuses_diagnostics_and_lines_have_pythons_names(programs):
    with pytest.raises(baton.InvalidArgument, match=r'Node\("camera", namespace="left"\)'):
        baton.Node("left/camera")
    process = programs.python("""
        import baton
        said = []
        for hear in (None, said.append):  # a line of the logger, and a callback
            node = baton.Node("camera", on_diagnostic=hear)
            publisher = node.advertise("topic", "std_msgs/String", slots=64, max_message=1 << 16)
            wants = node.subscribe("topic", "std_msgs/String", qos=baton.QoS(10, held=300))
            assert node.wait_for(lambda: wants.statuses.last_incompatibility or wants.statuses.last_refusal, 120)
            assert node.wait_for(lambda: hear is None or said, 120)
            print(wants.statuses.last_incompatibility, wants.statuses.last_refusal)
        print(*(each.text for each in said), flush=True)
    """)
    out, errors = process.ends()
    assert "raise advertise()'s slots" in errors and out.count("raise advertise()'s slots") >= 3, out + errors
    assert "::" not in out + errors
