# SPDX-License-Identifier: Apache-2.0
"""The parser's results, line by line, in both dialects; compared with rosbags' parser where the two overlap."""

import keyword

import pytest
from baton_generator.diagnostics import InterfaceError
from baton_generator.model import Dialect, FieldType, Shape
from baton_generator.parser import parse_text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rosbags.typesys import get_types_from_msg

ROS1, ROS2 = Dialect.ROS1, Dialect.ROS2


def fields(text: str, **options) -> list[tuple[str, str]]:
    return [(str(f.type), f.name) for f in parse_text(text, "pkg", "Name", **options).fields]


def constants(text: str, **options) -> dict[str, object]:
    return {c.name: c.value for c in parse_text(text, "pkg", "Name", **options).constants}


def test_reads_every_form_of_a_type() -> None:
    text = "uint8 a\nstring<=5 b\nfloat64[3] c\nPoint[] d\nother/Thing[<=4] e\nwstring<=2[<=3] f\nother/msg/Thing g\nstring<=1[2] h\n"
    assert fields(text) == [
        ("uint8", "a"),
        ("string<=5", "b"),
        ("float64[3]", "c"),
        ("pkg/Point[]", "d"),
        ("other/Thing[<=4]", "e"),
        ("wstring<=2[<=3]", "f"),
        ("other/Thing", "g"),
        ("string<=1[2]", "h"),
    ]


def test_maps_built_in_types_of_ros_1() -> None:
    text = "time a\nduration[] b\nbyte c\nchar[4] d\nHeader e\n"
    assert fields(text) == [
        ("builtin_interfaces/Time", "a"),
        ("builtin_interfaces/Duration[]", "b"),
        ("uint8", "c"),
        ("uint8[4]", "d"),
        ("std_msgs/Header", "e"),
    ]


def test_a_header_without_package_is_std_msgs_header_only_in_ros_1() -> None:
    assert fields("Header h", dialect=ROS2) == [("pkg/Header", "h")]
    assert parse_text("Header h", "std_msgs", "Other").fields[0].type.base == "std_msgs/Header"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("time t", ROS1),
        ("Header h", ROS1),
        ("uint8 camelCase", ROS1),
        ("uint8 lower=1", ROS1),
        ("uint8 x_", ROS1),
        ("string<=3 s", ROS2),
        ("uint8[<=3] s", ROS2),
        ("wstring s", ROS2),
        ("uint8 x 3", ROS2),
        ("builtin_interfaces/Time t", ROS2),
        ("pkg/msg/Thing t", ROS2),
    ],
)
def test_recognises_the_dialect(text: str, expected: Dialect) -> None:
    # The value of a string constant with '#' shows which dialect was chosen.
    value = constants(text + "\nstring S=a # b\n")["S"]
    assert value == ("a # b" if expected is ROS1 else "a")


def test_the_build_tool_decides_the_dialect_where_the_file_does_not() -> None:
    assert constants("string S=a # b", hint=ROS1) == {"S": "a # b"}
    assert constants("string S=a # b", hint=ROS2) == {"S": "a"}
    assert constants("time t\nstring S=a # b", hint=ROS2) == {"S": "a # b"}
    with pytest.raises(InterfaceError, match="--dialect"):
        constants("string S=a # b")


def test_string_constants_of_ros_1_reach_to_the_end_of_the_line() -> None:
    text = "string A=foo # not a comment\nstring B=  spaces inside  \nstring C=\nstring D='quoted'\nstring E=x=y\nstring F=a\\nb\n"
    assert constants(text, dialect=ROS1) == {
        "A": "foo # not a comment",
        "B": "spaces inside",
        "C": "",
        "D": "'quoted'",
        "E": "x=y",
        "F": "a\\nb",
    }


