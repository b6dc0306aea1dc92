# SPDX-License-Identifier: Apache-2.0
"""Finds interfaces by name: in given files and directories, those of BATON_MSG_PATH, an installed ROS, the standard sets.

Sources are asked in that order and the first that has the type answers, so a project's own definition wins over a standard one.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from . import standard_sets
from .diagnostics import Location, fail
from .equivalence import STORE_DEFAULTS
from .files import read_text
from .model import PRIMITIVES, Constant, Dialect, Field, FieldType, Interface, Message, Shape, Value
from .parser import parse_file

DEFAULT_STANDARD = "ros2_kilted"
FALLBACK_STANDARD = "ros1_noetic"  # for types that ROS 2 dropped, such as std_msgs/Time
BUNDLED = Path(__file__).parent / "interfaces"

_KINDS = ("msg", "srv")
_OTHER_KIND = {  # way out for a user that wanted this kind and named the other
    "srv": "messages are for topics (advertise, subscribe; baton.msg in Python); name a service for serve() and client()",
    "msg": "services are for serve() and client() (baton.srv in Python); name a message for a topic or a field",
}
_PRUNED = {"build", "install", "log", "node_modules", "__pycache__"}

Loader = Callable[[], Interface]


@dataclass
class Package:
    """One package as one source sees it: loaders by kind ("msg", "srv") and name."""

    name: str
    loaders: dict[tuple[str, str], Loader] = field(default_factory=dict)
    watched: list[Path] = field(default_factory=list)  # directories whose listing this depends on
    directory: Path | None = None  # where it was found below a directory that was given

    @property
    def has_own_header(self) -> bool:
        return ("msg", "Header") in self.loaders


def _load_file(path: Path, package: Package, dialect: Dialect | None, inputs: set[Path]) -> Interface:
    inputs.add(path)
    return parse_file(
        path,
        package.name,
        dialect=dialect,
        hint=build_tool_dialect(path.parent.parent),
        has_own_header=package.has_own_header or (path.parent.parent / "msg" / "Header.msg").exists(),
    )


@cache
def build_tool_dialect(package_dir: Path) -> Dialect | None:
    """The dialect according to package.xml, for files that are alike in both."""
    text = read_text(package_dir / "package.xml")
    if text is None:
        return None
    if re.search(r"\b(ament_\w+|rosidl_\w+)\b", text):
        return Dialect.ROS2
    return Dialect.ROS1 if re.search(r"\b(catkin|message_generation|message_runtime)\b", text) else None


def _name_in_package_xml(package_dir: Path) -> str | None:
    match = re.search(r"<name>\s*([A-Za-z0-9_\-]+)\s*</name>", read_text(package_dir / "package.xml") or "")
    return match[1] if match else None


def _package_name(package_dir: Path) -> str:
    return _name_in_package_xml(package_dir) or package_dir.name


def _package_directories(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Directories below ``root`` (or ``root`` itself) that have a msg/ or srv/ directory inside, and which of the two.

    Links are followed, since workspaces link their packages; a directory that was seen is not entered again.
    """
    seen: set[str] = set()
    for current, directories, _ in os.walk(root, followlinks=True):
        real = os.path.realpath(current)
        if real in seen:
            directories.clear()
            continue
        seen.add(real)
        directories[:] = sorted(d for d in directories if not d.startswith(".") and d not in _PRUNED)
        kinds = [kind for kind in _KINDS if kind in directories]
        if kinds:
            directories[:] = [d for d in directories if d not in kinds]
            yield Path(current), kinds


def _directory_packages(root: Path, dialect: Dialect | None, inputs: set[Path]) -> dict[str, Package]:
    """Every package below ``root`` (or ``root`` itself): a directory with interface files in a msg/ or srv/ directory inside."""
    found: dict[str, Package] = {}
    for here, kinds in _package_directories(root):
        name = _package_name(here.resolve())
        package = found.setdefault(name, Package(name, directory=here))
        for kind in kinds:
            package.watched.append(here / kind)
            for path in sorted((here / kind).glob(f"*.{kind}")):
                package.loaders.setdefault(
                    (kind, path.stem), lambda p=path, its=package: _load_file(p, its, dialect, inputs)
                )
    # A msg/ of C++ headers or Python modules does not stand in front of the real package elsewhere.
    return {name: package for name, package in found.items() if package.loaders}


