# SPDX-License-Identifier: Apache-2.0
"""Makes modules baton.msg.<package> and baton.srv.<package> whose attributes are the package's classes."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NoReturn

from baton_generator.diagnostics import InterfaceError

from . import _messages


class _Package(ModuleType):
    """A package of interfaces. Classes are made at the first use."""

    _kind: str

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        package = self.__name__.rpartition(".")[2]
        make = _messages.message if self._kind == "msg" else _messages.service
        try:
            found = make(f"{package}/{name}")
        except InterfaceError as error:
            raise AttributeError(f"{error}") from None
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return _messages.source().names(self.__name__.rpartition(".")[2], self._kind)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, prefix: str, kind: str) -> None:
        self._prefix = prefix + "."
        self._kind = kind

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(self._prefix):
            return None
        package, _, name = fullname[len(self._prefix) :].partition(".")
        if package.startswith("_") or name.startswith("_"):
            return None
        if name:
            self._explain(package, name)
        try:
            _messages.source().names(package)
        except InterfaceError as error:
            raise ModuleNotFoundError(f"{error}", name=fullname) from None
        return importlib.util.spec_from_loader(fullname, self)

    def _explain(self, package: str, name: str) -> NoReturn:
        """For `from baton.msg.package import name`, which looks for a submodule when there is no such class."""
        module = self._prefix + package
        try:
            getattr(sys.modules[module], name)
        except AttributeError as error:
            raise ImportError(str(error), name=module) from None
        raise ImportError(f"{name} is a class: from {module} import {name}", name=module)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = _Package(spec.name)
        module._kind = self._kind
        module.__path__ = []  # so that names which it has not come to find_spec()
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: attributes come later."""


def install(prefix: str, kind: str) -> None:
    """Finds modules below `prefix` from now on."""
    if not any(isinstance(f, _Finder) and f._prefix == prefix + "." for f in sys.meta_path):
        sys.meta_path.append(_Finder(prefix, kind))
    # `baton.msg.sensor_msgs` without an import statement.
    module = sys.modules[prefix]

    def __getattr__(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return importlib.import_module(f"{prefix}.{name}")
        except ModuleNotFoundError as error:
            raise AttributeError(str(error)) from None

    module.__getattr__ = __getattr__  # type: ignore[method-assign]
