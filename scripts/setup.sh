#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what Baton needs: setup.sh [base|test|ros1|lab|check|coverage|packages|peers|viewers|all]. 'base' serves build and demo; 'test' adds what the
# tests of the core product compare with (ROS 2, type checkers, other allocators); to that 'ros1' adds ROS 1, 'lab' ROS 1 and what the laboratory
# needs, 'check' the sanitizers' helpers, fuzzers, style tools and the Arm cross build, 'coverage' what counts lines in processes of ROS 2's
# Python, 'packages' all of these but the laboratory and coverage, and the tools of the Debian packages, 'peers' the systems that
# 'baton perf' compares with, 'viewers' those for which 'baton view' has tests. 'all' is everything but the peers, viewers and coverage.
# Does nothing when everything is there. Uses sudo only when not root.
# On systems other than Debian 12 or newer it installs no system packages: it names the missing ones.
set -euo pipefail
cd "$(dirname "$0")/.."
group=${1:-base}
case $group in
  base) groups=base ;;
  test) groups='base|test' ;;
  lab) groups='base|test|ros1|lab' ;;
  packages) groups='base|test|ros1|check|packages' ;;
  coverage) groups='base|test' ;;
  peers) groups='base|test|ros1|lab|peers' ;;
  all) groups='base|test|ros1|lab|check|packages' ;;
  *) groups="base|test|$group" ;;
esac

rows() {  # the wanted rows of packages.txt as group|package|probe|purpose, blanks trimmed
  grep -Ev '^[[:space:]]*(#|$)' scripts/packages.txt |
    sed -E 's/[[:space:]]*\|[[:space:]]*/|/g; s/^[[:space:]]+//; s/[[:space:]]+$//' |
    grep -E "^($groups)\\|"
}

is_debian() {
  [ -r /etc/os-release ] && command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || return 1
  # shellcheck disable=SC1091
  (. /etc/os-release; [ "${ID:-}" = debian ] && [ "${VERSION_ID:-13}" -ge 12 ])
}

print_needs() {
  printf '\nBaton needs these (Debian 12 names; other distributions call them similarly):\n\n'
  rows | while IFS='|' read -r _ package _ purpose; do printf '  %-24s %s\n' "$package" "$purpose"; done
  printf '\n'
}

has() {  # is the thing that a probe names there?
  case $1 in
    cmd:*) command -v "${1#cmd:}" >/dev/null ;;
    header:*) printf '#include <%s>\n' "${1#header:}" | c++ -E -x c++ - >/dev/null 2>&1 ;;
    -) true ;;
  esac
}

