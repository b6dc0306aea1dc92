# SPDX-License-Identifier: Apache-2.0
"""Finds names of ROS that Baton does not have in sources. The names, and Baton's replacements, are in the tables of
docs/guides/from-ros.md.

Sources are read as text, without a compiler: comments and strings are left out, and the types of variables are those that a declaration
or a call says in the same line. A member whose name other classes have as well (`reset`) counts only of a variable whose type is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

from .output import counted

RULE = "name-of-ros"
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, order=True)
class Found:
    path: str
    line: int
    column: int
    name: str
    way: str

    @property
    def message(self) -> str:
        return f"{self.name}: in Baton {self.way}"


def page() -> Path:
    """The file of an installation, else of this checkout."""
    installed = Path(__file__).with_name("from-ros.md")
    return installed if installed.exists() else _ROOT / "docs/guides/from-ros.md"


@cache
def table() -> dict[str, str]:
    """The advice for each name."""
    rows: dict[str, str] = {}
    for line in page().read_text().partition("\n## Names that Baton does not have\n")[2].splitlines():
        if line.startswith("| `"):
            names, way = line.strip("| ").split(" | ", 1)
            rows |= dict.fromkeys(names.strip("`").split("`, `"), re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", way))
    return rows


@dataclass(frozen=True, eq=False)
class _Language:
    suffixes: tuple[str, ...]
    between: str  # the parts of a name
    roots: tuple[str, ...]  # the first part of a name of ROS
    not_code: re.Pattern[str]
    # Other names of the classes that have members in the tables, and calls that return an object of such a class.
    classes: dict[str, str]
    own: re.Pattern[str]  # of a node's class that the sources define

    @cached_property
    def names(self) -> set[str]:
        """The names of the table."""
        return {name for name in table() if name.startswith(tuple(root + self.between for root in self.roots))}

    @cached_property
    def members(self) -> dict[str, list[str]]:
        """The classes of the table that have each member."""
        members: dict[str, list[str]] = {}
        for name in sorted(self.names):
            of, _, member = name.rpartition(self.between)
            if of.rpartition(self.between)[2][:1].isupper() and member[:1].islower():
                members.setdefault(member, []).append(of)
        return members


_CPP = _Language(
    (".c++", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx"),
    "::",
    (
        *("ros", "rclcpp", "rclcpp_lifecycle", "rclcpp_action", "rcl_interfaces"),
        *("tf", "tf2_ros", "message_filters", "image_transport"),
    ),
    re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL),
    {
        "ros::WallTimer": "ros::Timer",
        "ros::SteadyTimer": "ros::Timer",
        "ros::WallRate": "ros::Rate",
        "rclcpp::WallTimer": "rclcpp::TimerBase",
        "rclcpp::executors": "rclcpp::Executor",
        "rclcpp_lifecycle::LifecycleNode": "rclcpp::Node",
        "advertise": "ros::Publisher",
        "subscribe": "ros::Subscriber",
        "createTimer": "ros::Timer",
        "createWallTimer": "ros::Timer",
        "advertiseService": "ros::ServiceServer",
        "serviceClient": "ros::ServiceClient",
        "create_publisher": "rclcpp::Publisher",
        "create_subscription": "rclcpp::Subscription",
        "create_wall_timer": "rclcpp::TimerBase",
        "create_timer": "rclcpp::TimerBase",
        "create_client": "rclcpp::Client",
        "get_parameter": "rclcpp::Parameter",
    },
    re.compile(r"\b(?:class|struct)\s+(\w+)[^;{}]*:[^;{}]*\b(?:rclcpp::Node|rclcpp_lifecycle::LifecycleNode)\b"),
)
_PYTHON = _Language(
    (".py",),
    ".",
    ("rospy", "rclpy", "rosbag", "tf", "tf2_ros", "message_filters"),
    re.compile(
        r'#[^\n]*|"""(?:\\.|.)*?"""|\'\'\'(?:\\.|.)*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL
    ),
    {
        "create_node": "rclpy.node.Node",
        "Node": "rclpy.node.Node",
        "SingleThreadedExecutor": "rclpy.executors.Executor",
        "MultiThreadedExecutor": "rclpy.executors.Executor",
        "create_publisher": "rclpy.publisher.Publisher",
        "create_subscription": "rclpy.subscription.Subscription",
        "create_timer": "rclpy.timer.Timer",
        "create_client": "rclpy.client.Client",
        "create_service": "rclpy.service.Service",
        "get_parameter": "rclpy.parameter.Parameter",
    },
    re.compile(r"\bclass\s+(\w+)\([^)]*\b(?:Node|LifecycleNode)\b[^)]*\)"),
)
# Members that classes outside of ROS often have, too.
_COMMON = {
    *("reset", "start", "stop", "shutdown", "ok", "exists", "isValid", "take", "get_name", "get_namespace", "getNamespace", "getTopic"),
    *("name", "now", "executor", "publishers", "subscriptions", "destroy", "unregister", "create_task", "topic_name", "add_timer", "get_param"),
}  # fmt: skip
_MACRO = re.compile(
    r"\b(?:ROS|RCLCPP)_(?:DEBUG|INFO|WARN|ERROR|FATAL)(?:_[A-Z_]+)?\b|\bRCLCPP_COMPONENTS_REGISTER_NODE\b"
)
_ARGUMENT = re.compile(r"\bmsg::\w+::(SharedPtr|UniquePtr)\s*&{0,2}\s*\w*\s*[,)]")  # the parameter of a callback
_NUMBER = re.compile(r"\s*\w*\s*\(\s*[-+.\d][-+.\w]*\s*\)")
_IMPORT = re.compile(r"\bfrom\s+([\w.]+)\s+import\s+(\([^)]*\)|[^\n]+)")
# The calls of rospy and rclpy whose arguments are looked at.
_CALL = re.compile(
    r"\b(Publisher|Subscriber|Timer|Node|__init__|init_node|create_\w+|wait_for_service|call|spin\w*|wait_for_message)\s*\("
)


def _code(text: str, not_code: re.Pattern[str]) -> str:
    """The text with blanks in place of comments and strings, so that positions stay the same."""
    return not_code.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def _closing(text: str, at: int, brackets: str) -> int:
    """The position behind the bracket that closes the one at `at`; the end of the text if there is none."""
    depth = 0
    for end in range(at, len(text)):
        depth += (text[end] == brackets[0]) - (text[end] == brackets[1])
        if depth == 0:
            return end + 1
    return len(text)


@dataclass
class _Source:
    """A file, the names of ROS in it with their ends, and the classes of its variables."""

    path: str
    code: str
    language: _Language
    paths: list[tuple[int, int, str]] = field(default_factory=list)
    classes: dict[str, set[str]] = field(default_factory=dict)


def _names_of(code: str, language: _Language) -> Iterator[tuple[int, int, str]]:
    """`rclcpp::Publisher<T>::SharedPtr` without its arguments, where it begins, and where it ends."""
    between = re.escape(language.between)
    part = re.compile(rf"\s*{between}\s*(\w+)")
    for root in re.finditer(rf"(?<![\w.])({'|'.join(language.roots)})(?=\s*{between})", code):
        name, end = root[1], root.end()
        while following := part.match(code, end):
            name, end = f"{name}{language.between}{following[1]}", following.end()
            if language.between == "::" and code[end : end + 1] == "<":
                end = _closing(code, end, "<>")
        yield root.start(), end, name


def _class_of(name: str, language: _Language) -> str:
    """The class, with members in the tables, with which a type's name begins."""
    parts = name.split(language.between)
    for count in range(len(parts), 1, -1):
        shown = language.between.join(parts[:count])
        shown = language.classes.get(shown, shown)
        if any(shown in classes for classes in language.members.values()):
            return shown
    return ""


