# SPDX-License-Identifier: Apache-2.0
"""Command lines, namespaces and parameters in Python: docs/guides/names.md, docs/guides/parameters.md."""

import gc
import re
import threading
import time
import weakref

import baton
import numpy as np
import pytest
from baton import Parameter, ParameterDescriptor, SetParametersResult
from spinning import spinning


@pytest.fixture
def no_arguments():
    yield
    baton.init(["program"])


def test_init_returns_the_program_s_own_arguments_and_renames_nodes_and_topics(no_arguments):
    line = ["program", "file", "--ros-args", "-r", "image:=photo", "-r", "__ns:=/left", "-p", "rate:=30", "--", "-v"]
    assert baton.init(line) == ["program", "file", "-v"]
    node = baton.Node("camera")
    assert (node.namespace, node.fully_qualified_name) == ("/left", "/left/camera")
    assert node.advertise("image", "std_msgs/String").topic == "/left/photo"
    assert node.subscribe("~/image", "std_msgs/String").topic == "/left/camera/image"
    assert node.client("switch", "std_srvs/SetBool").name == "/left/switch"
    assert node.declare_parameter("rate", 10).value == 30
    assert baton.Node("camera", use_global_arguments=False).declare_parameter("rate", 10).value == 10
    own = baton.Node("other", namespace="right", cli_args=["--ros-args", "-p", "rate:=5", "-r", "__ns:=/up"])
    assert own.fully_qualified_name == "/up/other"
    assert own.declare_parameter("rate", 10).value == 5


def test_init_reads_the_program_s_arguments_and_ros_1_s_grammar(no_arguments, monkeypatch):
    monkeypatch.setattr("sys.argv", ["program", "_rate:=2.5", "image:=photo"])
    assert baton.init() == ["program"]
    node = baton.Node("camera")
    assert node.resolve_topic_name("image") == "/photo"
    assert node.declare_parameter("rate", 1.0).value == 2.5


def test_a_malformed_argument_is_an_error_that_names_it():
    with pytest.raises(baton.InvalidArgument, match="'--nonsense' behind --ros-args is unknown"):
        baton.init(["program", "--ros-args", "--nonsense"])


@pytest.mark.parametrize(
    ("arguments", "environment", "line"),
    [
        (["--ros-args", "-p"], {}, "argument '-p': its value is missing"),
        (["--ros-args", "--nonsense"], {}, "argument '--nonsense' behind --ros-args is unknown"),
        (
            ["--ros-args", "-p", "rate:=fast"],
            {},
            "argument 'rate:=fast': parameter 'rate' of node '/camera' is of type double",
        ),
        (["_rate:=fast"], {}, "argument '_rate:=fast': parameter 'rate' of node '/camera' is of type double"),
        ([], {"BATON_DOMAIN": "kitchen"}, "BATON_DOMAIN is 'kitchen'"),
    ],
)
def test_a_mistake_of_the_user_is_one_line_and_status_2(programs, arguments, environment, line):
    code = (
        "import atexit, baton; atexit.register(print, 'at exit'); baton.init(); print('initialised')\n"
        "baton.Node('camera').declare_parameter('rate', 30.0)"
    )
    process = programs.python(code, *arguments, env=environment)
    out, err = process.ends(2)
    assert re.fullmatch(rf"[^:\n]+: {re.escape(line)}[^\n]*\n", err), err
    assert out.endswith("at exit\n"), "what the program registered still runs"


def test_a_mistake_of_the_program_keeps_its_traceback(programs):
    process = programs.python("import baton; baton.init(); baton.Node('camera').declare_parameter('', 30.0)")
    _, err = process.ends(1)
    assert "Traceback" in err


def test_a_misspelt_parameter_is_reported_once(programs):
    code = (
        "import baton; baton.init(); node = baton.Node('camera'); node.declare_parameter('rate', 30.0)\n"
        "executor = baton.Executor(); executor.add(node)\n"
        "for _ in range(3): executor.spin_once(0.0)"
    )
    process = programs.python(code, "--ros-args", "-p", "rat:=5.0", "-p", "rate:=5.0")
    _, err = process.ends()
    assert err.count("no node of this program has declared the parameter 'rat'") == 1, err


def test_a_file_gives_values_and_its_faults_have_a_line(tmp_path, no_arguments):
    file = tmp_path / "p.yaml"
    file.write_text("/**:\n  ros__parameters:\n    gain: 1.5\ncamera:\n  ros__parameters:\n    names: [a, b]\n")
    baton.init(["program", "--ros-args", "--params-file", str(file)])
    node = baton.Node("camera")
    assert node.declare_parameter("gain", 0.0).value == 1.5
    assert node.declare_parameter("names", [""]).value == ["a", "b"]
    file.write_text("camera:\n  rate: 5\n")
    with pytest.raises(baton.InvalidArgument, match=rf"{file}:2: 'rate' is not below 'ros__parameters'"):
        baton.init(["program", "--ros-args", "--params-file", str(file)])


