# SPDX-License-Identifier: Apache-2.0
"""`baton param` with a node in C++ and one in Python, each in a process of its own."""

import json
import signal
import sys
from functools import partial

import pytest
from support.build import BIN, needs_package

PEER = BIN / "python_cpp_peer"
pytestmark = needs_package(PEER)

CAMERA = """
import baton
baton.init()
node = baton.Node("camera")
rate = baton.ParameterDescriptor("frames a second", integer_range=baton.IntegerRange(1, 100, 1))
node.declare_parameter("rate", 10, rate)
node.declare_parameter("serial", "a b", baton.ParameterDescriptor(read_only=True))
node.declare_parameter("on", True)
node.declare_parameter("gain", 0.5)
node.declare_parameter("bytes", b"\\x00\\xff")
node.declare_parameter("flags", [True, False])
node.declare_parameter("roi.size", [640, 480])
node.declare_parameter("weights", [1.0, 2.5])
node.declare_parameter("names", ["left", ""])
def check(parameters):
    for parameter in parameters:
        if parameter.name == "on" and not parameter.value:
            return baton.SetParametersResult(False, "it stays on")
    return baton.SetParametersResult()
node.add_on_set_parameters_callback(check)
print("ready", flush=True)
baton.spin(node)
"""
PROGRAMS = {"C++": [PEER, "parameters"], "Python": [sys.executable, "-c", CAMERA]}
NAMES = ["bytes", "flags", "gain", "names", "on", "rate", "roi.size", "serial", "weights"]


@pytest.fixture
def param(baton):
    """param(*arguments, code=0): the command's output, with its diagnostics if it failed."""
    return partial(baton, "param")


@pytest.fixture
def start(programs):
    """start(language, *arguments): a process with the node."""
    return lambda language, *arguments: programs.start([*PROGRAMS[language], *arguments], ready="ready")


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_node_s_parameters_are_listed_read_set_and_described(param, start, language):
    start(language, "--ros-args", "-p", "rate:=20", "-r", "__ns:=/left")
    assert param("list", "/left/camera").split() == NAMES
    assert param("list").splitlines() == ["/left/camera:", *(f"  {name}" for name in NAMES)]
    assert json.loads(param("list", "--json")) == {"/left/camera": NAMES}
    assert param("get", "left/camera", "rate") == "20\n", "the value of the command line"
    assert param("set", "/left/camera", "rate", "30") == "/left/camera: rate is 30 now\n"
    assert param("get", "/left/camera", "rate") == "30\n"
    param("set", "/left/camera", "gain", "-1")
    assert param("get", "/left/camera", "gain") == "-1.0\n"
    param("set", "/left/camera", "names", "[]")
    assert param("get", "/left/camera", "names", "--json") == "[]\n"
    assert param("describe", "/left/camera", "rate") == (
        "rate:\n  type: integer\n  description: frames a second\n  range: 1 to 100, step 1\n"
    )
    described = json.loads(param("describe", "/left/camera", "--json"))
    assert [one["type"] for one in described] == [
        "byte_array", "bool_array", "double", "string_array", "bool", "integer", "integer_array", "string", "double_array",
    ]  # fmt: skip
    assert described[7]["read_only"] is True


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_value_that_a_node_refuses_is_an_error_with_its_reason(param, start, language):
    start(language)
    assert "must be from 1 to 100, and 500 is not" in param("set", "camera", "rate", "500", code=1)
    assert "is of type integer, and fast is of type string" in param("set", "camera", "rate", "fast", code=1)
    assert "/camera refused it: it stays on" in param("set", "camera", "on", "false", code=1)
    assert "is read-only" in param("set", "camera", "serial", "x", code=1)
    assert "'x' of node '/camera' is not declared" in param("set", "camera", "x", "1", code=1)
    assert "/camera has no parameter x; `baton param list" in param("get", "camera", "x", code=1)
    for verb in (("get", "camera", "raet"), ("set", "camera", "raet", "1"), ("describe", "camera", "raet")):
        assert "; did you mean rate?" in param(*verb, code=1)
    assert "VALUE:1: all values of a list have one type" in param("set", "camera", "rate", "[1, a]", code=1)
    assert "there is no node /other; nodes with parameters: /camera" in param(
        "get", "other", "rate", "--timeout", "0.3", code=1
    )
    assert param("get", "camera", "rate") == "10\n"


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_dump_is_a_file_that_the_same_node_starts_from_and_loads(param, start, language, tmp_path):
    first = start(language)
    param("set", "camera", "rate", "42")
    dumped = param("dump", "camera")
    assert dumped == (
        "/camera:\n  ros__parameters:\n    bytes: [0, 255]\n    flags: [true, false]\n    gain: 0.5\n"
        "    names: [left, '']\n    'on': true\n    rate: 42\n    roi.size: [640, 480]\n    serial: 'a b'\n"
        "    weights: [1.0, 2.5]\n"
    )
    first.kill()
    first.wait()
    file = tmp_path / "camera.yaml"
    file.write_text(dumped)
    start(language, "--ros-args", "--params-file", file)
    assert param("dump", "camera") == dumped
    said = param("load", "camera", file, code=1)
    assert "set 8 of 9 parameters of /camera" in said and "serial: " in said and "read-only" in said
    file.write_text("/**:\n  ros__parameters:\n    rate: 7\nother:\n  ros__parameters:\n    rate: 8\n")
    assert param("load", "camera", file) == ""
    assert param("get", "camera", "rate") == "7\n"
    file.write_text("camera:\n  rate: 7\n")
    assert f"{file}:2: 'rate' is not below 'ros__parameters'" in param("load", "camera", file, code=1)
    file.write_text("other:\n  ros__parameters:\n    rate: 8\n")
    assert f"{file} has no parameters for /camera" in param("load", "camera", file, code=1)


