# SPDX-License-Identifier: Apache-2.0
"""Which names the linker may bind between a recompiled program and stock libraries."""

import re
import subprocess

from ros1_network import BUILD


def names(*arguments):
    """What the linker knows of an object or a library, demangled; what an object hides is left out."""
    symbols = subprocess.run(["readelf", "-sWC", *arguments], capture_output=True, text=True, check=True).stdout
    fields = (line.split(maxsplit=7) for line in symbols.splitlines() if re.match(r" *\d+: ", line))
    return {f[7].split("@")[0] for f in fields if len(f) == 8 and f[4] in ("GLOBAL", "WEAK") and f[5] == "DEFAULT"}


def names_shared_with_libraries(kind, program, libraries, namespaces):
    """Names in these namespaces, and in those of messages, that the program's own source file and a stock library have."""
    prefix = "ros1_recompiled_" if kind == "recompiled" else "ros1_"
    compiled = BUILD / f"ros1/tests/long/CMakeFiles/{prefix}{program}.dir/__/programs/{program}.cpp.o"
    # The stock program's: the other one's linker drops libraries of which it needs nothing, but a library may need them.
    linked = subprocess.run(["ldd", BUILD / "bin" / f"ros1_{program}"], capture_output=True, text=True, check=True)
    paths = [line.split()[2] for line in linked.stdout.splitlines() if re.search(rf"lib({libraries})\.so", line)]
    known = set().union(*(names("--dyn-syms", path) for path in paths))
    return {name for name in names(compiled) & known if re.search(rf"\b({namespaces}|\w+_msgs)::", name)}