@pytest.mark.parametrize(
    ("value", "type_", "read"),
    [
        (True, Parameter.Type.BOOL, True),
        (5, Parameter.Type.INTEGER, 5),
        (0.5, Parameter.Type.DOUBLE, 0.5),
        ("text", Parameter.Type.STRING, "text"),
        (b"\x00\xff", Parameter.Type.BYTE_ARRAY, b"\x00\xff"),
        ([True, False], Parameter.Type.BOOL_ARRAY, [True, False]),
        ((1, 2), Parameter.Type.INTEGER_ARRAY, [1, 2]),
        ([1, 2.5], Parameter.Type.DOUBLE_ARRAY, [1.0, 2.5]),
        (["a", ""], Parameter.Type.STRING_ARRAY, ["a", ""]),
        (np.float32(0.5), Parameter.Type.DOUBLE, 0.5),
        (np.arange(3), Parameter.Type.INTEGER_ARRAY, [0, 1, 2]),
    ],
)
def test_a_value_has_the_type_of_ros_2(value, type_, read):
    node = baton.Node("camera")
    found = node.declare_parameter("x", value)
    assert (found.name, found.type_, found.value) == ("x", type_, read)
    assert type(found.value) is type(read)
    assert node.get_parameter("x") == found
    assert Parameter("x", value=value).type_ == type_


@pytest.mark.parametrize("value", [{"a": 1}, [1, "a"], [[1]], [None], object(), [b"a"]])
def test_a_malformed_parameter_is_refused(value):
    node = baton.Node("camera")
    with pytest.raises(TypeError, match="a parameter is a bool"):
        node.declare_parameter("x", value)
    with pytest.raises(TypeError, match="a parameter is a bool"):
        Parameter("x", value=value)


def test_a_declaration_needs_a_default_a_type_or_dynamic_typing():
    node = baton.Node("camera", parameter_overrides=[Parameter("given", value=3)])
    with pytest.raises(TypeError, match="neither a default nor a type"):
        node.declare_parameter("x")
    with pytest.raises(baton.InvalidArgument, match="-p x:=VALUE"):
        node.declare_parameter("x", Parameter.Type.INTEGER)
    assert node.declare_parameter("given", Parameter.Type.INTEGER).value == 3
    assert node.declare_parameter("any", None, ParameterDescriptor(dynamic_typing=True)).value is None
    with pytest.raises(OverflowError, match="64 bits"):
        node.declare_parameter("large", 1 << 63)


def test_parameters_are_set_read_listed_and_undeclared():
    node = baton.Node("camera")
    node.declare_parameters("roi", [("width", 640), ("height", 480, ParameterDescriptor(read_only=True))])
    assert node.list_parameters().names == ["roi.height", "roi.width"]
    assert node.list_parameters(["roi"], 1).prefixes == ["roi"]
    good, bad, unknown = node.set_parameters(
        [Parameter("roi.width", value=1), Parameter("roi.height", value=1), Parameter("x", value=1)]
    )
    assert good == SetParametersResult(True, "")
    assert not bad.successful and "read-only" in bad.reason
    assert "'x' of node '/camera' is not declared" in unknown.reason
    refused = node.set_parameters_atomically([Parameter("roi.width", value=2), Parameter("roi.width", value="a")])
    assert not refused.successful
    assert [p.value for p in node.get_parameters(["roi.width", "roi.height"])] == [1, 480]
    assert node.get_parameter_or("x", Parameter("x", value=7)).value == 7
    node.undeclare_parameter("roi.width")
    assert not node.has_parameter("roi.width")
    with pytest.raises(baton.NotFound):
        node.get_parameter("roi.width")
    with pytest.raises(baton.AlreadyExists):
        node.declare_parameter("roi.height", 1)


def test_a_descriptor_bounds_the_values_and_may_be_a_message():
    node = baton.Node("camera")
    given = ParameterDescriptor("frames a second", integer_range=baton.IntegerRange(1, 100, 1))
    node.declare_parameter("rate", 10, given)
    assert node.describe_parameter("rate") == given
    assert "from 1 to 100" in node.set_parameters([Parameter("rate", value=0)])[0].reason
    message = baton.message("rcl_interfaces/ParameterDescriptor")(
        {"description": "x", "floating_point_range": [{"from_value": 0.0, "to_value": 1.0}]}
    )
    node.declare_parameter("gain", 0.5, message)
    assert node.describe_parameter("gain").floating_point_range == baton.FloatingPointRange(0.0, 1.0)


