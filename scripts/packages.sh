#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages of the working tree into out/packages, from a copy of the tree, and reads them with lintian.
# The RMW needs ROS 2's headers (.venv-ros2-<distribution>) and ROS 1's part roscpp's: without them these packages are left out, and it says so.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
out=$root/out/packages
profiles=()
leave_out() {  # leave_out <profile> <package> <reason>
  echo "packages: $2 is left out: $3" >&2
  profiles+=("$1")
}
[ "$(echo .venv-ros2-*/include/rmw/rmw/rmw.h)" != '.venv-ros2-*/include/rmw/rmw/rmw.h' ] ||
  leave_out pkg.baton.noros2 "rmw_baton_cpp" "no ROS 2 (scripts/setup.sh check)"
for name in $(scripts/ros2_distributions.py); do
  [ -f ".venv-ros2-$name/include/rmw/rmw/rmw.h" ] ||
    leave_out "pkg.baton.noros2$name" "ros-$name-rmw-baton-cpp" \
      "no ROS 2 in .venv-ros2-$name ($([ -f "ros2/distributions/$name.txt" ] && echo scripts/setup.sh check || echo "a link to an installed one"))"
done
[ -f /usr/include/ros/transport_publisher_link.h ] ||
  leave_out pkg.baton.noros1 libbaton-roscpp "no roscpp (Debian: libroscpp-dev)"
[ -f /usr/include/image_transport/publisher_plugin.h ] ||
  leave_out pkg.baton.noimagetransport libbaton-image-transport "no image_transport (Debian: libimage-transport-dev)"
{ [ -f /usr/include/camera_info_manager/camera_info_manager.h ] && [ -f /usr/include/camera_calibration_parsers/parse.h ]; } ||
  leave_out pkg.baton.nocamerainfo "camera_info_manager of recompiled programs" "none here (Debian: libcamera-info-manager-dev libcamera-calibration-parsers-dev)"
[ -f /usr/include/tf2/buffer_core.h ] ||
  leave_out pkg.baton.notf2 "tf2 of recompiled programs" "no tf2 (Debian: libtf2-dev)"

# A copy always of the same name: the compiler cache knows its files again, and the tree stays clean.
source=$out/source/baton
mkdir -p "$source"
rm -f "$out"/*.deb "$out"/*.buildinfo "$out"/*.changes "$out"/source/*.*
find "$source" -mindepth 1 -maxdepth 1 -exec rm -rf {} +
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do [ -f "$file" ] && printf '%s\0' "$file"; done |
  tar --null --no-recursion -T - -c | tar -x -C "$source"
cp -r "$source/packaging/debian" "$source/debian"  # where dpkg-buildpackage looks
"$source/scripts/ros2_distributions.py" --debian "$source/debian"
.venv/bin/python scripts/debian_changelog.py >"$source/debian/changelog"

export CCACHE_BASEDIR=$source CCACHE_NOHASHDIR=1 CCACHE_DIR=${CCACHE_DIR:-${HOME:-/root}/.cache/ccache}
export BATON_GENERATOR_PYTHON=$root/.venv/bin/python BATON_ROS2_PREFIXES=$root/.venv-ros2-
BATON_NANOBIND_DIR=$(.venv/bin/python -m nanobind --cmake_dir)
export BATON_NANOBIND_DIR
(
  cd "$source"
  # Build-Depends are those of packages.txt and packaging/debian/control alike; dpkg-buildpackage compares.
  dpkg-buildpackage -us -uc -b ${profiles[0]:+-P"$(IFS=,; echo "${profiles[*]}")"} "$@" >"$out/build.log" 2>&1
) || { tail -n 60 "$out/build.log" >&2; echo "packages: dpkg-buildpackage failed; all of it: out/packages/build.log" >&2; exit 1; }
mv "$out"/source/*.deb "$out"/source/*.changes "$out"/source/*.buildinfo "$out"
# As root lintian would drop to another user, which cannot read the checkout.
lintian --allow-root --fail-on error,warning --pedantic "$out"/*.changes
ls -l "$out"/*.deb | awk '{printf "%s %.2f MB\n", $NF, $5 / 1e6}' | sed "s|$root/||"
