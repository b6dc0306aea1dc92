# SPDX-License-Identifier: Apache-2.0
"""Writes tests/vectors/codec/: for each message its definition (.msg, canonical), its values (.json) and its bytes in every form
as commented hex. The bytes come from sfm_reference.py; those of ROS 1 and CDR are compared with rosbags here, and with genpy and
rclpy by oracles_test.py. The C++ codecs have no part in it.

It also writes the seeds of the codec fuzzers, core/message/fuzz/seeds/.

    .venv/bin/python tests/codec/make_vectors.py            writes the files
    .venv/bin/python tests/codec/make_vectors.py --check    says whether they are up to date
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import sfm_reference as reference
from definitions import definition, new_store, ros1_store, ros2_store, to_rosbags
from rosbags.typesys import Stores

ROOT = Path(__file__).resolve().parents[2]
DIRECTORY = ROOT / "tests/vectors/codec"
SEEDS = ROOT / "core/message/fuzz/seeds"
TIME = "message builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
HEADER = "message std_msgs/Header\nuint32 seq\nbuiltin_interfaces/Time stamp\nstring frame_id\n"
STAMP = {"sec": 1700000000, "nanosec": 999999999}


def own(fields: str) -> str:
    return f"message vectors/Message\n{fields}"


VECTORS: dict[str, tuple[str, dict]] = {
    "scalars": (
        own(
            "bool a\nint8 b\nuint8 c\nint16 d\nuint16 e\nint32 f\nuint32 g\nint64 h\nuint64 i\nfloat32 j\nfloat64 k\nuint8 last\n"
        ),
        {
            "a": True,
            "b": -2,
            "c": 254,
            "d": -515,
            "e": 0xFEDC,
            "f": -(2**31),
            "g": 0xFEDCBA98,
            "h": -(2**63),
            "i": 0xFEDCBA9876543210,
            "j": 1.5,
            "k": -0.1,
            "last": 7,
        },
    ),
    "strings": (
        own("string empty\nstring one\nstring two\nstring three\nstring four\nstring zeros\nstring utf8\n"),
        {"empty": "", "one": "a", "two": "ab", "three": "abc", "four": "rgb8", "zeros": "a\0b\0", "utf8": "é€😀"},
    ),
    "wstrings": (
        own("wstring empty\nwstring text\nwstring<=4 bounded\nwstring[] many\nuint32 after\n"),
        {"empty": "", "text": "aé€😀", "bounded": "abcd", "many": ["x", "", "yz"], "after": 1},
    ),
    "arrays": (
        own("uint8[3] bytes\nfloat64[2] doubles\nbool[2] bools\nstring[2] strings\nvectors/Inner[2] inner\n")
        + "message vectors/Inner\nuint8 a\nuint16[] b\n",
        {
            "bytes": [1, 2, 3],
            "doubles": [0.5, -0.5],
            "bools": [True, False],
            "strings": ["x", ""],
            "inner": [{"a": 1, "b": [2, 3]}, {"a": 4, "b": []}],
        },
    ),
    "sequences": (
        own(
            "bool[] a\nint8[] b\nuint8[] c\nint16[] d\nuint16[] e\nint32[] f\nuint32[] g\nint64[] h\nuint64[] i\nfloat32[] j\nfloat64[] k\n"
            "string[] l\nuint8 last\n"
        ),
        {
            "a": [True, False, True],
            "b": [-1],
            "c": [1, 2, 3, 4, 5],
            "d": [-2, 2],
            "e": [65535],
            "f": [-3],
            "g": [],
            "h": [-4],
            "i": [2**64 - 1, 1],
            "j": [0.25],
            "k": [0.1, 0.2],
            "l": ["", "abc", "defg"],
            "last": 9,
        },
    ),
    "empty_sequences": (own("float64[] a\nuint8 b\nstring[] c\nuint8 d\n"), {"a": [], "b": 1, "c": [], "d": 2}),
    "bounded": (
        own("string<=3 a\nuint8[<=4] b\nstring<=2[<=2] c\nfloat64[<=1] d\n"),
        {"a": "abc", "b": [1, 2, 3, 4], "c": ["xy", ""], "d": [1.0]},
    ),
    "padded_elements": (
        own("vectors/Inner[] inner\nuint8 last\n") + "message vectors/Inner\nuint8 a\nfloat64 b\nuint16 c\n",
        {"inner": [{"a": 1, "b": 0.5, "c": 2}, {"a": 3, "b": -0.5, "c": 4}], "last": 5},
    ),
    "nested_sequences": (
        own("vectors/Row[] rows\n")
        + "message vectors/Cell\nstring text\nuint16[] numbers\nmessage vectors/Row\nvectors/Cell[] cells\nuint8 kind\n",
        {
            "rows": [
                {"cells": [{"text": "a", "numbers": [1, 2]}, {"text": "", "numbers": []}], "kind": 1},
                {"cells": [], "kind": 2},
                {"cells": [{"text": "xyz", "numbers": [3]}], "kind": 3},
            ]
        },
    ),
    "empty_message": ("message std_msgs/Empty\n", {}),
    "empty_messages_inside": (
        own("std_msgs/Empty a\nuint16 b\nstd_msgs/Empty[] c\nuint32 d\n") + "message std_msgs/Empty\n",
        {"a": {}, "b": 5, "c": [{}, {}, {}], "d": 6},
    ),
    "big_content": (own("uint8 a\nuint16[] b\nstring c\n"), {"a": 1, "b": list(range(2048)), "c": "after"}),
    "header": (HEADER + TIME, {"seq": 7, "stamp": STAMP, "frame_id": "map"}),
    "image": (
        definition(ros2_store(), "sensor_msgs/msg/Image"),
        {
            "header": {"seq": 1, "stamp": STAMP, "frame_id": "camera"},
            "height": 2,
            "width": 3,
            "encoding": "rgb8",
            "is_bigendian": 0,
            "step": 9,
            "data": list(range(18)),
        },
    ),
    "camera_info": (
        definition(ros2_store(), "sensor_msgs/msg/CameraInfo"),
        {
            "header": {"seq": 2, "stamp": STAMP, "frame_id": "camera"},
            "height": 480,
            "width": 640,
            "distortion_model": "plumb_bob",
            "d": [0.1, -0.2, 0.0, 0.0, 0.05],
            "k": [500.0, 0.0, 320.0, 0.0, 500.0, 240.0, 0.0, 0.0, 1.0],
            "r": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            "p": [500.0, 0.0, 320.0, 0.0, 0.0, 500.0, 240.0, 0.0, 0.0, 0.0, 1.0, 0.0],
            "binning_x": 0,
            "binning_y": 0,
            "roi": {"x_offset": 1, "y_offset": 2, "height": 3, "width": 4, "do_rectify": True},
        },
    ),
    "point_cloud": (
        definition(ros1_store(), "sensor_msgs/msg/PointCloud"),
        {
            "header": {"seq": 1, "stamp": {"sec": 2, "nanosec": 3}, "frame_id": "m"},
            "points": [{"x": 1.0, "y": 2.0, "z": 3.0}, {"x": -1.0, "y": -2.0, "z": -3.0}],
            "channels": [{"name": "i", "values": [0.5]}, {"name": "uv", "values": [0.25, 0.125, 0.0625]}],
        },
    ),
    "laser_scan": (
        definition(ros2_store(), "sensor_msgs/msg/LaserScan"),
        {
            "header": {"seq": 0, "stamp": {"sec": -1, "nanosec": 0}, "frame_id": ""},
            "angle_min": -1.5,
            "angle_max": 1.5,
            "angle_increment": 0.5,
            "time_increment": 0.0,
            "scan_time": 0.125,
            "range_min": 0.0,
            "range_max": 10.0,
            "ranges": [1.0, 2.0, 3.0],
            "intensities": [],
        },
    ),
}


def hex_lines(data: bytes, labels: reference.Labels) -> str:
    """One labelled span on each line. Long spans take several lines, and the first has the label. Lines of very long spans have 64 bytes."""
    lines = []
    at = 0
    spans = sorted(labels.spans)
    spans = [span for i, span in enumerate(spans) if span not in spans[:i]]
    for begin, end, label in [*spans, (len(data), len(data), "")]:
        if begin > at:
            lines += span_lines(data, at, begin, "(hole)")
        if end > at:
            lines += span_lines(data, max(begin, at), end, label)
        at = max(at, end)
    return "\n".join(lines) + "\n"


def span_lines(data: bytes, begin: int, end: int, label: str) -> list[str]:
    out = []
    step = 64 if end - begin > 1024 else 16
    for at in range(begin, end, step):
        text = data[at : min(at + step, end)].hex(" ")
        note = label if at == begin else ""
        out.append(f"{text:<47}  # {at:04x} {note}".rstrip())
    return out


def compact(labels: reference.Labels, every: int = 64) -> reference.Labels:
    """Joins the labels of long runs of elements ("b[0]", "b[1]", ...), so that vectors stay readable."""
    out = reference.Labels()
    run: list[tuple[int, int, str]] = []

    def flush():
        if len(run) >= every:
            out.spans.append((run[0][0], run[-1][1], f"{run[0][2]} ... {run[-1][2]}"))
        else:
            out.spans.extend(run)
        run.clear()

    for span in sorted(labels.spans):
        same = run and span[0] == run[-1][1] and span[2].split("[")[0] == run[-1][2].split("[")[0] and "[" in span[2]
        if not same:
            flush()
        run.append(span)
    flush()
    return out


def forms(text: str, value: dict) -> dict[str, tuple[str, bytes]]:
    """Form -> commented hex and the bytes."""
    schema = reference.Schema(text)
    out = {}
    writers = {
        "sfm": reference.SfmWriter(schema, "<", reference.Labels()),
        "sfm-big": reference.SfmWriter(schema, ">", reference.Labels()),
        "cdr-little": reference.WireWriter(schema, cdr=True, order="<", labels=reference.Labels()),
        "cdr-big": reference.WireWriter(schema, cdr=True, order=">", labels=reference.Labels()),
        "control": reference.ControlWriter(schema, reference.Labels()),
    }
    if "wstring" not in text:
        writers["ros1"] = reference.WireWriter(schema, cdr=False, labels=reference.Labels())
    for form, writer in writers.items():
        data = writer.write(value)
        out[form] = hex_lines(data, compact(writer.labels)), data
        if form == "control":
            data = writer.data_part()
            out["data"] = hex_lines(data, reference.Labels()).replace(" (hole)", ""), data
    if "wstring" not in text:
        compare_with_rosbags(text, value)
    return out


def store_with(schema: reference.Schema, stores: Stores):
    """A rosbags store that has the schema's types too."""
    known = (ros1_store() if stores == Stores.ROS1_NOETIC else ros2_store()).fielddefs
    types = {}
    for name, fields in schema.types.items():
        full = name.replace("/", "/msg/")
        if full not in known:
            types[full] = "\n".join(spell(kind, field) for field, kind in fields)
    return new_store(stores, types)


