# SPDX-License-Identifier: Apache-2.0
"""The stub of the extension says what the extension has, name by name (mypy and pyright read it in scripts/check.sh)."""

import ast
from pathlib import Path

import baton
from baton import _core

STUB = Path(__file__).resolve().parents[1] / "baton" / "_core.pyi"


def members(cls):
    # What a nanobind class does not write itself, and what typing adds, is no part of the interface.
    ignored = {"__class_getitem__", "__new__", "__repr__", "__init__", "__get__", "__set__", "__enter__", "__exit__"}
    found = set()
    for base in cls.__mro__[:-1]:
        if base.__module__.startswith("baton"):
            found |= {n for n in vars(base) if not n.startswith("__") or n in ("__next__", "__iter__")}
    return found - ignored


def stub_members(node):
    names = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
    return {n for n in names if not n.startswith("__") or n in ("__next__", "__iter__")}


def test_functions_and_classes_are_the_same():
    tree = ast.parse(STUB.read_text())
    stubbed = {n.name for n in tree.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
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
