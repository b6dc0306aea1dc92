# SPDX-License-Identifier: Apache-2.0
"""Recompiled programs that use tf2: the shadows of its headers, and the stock side below them."""

import itertools
import re
import subprocess

import pytest
from ros1_network import BUILD

with_tf2 = pytest.mark.skipif(
    not (BUILD / "bin" / "ros1_recompiled_tf2_buffer").exists(),
    reason="needs libtf2-ros-dev: make setup, then make build",
)


def output(program, *words):
    return subprocess.run(
        [BUILD / "bin" / program, *words], capture_output=True, text=True, check=True, timeout=300
    ).stdout.splitlines()


@with_tf2
def test_a_buffer_answers_every_question_as_the_stock_buffer_does():
    stock, own = output("ros1_tf2_buffer"), output("ros1_recompiled_tf2_buffer")
    assert len(own) > 100_000
    for word in ("LookupException", "ConnectivityException", "ExtrapolationException", "InvalidArgumentException"):
        assert any(line.startswith(word) for line in own)
    assert [pair for pair in itertools.zip_longest(stock, own) if pair[0] != pair[1]] == []


def names(*arguments):
    """What the linker knows of an object or a library, demangled; what an object hides is left out."""
    symbols = subprocess.run(["readelf", "-sWC", *arguments], capture_output=True, text=True, check=True).stdout
    fields = (line.split(maxsplit=7) for line in symbols.splitlines() if re.match(r" *\d+: ", line))
    return {f[7].split("@")[0] for f in fields if len(f) == 8 and f[4] in ("GLOBAL", "WEAK") and f[5] == "DEFAULT"}


def names_shared_with_libraries(kind, program, libraries, namespaces):
    """Names in these namespaces, and in those of messages, that the program's own source file and a stock library have."""
    prefix = "ros1_recompiled_" if kind == "recompiled" else "ros1_"
    compiled = BUILD / f"ros1/tests/CMakeFiles/{prefix}{program}.dir/programs/{program}.cpp.o"
    linked = subprocess.run(["ldd", BUILD / "bin" / f"{prefix}{program}"], capture_output=True, text=True, check=True)
    paths = [line.split()[2] for line in linked.stdout.splitlines() if re.search(rf"lib({libraries})\.so", line)]
    known = set().union(*(names("--dyn-syms", path) for path in paths))
    return {name for name in names(compiled) & known if re.search(rf"\b({namespaces}|\w+_msgs)::", name)}


@with_tf2
def test_a_program_shares_with_libtf2_only_names_without_messages():
    stock, own = (names_shared_with_libraries(kind, "tf2_buffer", "tf2", "tf2") for kind in ("stock", "recompiled"))
    assert any("tf2::BufferCore::lookupTransform(" in name for name in stock), "what is looked for is there"
    assert own
    assert [name for name in sorted(own) if not re.search(r"tf2::\w+Exception\b", name)] == []
