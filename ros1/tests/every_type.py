# SPDX-License-Identifier: Apache-2.0
"""Messages of every type that Debian's genpy knows, with random values. Runs with Debian's Python.

every_type.py DIRECTORY SEED: writes a file per type for `ros1_raw source` (DIRECTORY/package__Name), and prints a line per type: its name,
whether it begins with a Header, and the bytes of its messages.
"""

import importlib
import math
import random
import struct
import sys
from io import BytesIO
from pathlib import Path

import genpy
from frames import write

SHARED = 65536  # from so many bytes on, the preloaded library uses shared memory (kWorthwhileBytes)
COUNT = 3
BITS = {"byte": (8, True), "char": (8, False)} | {
    f"{'' if s else 'u'}int{n}": (n, s) for n in (8, 16, 32, 64) for s in (0, 1)
}
FLOATS = [0.0, -0.0, 1.5, -1e-3, math.inf, -math.inf, math.nan, 3e38, 1e-40]


def kinds():
    """All message classes of the packages of genpy that are installed."""
    for package in sorted(path.parent.name for path in Path("/usr/lib/python3/dist-packages").glob("*/msg")):
        module = importlib.import_module(f"{package}.msg")
        for name in sorted(vars(module)):
            kind = getattr(module, name)
            if isinstance(kind, type) and issubclass(kind, genpy.Message):
                yield kind


def number(kind, chance):
    bits, signed = BITS[kind]
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return chance.choice([low, high, 0, 1, chance.randint(low, high), chance.randint(low, high)])


def single(kind, chance, length):
    """A value of a field; `length`() of an array that it has."""
    if kind in BITS:
        return number(kind, chance)
    if kind == "bool":
        return chance.random() < 0.5
    if kind == "float32":
        return struct.unpack("<f", struct.pack("<f", chance.choice([*FLOATS, chance.uniform(-1e9, 1e9)])))[0]
    if kind == "float64":
        return chance.choice([*FLOATS, 1e300, 5e-324, chance.gauss(0, 1)])
    if kind == "string":
        return "".join(some(lambda: chance.choice("a Z0/_\n\x00\u00e9\u20ac\U0001f916"), length()))
    if kind == "time":
        return genpy.Time(number("uint32", chance), chance.randrange(10**9))
    if kind == "duration":
        return genpy.Duration(number("int32", chance), chance.randrange(10**9))
    if kind == "Header":
        kind = "std_msgs/Header"
    made = genpy_class(kind)()
    fill(made, chance, length)
    return made


def genpy_class(kind):
    package, name = kind.split("/")
    return getattr(importlib.import_module(f"{package}.msg"), name)


def several(kind, chance, length, count):
    if kind in ("uint8", "char"):
        return bytes(chance.getrandbits(8) for _ in range(count))
    return some(lambda: single(kind, chance, length), count)


def some(make, count):
    """Only so many different ones as a long array needs."""
    few = [make() for _ in range(min(count, 1009))]
    return few * (count // max(1, len(few))) + few[: count % max(1, len(few))]


def fill(message, chance, length):
    for field, kind in zip(message.__slots__, message._slot_types, strict=True):
        if kind.endswith("]"):
            kind, bound = kind[:-1].split("[")
            setattr(message, field, several(kind, chance, length, int(bound) if bound else length()))
        else:
            setattr(message, field, single(kind, chance, length))


def size(message):
    stream = BytesIO()
    message.serialize(stream)
    return len(stream.getvalue())


def messages(kind, chance):
    """An empty message, a small one and, of a type with an array or a string, one that goes through shared memory."""
    out = []
    for place in range(COUNT):
        message, most = kind(), (0, 3, 24)[place]
        fill(message, chance, lambda most=most: chance.randint(most // 3, most))
        if place == COUNT - 1 and size(message) < SHARED:
            enlarge(message, kind, chance)
        if kind._has_header:
            message.header.seq = place  # as publishers number it
        out.append(message)
    return out


def enlarge(message, kind, chance):
    """Makes its last array or string long enough, if it has one."""
    for field, declared in reversed(list(zip(kind.__slots__, kind._slot_types, strict=True))):
        if declared == "string":
            setattr(message, field, single("string", chance, lambda: SHARED))
        elif declared.endswith("[]"):
            one = max(1, size_of_element(declared[:-2]))
            setattr(message, field, several(declared[:-2], chance, lambda: 2, -(-SHARED // one)))
        elif "/" in declared or declared == "Header":
            inner = getattr(message, field)
            if isinstance(inner, list):
                inner = inner[-1]
            enlarge(inner, type(inner), chance)
        else:
            continue
        if size(message) >= SHARED:
            return


def size_of_element(kind):
    if kind in BITS:
        return BITS[kind][0] // 8
    return {"bool": 1, "float32": 4, "string": 4}.get(kind) or (8 if "/" not in kind else size(genpy_class(kind)()))


def main(directory, seed):
    for kind in kinds():
        # Each type has its own numbers, so that another type's do not change them.
        all_of_it = messages(kind, random.Random(f"{seed} {kind._type}"))
        write(f"{directory}/{kind._type.replace('/', '__')}", kind, all_of_it)
        print(kind._type, int(kind._has_header), *map(size, all_of_it))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