def _read(path: Path, shown: str, language: _Language) -> _Source:
    code = _code(path.read_text(errors="replace"), language.not_code)
    source = _Source(shown, code, language, list(_names_of(code, language)))
    for start, end, name in source.paths:
        found = re.compile(r"(?:\s*>)?[\s&*]*\b(\w+)\s*[;,)({=]").match(code, end)  # ros::Publisher publisher;
        if language is _PYTHON:  # publisher = rospy.Publisher(
            found = re.search(r"(\w+)\s*(?::[^=\n]+)?=\s*$", code[code.rfind("\n", 0, start) + 1 : start])
        if found and (of := _class_of(name, language)):
            source.classes.setdefault(found[1], set()).add(of)
    made = "|".join(name for name in language.classes if language.between not in name)
    for found in re.finditer(rf"(\w+)\s*(?::[^=\n]+)?=\s*[^;=\n]*?\b({made})\s*[<(]", code):
        source.classes.setdefault(found[1], set()).add(language.classes[found[2]])
    return source


def _found_names(source: _Source) -> Iterator[tuple[int, str]]:
    names, between = source.language.names, source.language.between
    for start, end, name in source.paths:
        if f"{name}(" in names and _NUMBER.match(source.code, end):
            yield start, f"{name}("
            continue
        while name and name not in names:
            name = name.rpartition(between)[0]
        if name:
            yield start, name
    if source.language is _CPP:
        yield from ((each.start(), f"msg::T::{each[1]}") for each in _ARGUMENT.finditer(source.code))
        for used in re.finditer(r"\busing\s+namespace\s+(ros|rclcpp)\s*;", source.code):
            for name in names:
                root, _, rest = name.partition("::")
                if root == used[1] and rest.isidentifier():
                    yield from ((each.start(), name) for each in re.finditer(rf"(?<![\w:.>]){rest}\b", source.code))
        for macro in _MACRO.finditer(source.code):
            name = macro[0].replace("_STREAM", "")
            while name not in table():
                name = name.rpartition("_")[0]
            yield macro.start(), name
        return
    for found in _IMPORT.finditer(source.code):
        for each in re.finditer(r"(\w+)(?:\s+as\s+\w+)?\s*(?:[,)\n]|$)", found[2]):
            if (name := f"{found[1]}.{each[1]}") in names:
                yield found.start(2) + each.start(), name
    for call in _CALL.finditer(source.code):
        end = _closing(source.code, call.end() - 1, "()")
        for argument in re.finditer(r"[(,]\s*(\w+=)(?!=)", source.code[call.end() - 1 : end]):
            for name in (argument[1], f"{call[1]}({argument[1]}"):
                if name in table():
                    yield call.end() - 1 + argument.start(1), name


