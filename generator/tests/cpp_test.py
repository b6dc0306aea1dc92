# SPDX-License-Identifier: Apache-2.0
"""C++ spelling, layout, packages found on disk, and the checked-in headers."""

from pathlib import Path

import pytest
from baton_generator import cpp
from baton_generator.canonical import Resolver, Struct
from baton_generator.diagnostics import InterfaceError
from baton_generator.generate import Wanted, outputs, write
from baton_generator.golden import GOLDEN, golden_headers, golden_splits
from baton_generator.packages import Universe


def package(root: Path, name: str, **files: str) -> Path:
    for file, text in files.items():
        kind = file.rpartition("_")[2]
        path = root / name / kind / f"{file.rpartition('_')[0]}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def struct_of(tmp_path: Path, text: str, **more: str) -> Struct:
    package(tmp_path, "pkg", Name_msg=text, **more)
    return Resolver(Universe(search=[tmp_path], environment={})).message("pkg/Name")


def test_the_checked_in_headers_are_those_that_the_generator_writes() -> None:
    wanted = golden_headers()
    root = GOLDEN / "include"
    present = {str(p.relative_to(root)): p.read_text() for p in root.rglob("*.hpp")}
    assert present.keys() == wanted.keys()
    stale = [name for name, text in wanted.items() if present[name] != text]
    assert not stale, "run `python -m baton_generator.golden` in generator/ and read the difference"


def test_the_checked_in_splits_are_current() -> None:
    assert (GOLDEN / "split.txt").read_text() == golden_splits()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Image", "image"),
        ("PointCloud2", "point_cloud2"),
        ("CameraInfo", "camera_info"),
        ("TFMessage", "tf_message"),
        ("UInt64", "u_int64"),
        ("tfMessage", "tf_message"),
        ("SetBool", "set_bool"),
    ],
)
def test_header_names_follow_ros_2(name: str, expected: str) -> None:
    assert cpp.snake_case(name) == expected


def test_two_types_with_one_header_name_are_refused(tmp_path: Path) -> None:
    root = package(tmp_path, "pkg", TFMessage_msg="", TfMessage_msg="")
    with pytest.raises(InterfaceError, match="also that of pkg/TFMessage"):
        outputs(Universe(search=[root], environment={}), Wanted(packages=["pkg"]))


def test_literals_survive_the_compiler() -> None:
    assert cpp.string_literal('a"\\\n\x01é??=') == '"a\\"\\\\\\012\\001\\303\\251?\\?="'
    assert cpp.wide_literal("é\x01\U0001f600") == 'u"\\u00E9\\001\\U0001F600"'
    assert cpp.literal("int32", -(2**31)) == "-2147483647 - 1"
    assert cpp.literal("float32", float("inf")) == "::std::numeric_limits<float>::infinity()"
    assert cpp.literal("float32", 1e-50) == "0.0F"
    assert cpp.literal("float32", 0.333) == "0.333F"
    assert cpp.literal("string", "a\0b") == '::std::string_view("a\\000b", 3)'


def test_layout_is_that_of_a_c_struct(tmp_path: Path) -> None:
    struct = struct_of(
        tmp_path,
        "uint8 a\nfloat64 b\nstring c\nuint8[3] d\nbool[] e\nInner f\nInner[2] g\n",
        Inner_msg="uint8 x\nint64 y\n",
    )
    assert [(m.name, m.offset, m.size) for m in struct.members] == [
        ("a", 0, 1),
        ("b", 8, 8),
        ("c", 16, 8),
        ("d", 24, 3),
        ("e", 28, 8),
        ("f", 40, 16),
        ("g", 56, 32),
    ]
    assert (struct.size, struct.alignment, struct.fixed) == (88, 8, False)


def test_an_empty_message_takes_one_byte(tmp_path: Path) -> None:
    struct = struct_of(tmp_path, "")
    assert (struct.size, struct.alignment, struct.fixed, struct.definition) == (1, 1, True, "message pkg/Name\n")
    assert struct_of(tmp_path, "uint8 structure_needs_at_least_one_member").hash == struct.hash


def test_comments_constants_and_defaults_do_not_change_the_hash(tmp_path: Path) -> None:
    plain = struct_of(tmp_path, "uint8 a\nstring b")
    assert struct_of(tmp_path, "# words\nuint8 a 5 # five\nstring b 'x'\nuint8 C=3\n").hash == plain.hash
    assert struct_of(tmp_path, "byte a\nstring b").hash == plain.hash
    for other in (
        "uint8 a\nstring c",
        "string b\nuint8 a",
        "uint8 a\nstring<=4 b",
        "int8 a\nstring b",
        "uint8[1] a\nstring b",
    ):
        assert struct_of(tmp_path, other).hash != plain.hash


def test_a_change_inside_a_nested_type_changes_the_hash(tmp_path: Path) -> None:
    one = struct_of(tmp_path, "Inner[] a", Inner_msg="uint8 x")
    assert struct_of(tmp_path, "Inner[] a", Inner_msg="uint8 y").hash != one.hash


def test_the_projects_own_package_wins_over_the_standard_one(tmp_path: Path) -> None:
    root = package(tmp_path, "std_msgs", Header_msg="uint8 mine")
    struct = Resolver(Universe(search=[root], environment={})).message("std_msgs/Header")
    assert [m.name for m in struct.members] == ["seq", "mine"]
    assert Resolver(Universe(search=[root], environment={})).message("std_msgs/String").size == 8


