# SPDX-License-Identifier: Apache-2.0
"""A ROS 2 distribution is two files of ros2/distributions/. Everything else about a distribution is made from these files."""

import shutil
import subprocess
from pathlib import Path

import fill_page
import parts
import pytest
import ros2_distributions

ROOT = ros2_distributions.ROOT


@pytest.fixture
def three(tmp_path):
    """A folder of distributions with one more: a copy of the default by another name."""
    folder = shutil.copytree(ros2_distributions.FOLDER, tmp_path / "distributions")
    default = ros2_distributions.read()[0].name
    text = (folder / f"{default}.toml").read_text().replace("default = true", "default = false")
    (folder / "lyrical.toml").write_text(text)
    shutil.copy(folder / f"{default}.txt", folder / "lyrical.txt")
    return folder


def test_a_distribution_is_two_files_or_one_if_it_has_no_wheels():
    facts, wheels = ({file.stem for file in ros2_distributions.FOLDER.glob(f"*.{kind}")} for kind in ("toml", "txt"))
    found = ros2_distributions.read()
    assert facts == {each.name for each in found}
    assert wheels == {each.name for each in found if each.wheels} and wheels >= {found[0].name}
    assert [each.name for each in parts.other_ros2s()] == [each.name for each in found[1:] if each.wheels]


def test_the_table_of_the_guide_has_a_row_for_each_distribution():
    page = ros2_distributions.PAGE.read_text()
    filled = fill_page.fill(page, ros2_distributions.BLOCK, ros2_distributions.table(ros2_distributions.read()))
    assert page == filled, "run scripts/ros2_distributions.py --update"


def test_one_distribution_is_the_default(three):
    assert [each.name for each in ros2_distributions.read(three)][0] == ros2_distributions.read()[0].name
    (three / "lyrical.toml").write_text(
        (three / "lyrical.toml").read_text().replace("default = false", "default = true")
    )
    with pytest.raises(SystemExit, match="one distribution is default, and these are: .*lyrical"):
        ros2_distributions.read(three)


def test_debian_gets_a_package_for_each_distribution(three, tmp_path):
    debian = shutil.copytree(ROOT / "packaging/debian", tmp_path / "debian")
    ros2_distributions.write_debian(debian, ros2_distributions.read(three))
    names = {each.name for each in ros2_distributions.read(three)}
    control = (debian / "control").read_text()
    assert "@name@" not in control and "@title@" not in control and control.count("\n\n\n") == 0
    for name in names:
        package = f"ros-{name}-rmw-baton-cpp"
        assert (
            control.count(f"Package: {package}\n") == 1
            and f"for ROS 2 {name.capitalize()} in\n /opt/ros/{name}:" in control
        )
        installed = (debian / f"{package}.install").read_text().splitlines()
        assert {f"opt/ros/{name}/lib/librmw_baton_cpp.so", f"opt/ros/{name}/lib/rmw_baton_cpp"} <= {*installed}
        assert package in (debian / f"{package}.lintian-overrides").read_text()
    assert len([*debian.glob("ros-*")]) == 2 * len(names)


def test_each_distribution_but_the_default_has_a_part_of_its_own(three, monkeypatch):
    monkeypatch.setattr(ros2_distributions, "FOLDER", three)
    monkeypatch.setattr(parts, "other_ros2s", lambda: ros2_distributions.read(three)[1:])
    table = parts.read_parts()
    assert table["lyrical"]["set"] == {"BATON_ROS2_DISTRIBUTION": "lyrical"} and "Lyrical" in table["lyrical"]["what"]
    assert table["lyrical"]["in_smoke"] == table["kilted"]["in_smoke"] and parts.OTHER_ROS2 not in table


def test_no_other_file_lists_the_distributions():
    """Code and data for all distributions loop over the files. Documents and comments of C++ may name some distributions."""
    left_out = [":!*.md", ":!*.[ch]pp", ":!ros2/distributions", f":!{Path(__file__).relative_to(ROOT)}"]

    def naming(name):
        command = ["git", "grep", "-liw", name, "--", ".", *left_out]
        return set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.split())

    default, *others = [naming(each.name) for each in ros2_distributions.read()]
    assert default and [default & other for other in others] == [set()] * len(others)