def _found_members(source: _Source, elsewhere: dict[str, set[str]], own: set[str]) -> Iterator[tuple[int, str]]:
    """`own`: the node's classes that the tree defines."""
    language, code = source.language, source.code
    node = "rclcpp::Node" if language is _CPP else "rclpy.node.Node"
    inside = any(re.search(rf"\b{name}\b", code) for name in own)
    for found in re.finditer(
        rf"(?:(\w+)\s*(?:\(\s*\)\s*)?(?:->|\.)\s*|(\)\s*\.\s*))?(?<![\w:])({'|'.join(language.members)})\b(?!\s*=[^=])",
        code,
    ):
        receiver, chained, member = found.groups()
        if language is _CPP and not re.match(r"\s*[<(]", code[found.end() :][:80]):
            continue
        if receiver is None and chained is None:
            known: set[str] | None = {node} if inside and language is _CPP else set()
        elif receiver in ("this", "self"):
            known = {node} if inside else set()
        elif receiver in language.roots:
            continue
        else:
            known = source.classes.get(receiver or "") or elsewhere.get(receiver or "")
        if known is None and member in _COMMON:
            continue
        for of in language.members[member]:
            if known is None or of in known:
                yield found.start(3), f"{of}{language.between}{member}"


def _found_commands(code: str) -> Iterator[tuple[int, str]]:
    for name in table():
        words = name.split()
        if not words[0].startswith("ros") or not re.fullmatch(r"[a-z0-9 -]+", name):
            continue
        verbs = [word for word in words if not word.startswith("-")]
        options = [word for word in words if word.startswith("-")]
        pattern = (
            r"(?<![\w./-])"
            + r"\s+".join(verbs)
            + r"(?![\w.-])"
            + "".join(rf"[^\n|;&]*?\s{o}(?![\w-])" for o in options)
        )
        yield from ((found.start(), name) for found in re.finditer(pattern, code))


def sources(tree: Path) -> Iterator[Path]:
    """The files to read, without hidden files and build outputs."""
    for path in sorted(tree.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir() and not path.is_symlink():
            if not any((path / mark).exists() for mark in ("CMakeCache.txt", "COLCON_IGNORE", ".catkin")):
                yield from sources(path)
        elif path.suffix in (*_CPP.suffixes, *_PYTHON.suffixes, ".sh", ".bash") and path.is_file():
            yield path


def find(tree: Path) -> list[Found]:
    """The names of ROS in the sources below `tree`, by place."""
    read: list[_Source] = []
    places: list[tuple[str, str, int, str]] = []  # file, its code, place, name
    for path in sources(tree):
        shown = str(path.relative_to(tree))
        for language in (_CPP, _PYTHON):
            if path.suffix in language.suffixes:
                read.append(_read(path, shown, language))
        if path.suffix in (".sh", ".bash"):
            code = _code(path.read_text(errors="replace"), re.compile(r"(?<!\S)#[^\n]*"))
            places += [(shown, code, at, name) for at, name in _found_commands(code)]
    for language in (_CPP, _PYTHON):
        of_language = [source for source in read if source.language is language]
        elsewhere: dict[str, set[str]] = {}
        own: set[str] = set()
        for source in of_language:
            own |= {found[1] for found in language.own.finditer(source.code)}
            for name, classes in source.classes.items():
                elsewhere.setdefault(name, set()).update(classes)
        for source in of_language:
            found = {*_found_names(source), *_found_members(source, elsewhere, own)}
            places += [(source.path, source.code, at, name) for at, name in found]
    return sorted(
        Found(path, code.count("\n", 0, at) + 1, at - code.rfind("\n", 0, at), name, table()[name])
        for path, code, at, name in places
    )


def text(found: list[Found]) -> str:
    """The findings as text."""
    lines = [f"{each.path}:{each.line}:{each.column}: {each.message} [{RULE}]" for each in found]
    names, files = counted(len(found), "name"), counted(len({each.path for each in found}), "file")
    return "\n".join([*lines, f"{names} of ROS that Baton does not have, in {files}"])


def as_json(found: list[Found]) -> list[dict[str, Any]]:
    """The files with their findings. Keys are API (CHANGELOG.md)."""
    return [
        {
            "path": path,
            "findings": [
                {"rule": RULE, "line": each.line, "column": each.column, "name": each.name, "message": each.message}
                for each in of_file
            ],
        }
        for path, of_file in groupby(found, key=lambda each: each.path)
    ]