def test_callbacks_refuse_and_follow_changes():
    node = baton.Node("camera")
    seen = []

    def check(parameters):
        return SetParametersResult(parameters[0].value < 10, "too large")

    node.add_on_set_parameters_callback(check)
    node.add_post_set_parameters_callback(seen.append)
    node.declare_parameter("rate", 1)
    assert node.set_parameters([Parameter("rate", value=10)])[0] == SetParametersResult(False, "too large")
    assert node.set_parameters([Parameter("rate", value=9)])[0].successful
    assert [[(p.name, p.value) for p in one] for one in seen] == [[("rate", 1)], [("rate", 9)]]
    node.remove_on_set_parameters_callback(check)
    node.remove_post_set_parameters_callback(seen.append)
    assert node.set_parameters([Parameter("rate", value=10)])[0].successful
    assert len(seen) == 2
    with pytest.raises(ValueError, match="no callback of this node"):
        node.remove_on_set_parameters_callback(check)
    node.add_on_set_parameters_callback(lambda parameters: None)
    with pytest.raises(TypeError, match="returns a SetParametersResult"):
        node.set_parameters([Parameter("rate", value=1)])
    node.close()
    assert node.set_parameters([Parameter("rate", value=1)])[0].successful


def test_a_callback_that_raises_changes_nothing_and_its_error_is_raised():
    node = baton.Node("camera")
    node.declare_parameter("rate", 1)

    def fail(parameters):
        raise RuntimeError("the sensor is off")

    node.add_on_set_parameters_callback(fail)
    with pytest.raises(RuntimeError, match="the sensor is off"):
        node.set_parameters([Parameter("rate", value=2)])
    node.remove_on_set_parameters_callback(fail)
    assert node.get_parameter("rate").value == 1
    assert node.set_parameters([Parameter("rate", value=2)])[0].successful


def test_a_node_with_callbacks_that_refer_to_it_is_collected():
    class Camera:
        def __init__(self):
            self.node = baton.Node("camera")
            self.node.declare_parameter("rate", 1)
            self.node.add_on_set_parameters_callback(self.check)
            self.ends = [
                self.node.advertise("topic", "std_msgs/String"),
                self.node.subscribe("topic", "std_msgs/String", self.on_message),
                self.node.create_timer(10, self.on_timer),
                self.node.serve("service", "std_srvs/SetBool", self.on_call),
            ]
            self.executor = baton.Executor(self.node)
            self.executor.spin_some()

        def check(self, parameters):
            return SetParametersResult()

        def on_message(self, message): ...
        def on_timer(self): ...
        def on_call(self, request, response): ...

    camera = weakref.ref(Camera())
    gc.collect()
    assert camera() is None
    assert baton.Node("observer").topics() == {}


def test_threads_set_parameters_while_callbacks_of_python_run():
    node = baton.Node("camera")
    node.declare_parameter("a", 0)
    node.add_on_set_parameters_callback(lambda parameters: SetParametersResult(node.has_parameter("a")))
    failed = []

    def work():
        failed.extend(r for i in range(100) for r in node.set_parameters([Parameter("a", value=i)]) if not r.successful)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not failed and not any(thread.is_alive() for thread in threads)


def test_other_processes_set_parameters_through_ros_2_s_services(programs):
    programs.python(
        """
import baton
baton.init(["program", "--ros-args", "-r", "__ns:=/left"])
node = baton.Node("camera")
node.declare_parameter("rate", 10)
def check(parameters):
    return baton.SetParametersResult(parameters[0].value < 100, "too fast")
node.add_on_set_parameters_callback(check)
print("ready", flush=True)
baton.spin(node)
""",
        ready="ready",
    )
    node = baton.Node("caller")
    client = node.client("/left/camera/set_parameters", "rcl_interfaces/SetParameters")
    assert client.wait_for_service(60)

    def call(value):
        request = {"parameters": [{"name": "rate", "value": {"type": 2, "integer_value": value}}]}
        return client.call(request, 60).results[0]

    assert call(50).successful
    result = call(100)
    assert not result.successful and str(result.reason) == "too fast"
    get = node.client("/left/camera/get_parameters", "rcl_interfaces/GetParameters")
    assert get.wait_for_service(60)
    assert get.call({"names": ["rate"]}, 60).values[0].integer_value == 50