def require_packages(root: Path) -> None:
    """Refuses a directory of the search path without packages. The error's words depend on the directory's contents."""
    if any(any((here / kind).glob(f"*.{kind}")) for here, kinds in _package_directories(root) for kind in kinds):
        return
    way_out = "give directories that contain packages, at any depth (no package.xml is needed)"
    loose = [path.name for kind in _KINDS for path in sorted(root.glob(f"*.{kind}"))]
    if loose and root.resolve().name in _KINDS:
        way_out = f"give the package itself, '{root.resolve().parent}'"
    elif loose:
        way_out = f"move {loose[0]} to '{root / Path(loose[0]).suffix[1:] / loose[0]}'"
    raise fail(
        Location(str(root)), f"no package in or below '{root}': no directory has msg/*.msg or srv/*.srv", way_out
    )


def _ament_package(prefix: Path, name: str, dialect: Dialect | None, inputs: set[Path]) -> Package | None:
    base = prefix / "share" / name
    # Debian has packages of ROS 1 beside ament's index, in /usr/share.
    if build_tool_dialect(base) is Dialect.ROS1:
        return None
    package = Package(name)
    for kind in _KINDS:
        for path in sorted((base / kind).glob(f"*.{kind}")):
            package.loaders[kind, path.stem] = lambda p=path: _load_file(p, package, dialect or Dialect.ROS2, inputs)
    return package if package.loaders else None


def _from_store(store: str, full_name: str, definition: tuple) -> Message:
    """A definition of a standard set as a Message. Comments and defaults are not in the sets; STORE_DEFAULTS gives the non-zero ones."""
    package, name = full_name.split("/")
    where = Location(f"rosbags:{store}:{full_name}")
    constants, fields = definition

    def plain(base: str) -> str:
        return "uint8" if base in ("byte", "char", "octet") else base

    def type_of(node: tuple) -> FieldType:
        kind, value = node
        if kind == "BASE":
            return FieldType(plain(value[0]), string_bound=value[1])
        if kind == "NAME":
            return FieldType(value.replace("/msg/", "/"))
        inner = type_of(value[0])
        shape = Shape.ARRAY if kind == "ARRAY" else Shape.SEQUENCE
        return FieldType(inner.base, shape, value[1], inner.string_bound)

    def is_octet(node: tuple) -> bool:
        kind, value = node
        return value[0] in ("byte", "octet") if kind == "BASE" else kind != "NAME" and is_octet(value[0])

    constant_names = {n for n, _, _ in constants}

    def default_of(field_name: str) -> Value | None:
        default, needed = STORE_DEFAULTS.get((full_name, field_name), (None, ""))
        return default if store.startswith("ros2") and (not needed or needed in constant_names) else None

    return Message(
        package,
        name,
        tuple(Field(n, type_of(t), default_of(n), location=where, octet=is_octet(t)) for n, t in fields),
        tuple(Constant(n, plain(t), v, location=where) for n, t, v in constants),
        location=where,
    )


def _store_packages(store: str) -> dict[str, Package]:
    if store not in standard_sets.names():
        raise fail(Location(store), "no such standard set", f"choose one of {', '.join(standard_sets.names())}")
    found: dict[str, Package] = {}
    for key, definition in standard_sets.definitions(store).items():
        package_name, _, name = key.split("/")
        full_name = f"{package_name}/{name}"
        package = found.setdefault(package_name, Package(package_name))
        package.loaders["msg", name] = lambda s=store, f=full_name, d=definition: _from_store(s, f, d)
    return found


