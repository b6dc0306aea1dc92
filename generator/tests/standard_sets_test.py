# SPDX-License-Identifier: Apache-2.0
"""The standard sets: every type of every set resolves. Where ROS 1 and ROS 2 agree: tests/codec/equivalence_test.py."""

import sys

import pytest
from baton_generator.canonical import Resolver, Struct
from baton_generator.cpp import render_message
from baton_generator.equivalence import canonical_message
from baton_generator.packages import Universe
from baton_generator.parser import parse_text
from baton_generator.standard_sets import names as standard_sets


def all_of(store: str) -> dict[str, Struct]:
    universe = Universe(standard=store, environment={})
    resolver = Resolver(universe)
    return {
        name: resolver.message(name)
        for package in universe.standard_packages()
        for _, name in universe.types_of(package)
    }


@pytest.mark.parametrize("store", standard_sets())
def test_every_type_of_every_standard_set_becomes_a_header(store: str) -> None:
    structs = all_of(store)
    assert len(structs) > 130
    for name, struct in structs.items():
        header = render_message(struct)
        assert f'"{name}", {struct.size}' in header
        assert struct.hash.hex()


def test_the_definition_is_the_one_of_the_format_page() -> None:
    image = all_of("ros2_kilted")["sensor_msgs/Image"]
    assert image.definition == (
        "message sensor_msgs/Image\nstd_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\nuint32 step\nuint8[] data\n"
        "message builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
        "message std_msgs/Header\nuint32 seq\nbuiltin_interfaces/Time stamp\nstring frame_id\n"
    )


def test_camera_info_has_both_spellings() -> None:
    for store in ("ros1_noetic", "ros2_kilted"):
        header = render_message(all_of(store)["sensor_msgs/CameraInfo"])
        for lower in "dkrp":
            assert f" {lower}{{}};" in header
            assert f" {lower.upper()};  ///<" in header


@pytest.mark.parametrize(("given", "fields"), [("D", ["d"]), ("D d", ["D", "d"]), ("d D", ["d", "D"])])
def test_a_field_gets_its_common_name_unless_another_field_has_it(given, fields) -> None:
    message = parse_text("".join(f"float64[] {name}\n" for name in given.split()), "sensor_msgs", "CameraInfo")
    assert [field.name for field in canonical_message(message).fields] == fields


def test_known_defaults_are_added_to_the_sets_that_have_them() -> None:
    def default(store: str, name: str, field: str) -> object:
        return next(m.source.default for m in all_of(store)[name].members if m.name == field)

    assert default("ros2_humble", "geometry_msgs/Quaternion", "w") == 1.0
    assert default("ros1_noetic", "geometry_msgs/Quaternion", "w") is None
    assert default("ros2_kilted", "sensor_msgs/NavSatStatus", "status") == -2
    assert default("ros2_humble", "sensor_msgs/NavSatStatus", "status") is None


def test_an_unknown_set_is_named() -> None:
    with pytest.raises(Exception, match="choose one of .*ros2_kilted"):
        Universe(standard="ros2_nowhere", environment={}).standard_packages()


def test_the_files_of_an_installation_have_the_definitions_of_rosbags(tmp_path, monkeypatch) -> None:
    from baton_generator import standard_sets as sets

    names, before = sets.names(), all_of("ros2_kilted")
    sets.write(tmp_path)
    monkeypatch.setattr(sets, "FILES", tmp_path)
    monkeypatch.setitem(sys.modules, "rosbags", None)  # importing it fails
    assert sets.names() == sorted(names)
    after = all_of("ros2_kilted")
    assert {name: (s.hash, s.definition) for name, s in after.items()} == {
        name: (s.hash, s.definition) for name, s in before.items()
    }
    assert [render_message(s) for s in after.values()] == [render_message(before[name]) for name in after]
