# SPDX-License-Identifier: Apache-2.0
"""Packages of nodelets: Debian's image_proc and stereo_image_proc with the lists of their nodelets, which Debian's packages name and do
not have; and programs/nodelets.cpp."""

from pathlib import Path

NODELETS = {
    "image_proc": {"debayer": "DebayerNodelet", "rectify": "RectifyNodelet"},
    "stereo_image_proc": {"disparity": "DisparityNodelet", "point_cloud2": "PointCloud2Nodelet"},
}
PACKAGE = """<package><name>{0}</name><version>1.17.0</version><description/><maintainer email="a@b.c">a</maintainer>
<license>BSD</license><run_depend>nodelet</run_depend><export><nodelet plugin="${{prefix}}/nodelet_plugins.xml"/></export></package>
"""


MANAGER = Path("/usr/lib/nodelet/nodelet")


def package_of_tests(folder, library):
    """Makes the package ros1_test in `folder`; the setting that finds it."""
    package = folder / "ros1_test"
    package.mkdir(parents=True)
    (package / "package.xml").write_text(PACKAGE.format("ros1_test").replace("nodelet_plugins", "nodelets"))
    classes = "".join(
        f"<class name='ros1_test/{name}' type='ros1_test::{name}' base_class_type='nodelet::Nodelet'/>"
        for name in ("Source", "Sink")
    )
    (package / "nodelets.xml").write_text(f"<library path='{library.stem}'>{classes}</library>")
    (package / library.name).symlink_to(library)
    return {"ROS_PACKAGE_PATH": f"{folder}:/usr/share"}


def lines_of_nodelets(manager):
    """The addresses by number of the messages that were sent, and of those that came."""
    lines = []
    while len(lines) < 40:  # the manager prints lines of its own
        words = manager.line().split()
        lines += [words] if words[0] in ("sent", "got") else []
    return [{number: address for word, number, address in lines if word == wanted} for wanted in ("sent", "got")]


def nodelet_packages(folder, rest="/usr/share"):
    """Makes the packages in `folder`, of those libraries that are installed; the setting that finds them before `rest`."""
    for name, nodelets in NODELETS.items():
        library = next(Path("/usr/lib").glob(f"*/lib{name}.so.0d"), None)
        if library is None:
            continue
        package = folder / name
        package.mkdir(parents=True)
        (package / "package.xml").write_text(PACKAGE.format(name))
        classes = "".join(
            f'<class name="{name}/{nodelet}" type="{name}::{kind}" base_class_type="nodelet::Nodelet"/>'
            for nodelet, kind in nodelets.items()
        )
        (package / "nodelet_plugins.xml").write_text(f'<library path="lib{name}">{classes}</library>')
        (package / f"lib{name}.so").symlink_to(library)
    return {"ROS_PACKAGE_PATH": f"{folder}:{rest}"}
