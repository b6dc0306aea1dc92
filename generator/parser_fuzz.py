# SPDX-License-Identifier: Apache-2.0
"""Coverage-guided fuzzing of the interface parser and the passes after it: parser_fuzz.py <seconds> [libFuzzer options].

Any bytes must give a header or an InterfaceError whose places lie in the file. Seeds are the golden and the wrong interface files
and the standard sets, written out as text. Findings and the corpus lie in out/fuzz/parser.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from pathlib import Path

try:
    import atheris
except ImportError:
    if platform.machine() == "x86_64" and sys.version_info < (3, 14):
        sys.exit("parser_fuzz: needs atheris; make setup installs it")
    print(
        "parser_fuzz: left out, since atheris has no build for this machine; generator/tests/parser_test.py tries random texts"
    )
    sys.exit(0)

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "generator"))

with atheris.instrument_imports(include=["baton_generator"]):
    from baton_generator import cpp, parser
    from baton_generator.canonical import Resolver
    from baton_generator.diagnostics import InterfaceError
    from baton_generator.model import Dialect, Message, Service
    from baton_generator.packages import Universe
    from baton_generator.split import split

OUT = ROOT / "out" / "fuzz" / "parser"
DIALECTS = [None, Dialect.ROS1, Dialect.ROS2]
UNIVERSE = Universe(environment={})


def check(data: bytes) -> None:
    """The first byte chooses kind and dialect, the rest is the file."""
    if not data:
        return
    kind = ".srv" if data[0] & 1 else ".msg"
    text = data[1:].decode("utf-8", "replace")
    try:
        interface = parser.parse_text(
            text, "fuzzed", "Name", kind=kind, dialect=DIALECTS[data[0] // 2 % 3], has_own_header=data[0] >= 128
        )
        resolver = Resolver(UNIVERSE)
        halves = [interface.request, interface.response] if isinstance(interface, Service) else [interface]
        for half in halves:
            assert isinstance(half, Message)
            struct = resolver.resolve(half)
            assert all(a.offset + a.size <= b.offset for a, b in zip(struct.members, struct.members[1:], strict=False))
            assert struct.size % struct.alignment == 0
            split(struct)
            header = cpp.render_message(struct)
            assert "\0" not in header
            header.encode()
    except InterfaceError as error:
        lines = text.split("\n")
        for diagnostic in error.diagnostics:
            where = diagnostic.location
            assert diagnostic.way_out
            if where.line and where.path == "<text>":
                assert 1 <= where.line <= len(lines)
                assert 1 <= where.column <= len(lines[where.line - 1]) + 1, str(error)


def seeds() -> list[bytes]:
    result = []
    for path in sorted(
        [
            *(ROOT / "generator" / "golden" / "interfaces").rglob("*.*"),
            *(ROOT / "generator" / "tests" / "diagnostics").glob("*"),
        ]
    ):
        if path.suffix in (".msg", ".srv"):
            first = (1 if path.suffix == ".srv" else 0) + 2 * (1 if ".ros1." in path.name else 0)
            result.append(bytes([first]) + path.read_bytes())
    return result


def fuzz(options: list[str]) -> None:
    """Does not return: libFuzzer ends the process."""
    atheris.Setup([sys.argv[0], *options], check)
    atheris.Fuzz()


def main() -> int:
    if len(sys.argv) > 2:
        fuzz(sys.argv[2:])
    seconds = sys.argv[1] if len(sys.argv) > 1 else "60"
    corpus, start, log = OUT / "corpus", OUT / "seeds", OUT / "log.txt"
    for directory in (corpus, start):
        directory.mkdir(parents=True, exist_ok=True)
    for i, seed in enumerate(seeds()):
        (start / f"{i:03}").write_bytes(seed)
    options = [
        f"-max_total_time={seconds}",
        "-timeout=10",
        "-rss_limit_mb=2048",
        "-max_len=2048",
        f"-artifact_prefix={OUT}/",
    ]
    with log.open("w") as out:
        code = subprocess.call(
            [sys.executable, __file__, seconds, *options, str(corpus), str(start)], stdout=out, stderr=out
        )
    lines = log.read_text(errors="replace").splitlines()
    if code:
        print("\n".join(lines[-40:]))
        print(f"parser_fuzz: a finding; the input lies in {OUT.relative_to(ROOT)}, more in {log.relative_to(ROOT)}")
        return 1
    edges = next((line.split()[3] for line in reversed(lines) if "DONE" in line and "cov:" in line), "?")
    found = re.search(r"Done (\d+) runs", "\n".join(lines))
    print(f"parser_fuzz: {found[1] if found else '?'} runs, {edges} edges covered")
    return 0


if __name__ == "__main__":
    sys.exit(main())
