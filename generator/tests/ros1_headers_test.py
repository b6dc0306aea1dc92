# SPDX-License-Identifier: Apache-2.0
"""Data read from ROS 1's own headers, and the headers that are written in their place."""

import os
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
"byte LOW=-3\\n"
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
    path = messages / "Level.msg"
    path.write_text(f"byte OK=0\nbyte LOW=-3\n{field}\nbyte[] levels\n")
    os.utime(path, (0, 0))  # gencpp ran after the file had changed
    (messages.parent / "package.xml").write_text("<package><name>my_msgs</name></package>\n")
    return Universe(search=[directory / "src"], standard="ros1_noetic", environment={})


def test_sum_definition_and_header_are_those_of_ros(tmp_path):
    path = header_of(tmp_path, has_header="TrueType")
    read = read_ros1_header("my_msgs/Level", [tmp_path / "elsewhere", tmp_path])
    assert read is not None
    assert (read.path, read.md5, read.has_header) == (path, "0123456789abcdef" * 2, True)
    assert read.definition.startswith('# "quoted" \\ text\nbyte OK=0\nbyte LOW=-3\nbyte level\n')
    assert read.definition.endswith("MSG: std_msgs/Header\nuint32 seq\n")
    assert [f.name for f in read.message.fields] == ["level", "levels"]
    assert read.signed_bytes == {"OK", "LOW", "level", "levels"}


def test_a_message_of_a_standard_set_without_a_header_of_ros_is_left_out(tmp_path):
    assert read_ros1_header("std_msgs/Header", [tmp_path]) is None
    source = Universe(standard="ros1_noetic", environment={})
    with pytest.raises(InterfaceError, match="has no header of ROS 1 for these messages"):
        outputs(source, Wanted(types=["std_msgs/Header"]), recompiled=[tmp_path])


def test_the_header_in_its_place_has_ros_names_types_and_sum(tmp_path):
    header_of(tmp_path)
    source = universe(tmp_path)
    text = {str(p): t for p, t in outputs(source, Wanted(packages=["my_msgs"]), recompiled=[tmp_path]).items()}
    header = text["my_msgs/Level.h"]
    assert (
        "struct Level_<::baton::ros1::recompiled::Allocator> : ::baton::ros1::recompiled::Allocated<Level> {" in header
    )
    assert "using Level = Level_<::baton::ros1::recompiled::Allocator>;" in header
    assert "using _level_type = ::std::int8_t;" in header, "ROS 1's byte is signed"
    assert "using _levels_type = ::baton::sfm::Vector<::std::int8_t>;" in header
    assert "static constexpr ::std::int8_t OK = 0;" in header
    assert "static constexpr ::std::int8_t LOW = -3;" in header
    assert "::std::uint8_t LOW = 253;" in text["baton/msg/my_msgs/level.hpp"], "the same bits"
    assert 'return "0123456789abcdef0123456789abcdef";' in header
    assert "#ifdef MY_MSGS_MESSAGE_LEVEL_H" in header
    assert "HasHeader" not in header
    assert tmp_path / "my_msgs" / "Level.h" in source.inputs, "CMake looks again when ROS's header changes"


PART = """\
struct MD5Sum< ::my_msgs::{name}_<ContainerAllocator> >
{{
  static const char* value()
  {{
    return "{digit}{digit}23456789abcdef0123456789abcdef";
  }}
struct Definition< ::my_msgs::{name}_<ContainerAllocator> >
{{
  static const char* value()
  {{
    return "{definition}\\n"
;
  }}
"""
SERVICE = """\
#include <ros/service_traits.h>
struct MD5Sum< ::my_msgs::{name} > {{
  static const char* value()
  {{
    return "abcdef0123456789abcdef0123456789";
  }}
"""


