# SPDX-License-Identifier: Apache-2.0
"""TZC's Fig. 4 with the decisions it leaves open, and Table II."""

from pathlib import Path

from baton_generator.canonical import Resolver, Struct
from baton_generator.packages import Universe
from baton_generator.split import has_data_part, has_variable_array, split, table


def struct_of(tmp_path: Path, **files: str) -> Struct:
    (tmp_path / "pkg" / "msg").mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (tmp_path / "pkg" / "msg" / f"{name}.msg").write_text(text)
    return Resolver(Universe(search=[tmp_path], environment={})).message("pkg/Name")


def parts(struct: Struct) -> tuple[list[str], list[str]]:
    return [p.path for p in split(struct) if not p.data], [p.path for p in split(struct) if p.data]


def test_the_papers_point_cloud() -> None:
    """TZC Fig. 5."""
    struct = Resolver(Universe(environment={})).message("sensor_msgs/PointCloud")
    assert parts(struct) == (
        ["header.seq", "header.stamp.sec", "header.stamp.nanosec", "header.frame_id", "channels", "channels[].name"],
        ["points", "channels[].values"],
    )


def test_every_variable_length_array_of_a_fixed_length_type_is_data(tmp_path: Path) -> None:
    struct = struct_of(
        tmp_path, Name="uint8[] a\nbool[] b\nuint8[<=4] c\nInner[] d\nInner e\n", Inner="float64 x\nuint8[3] y\n"
    )
    assert parts(struct) == (["e.x", "e.y"], ["a", "b", "c", "d"])


def test_strings_are_variable_length_and_control(tmp_path: Path) -> None:
    struct = struct_of(tmp_path, Name="string a\nwstring b\nstring<=4 c\nstring[] d\nwstring[] e\nstring[2] f\n")
    assert parts(struct) == (["a", "b", "c", "d", "e", "f"], [])
    assert has_variable_array(struct)


def test_a_fixed_length_array_of_a_variable_length_type_is_control(tmp_path: Path) -> None:
    struct = struct_of(tmp_path, Name="Inner[2] a\nuint8[4] b\n", Inner="uint8[] x\n")
    assert parts(struct) == (["a", "b"], [])
    assert has_variable_array(struct)
    assert not has_data_part(struct)


def test_table_2_of_a_small_tree(tmp_path: Path) -> None:
    files = {
        "Name": "uint8 a",
        "Data": "uint8[] a",
        "Words": "string[] a",
        "Deep": "Words[] a\nData b",
        "Held": "Words a",
        "Text": "string a",
    }
    struct_of(tmp_path, **files)
    resolver = Resolver(Universe(search=[tmp_path], environment={}))
    counted = table(resolver.message(f"pkg/{name}") for name in files)
    assert counted.total == counted.without_serialization == 6
    assert counted.need_support == ("pkg/Data", "pkg/Deep", "pkg/Held", "pkg/Words")
    assert counted.supported == ("pkg/Data", "pkg/Deep")
    assert counted.unsupported == ("pkg/Held", "pkg/Words")
