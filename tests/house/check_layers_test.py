# SPDX-License-Identifier: Apache-2.0
"""scripts/check_layers.py finds each kind of wrong include and import."""

from pathlib import Path

import check_layers
import pytest

ROOT = Path(__file__).resolve().parents[2]

TABLE = """
room core/os
room core/memory
room core/node
room generator
room cli lab
owns generator : baton/msg/
system os
"""


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/layers.txt").write_text(TABLE)

    def write(path, text):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    write.check = lambda: check_layers.check(tmp_path)
    write.allow = lambda line: (tmp_path / "scripts/layers.txt").write_text(TABLE + line + "\n")
    return write


def test_downward_includes_are_fine(tree):
    tree(
        "core/node/src/node.cpp",
        '#include <vector>\n#include "baton/memory/pool.hpp"\n#include <baton/os/result.hpp>\n',
    )
    assert tree.check() == []


def test_an_upward_include_is_found_with_file_and_line(tree):
    tree("core/memory/src/pool.cpp", '#include <vector>\n#include "baton/node/node.hpp"\n')
    (problem,) = tree.check()
    assert problem.startswith("core/memory/src/pool.cpp:2:")
    assert "memory may not use node" in problem


def test_spaces_in_the_directive_hide_nothing(tree):
    tree("core/memory/src/pool.cpp", "  #  include <baton/node/node.hpp>\n")
    assert len(tree.check()) == 1


def test_rooms_on_one_line_do_not_know_each_other(tree):
    tree("lab/src/a.cpp", "#include <baton/cli/b.hpp>\n")
    assert len(tree.check()) == 1


def test_generated_messages_count_as_the_generators(tree):
    tree("core/node/src/node.cpp", "#include <baton/msg/std_msgs/string.hpp>\n")
    tree("lab/src/perf.cpp", "#include <baton/msg/std_msgs/string.hpp>\n")
    (problem,) = tree.check()
    assert problem.startswith("core/node/src/node.cpp:1:")


def test_a_relative_include_out_of_the_room_is_found(tree):
    tree("core/memory/src/pool.cpp", '#include "../../core/node/src/secret.hpp"\n')
    assert len(tree.check()) == 1


@pytest.mark.parametrize(
    "header", ["sys/mman.h", "linux/futex.h", "unistd.h", "fcntl.h", "poll.h", "sched.h", "signal.h"]
)
def test_a_system_header_outside_os_is_found(tree, header):
    tree("core/os/src/good.cpp", f"#include <{header}>\n")
    tree("core/memory/src/bad.cpp", f"#include <{header}>\n")
    (problem,) = tree.check()
    assert problem.startswith("core/memory/src/bad.cpp:1:")


def test_standard_headers_are_everybodys(tree):
    tree("core/memory/src/a.cpp", "#include <atomic>\n#include <cstring>\n#include <stdint.h>\n")
    assert tree.check() == []


def test_an_allowed_exception_passes_only_in_its_files(tree):
    tree.allow("allow core/memory/src/*_test.cpp sys/wait.h : the test kills a child")
    tree("core/memory/src/pool_test.cpp", "#include <sys/wait.h>\n")
    assert tree.check() == []
    tree("core/memory/src/pool.cpp", "#include <sys/wait.h>\n")
    assert len(tree.check()) == 1


def test_an_exception_that_excuses_nothing_is_a_problem(tree):
    tree.allow("allow core/memory/src/gone.cpp unistd.h : was needed once")
    assert "excuses nothing" in tree.check()[0]


def test_an_exception_without_a_reason_is_refused(tree):
    tree.allow("allow core/memory/src/a.cpp unistd.h")
    with pytest.raises(SystemExit):
        tree.check()


def test_an_upward_python_import_is_found(tree):
    tree("generator/baton_generator/__init__.py", "import baton_cli.main\n")
    tree("cli/baton_cli/__init__.py", "from baton_generator import parse\n")
    (problem,) = tree.check()
    assert problem.startswith("generator/baton_generator/__init__.py:1:")