def compare_with_rosbags(text: str, value: dict) -> None:
    """The reference against rosbags, for ROS 1 and for CDR without Header.seq."""
    schema = reference.Schema(text)
    root = schema.root.replace("/", "/msg/")
    store = store_with(schema, Stores.ROS1_NOETIC)
    wire = store.serialize_ros1(to_rosbags(store, root, value), root)
    assert bytes(wire) == reference.WireWriter(schema, cdr=False).write(value)
    store = store_with(schema, Stores.ROS2_KILTED)
    message = to_rosbags(store, root, value)
    for order in "<>":
        wire = store.serialize_cdr(message, root, little_endian=order == "<")
        assert bytes(wire) == reference.WireWriter(schema, cdr=True, order=order).write(value), schema.root


def spell(kind: reference.FieldType, field: str) -> str:
    base = kind.base + (f"<={kind.string_bound}" if kind.string_bound else "")
    if kind.shape == "single":
        return f"{base} {field}"
    if kind.shape == "array":
        return f"{base}[{kind.count}] {field}"
    return f"{base}[<={kind.count}] {field}" if kind.count else f"{base}[] {field}"


def sized(data: bytes) -> bytes:
    return len(data).to_bytes(2, "little") + data


def files() -> dict[Path, bytes]:
    out: dict[Path, bytes] = {}
    for name, (text, value) in VECTORS.items():
        out[DIRECTORY / f"{name}.msg"] = text.encode()
        out[DIRECTORY / f"{name}.json"] = json.dumps(value).encode() + b"\n"
        data = {}
        for form, (content, data[form]) in forms(text, value).items():
            out[DIRECTORY / f"{name}.{form}.hex"] = content.encode()
        seeds = {"sfm_codec": ["sfm", "sfm-big"], "cdr_codec": ["cdr-little", "cdr-big"], "ros1_codec": ["ros1"]}
        for fuzzer, wanted in seeds.items():
            for form in wanted:
                if form in data:
                    out[SEEDS / fuzzer / f"{name}.{form}"] = sized(text.encode()) + data[form]
        out[SEEDS / "partial_codec" / name] = sized(text.encode()) + sized(data["control"]) + data["data"]
    return out


def problems(wanted: dict[Path, bytes]) -> tuple[list[Path], list[Path]]:
    """Files to write and files to remove."""
    stale = [path for path, data in wanted.items() if not path.exists() or path.read_bytes() != data]
    there = [path for path in [*DIRECTORY.glob("*"), *SEEDS.glob("*_codec/*")] if path.is_file()]
    return stale, [path for path in there if path not in wanted]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    wanted = files()
    stale, extra = problems(wanted)
    if check:
        for path in [*stale, *extra]:
            print(f"not up to date: {path}")
        return 1 if stale or extra else 0
    for path in extra:
        path.unlink()
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(wanted[path])
    return 0


if __name__ == "__main__":
    sys.exit(main())
