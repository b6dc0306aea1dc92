#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a file uses a room below its own, a file that is later in the order of its folder, or an operating-system
header outside the room that may.

The orders stand in scripts/layers.txt and nowhere else. Checked: #include of C++ files, imports of Python files.
Usage: check_layers.py [root]
"""

import ast
import fnmatch
import re
import subprocess
import sys
from pathlib import Path

import checks

CPP_SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".cc", ".ipp", ".def"}
# Files whose includes inside their room are not ordered.
UNORDERED = re.compile(r"_test\.cpp$|_test_support\.hpp$|/(testing|tests|fuzz|bench)/")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

# Headers of POSIX or Linux; standard C and C++ headers are everybody's.
SYSTEM_HEADERS = [
    "sys/*", "linux/*", "asm/*", "arpa/*", "net/*", "netinet/*", "bits/*",
    "aio.h", "dirent.h", "dlfcn.h", "elf.h", "err.h", "execinfo.h", "fcntl.h", "ftw.h", "getopt.h", "glob.h", "grp.h",
    "link.h", "malloc.h", "mntent.h", "mqueue.h", "netdb.h", "poll.h", "pthread.h", "pwd.h", "sched.h", "semaphore.h",
    "signal.h", "csignal", "spawn.h", "strings.h", "syscall.h", "syslog.h", "termios.h", "ucontext.h", "unistd.h", "utime.h",
]  # fmt: skip


class Table:
    """The contents of layers.txt."""

    def __init__(self, text):
        self.level = {}  # room -> number of its line
        self.folders = {}  # folder -> its room
        self.products = {}  # room -> (number of its product's line, the product)
        self.prefixes = {}  # include prefix -> room
        self.packages = {}  # Python package -> room
        self.system = set()
        self.inside = {}  # folder -> {name of a file: its level}
        self.allowed = []  # (file glob, header glob)
        self.used = set()
        for number, line in enumerate(text.splitlines(), 1):
            line = line.split("#", 1)[0].strip()
            if not line:
                continue
            keyword, _, rest = line.partition(" ")
            if keyword == "room":
                level = max(self.level.values(), default=-1) + 1
                for folder in rest.split():
                    room = Path(folder).name
                    self.level[room] = level
                    self.folders[folder] = room
                    self.prefixes[f"baton/{room}/"] = room
            elif keyword == "product":
                product, _, names = rest.partition(":")
                place = len({number for number, _ in self.products.values()})
                for room in names.split():
                    if room not in self.level:
                        raise SystemExit(f"layers.txt:{number}: there is no room '{room}' above this line")
                    self.products[room] = (place, product.strip())
            elif keyword == "owns":
                room, _, names = rest.partition(":")
                for name in names.split():
                    (self.prefixes if "/" in name else self.packages)[name] = room.strip()
            elif keyword == "system":
                self.system.update(rest.split())
            elif keyword == "inside":
                folder, colon, names = rest.partition(":")
                levels = self.inside.setdefault(folder.strip(), {})
                level = max(levels.values(), default=0)
                for number_of_group, group in enumerate(names.split("<")):
                    for name in group.split():
                        if levels.setdefault(name, level + number_of_group) != level + number_of_group:
                            raise SystemExit(f"layers.txt:{number}: '{name}' is listed twice")
                if not colon or not levels:
                    raise SystemExit(f"layers.txt:{number}: write 'inside <folder> : <names> < <names>'")
            elif keyword == "allow":
                what, colon, reason = rest.partition(" : ")
                parts = what.split()
                if len(parts) != 2 or not reason.strip():
                    raise SystemExit(f"layers.txt:{number}: write 'allow <file glob> <header glob> : <reason>'")
                self.allowed.append(tuple(parts))
            else:
                raise SystemExit(f"layers.txt:{number}: unknown keyword '{keyword}'")

    def room_of(self, path):
        """The room that a file lies in: that of the innermost folder with one, or None."""
        return next((self.folders[str(folder)] for folder in Path(path).parents if str(folder) in self.folders), None)

    def may_use(self, user, used):
        if user == used:
            return True
        if user in self.products and used in self.products and self.products[used] > self.products[user]:
            return False
        return self.level[used] < self.level[user]

    def order_of(self, path):
        """The folder with an order that the file lies in, and that order; or None."""
        if not UNORDERED.search(path):
            for folder, levels in self.inside.items():
                if path.startswith(folder + "/"):
                    return folder, levels
        return None

    def excused(self, path, name):
        for entry in self.allowed:
            if fnmatch.fnmatch(path, entry[0]) and fnmatch.fnmatch(name, entry[1]):
                self.used.add(entry)
                return True
        return False


def tracked_files(root):
    """Files of the tree that git tracks or would track; all files where there is no repository."""
    try:
        listing = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=root, capture_output=True, text=True, check=True,
        ).stdout.splitlines()  # fmt: skip
        inside = subprocess.run(
            ["git", "rev-parse", "--show-toplevel"], cwd=root, capture_output=True, text=True, check=True
        ).stdout.strip()
        if Path(inside) == root:
            return sorted({path for path in listing if (root / path).is_file()})
    except (OSError, subprocess.CalledProcessError):
        pass
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def module_of(path):
    """The name by which Python knows a file of one of Baton's packages, as its parts; empty for other files."""
    parts = Path(path).with_suffix("").parts
    begin = next((place for place, part in enumerate(parts[:-1]) if part.startswith("baton")), len(parts))
    return parts[begin:]