def test_finds_packages_of_an_installed_ros(tmp_path: Path) -> None:
    package(tmp_path / "ament" / "share", "two", A_msg="uint8 a", S_srv="---")
    package(tmp_path / "ros1" / "stack", "one", B_msg="time stamp")
    environment = {"AMENT_PREFIX_PATH": f"/nowhere:{tmp_path / 'ament'}", "ROS_PACKAGE_PATH": str(tmp_path / "ros1")}
    universe = Universe(environment=environment)
    assert universe.types_of("two") == [("msg", "two/A"), ("srv", "two/S")]
    assert Resolver(universe).message("one/B").members[0].type.base == "builtin_interfaces/Time"
    assert tmp_path / "ros1" / "stack" / "one" / "msg" / "B.msg" in universe.inputs


def test_a_package_of_catkin_is_not_one_of_an_ament_prefix(tmp_path: Path) -> None:
    package(tmp_path / "share", "std_msgs", Header_msg="uint32 seq\ntime stamp\nstring frame_id")
    (tmp_path / "share/std_msgs/package.xml").write_text(
        "<package><buildtool_depend>catkin</buildtool_depend></package>"
    )
    universe = Universe(environment={"AMENT_PREFIX_PATH": str(tmp_path)})
    assert [m.name for m in Resolver(universe).message("std_msgs/Header").members] == ["seq", "stamp", "frame_id"]


def test_finds_packages_behind_links_and_is_not_caught_by_loops(tmp_path: Path) -> None:
    package(tmp_path / "elsewhere", "pkg", A_msg="uint8 a")
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "linked").symlink_to("../elsewhere/pkg")
    (tmp_path / "elsewhere" / "pkg" / "up").symlink_to("..")
    (tmp_path / "workspace" / "itself").symlink_to("itself")
    universe = Universe(search=[tmp_path / "workspace"], environment={})
    assert universe.own_types() == [("msg", "pkg/A")]


def test_a_directory_of_cpp_headers_does_not_hide_the_package(tmp_path: Path) -> None:
    headers = tmp_path / "include" / "sensor_msgs" / "msg"
    headers.mkdir(parents=True)
    (headers / "image.hpp").write_text("")
    package(tmp_path, "own", A_msg="int32 a")
    assert ("msg", "sensor_msgs/Image") in Universe(search=[tmp_path], environment={}).types_of("sensor_msgs")


def test_package_xml_gives_name_and_dialect(tmp_path: Path) -> None:
    root = package(tmp_path, "directory", A_msg="string S=a # b\n")
    (root / "directory" / "package.xml").write_text(
        "<package><name>real_name</name><buildtool_depend>catkin</buildtool_depend></package>"
    )
    message = Universe(search=[root], environment={}).load("real_name/A")
    assert message.constants[0].value == "a # b"


def test_names_the_package_that_is_missing() -> None:
    with pytest.raises(InterfaceError, match="did you mean 'sensor_msgs'"):
        Universe(environment={}).types_of("sensors_msgs")
    with pytest.raises(InterfaceError, match="is not a directory"):
        Universe(search=[Path("/nowhere")], environment={})


def test_refuses_a_directory_of_the_search_path_without_packages_and_names_the_way_out(tmp_path: Path) -> None:
    def said(directory: Path) -> str:
        with pytest.raises(InterfaceError) as caught:
            Universe(search=[directory], environment={})
        assert f"no package in or below '{directory}': no directory has msg/*.msg or srv/*.srv" in str(caught.value)
        return str(caught.value).rpartition("way out: ")[2]

    empty, own, loose = tmp_path / "empty", tmp_path / "own", tmp_path / "loose"
    (empty / "src" / "msg").mkdir(parents=True)  # as of C++ headers or Python modules
    assert said(empty) == "give directories that contain packages, at any depth (no package.xml is needed)"
    package(own, "my_msgs", A_msg="int32 a")
    assert said(own / "my_msgs" / "msg") == f"give the package itself, '{own / 'my_msgs'}'"
    loose.mkdir()
    (loose / "Turn.srv").write_text("---\n")
    assert said(loose) == f"move Turn.srv to '{loose}/srv/Turn.srv'"
    assert Universe(search=[own, own / "my_msgs"], environment={}).own_types() == [("msg", "my_msgs/A")]


def test_reports_the_errors_of_all_files_at_once(tmp_path: Path) -> None:
    package(tmp_path, "pkg", A_msg="nothing/Here a", B_msg="B b", C_srv="uint9 a\n---\n", D_msg="A a\nA b\n")
    with pytest.raises(InterfaceError) as caught:
        outputs(Universe(search=[tmp_path], environment={}), Wanted(packages=["pkg"]))
    text = str(caught.value)
    assert [
        text.count(f"{name}.{kind}:") for name, kind in (("A", "msg"), ("B", "msg"), ("C", "srv"), ("D", "msg"))
    ] == [1, 1, 1, 0]


def test_only_changed_headers_are_written(tmp_path: Path) -> None:
    package(tmp_path, "pkg", Name_msg="uint8 a", Other_msg="uint8 b")
    out = tmp_path / "out"

    def generate() -> list[str]:
        return sorted(
            p.name for p in write(out, outputs(Universe(search=[tmp_path], environment={}), Wanted(packages=["pkg"])))
        )

    assert generate() == ["name.hpp", "other.hpp"]
    assert generate() == []
    package(tmp_path, "pkg", Name_msg="uint8 c")
    assert generate() == ["name.hpp"]
