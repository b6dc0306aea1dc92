# SPDX-License-Identifier: Apache-2.0
"""What is read from ROS 1's own headers, and the headers that are written in their place."""

from pathlib import Path

import pytest
from baton_generator.diagnostics import InterfaceError
from baton_generator.generate import Wanted, outputs
from baton_generator.packages import Universe
from baton_generator.ros1_headers import read_ros1_header

TEXT = """\
template <class ContainerAllocator>
struct HasHeader< ::my_msgs::Level_<ContainerAllocator> >
  : %s
  { };

template<class ContainerAllocator>
struct MD5Sum< ::my_msgs::Level_<ContainerAllocator> >
{
  static const char* value()
  {
    return "0123456789abcdef0123456789abcdef";
  }
};

template<class ContainerAllocator>
struct Definition< ::my_msgs::Level_<ContainerAllocator> >
{
  static const char* value()
  {
    return "# \\"quoted\\" \\\\ text\\n"
"byte OK=0\\n"
"%s\\n"
"byte[] levels\\n"
"================================================================================\\n"
"MSG: std_msgs/Header\\n"
"uint32 seq\\n"
;
  }
};
"""


def header_of(directory: Path, field: str = "byte level", has_header: str = "FalseType") -> Path:
    path = directory / "my_msgs" / "Level.h"
    path.parent.mkdir(exist_ok=True)
    path.write_text(TEXT % (has_header, field))
    return path


def universe(directory: Path, field: str = "byte level") -> Universe:
    messages = directory / "src" / "my_msgs" / "msg"
    messages.mkdir(parents=True)
    (messages / "Level.msg").write_text(f"byte OK=0\n{field}\nbyte[] levels\n")
    (messages.parent / "package.xml").write_text("<package><name>my_msgs</name></package>\n")
    return Universe(search=[directory / "src"], standard="ros1_noetic", environment={})


def test_sum_definition_and_header_are_those_of_ros(tmp_path):
    path = header_of(tmp_path, has_header="TrueType")
    read = read_ros1_header("my_msgs/Level", [tmp_path / "elsewhere", tmp_path])
    assert read is not None
    assert (read.path, read.md5, read.has_header) == (path, "0123456789abcdef" * 2, True)
    assert read.definition.startswith('# "quoted" \\ text\nbyte OK=0\nbyte level\n')
    assert read.definition.endswith("MSG: std_msgs/Header\nuint32 seq\n")
    assert [f.name for f in read.message.fields] == ["level", "levels"]
    assert read.signed_bytes == {"OK", "level", "levels"}


def test_a_message_without_a_header_of_ros_is_left_out(tmp_path):
    assert read_ros1_header("my_msgs/Level", [tmp_path]) is None
    with pytest.raises(InterfaceError, match="has no header of ROS 1 for these messages"):
        outputs(universe(tmp_path), Wanted(packages=["my_msgs"]), recompiled=[tmp_path])


def test_a_header_that_gencpp_did_not_make_is_an_error(tmp_path):
    path = header_of(tmp_path)
    path.write_text("struct Level {};\n")
    with pytest.raises(InterfaceError, match="is not a header of gencpp"):
        read_ros1_header("my_msgs/Level", [tmp_path])


def test_a_header_with_other_fields_is_an_error(tmp_path):
    path = header_of(tmp_path, field="int32 level")
    with pytest.raises(InterfaceError, match="has other fields than my_msgs/Level here") as caught:
        outputs(universe(tmp_path), Wanted(packages=["my_msgs"]), recompiled=[tmp_path])
    assert str(path) in str(caught.value)


def test_the_header_in_its_place_has_ros_names_types_and_sum(tmp_path):
    header_of(tmp_path)
    source = universe(tmp_path)
    text = {str(p): t for p, t in outputs(source, Wanted(packages=["my_msgs"]), recompiled=[tmp_path]).items()}
    header = text["my_msgs/Level.h"]
    assert "struct Level : ::baton::ros1::recompiled::Allocated<Level> {" in header
    assert "using _level_type = ::std::int8_t;" in header, "ROS 1's byte is signed"
    assert "using _levels_type = ::baton::sfm::Vector<::std::int8_t>;" in header
    assert "static constexpr ::std::int8_t OK = 0;" in header
    assert 'return "0123456789abcdef0123456789abcdef";' in header
    assert "#ifdef MY_MSGS_MESSAGE_LEVEL_H" in header
    assert "HasHeader" not in header
    assert tmp_path / "my_msgs" / "Level.h" in source.inputs, "CMake looks again when ROS's header changes"