def python_packages(files, table):
    """The room of each top-level Python package of the tree, and of each module: another room may bring modules of a package."""
    packages = dict(table.packages)
    for path in (path for path in files if path.endswith(".py")):
        module = module_of(path)
        packages.setdefault(".".join(module), table.room_of(path))
        if module[1:] == ("__init__",):
            packages.setdefault(module[0], table.room_of(path))
    return packages


def imported_names(node, path):
    """The full names of the modules that an import statement may load. A package stands before the modules in it."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    begin = [".".join(module_of(path)[: -node.level])] if node.level else []
    within = ".".join([*begin, *([node.module] if node.module else [])])
    return [within, *(f"{within}.{alias.name}" for alias in node.names)]


def check_inside(path, number, quote, name, table, problems):
    """An include of another file of the same folder: that file must be earlier in the folder's order."""
    order = table.order_of(path)
    if order is None:
        return
    folder, levels = order
    prefixes = tuple(prefix for prefix, owner in table.prefixes.items() if owner == table.room_of(path))
    own = name.startswith(prefixes) or (quote == '"' and not name.startswith("baton/"))
    user, used = Path(path).stem, Path(name).stem
    if own and user in levels and used in levels and user != used and levels[used] >= levels[user]:
        problems.append(f"{path}:{number}: in {folder}, {user} may not use {used}: scripts/layers.txt has it later")


def check_listed(files, table, problems):
    """Every C++ file of a folder with an order is in that order, and the order names no other."""
    found = {folder: set() for folder in table.inside}
    for path in files:
        order = table.order_of(path)
        if order is not None and Path(path).suffix in CPP_SUFFIXES:
            folder, levels = order
            found[folder].add(Path(path).stem)
            if Path(path).stem not in levels:
                problems.append(f"{path}: scripts/layers.txt does not list it in 'inside {folder}'")
    for folder, levels in table.inside.items():
        for name in sorted(set(levels) - found[folder]):
            problems.append(f"scripts/layers.txt: 'inside {folder}' lists '{name}', and there is no such file")


def check_cpp(path, text, table, problems):
    room = table.room_of(path)
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, name = match.groups()
        if table.excused(path, name):
            continue
        where = f"{path}:{number}"
        if ".." in Path(name).parts:
            problems.append(f"{where}: '{name}' leaves its folder; include a room's header as <baton/room/file.hpp>")
            continue
        check_inside(path, number, quote, name, table, problems)
        for prefix, owner in table.prefixes.items():
            if name.startswith(prefix) and not table.may_use(room, owner):
                problems.append(f"{where}: {room} may not use {owner} ('{name}'): scripts/layers.txt has it later")
        if room not in table.system and any(fnmatch.fnmatch(name, pattern) for pattern in SYSTEM_HEADERS):
            problems.append(
                f"{where}: <{name}> is an operating-system header; only {', '.join(sorted(table.system))} may include "
                "it (move the call there, or add an 'allow' line with a reason to scripts/layers.txt)"
            )


def check_python(path, text, table, packages, problems):
    room = table.room_of(path)
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        problems.append(f"{path}:{error.lineno}: does not parse: {error.msg}")
        return
    for node in ast.walk(tree):
        for name in imported_names(node, path):
            owner = packages.get(name) or packages.get(name.split(".")[0])
            if owner and not table.may_use(room, owner) and not table.excused(path, name):
                problems.append(f"{path}:{node.lineno}: {room} may not use {owner} ('{name}')")
                break


def check(root):
    """All problems of the tree at `root`, as lines of text."""
    root = root.resolve()
    table = Table((root / "scripts/layers.txt").read_text())
    files = [path for path in tracked_files(root) if table.room_of(path)]
    packages = python_packages(files, table)
    problems = []
    for path in files:
        suffix = Path(path).suffix
        if suffix in CPP_SUFFIXES:
            check_cpp(path, (root / path).read_text(errors="replace"), table, problems)
        elif suffix == ".py":
            check_python(path, (root / path).read_text(errors="replace"), table, packages, problems)
    check_listed(files, table, problems)
    for entry in table.allowed:
        if entry not in table.used:
            problems.append(f"scripts/layers.txt: 'allow {' '.join(entry)}' excuses nothing any more; remove it")
    return problems


if __name__ == "__main__":
    sys.exit(checks.run("layers", check))
