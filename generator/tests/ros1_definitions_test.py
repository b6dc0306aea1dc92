# SPDX-License-Identifier: Apache-2.0
"""Definitions and sums of messages that have no header of gencpp yet, compared with headers that gencpp wrote."""

import os
from pathlib import Path

import pytest
from baton_generator.packages import Universe
from baton_generator.ros1_definitions import Ros1Definitions
from baton_generator.ros1_headers import read_ros1_header, ros1_services

SHARE = Path("/usr/share")
HEADERS = [Path("/usr/include")]
SUM_OF_HEADER = "2176decaecbce78abc3b96ef049fabed"  # as `rosmsg md5` prints it


def installed(kind):
    return [
        (f"{path.parent.parent.name}/{path.stem}", path)
        for path in sorted(SHARE.glob(f"*/{kind}/*.{kind}"))
        if (HEADERS[0] / path.parent.parent.name / f"{path.stem}.h").is_file()
    ]


def same(a, b):
    fields = ("md5", "definition", "has_header", "message", "signed_bytes")
    return [(field, getattr(a, field), getattr(b, field)) for field in fields if getattr(a, field) != getattr(b, field)]


@pytest.mark.skipif(not installed("msg"), reason="needs messages with their files: make setup installs ros-tf2-msgs")
def test_messages_and_services_of_the_distribution_have_the_sums_and_definitions_of_their_headers(tmp_path):
    names = [name for name, _ in installed("msg")]
    services = [name for name, _ in installed("srv")]
    folder = tmp_path / "src"
    for _, path in installed("msg") + installed("srv"):  # copies are newer than the headers
        copy = folder / path.relative_to(SHARE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text())
    definitions = Ros1Definitions(Universe(search=[folder], standard="ros1_noetic", environment={}), HEADERS)
    for name in names:
        own, stock = definitions.message(name), read_ros1_header(name, HEADERS)
        assert own is not None and stock is not None
        assert own.path.suffix == ".msg"
        assert same(own, stock) == [], name
    for package in {name.split("/")[0] for name in services}:
        stock_of = {service.name: service for service in ros1_services(package, HEADERS)}
        for own in definitions.services(package):
            stock = stock_of[own.name]
            assert own.path.suffix == ".srv" or own.name not in services
            assert own.md5 == stock.md5
            assert same(own.request, stock.request) + same(own.response, stock.response) == [], own.name


def definitions_of(directory, files, **environment):
    for name, text in files.items():
        path = directory / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    universe = Universe(search=[directory / "src"], standard="ros1_noetic", environment=environment)
    return Ros1Definitions(universe, [directory / "include"])


HEADER = "# a comment\nuint32 seq\ntime stamp\nstring frame_id\n"


def test_the_sum_of_a_message_is_that_of_rosmsg(tmp_path):
    definitions = definitions_of(
        tmp_path,
        {
            "std_msgs/msg/Header.msg": HEADER,
            "my_msgs/msg/Wheel.msg": "byte LOW=-3  # lowest\nstring NAME= a # b \nHeader header\nPoint[] points\nfloat32[2] size\n",
            "my_msgs/msg/Point.msg": "float64 x\nfloat64 y\nfloat64 z\n",
        },
    )
    assert definitions.message("std_msgs/Header").md5 == SUM_OF_HEADER
    assert definitions.message("my_msgs/Point").md5 == "4a842b65f413084dc2b10fb484ea7f17", "that of geometry_msgs/Point"
    wheel = definitions.message("my_msgs/Wheel")
    assert wheel.has_header
    assert wheel.signed_bytes == {"LOW"}
    assert wheel.definition.endswith(
        f"float32[2] size\n\n{80 * '='}\nMSG: std_msgs/Header\n{HEADER}\n{80 * '='}\nMSG: my_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z\n"
    )


def test_a_header_that_is_older_than_its_file_does_not_count(tmp_path):
    files = {"std_msgs/msg/Header.msg": HEADER}
    definitions = definitions_of(tmp_path, files)
    header = tmp_path / "include/std_msgs/Header.h"
    header.parent.mkdir(parents=True)
    values = (
        f'struct {trait}<Header> {{ static const char* value() {{ return "{value}"; }} }};\n'
        for trait, value in (("MD5Sum", 32 * "0"), ("Definition", r"uint32 seq\n"))
    )
    header.write_text("".join(values))
    file = tmp_path / "src/std_msgs/msg/Header.msg"
    os.utime(file, (0, 0))
    assert definitions.message("std_msgs/Header").md5 == 32 * "0"
    os.utime(header, (0, 0))
    os.utime(file)
    assert definitions.message("std_msgs/Header").md5 == SUM_OF_HEADER


def test_a_file_of_ros_2_gives_no_header_of_ros_1(tmp_path):
    package = "<package><name>my_msgs</name><depend>rosidl_default_generators</depend></package>\n"
    files = {"my_msgs/msg/Point.msg": "float64 x\n", "my_msgs/package.xml": package}
    assert definitions_of(tmp_path, files).message("my_msgs/Point") is None


def test_a_service_without_headers_has_its_halves(tmp_path):
    files = {"my_msgs/srv/Switch.srv": "bool data # on or off\n---\nbool success\nstring message\n"}
    (switch,) = definitions_of(tmp_path, files).services("my_msgs")
    assert switch.request.definition == "bool data # on or off\n"
    assert switch.response.definition == "bool success\nstring message\n\n", "as genmsg cuts it"
    assert (switch.name, switch.md5) == ("my_msgs/Switch", "09fb03525b03e7ea1fd3992bafd87e16"), "as std_srvs/SetBool"
