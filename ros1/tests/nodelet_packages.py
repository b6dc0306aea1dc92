# SPDX-License-Identifier: Apache-2.0
"""Debian's image_proc and stereo_image_proc with the lists of their nodelets, which Debian's packages name and do not have."""

from pathlib import Path

NODELETS = {
    "image_proc": {"debayer": "DebayerNodelet", "rectify": "RectifyNodelet"},
    "stereo_image_proc": {"disparity": "DisparityNodelet", "point_cloud2": "PointCloud2Nodelet"},
}
PACKAGE = """<package><name>{0}</name><version>1.17.0</version><description/><maintainer email="a@b.c">a</maintainer>
<license>BSD</license><run_depend>nodelet</run_depend><export><nodelet plugin="${{prefix}}/nodelet_plugins.xml"/></export></package>
"""


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