class Universe:
    """All interfaces that can be named. Keeps what it loaded; ``inputs`` and ``watched`` say which paths that depended on."""

    def __init__(
        self,
        *,
        files: Iterable[tuple[Path, str]] = (),
        search: Iterable[Path] = (),
        standard: str = DEFAULT_STANDARD,
        dialect: Dialect | None = None,
        environment: Mapping[str, str] | None = None,
        search_path_is: str = "--search DIR, SEARCH in CMake, or BATON_MSG_PATH",
    ) -> None:
        """`search_path_is`: how the user of this program adds a directory to `search`, for the way out of errors."""
        self.inputs: set[Path] = set()
        self.watched: set[Path] = set()
        self._dialect = dialect
        self._standard = standard
        self._search_path_is = search_path_is
        self._environment = dict(os.environ if environment is None else environment)
        self._loaded: dict[tuple[str, str], Interface] = {}
        own: dict[str, Package] = {}
        self._files = list(files)
        for path, package in self._files:
            kind = path.suffix.lstrip(".")
            if kind not in _KINDS:
                parse_file(path, package, dialect=dialect)  # raises the error with the reason
            given = own.setdefault(package, Package(package))
            given.loaders[kind, path.stem] = lambda p=path, its=given: _load_file(p, its, dialect, self.inputs)
        self._sources: list[dict[str, Package]] = [own]
        directories = list(search)
        self._sources += self._directories(directories)
        for directory in directories:
            require_packages(directory)

    def _directories(self, roots: Iterable[Path], named_by: str = "") -> list[dict[str, Package]]:
        found = []
        for root in roots:
            if not os.path.isdir(root) or not os.access(root, os.R_OK | os.X_OK):
                raise fail(
                    Location(str(root)),
                    f"is not a directory that can be read{named_by}",
                    "give directories that contain packages (each with msg/ or srv/ inside)",
                )
            found.append(_directory_packages(root, self._dialect, self.inputs))
        return found

    def reading_of(self, package: str) -> tuple[Dialect | None, bool]:
        """What a text of this package is read with, as its files are: the dialect of its build tool, and whether it has a message
        Header of its own."""
        for candidate in self._candidates(package):
            hint = build_tool_dialect(candidate.directory) if candidate.directory else None
            return hint, candidate.has_own_header
        return None, False

    def own_types(self) -> list[tuple[str, str]]:
        """(kind, package/Name) of everything in the given files and directories."""
        return sorted(
            {(kind, f"{p.name}/{n}") for source in self._sources for p in source.values() for kind, n in p.loaders}
        )

    def _candidates(self, package: str) -> Iterable[Package]:
        for source in self._sources:
            if package in source:
                yield source[package]
        for source in self._message_path:
            if package in source:
                yield source[package]
        for prefix in filter(None, self._environment.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
            found = _ament_package(Path(prefix), package, self._dialect, self.inputs)
            if found:
                yield found
        if package in self._ros1_installed:
            yield self._ros1_installed[package]
        for store in (self._standard, FALLBACK_STANDARD):
            if store and package in self._store(store):
                yield self._store(store)[package]
        if package in self._bundled:
            yield self._bundled[package]

    @property
    def _message_path(self) -> list[dict[str, Package]]:
        if not hasattr(self, "_message_path_packages"):
            roots = [Path(p) for p in self._environment.get("BATON_MSG_PATH", "").split(os.pathsep) if p]
            self._message_path_packages = self._directories(roots, ", named in BATON_MSG_PATH")
        return self._message_path_packages

    @property
    def _ros1_installed(self) -> dict[str, Package]:
        if not hasattr(self, "_ros1_packages"):
            self._ros1_packages: dict[str, Package] = {}
            for root in filter(None, self._environment.get("ROS_PACKAGE_PATH", "").split(os.pathsep)):
                for name, package in _directory_packages(
                    Path(root), self._dialect or Dialect.ROS1, self.inputs
                ).items():
                    self._ros1_packages.setdefault(name, package)
        return self._ros1_packages

    @property
    def _bundled(self) -> dict[str, Package]:
        if not hasattr(self, "_bundled_packages"):
            self._bundled_packages = _directory_packages(BUNDLED, Dialect.ROS2, set())
        return self._bundled_packages

    def _store(self, store: str) -> dict[str, Package]:
        if not hasattr(self, "_stores"):
            self._stores: dict[str, dict[str, Package]] = {}
        if store not in self._stores:
            try:
                self._stores[store] = _store_packages(store)
            except ImportError:
                self._stores[
                    store
                ] = {}  # neither files nor rosbags: given files, directories and an installed ROS still work
        return self._stores[store]

    def types_of(self, package: str) -> list[tuple[str, str]]:
        """(kind, package/Name) of everything in a package: the first source that has the package says what belongs to it."""
        for candidate in self._candidates(package):
            self.watched.update(candidate.watched)
            return sorted((kind, f"{package}/{name}") for kind, name in candidate.loaders)
        raise fail(
            Location(package), f"no package '{package}'", _suggest(package, self.packages()) + self._where_to_look()
        )

    def packages(self) -> list[str]:
        """All packages that types_of() and load() find."""
        sources = [
            *self._sources,
            *self._message_path,
            self._ros1_installed,
            self._store(self._standard),
            self._store(FALLBACK_STANDARD),
            self._bundled,
        ]
        names = {name for source in sources for name in source}
        for prefix in filter(None, self._environment.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
            for share in Path(prefix).glob("share/*"):
                if _ament_package(Path(prefix), share.name, self._dialect, self.inputs):
                    names.add(share.name)
        return sorted(names)

    def standard_packages(self) -> list[str]:
        """The packages of the standard set itself."""
        return sorted(self._store(self._standard))

    def load(self, full_name: str, kind: str = "msg", wanted_at: Location | None = None) -> Interface:
        """The interface ``package/Name``; ``wanted_at`` is the place that names it."""
        key = (kind, full_name)
        if key not in self._loaded:
            self._loaded[key] = self._find(full_name, kind, wanted_at or Location(full_name))
        return self._loaded[key]

    def _find(self, full_name: str, kind: str, where: Location) -> Interface:
        package, _, name = full_name.partition("/")
        names: set[str] = set()
        is_other_kind = has_package = False
        for candidate in self._candidates(package):
            loader = candidate.loaders.get((kind, name))
            if loader:
                return loader()
            has_package = True
            is_other_kind = is_other_kind or any(k != kind and n == name for k, n in candidate.loaders)
            names.update(n for k, n in candidate.loaders if k == kind)
        if is_other_kind:
            is_, wanted = ("message", "service") if kind == "srv" else ("service", "message")
            raise fail(where, f"'{full_name}' is a {is_}, and a {wanted} is wanted here", _OTHER_KIND[kind])
        if not has_package:
            known = ", ".join(sorted(self._sources[0])) if self._sources else ""
            raise fail(
                where,
                f"unknown type '{full_name}': no package '{package}'",
                self._other_name_of(package, name)
                or (_suggest(name, PRIMITIVES) or _suggest(package, self.packages()))
                + self._where_to_look()
                + (f"; given: {known}" if known else ""),
            )
        if beside := self._beside(package, name, kind):
            shown = f"{beside.parent.name}/{beside.name}"
            raise fail(
                where,
                f"unknown type '{full_name}': '{beside}' lies beside the files that were given, and was not given",
                f"add it to them: FILES ... {shown} in baton_generate_messages(), or --file {beside}",
            )
        raise fail(
            where, f"unknown type '{full_name}'", _suggest(name, (*PRIMITIVES, *sorted(names))) + self._where_to_look()
        )

    def _beside(self, package: str, name: str, kind: str) -> Path | None:
        """The file of a type that was not given, in the folder of one of its package that was, or in the folder's neighbour."""
        for path, its_package in self._files:
            for folder in (path.parent, path.parent.parent / kind):
                beside = folder / f"{name}.{kind}"
                if its_package == package and beside.is_file():
                    return beside
        return None

    def _other_name_of(self, package: str, name: str) -> str:
        """The way out if a package is there under another name: that of its package.xml, of its folder, or the one given for files."""
        for path, its_package in self._files:
            if _name_in_package_xml(path.resolve().parent.parent) == package:
                return (
                    f"'{path.parent.parent / 'package.xml'}' has this name, but its files were given as the package "
                    f"'{its_package}': say PACKAGE {package} in baton_generate_messages(), or --package-name {package}"
                )
        for source in (*self._sources, *self._message_path):
            for found in source.values():
                if found.directory is None:
                    continue
                if found.directory.resolve().name == package:
                    return (
                        f"write {found.name}/{name}: the package in '{found.directory}' has the name '{found.name}', "
                        "as its package.xml says"
                    )
                if (
                    found.name in difflib.get_close_matches(package, [found.name], cutoff=0.75)
                    and not (found.directory / "package.xml").exists()
                ):
                    return (
                        f"the package in '{found.directory}' has its folder's name, '{found.name}', since it has no "
                        f"package.xml: write {found.name}/{name}, rename the folder, or add a package.xml with "
                        f"<name>{package}</name>"
                    )
        return ""

    def _where_to_look(self) -> str:
        return (
            f"add its directory to the search path ({self._search_path_is}), or source a ROS installation that has it"
        )


def _suggest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.75) if len(name) <= 80 else []
    return f"did you mean '{close[0]}'? Otherwise " if close else ""
