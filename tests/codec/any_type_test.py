# SPDX-License-Identifier: Apache-2.0
"""Random types: Hypothesis makes definitions as well as values, and every form of every message must be the form that the
reference implementation writes and, without wstrings, what rosbags writes. A message in any form is printed as its values are. Part
`oracles` of scripts/parts.toml."""

import make_vectors
import sfm_reference as reference
import values
from hypothesis import given, settings
from hypothesis import strategies as st
from vectors_test import load_yaml, narrowed, same

PRIMITIVES = [*reference.SCALARS, "string", "wstring"]


@st.composite
def field_types(draw, nested):
    base = draw(st.sampled_from([*PRIMITIVES, *nested, *nested]))
    if base in ("string", "wstring") and draw(st.integers(0, 3)) == 0:
        base += f"<={draw(st.integers(1, 5))}"
    shape = draw(st.sampled_from(["", "", "", "[1]", "[3]", "[]", "[]", "[<=2]", "[<=5]"]))
    return base + shape


@st.composite
def definitions(draw):
    """Up to four types, each of which may contain those after it."""
    names = [f"any/T{i}" for i in range(draw(st.integers(1, 4)))]
    sections = []
    for i, name in reversed(list(enumerate(names))):
        kinds = draw(st.lists(field_types(names[i + 1 :]), max_size=6))
        sections.append("".join([f"message {name}\n", *(f"{kind} f{j}\n" for j, kind in enumerate(kinds))]))
    return "".join(reversed(sections))


@settings(max_examples=300)
@given(text=definitions(), data=st.data())
def test_every_form_of_every_message_is_the_references(codec, text, data):
    schema = reference.Schema(text)
    value = data.draw(values.message(schema))
    sfm = reference.SfmWriter(schema).write(value)
    forms = {
        "sfm-other": reference.SfmWriter(schema, ">").write(value),
        "cdr-little": reference.WireWriter(schema, cdr=True).write(value),
        "cdr-big": reference.WireWriter(schema, cdr=True, order=">").write(value),
    }
    if "wstring" not in text:
        forms["ros1"] = reference.WireWriter(schema, cdr=False).write(value)
    for form, expected in forms.items():
        assert codec.convert(text, "sfm", form, sfm) == expected, form
        assert codec.convert(text, "cdr" if "cdr" in form else form, "sfm", expected) == sfm, form
    parts = codec.convert(text, "sfm", "control", sfm)
    writer = reference.ControlWriter(schema)
    control = writer.write(value)
    assert parts == len(control).to_bytes(4, "little") + control + writer.data_part()
    restored = codec.convert(text, "control", "sfm", parts)
    assert codec.convert(text, "sfm", "cdr-little", restored) == forms["cdr-little"]
    assert same(load_yaml(codec.convert(text, "sfm", "yaml", sfm)), narrowed(schema, schema.root, value))


@settings(max_examples=40)
@given(text=definitions().filter(lambda text: "wstring" not in text), data=st.data())
def test_the_reference_writes_the_bytes_that_rosbags_writes(text, data):
    make_vectors.compare_with_rosbags(text, data.draw(values.message(reference.Schema(text), plain_text=True)))
