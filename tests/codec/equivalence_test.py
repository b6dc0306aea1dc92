# SPDX-License-Identifier: Apache-2.0
"""docs/format/ros1-ros2-equivalence.md against the two standard sets, and the generator's definitions against this folder's."""

import re
import subprocess
import sys

import pytest
from codec_process import ROOT
from definitions import definition, ros1_store, ros2_store, short

PAGE = (ROOT / "docs/format/ros1-ros2-equivalence.md").read_text()

# The differences, apart from the built-in types.
RENAMED = {
    "sensor_msgs/CameraInfo": {"D", "K", "R", "P"},
    "stereo_msgs/DisparityImage": {"T"},
}


def common():
    ros1, ros2 = ros1_store().fielddefs, ros2_store().fielddefs
    return sorted(name for name in ros1.keys() & ros2.keys() if "/msg/" in name)


def test_all_types_of_both_ros_are_equal_except_those_on_the_page():
    names = common()
    different = {short(name) for name in names if definition(ros1_store(), name) != definition(ros2_store(), name)}
    section = PAGE.split("## 3.")[1].split("## How")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    listed = set()
    for row in rows:
        package = ""
        for name in re.findall(r"`([^`]+)`", row):
            package = name.split("/")[0] if "/" in name else package
            listed.add(name if "/" in name else f"{package}/{name}")
    assert different == listed
    assert (
        f"Of the {len(names)} message types that both sets have, these {len(different)} differ and {len(names) - len(different)} are one"
        in PAGE
    )


def test_fields_are_renamed_only_where_the_page_says_so():
    renamed = {}
    for name in common():
        ros1, ros2 = (store.fielddefs[name][1] for store in (ros1_store(), ros2_store()))
        if len(ros1) == len(ros2):
            for (first, _), (second, _) in zip(ros1, ros2, strict=True):
                if first != second:
                    assert first.lower() == second
                    renamed.setdefault(short(name), set()).add(first)
    assert renamed == RENAMED
    for name in renamed:
        assert f"| `{name}` |" in PAGE


@pytest.mark.parametrize("store_name, store", [("ros1_noetic", ros1_store()), ("ros2_kilted", ros2_store())])
def test_the_generator_defines_every_type_alike(store_name, store):
    program = f"""
import sys
sys.path.insert(0, {str(ROOT / "generator")!r})
from baton_generator.canonical import Resolver
from baton_generator.packages import Universe
universe = Universe(standard={store_name!r}, environment={{}})
resolver = Resolver(universe)
for name in sys.stdin.read().split():
    struct = resolver.message(name)
    print(f"== {{struct.size}} {{struct.alignment}}")
    print(struct.definition, end="")
"""
    names = sorted(name for name in store.fielddefs if "/msg/" in name)
    out = subprocess.run(
        [sys.executable, "-c", program],
        input="\n".join(map(short, names)),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert out.returncode == 0, out.stderr
    sections = out.stdout.split("== ")[1:]
    assert len(sections) == len(names)
    from sfm_reference import Schema

    for name, section in zip(names, sections, strict=True):
        layout, text = section.split("\n", 1)
        assert text == definition(store, name)
        schema = Schema(text)
        assert layout == "{} {}".format(*schema.skeleton(schema.root)[:2])