def test_a_parameter_that_is_no_utf_8_is_read_as_in_messages_and_ends_no_call():
    node, caller = baton.Node("camera"), baton.Node("caller")
    node.declare_parameter("name", "left")
    node.declare_parameter("names", ["a"])
    seen = []
    node.add_post_set_parameters_callback(lambda parameters: seen.append(parameters[0].value))
    client = caller.client("/camera/set_parameters", "rcl_interfaces/SetParameters")
    assert client.wait_for_service(60)
    texts = ["a\udcff", ["b\udcfe", "c"]]
    with spinning(node):
        for name, value in (
            ("name", {"type": 4, "string_value": texts[0]}),
            ("names", {"type": 9, "string_array_value": texts[1]}),
        ):
            assert client.call({"parameters": [{"name": name, "value": value}]}, 120).results[0].successful
    assert seen == texts
    assert [node.get_parameter(name).value for name in ("name", "names")] == texts
    assert "'n\udcff' of node" in node.set_parameters([Parameter("n\udcff", value=texts[0])])[0].reason
    assert baton._core._parameter_yaml(texts[0]) == '"a\ufffd"'


def test_requests_without_a_response_cause_one_line_a_second_at_most(programs):
    # Responses beyond 16 MiB. Another process chooses how many it wants, and of which services.
    process = programs.python("""
        import baton, sys, threading, time
        node = baton.Node("asked")
        node.declare_parameter("large", "x" * (1 << 20))
        node.serve("own", "std_srvs/SetBool", lambda request, response: loans.append(limited.loan()))
        limited, loans = node.advertise("limited", "std_msgs/String", slots=64, max_message=1 << 12), []
        executor = baton.Executor(node)
        threading.Thread(target=executor.spin).start()
        print("ready", flush=True)
        sys.stdin.readline()
        executor.cancel()
        begun = float(sys.stdin.readline())
        print(time.monotonic() - begun, flush=True)
    """)
    process.says("ready")
    node = baton.Node("asks")
    get = node.client("/asked/get_parameters", "rcl_interfaces/GetParameters")
    own = node.client("/own", "std_srvs/SetBool")
    begun = time.monotonic()
    for client, request in ((get, {"names": ["large"] * 20}), (own, {})):
        assert client.wait_for_service(120)
        time.sleep(1.1)  # so that each of the two may have a line
        for _ in range(200):
            sent = False
            while not sent:
                assert time.monotonic() < begun + 240
                try:
                    client.call(request, 0.0)
                    sent = True
                except baton.QueueFull:
                    time.sleep(0.001)
    assert get.call({"names": ["asked"]}, 240) is not None  # behind its requests
    out, errors = process.ends(input=f"end\n{begun}\n")
    lines = [line for line in errors.splitlines() if "gets no response" in line]
    assert 2 <= len(lines) <= 2 + float(out), errors[-3000:]
    assert "/asked/get_parameters/_response" in lines[0] and "more requests since the last such line" in errors, errors


def test_a_request_with_very_many_names_ends_no_node_that_has_little_memory(programs):
    victim = programs.python("""
        import baton, resource, sys, threading
        node = baton.Node("victim")
        node.declare_parameter("speed", 1.0)
        node.serve("own", "rcl_interfaces/SetParametersAtomically", lambda request, response: None)
        executor = baton.Executor(node)
        thread = threading.Thread(target=executor.spin)
        thread.start()
        data = next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmData:"))
        resource.setrlimit(resource.RLIMIT_DATA, (data + (12 << 20),) * 2)
        print("ready", flush=True)
        sys.stdin.readline()
        print("spins" if thread.is_alive() else "ended", flush=True)
        executor.cancel()
    """)
    victim.says("ready")
    node = baton.Node("stranger")
    parameter = {"name": "speed", "value": {"type": 3, "double_value": 2.0}}
    for name, type_, request in (
        ("get_parameters", "GetParameters", {"names": ["speed"]}),
        ("get_parameter_types", "GetParameterTypes", {"names": ["speed"]}),
        ("describe_parameters", "DescribeParameters", {"names": ["speed"]}),
        ("list_parameters", "ListParameters", {"prefixes": ["speed"]}),
        ("set_parameters", "SetParameters", {"parameters": [parameter]}),
        ("set_parameters_atomically", "SetParametersAtomically", {"parameters": [parameter]}),
    ):
        client = node.client(f"/victim/{name}", f"rcl_interfaces/{type_}")
        assert client.wait_for_service(120), name
        client.call({field: values * 400_000 for field, values in request.items()}, 0.0)
        assert client.call(request, 120) is not None, name
    own = node.client("/own", "rcl_interfaces/SetParametersAtomically")
    assert own.wait_for_service(120)
    assert own.call({"parameters": [parameter] * 400_000}, 120) is not None, "the handler copies nothing"
    out, errors = victim.ends(input="end\n")
    assert out == "spins\n", out + errors[-3000:]
    assert "other processes name at most 4096" in errors, errors[-3000:]