def test_a_python_import_inside_a_function_is_found(tree):
    tree("generator/baton_generator/__init__.py", "def f():\n    from baton_cli import x\n")
    tree("cli/baton_cli/__init__.py", "")
    assert len(tree.check()) == 1


@pytest.mark.parametrize(
    "words", ["from . import _rospy_ways", "from ._rospy_ways import node", "import baton._rospy_ways"]
)
def test_a_package_does_not_use_the_modules_that_a_later_room_brings_to_it(tree, words):
    tree.allow("room python\nroom ros1/rospy")
    tree("python/baton/__init__.py", "")
    tree("python/baton/_core.py", "")
    tree("python/baton/_node.py", f"def f():\n    {words}\n")
    tree("ros1/rospy/baton/_rospy_ways.py", "from . import _core\nfrom ._node import Node\n")
    (problem,) = tree.check()
    assert problem.startswith("python/baton/_node.py:2: python may not use rospy")


INSIDE = "inside core/memory : word < pool\ninside core/memory : < segment"


def test_includes_point_downwards_inside_a_room(tree):
    tree.allow(INSIDE)
    tree("core/memory/include/baton/memory/word.hpp", "#include <atomic>\n")
    tree("core/memory/src/pool.hpp", "#include <baton/memory/word.hpp>\n")
    tree("core/memory/src/pool.cpp", '#include "pool.hpp"\n#include <baton/os/result.hpp>\n')
    tree("core/memory/src/segment.cpp", '#include "baton/memory/word.hpp"\n#include "pool.hpp"\n')
    assert tree.check() == []


@pytest.mark.parametrize(
    "include", ['"segment.hpp"', "<baton/memory/segment.hpp>", '"part/segment.hpp"', "<baton/pools/segment.hpp>"]
)
def test_an_upward_include_inside_a_room_is_found(tree, include):
    tree.allow(INSIDE + "\nowns memory : baton/pools/")
    tree("core/memory/src/word.cpp", "")
    tree("core/memory/src/segment.hpp", "")
    tree("core/memory/src/pool.cpp", f"#include <atomic>\n#include {include}\n")
    (problem,) = tree.check()
    assert problem.startswith("core/memory/src/pool.cpp:2:") and "pool may not use segment" in problem


def test_files_of_one_level_do_not_know_each_other(tree):
    tree.allow("inside core/memory/src : pool segment")
    tree("core/memory/src/pool.cpp", '#include "segment.hpp"\n')
    tree("core/memory/src/segment.hpp", "")
    assert len(tree.check()) == 1


def test_a_test_may_include_everything_of_its_room(tree):
    tree.allow("inside core/memory : pool < segment")
    tree("core/memory/src/segment.hpp", "")
    tree("core/memory/src/pool.cpp", "")
    tree("core/memory/src/pool_test.cpp", '#include "segment.hpp"\n')
    assert tree.check() == []


def test_a_file_that_the_order_does_not_list_is_found(tree):
    tree.allow("inside core/memory : pool")
    tree("core/memory/src/pool.cpp", "")
    tree("core/memory/src/segment.cpp", "")
    tree("core/node/src/segment.cpp", "")
    (problem,) = tree.check()
    assert problem.startswith("core/memory/src/segment.cpp: ")


def test_a_name_without_a_file_is_found(tree):
    tree.allow("inside core/memory : pool < gone")
    tree("core/memory/src/pool.cpp", "")
    assert "'gone'" in tree.check()[0]


@pytest.mark.parametrize("line", ["inside core/memory : pool < pool", "inside memory", "inside memory :"])
def test_an_order_that_says_nothing_is_refused(tree, line):
    tree.allow(line)
    with pytest.raises(SystemExit):
        tree.check()


def test_the_repository_itself_keeps_the_order():
    assert check_layers.check(ROOT) == []