def test_strings_of_ros_2_may_be_quoted_and_escaped() -> None:
    text = 'string A="foo # inside" # outside\nstring B=\'it is "so"\'\nstring C="tab\\t \\u2603 \\x41 \\101 \\"q\\""\nstring D=plain # comment\nstring E=""\n'
    assert constants(text, dialect=ROS2) == {
        "A": "foo # inside",
        "B": 'it is "so"',
        "C": 'tab\t \u2603 A A "q"',
        "D": "plain",
        "E": "",
    }


def test_numbers_may_be_written_in_other_bases() -> None:
    assert constants("uint8 A=0xff\nint8 B=-0b11\nuint16 C=0o17\nint32 D=+7\nint32 E=007") == {
        "A": 255,
        "B": -3,
        "C": 15,
        "D": 7,
        "E": 7,
    }
    assert constants("float32 A=3.4028235e38\nfloat32 B=-inf") == {"A": 3.4028235e38, "B": float("-inf")}
    assert constants("bool A=True\nbool B=0\nfloat32 C=.5\nfloat64 D=-1E3 # c") == {
        "A": True,
        "B": False,
        "C": 0.5,
        "D": -1000.0,
    }


def test_a_constant_byte_is_signed_in_ros_1_and_keeps_its_bits() -> None:
    assert constants("Header h\nbyte LOW=-3\nbyte HIGH=127") == {"LOW": 253, "HIGH": 127}
    assert constants("builtin_interfaces/Time t\nbyte HIGH=255") == {"HIGH": 255}
    assert constants("byte LOW=-128\nbyte HIGH=255") == {"LOW": 128, "HIGH": 255}
    for text in ("Header h\nbyte A=128", "Header h\nbyte A=-129", "builtin_interfaces/Time t\nbyte A=-1", "byte A=256"):
        with pytest.raises(InterfaceError, match="does not fit byte"):
            constants(text)


def test_defaults() -> None:
    text = 'int32 a 5 # five\nfloat64[] b [1, 2.5]\nstring c "x, y"\nstring[] d ["a", \'b, c\', plain]\nbool[2] e [true, 0]\nuint8[] f []\nstring g unquoted text # c\n'
    found = {f.name: f.default for f in parse_text(text, "pkg", "Name").fields}
    assert found == {
        "a": 5,
        "b": (1.0, 2.5),
        "c": "x, y",
        "d": ("a", "b, c", "plain"),
        "e": (True, False),
        "f": (),
        "g": "unquoted text",
    }


def test_keeps_comments_as_documentation() -> None:
    message = parse_text(
        "# About the file.\n# More.\n\n# above\nuint8 a # beside\n\n# alone\n\nuint8 B=1 # constant\n", "pkg", "Name"
    )
    assert message.comment == "About the file.\nMore."
    assert message.fields[0].comment == "above\nbeside"
    assert message.constants[0].comment == "constant"


def test_accepts_line_ends_of_every_system_a_byte_order_mark_and_an_empty_file(tmp_path) -> None:
    from baton_generator.parser import parse_file

    path = tmp_path / "Name.msg"
    path.write_bytes(b"\xef\xbb\xbfuint8 a\r\n\r\n# c\r\nuint8 b")
    assert [f.name for f in parse_file(path, "pkg").fields] == ["a", "b"]
    path.write_bytes(b"")
    assert parse_file(path, "pkg").fields == ()


def test_a_service_has_two_halves() -> None:
    service = parse_text("uint8 A=1\nuint8 a\n--- \n# nothing but a comment\n", "pkg", "Name", kind=".srv")
    assert service.request.full_name == "pkg/Name_Request"
    assert [f.name for f in service.request.fields] == ["a"]
    assert service.response.full_name == "pkg/Name_Response"
    assert service.response.fields == ()


@pytest.mark.parametrize("separator", ["-----", "--- # response", "  ---response"])
def test_every_line_that_begins_with_the_separator_is_one_as_in_ros_1(separator: str) -> None:
    service = parse_text(f"uint8 a\n{separator}\nuint8 b\n", "pkg", "Name", kind=".srv")
    assert [f.name for f in service.request.fields] == ["a"]
    assert [f.name for f in service.response.fields] == ["b"]