system_packages() {
  local missing=()
  if is_debian; then
    local known
    known=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' 2>/dev/null)
    while IFS='|' read -r _ package _ _; do
      grep -qx "$package installed" <<<"$known" || missing+=("$package")
    done < <(rows)
    [ ${#missing[@]} -eq 0 ] && return
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
      if ! command -v sudo >/dev/null; then
        echo "setup: not root and no sudo; as root run: apt-get install ${missing[*]}" >&2
        exit 1
      fi
      as_root=(sudo)
    fi
    echo "setup: installing ${missing[*]}"
    "${as_root[@]}" apt-get update -q </dev/null
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -q -y --no-install-recommends "${missing[@]}" </dev/null
  else
    while IFS='|' read -r _ package probe _; do
      has "$probe" || missing+=("$package")
    done < <(rows)
    [ ${#missing[@]} -eq 0 ] && return
    {
      echo "setup: this is not Debian 12 or newer, so nothing was installed. Missing here: ${missing[*]}"
      print_needs
      echo "Install them with your package manager and run the same command again."
    } >&2
    exit 1
  fi
}

python_packages() {
  local stamp=.venv/.baton-setup want
  want=$(cat requirements.txt scripts/setup.sh | sha256sum; pwd; python3 --version)
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && return
  if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "setup: $(python3 --version) found, Python 3.11 or newer is needed (put it first in PATH as python3)" >&2
    exit 1
  fi
  echo "setup: Python packages into .venv"
  [ -x .venv/bin/python ] && [ -f "$stamp" ] || python3 -m venv --clear .venv
  .venv/bin/python -m pip install -q --disable-pip-version-check -r requirements.txt </dev/null
  # The command baton of the checkout, and the package baton of its release build once that is there (what PYTHONPATH names comes first):
  # no distribution, so that nothing is installed over the one of python/.
  .venv/bin/python - <<'END'
import pathlib, sys, sysconfig
rooms = [pathlib.Path.cwd() / room for room in ("cli", "generator", "lab", "link/zenoh", "record", "ros1/converter", "ros1/command", "build/release/python")]
pathlib.Path(sysconfig.get_path("purelib"), "baton-checkout.pth").write_text("".join(f"{room}\n" for room in rooms))
command = pathlib.Path(sysconfig.get_path("scripts"), "baton")
command.write_text(f"#!{sys.executable}\nfrom baton_cli.main import main\n\nmain()\n")
command.chmod(0o755)
END
  printf '%s\n' "$want" >"$stamp"
}

check_python_packages() {
  local stamp=.venv/.baton-setup-check want
  want=$(cat requirements-check.txt .venv/.baton-setup | sha256sum)
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && return
  .venv/bin/python -m pip install -q --disable-pip-version-check --only-binary :all: --no-binary EmPy \
    -r requirements-check.txt </dev/null
  printf '%s\n' "$want" >"$stamp"
}

ros2_packages() {  # of each distribution that has wheels
  [ "$(uname -m)" = x86_64 ] || return 0  # no other wheels; the tests that want them say so and are skipped
  local name want
  for name in $(scripts/ros2_distributions.py --wheels); do
    want=$(cat "ros2/distributions/$name.txt"; pwd; python3 --version)
    [ -L ".venv-ros2-$name" ] && continue  # another checkout's, which a new one would empty
    [ -f ".venv-ros2-$name/.baton-setup" ] && [ "$(cat ".venv-ros2-$name/.baton-setup")" = "$want" ] && continue
    echo "setup: ROS 2's Python packages into .venv-ros2-$name"
    python3 -m venv --clear ".venv-ros2-$name"
    ".venv-ros2-$name/bin/python" -m pip install -q --disable-pip-version-check -r "ros2/distributions/$name.txt" </dev/null
    printf '%s\n' "$want" >".venv-ros2-$name/.baton-setup"
  done
}

coverage_packages() {
  local name want
  want=$(grep '^coverage==' requirements-check.txt)
  for name in $(scripts/ros2_distributions.py --wheels); do
    [ -x ".venv-ros2-$name/bin/python" ] || continue
    ".venv-ros2-$name/bin/python" -m pip install -q --disable-pip-version-check --only-binary :all: "$want" </dev/null
  done
}

# libpcl-dev depends on the development files of VTK and Qt: 770 MB, of which PCL's headers are 11. They are unpacked, not installed.
pcl_headers() {
  is_debian || return 0
  local packages=(libpcl-dev libpcl-conversions-dev libpcl-ros-dev) version stamp=.pcl/.baton-setup
  version=$(dpkg-query -W -f '${Version}' libpcl-io1.13)
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$version" ] && return
  echo "setup: headers of ${packages[*]} into .pcl"
  rm -rf .pcl
  mkdir .pcl
  (cd .pcl && apt-get download -q -o APT::Sandbox::User=root "libpcl-dev=$version" "${packages[@]:1}" </dev/null) || {
    echo "setup: apt knows no libpcl-dev $version; run apt-get update, then this again" >&2
    exit 1
  }
  local archive
  for archive in .pcl/*.deb; do dpkg-deb -x "$archive" .pcl; done
  rm .pcl/*.deb
  printf '%s\n' "$version" >"$stamp"
}

peers_packages() {
  [ "$(uname -m)" = x86_64 ] || return 0
  local stamp=.venv-peers/.baton-setup want
  want=$(cat requirements-peers.txt; pwd; python3 --version)
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && return
  echo "setup: wheels of the compared systems into .venv-peers"
  python3 -m venv --clear .venv-peers
  # eCAL's library is used from C++, the others' Python in lab/baton_perf/atsa.
  .venv-peers/bin/python -m pip install -q --disable-pip-version-check --no-deps -r requirements-peers.txt </dev/null
  printf '%s\n' "$want" >"$stamp"
}

viewers_packages() {
  local stamp=.venv/.baton-setup-viewers want
  want=$(cat requirements-viewers.txt .venv/.baton-setup | sha256sum)
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && return
  echo "setup: viewers into .venv"
  .venv/bin/python -m pip install -q --disable-pip-version-check --only-binary :all: -r requirements-viewers.txt </dev/null
  printf '%s\n' "$want" >"$stamp"
}

cargo_note() {  # not installed here: Debian 12's is too old, and rustup is the user's to choose
  command -v cargo >/dev/null || [ -x "${HOME:-}/.cargo/bin/cargo" ] ||
    echo "setup: there is no cargo, so iceoryx2 and Zenoh are left out (Rust 1.89 or newer: https://rustup.rs)" >&2
}

case $group in
  base) system_packages; python_packages ;;
  test | check) system_packages; python_packages; check_python_packages; ros2_packages ;;
  ros1 | lab | packages | all) system_packages; python_packages; check_python_packages; ros2_packages; pcl_headers ;;
  coverage) system_packages; python_packages; check_python_packages; ros2_packages; coverage_packages ;;
  peers) system_packages; python_packages; check_python_packages; ros2_packages; pcl_headers; peers_packages; cargo_note ;;
  viewers) system_packages; python_packages; check_python_packages; viewers_packages ;;
  --needs) groups='base|test|check'; print_needs ;;
  *) echo "usage: scripts/setup.sh [base|test|ros1|lab|check|coverage|packages|peers|viewers|all|--needs]" >&2; exit 2 ;;
esac
