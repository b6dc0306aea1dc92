# SPDX-License-Identifier: Apache-2.0
"""The stub of the extension has each name of the extension. scripts/check.sh checks the package itself with mypy and pyright."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import baton
import pytest
from baton import _core, stubs

ROOM = Path(__file__).resolve().parents[1]
STUB = Path(__file__).resolve().parents[1] / "baton" / "_core.pyi"


def members(cls):
    # Members that nanobind or typing add to a class are no part of the interface.
    ignored = {"__class_getitem__", "__new__", "__repr__", "__init__", "__get__", "__set__", "__enter__", "__exit__"}
    found = set()
    for base in cls.__mro__[:-1]:
        if base.__module__.startswith("baton"):
            found |= {n for n in vars(base) if not n.startswith("__") or n in ("__next__", "__iter__")}
    return found - ignored


def stub_members(node):
    names = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
    fields = (n.target.id for n in node.body if isinstance(n, ast.AnnAssign))  # of a record
    names |= {name for name in fields if not name.startswith("_")}
    return {n for n in names if not n.startswith("__") or n in ("__next__", "__iter__")}


def test_functions_and_classes_are_the_same():
    tree = ast.parse(STUB.read_text())
    stubbed = {n.name for n in tree.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
    stubbed |= {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign)}
    real = {n for n in vars(_core) if not n.startswith("__")}
    assert stubbed == real


def test_members_of_classes_are_the_same():
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.ClassDef) and not issubclass(getattr(_core, node.name), BaseException):
            assert stub_members(node) == members(getattr(_core, node.name)), node.name


def test_every_exported_name_exists_and_errors_have_their_base():
    for name in baton.__all__:
        assert hasattr(baton, name)
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.ClassDef) and issubclass(getattr(_core, node.name), BaseException):
            bases = {b.id for b in node.bases}
            assert bases == {b.__name__ for b in getattr(_core, node.name).__bases__}, node.name
            assert getattr(baton, node.name) is getattr(_core, node.name)


def test_stubs_of_message_classes_name_every_field(tmp_path):
    stubs.write(["sensor_msgs", "std_srvs"], tmp_path)
    written = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.pyi")}
    assert {"msg/sensor_msgs.pyi", "msg/std_msgs.pyi", "msg/builtin_interfaces.pyi", "srv/std_srvs.pyi"} <= written
    tree = ast.parse((tmp_path / "msg/sensor_msgs.pyi").read_text())
    classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
    assert set(classes) == set(dir(baton.msg.sensor_msgs))
    image = ast.unparse(classes["Image"])
    assert "width: int" in image
    assert "def data(self) -> npt.NDArray[np.uint8]" in image
    assert "def header(self) -> std_msgs__Header" in image
    assert "def name(self) -> Sequence[str]" in ast.unparse(classes["JointState"])
    assert "class Request(Message)" in (tmp_path / "srv/std_srvs.pyi").read_text()


GOOD = """
import baton

node = baton.Node("n", on_diagnostic=lambda d: print(d.level, d.text))
publisher = node.advertise("t", "std_msgs/String", 10)
subscription = node.subscribe("t", "std_msgs/String", lambda message: None)
publisher.on_event(lambda event: print(event == "matched"))
with publisher.loan() as message:
    message.data = "x"
taken = subscription.take(1.0)
if taken is not None:
    print(baton.info(taken).selection == "high", baton.size_bytes(taken) + 1)
for holding in node.holdings():
    print(holding.held + 1, holding.chunks[0].sequence)
baton.spin(node, threads=2)
"""
BAD = """
import baton
node = baton.Node(5)
baton.spin("node")
baton.QoS(reliability="perhaps")
node.holdings().anything
"""


def checker(name):
    return shutil.which(name, path=os.path.dirname(sys.executable)) or pytest.skip(f"needs {name}: make setup")


# A sanitizer's libraries are not for the checkers.
CLEAN = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}


def mypy(*arguments):
    command = [checker("mypy"), "--config-file", ROOM.parent / "pyproject.toml", "--cache-dir", os.devnull, *arguments]
    environment = {**CLEAN, "MYPYPATH": str(ROOM)}
    return subprocess.run(command, cwd=ROOM, env=environment, capture_output=True, text=True, timeout=300)


def pyright(*arguments):
    command = [checker("basedpyright"), "--pythonpath", sys.executable, "--level", "error", *arguments]
    return subprocess.run(command, cwd=ROOM.parent, env=CLEAN, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("check", [mypy, lambda folder: pyright("--project", folder)], ids=["mypy", "pyright"])
def test_programs_are_checked_against_the_stubs(check, tmp_path):
    settings = f'{{"include": ["."], "extraPaths": ["{ROOM}"], "typeCheckingMode": "standard"}}'
    (tmp_path / "pyrightconfig.json").write_text(settings)
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text(BAD)
    done = check(tmp_path)
    lines = {int(line) for line in re.findall(r"bad\.py:(\d+)", done.stdout)}
    assert lines >= {3, 4, 5, 6} and "good.py" not in done.stdout, done.stdout + done.stderr
