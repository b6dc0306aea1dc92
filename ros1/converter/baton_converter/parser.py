# SPDX-License-Identifier: Apache-2.0
"""libclang: finding the library and the headers that belong to it, and parsing one source.

The Python package libclang carries the library, but not the compiler's own headers (stddef.h and others). These lie where clang of the
same major version is installed; headers of another version may not parse.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .compile_commands import NAME as _DATABASE
from .compile_commands import Command

if TYPE_CHECKING:
    from clang.cindex import Cursor, TranslationUnit

_SKIP_BODIES = 0x40  # CXTranslationUnit_SkipFunctionBodies
_CHECKOUT = Path(__file__).resolve().parents[3]
INSTALL = (
    f"`make setup` in {_CHECKOUT} (`make build` alone does not install it)"
    if (_CHECKOUT / "scripts/setup.sh").is_file()
    else "pip install 'baton-ipc[migrate]' (of Debian's package: apt-get install python3-clang-14 libclang-common-14-dev)"
)


class NoClang(Exception):
    """libclang, or the headers that belong to it, are missing. The text names the way out."""


class NotParsed(Exception):
    """The text is clang's first error, with its place."""


class Parser:
    """One libclang of this process. Not for several threads."""

    def __init__(self) -> None:
        try:
            from clang import cindex
        except ImportError:
            raise NoClang(
                f"baton migrate reads sources by libclang, which this Python does not have. To install it: {INSTALL}"
            ) from None
        try:
            self._index = cindex.Index.create()
        except cindex.LibclangError as error:
            raise NoClang(f"libclang does not load ({str(error).splitlines()[0]}). To install it: {INSTALL}") from None
        self._errors = (cindex.TranslationUnitLoadError,)
        self._error_level = cindex.Diagnostic.Error
        library = cindex.conf.lib
        library.clang_getClangVersion.restype = cindex._CXString
        library.clang_getClangVersion.errcheck = cindex._CXString.from_result
        text = str(library.clang_getClangVersion())
        found = re.search(r"version (\d+)", text)
        if found is None:
            raise NoClang(f"libclang does not say which version it is ('{text}')")
        self.headers = _headers(int(found[1]))

    def parse(
        self, command: Command, unsaved: list[tuple[str, str]] | None = None, skip_bodies: bool = False
    ) -> TranslationUnit:
        """`skip_bodies`: declarations alone, in less time."""
        if not command.source.is_file():
            raise NotParsed(f"{command.source}: there is no such file; {_DATABASE} is of another folder, or old")
        options = [*command.options, f"-working-directory={command.folder}", "-resource-dir", str(self.headers)]
        options += ["-Wno-everything", "-ferror-limit=1"]
        try:
            unit = self._index.parse(
                str(command.source), args=options, unsaved_files=unsaved, options=_SKIP_BODIES if skip_bodies else 0
            )
        except self._errors:
            raise NotParsed(
                f"{command.source}: clang refuses the options of {command.source.name}: {' '.join(command.options)}"
            ) from None
        for diagnostic in unit.diagnostics:
            if diagnostic.severity >= self._error_level:
                at = diagnostic.location
                place = f"{at.file.name}:{at.line}:{at.column}" if at.file else str(command.source)
                raise NotParsed(f"{place}: {diagnostic.spelling}")
        return unit


def _headers(major: int) -> Path:
    """The folder whose include/ has stddef.h of this version."""
    places = [f"/usr/lib/llvm-{major}/lib/clang", "/usr/lib/clang", "/usr/lib64/clang", "/usr/local/lib/clang"]
    for place in places:
        for folder in sorted(Path(place).glob(f"{major}*"), reverse=True):
            if re.fullmatch(rf"{major}(\.\d+)*", folder.name) and (folder / "include/stddef.h").is_file():
                return folder
    raise NoClang(
        f"libclang {major} is here, but not the headers of clang {major} (stddef.h was looked for in {', '.join(places)}). "
        f"Install them: apt-get install libclang-common-{major}-dev"
    )


def text_of(cursor: Cursor | Any, contents: bytes) -> str:
    """The source text of a cursor, in one line."""
    extent = cursor.extent
    return " ".join(contents[extent.start.offset : extent.end.offset].decode(errors="replace").split())