def test_a_node_that_does_not_answer_is_named(param, start):
    process = start("C++")
    process.send_signal(signal.SIGSTOP)
    said = param("get", "camera", "rate", "--timeout", "0.5", code=1)
    assert "/camera sent no response within 0.5 s" in said or "there is no node /camera" in said


def test_names_and_texts_that_would_steer_the_terminal_are_harmless(param, start, programs):
    start("Python")
    setter = """
import baton
client = baton.Node("setter").client("/camera/set_parameters", "rcl_interfaces/SetParameters")
assert client.wait_for_service(60)
text = {"type": 9, "string_array_value": ["a\\x07\\x9b1m\\udcff"]}
assert client.call({"parameters": [{"name": "names", "value": text}]}, 60).results[0].successful
"""
    programs.python(setter).ends()
    assert param("get", "camera", "names") == '["a\\x07\\x9b1m\ufffd"]\n'
    assert '    names: ["a\\x07\\x9b1m\ufffd"]\n' in param("dump", "camera")
    said = param("set", "camera", "n\x9b1m", "1", code=1)
    assert "parameter 'n\\x9b1m' of node '/camera' is not declared" in said


def test_an_empty_domain_says_so(param):
    assert param("list") == ""
    assert "there is no node /camera; no node has parameters" in param(
        "get", "camera", "rate", "--timeout", "0.3", code=1
    )


LIAR = """
import baton, sys
node = baton.Node("liar")
def set_type(request, response):
    response.values = [{"type": 200}]
def many(request, response):
    response.values = [{"type": 4}] * 3
def nothing(request, response):
    pass
def names(request, response):
    response.result = {"names": ["x\\x1b]0;pwned\\x07"]}
get = {"type": set_type, "many": many}.get(sys.argv[1], nothing)
node.serve("/other/get_parameters", "rcl_interfaces/GetParameters", get)
node.serve("/other/set_parameters", "rcl_interfaces/SetParameters", nothing)
node.serve("/other/list_parameters", "rcl_interfaces/ListParameters", names if sys.argv[1] == "names" else nothing)
node.serve("/other/describe_parameters", "rcl_interfaces/DescribeParameters", nothing)
print("ready", flush=True)
baton.spin(node)
"""


@pytest.mark.parametrize(
    ("lie", "arguments", "said"),
    [
        ("type", ["get", "/other", "x"], "/other has no type of ROS 2 for x"),
        ("many", ["get", "/other", "x"], "/other answered for 3 parameters, and was asked for 1"),
        ("nothing", ["get", "/other", "x"], "/other has no parameter x"),
        ("nothing", ["set", "/other", "x", "1"], "/other answered for 0 parameters, and was asked for 1"),
        ("nothing", ["load", "/other", "FILE"], "/other answered for 0 parameters, and was asked for 2"),
        ("names", ["dump", "/other"], r"/other has no parameter x\x1b]0;pwned\x07"),
        ("names", ["describe", "/other"], r"/other has not all of x\x1b]0;pwned\x07"),
    ],
)
def test_a_response_that_fits_to_no_request_is_an_error_of_one_line(param, programs, tmp_path, lie, arguments, said):
    programs.start([sys.executable, "-c", LIAR, lie], ready="ready")
    (tmp_path / "FILE").write_text("/other:\n  ros__parameters:\n    a: 1\n    b: 2\n")
    output = param(*(str(tmp_path / "FILE") if each == "FILE" else each for each in arguments), code=1)
    assert said in output and "Traceback" not in output and "\x1b" not in output
