# SPDX-License-Identifier: Apache-2.0
"""Accelerates rclpy and rospy in programs that know nothing of Baton: BATON_ACCELERATE=rclpy,rospy in the environment, or
`python -m baton_accelerate rclpy,rospy program.py arguments...` (`-m module` as with python itself).

The variable works where this package was installed by pip: site-packages then has baton_accelerate.pth, by which Python asks for
the variable as it starts. Where such files are not read (a build tree on PYTHONPATH, pip --target, python -S) use the command.

This module stands beside the package baton and imports nothing of it until the program imports rclpy or rospy, for it is read by
every Python that starts with the variable.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys

WORLDS = ("rclpy", "rospy")


class _Loader:
    """The loader of a package, followed by the acceleration."""

    def __init__(self, loader, name):
        self._loader, self._name = loader, name

    def __getattr__(self, attribute):
        return getattr(self._loader, attribute)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        _accelerate(self._name)


class _Finder:
    """Stands first in sys.meta_path until every wanted package was imported."""

    def __init__(self, names):
        self._names = set(names)

    def find_spec(self, name, path=None, target=None):
        if name not in self._names:
            return None
        self._names.discard(name)  # so that this finder is not asked again
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, name)
        return spec


def _accelerate(name):
    try:
        importlib.import_module(f"baton.{name}").accelerate()
    except Exception as error:  # the program is none the wiser, only slower
        print(f"BATON_ACCELERATE: {name} is not accelerated: {type(error).__name__}: {error}", file=sys.stderr)


def install(names):
    """Accelerates the packages in `names` ("rclpy,rospy") when they are imported, or now if they are already."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in WORLDS:
            print(f"BATON_ACCELERATE: '{name}' is none of {', '.join(WORLDS)}", file=sys.stderr)
    later = [name for name in wanted if name in WORLDS and name not in sys.modules]
    if later:
        sys.meta_path.insert(0, _Finder(later))
    for name in wanted:
        if name in WORLDS and name in sys.modules:
            _accelerate(name)


def main():
    import runpy

    usage = "usage: python -m baton_accelerate rclpy,rospy (program.py | -m module) [arguments...]"
    if len(sys.argv) < 3 or (sys.argv[2] == "-m" and len(sys.argv) < 4):
        raise SystemExit(usage)
    # The program is run by this module under its own name, not as __main__.
    importlib.import_module("baton_accelerate").install(sys.argv[1])
    if sys.argv[2] == "-m":
        sys.argv[:] = sys.argv[3:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv[:] = sys.argv[2:]
        sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