def test_a_package_name_must_do_as_a_namespace() -> None:
    for package in ("my-package", "1st", "", "a::b"):
        with pytest.raises(InterfaceError, match="cannot be a package name"):
            parse_text("uint8 a", package, "Name")


def test_says_which_file_cannot_be_read(tmp_path) -> None:
    from baton_generator.parser import parse_file

    with pytest.raises(InterfaceError, match="No such file"):
        parse_file(tmp_path / "None.msg", "pkg")


# --- against rosbags' parser, which reads both dialects but reports no columns ---------------------------------------------

SCALARS = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float32",
    "float64",
    "string",
]
_names = st.from_regex(r"[a-z][a-z0-9]{0,6}", fullmatch=True).filter(lambda n: not keyword.iskeyword(n))
# No wstring: rosbags takes it for a message.
_bases = st.sampled_from([*SCALARS, "byte", "char", "string<=7", "geometry_msgs/Point", "Other"])
_suffixes = st.sampled_from(["", "[]", "[3]", "[<=5]", "[17]"])


@st.composite
def message_texts(draw) -> str:
    names = draw(st.lists(_names, unique=True, max_size=8))
    lines = []
    for name in names:
        lines += draw(st.lists(st.sampled_from(["", "# words", "  # 'quotes\" = [1]"]), max_size=2))
        gap = draw(st.sampled_from([" ", "   "]))
        lines.append(f"{draw(_bases)}{draw(_suffixes)}{gap}{name}{draw(st.sampled_from(['', '  # beside']))}")
    for name in draw(st.lists(st.from_regex(r"[A-Z][A-Z0-9]{0,5}", fullmatch=True), unique=True, max_size=3)):
        lines.append(f"int16 {name}{draw(st.sampled_from(['=', ' = ']))}{draw(st.integers(-32768, 32767))}")
    return "\n".join(lines)


def _rosbags_fields(text: str) -> list[tuple[str, str]]:
    definition = get_types_from_msg(text, "pkg/msg/Name")["pkg/msg/Name"]

    def render(node) -> FieldType:
        kind, value = node[0].name, node[1]
        if kind == "BASE":
            return FieldType(
                {"byte": "uint8", "octet": "uint8", "char": "uint8"}.get(value[0], value[0]), string_bound=value[1]
            )
        if kind == "NAME":
            return FieldType(value.replace("/msg/", "/"))
        inner = render(value[0])
        return FieldType(inner.base, Shape.ARRAY if kind == "ARRAY" else Shape.SEQUENCE, value[1], inner.string_bound)

    return [(str(render(type_)), name) for name, type_ in definition[1]]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(message_texts())
def test_reads_fields_as_rosbags_does(text: str) -> None:
    assert fields(text, dialect=ROS2) == _rosbags_fields(text)


# --- robustness -----------------------------------------------------------------------------------------------------------

_pieces = st.sampled_from(
    ["uint8", "string", "<=", "5", "[", "]", "[]", "[<=3]", " ", "\t", "\n", "=", "#", '"', "'", "\\", "---", "Header", "time", "a", "B", "_", "/", ",", "-", "0x", "\r", "\0", "\u2028", "wstring", "1e999", "nan"]
)  # fmt: skip
_noise = st.one_of(st.text(max_size=200), st.lists(_pieces, max_size=60).map("".join))


@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_noise, st.sampled_from([".msg", ".srv"]), st.sampled_from([None, ROS1, ROS2]))
def test_any_text_is_read_or_refused_with_a_place(text: str, kind: str, dialect) -> None:
    try:
        parse_text(text, "pkg", "Name", kind=kind, dialect=dialect)
    except InterfaceError as error:
        lines = text.split("\n")
        assert error.diagnostics
        for diagnostic in error.diagnostics:
            assert diagnostic.way_out
            where = diagnostic.location
            if where.line:
                assert 1 <= where.line <= len(lines)
                assert 1 <= where.column <= len(lines[where.line - 1]) + 1
            assert str(error)