def service_of(directory, name, request, response):
    folder = directory / "my_msgs"
    (folder / f"{name}.h").write_text(SERVICE.format(name=name))
    for digit, (half, definition) in enumerate((("Request", request), ("Response", response))):
        text = PART.format(name=name + half, digit=digit, definition=definition)
        (folder / f"{name}{half}.h").write_text(text)


def test_a_service_gets_a_header_that_says_what_it_replaces_if_a_message_is_inside(tmp_path):
    header_of(tmp_path)
    service_of(tmp_path, "SetLevel", "string name\\nbyte[] raw\\nmy_msgs/Level[] levels", "bool done")
    service_of(tmp_path, "Plain", "string name", "bool done")
    source = universe(tmp_path)
    text = {str(p): t for p, t in outputs(source, Wanted(packages=["my_msgs"]), recompiled=[tmp_path]).items()}
    assert not [path for path in text if "Plain" in path], (
        "ROS's header fits, and programs share it with stock libraries"
    )
    assert text["my_msgs/SetLevel.h"].count('return "abcdef0123456789abcdef0123456789";') == 3
    request = text["my_msgs/SetLevelRequest.h"]
    assert 'return "0023456789abcdef0123456789abcdef";' in request
    assert "using _name_type = ::std::string;" in request, "a service lies on the heap"
    assert "using _raw_type = ::std::vector<::std::int8_t>;" in request
    assert "using _levels_type = ::std::vector<::my_msgs::Level>;" in request
    assert "inline namespace baton_recompiled {" in request
    assert "using _done_type = ::std::uint8_t;" in text["my_msgs/SetLevelResponse.h"]
    assert tmp_path / "my_msgs" / "SetLevel.h" in source.inputs
    replaced = text["baton/ros1/recompiled/replaced.hpp"]
    for name in ("LEVEL", "SETLEVELREQUEST", "SETLEVELRESPONSE"):
        assert f"#if defined(MY_MSGS_MESSAGE_{name}_H) && !defined(BATON_MY_MSGS_MESSAGE_{name}_H)" in replaced
    assert "#define BATON_MY_MSGS_MESSAGE_LEVEL_H" in text["my_msgs/Level.h"]
    assert "#define BATON_MY_MSGS_MESSAGE_SETLEVELREQUEST_H" in request


def test_headers_that_cannot_be_replaced_are_errors_that_name_them(tmp_path):
    path = header_of(tmp_path, field="int32 level")
    source = universe(tmp_path)
    with pytest.raises(InterfaceError, match="has other fields than my_msgs/Level here") as caught:
        outputs(source, Wanted(packages=["my_msgs"]), recompiled=[tmp_path])
    assert str(path) in str(caught.value)
    header_of(tmp_path)
    service_of(tmp_path, "SetLevel", "my_msgs/Level level", "bool done")
    (tmp_path / "my_msgs" / "SetLevelRequest.h").unlink()
    with pytest.raises(InterfaceError, match="is a service of gencpp whose request or response is missing"):
        outputs(source, Wanted(packages=["my_msgs"]), recompiled=[tmp_path])
    path.write_text("struct Level {};\n")
    with pytest.raises(InterfaceError, match="is not a header of gencpp"):
        read_ros1_header("my_msgs/Level", [tmp_path])


def test_a_package_of_services_alone_has_no_header_of_a_message(tmp_path):
    folder = tmp_path / "src" / "my_msgs" / "srv"
    folder.mkdir(parents=True)
    (folder / "Plain.srv").write_text("string name\n---\nbool done\n")
    (tmp_path / "my_msgs").mkdir()
    service_of(tmp_path, "Plain", "string name", "bool done")
    source = Universe(search=[tmp_path / "src"], standard="ros1_noetic", environment={})
    paths = {str(path) for path in outputs(source, Wanted(packages=["my_msgs"]), recompiled=[tmp_path])}
    assert paths == {"baton/srv/my_msgs/plain.hpp", "baton/ros1/recompiled/replaced.hpp"}
