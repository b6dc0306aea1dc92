# SPDX-License-Identifier: Apache-2.0
"""packaging/debian/ agrees with the rest of the tree; the packages themselves are tested by tests/packages/bare_root.py."""

import datetime
import re
import subprocess
from pathlib import Path

import debian_changelog
import public_symbols

ROOT = Path(__file__).resolve().parents[2]


def read(path):
    return (ROOT / path).read_text()


def test_the_package_of_the_library_has_the_version_of_the_soname_in_its_name():
    found = re.findall(r"^Package: (libbaton\d.*)$", read("packaging/debian/control"), re.MULTILINE)
    assert found == [f"libbaton{public_symbols.ABI}"]
    assert (ROOT / f"packaging/debian/{found[0]}.install").is_file() and public_symbols.SYMBOLS.is_file()


def test_setup_installs_the_packages_that_a_build_depends_on():
    field = re.search(r"^Build-Depends:\n((?: .*\n)+)", read("packaging/debian/control"), re.MULTILINE)[1]
    needed = {line.split()[0].rstrip(",") for line in field.splitlines()} - {"debhelper-compat"}
    installed = set(re.findall(r"^\w+ *\| *(\S+)", read("scripts/packages.txt"), re.MULTILINE))
    assert needed <= installed and "debhelper" in installed


CHANGELOG = """
## Unreleased

Will be 0.2.0.

### Added

- A verb: `baton fly` ([wings](wings.html)), which needs a line that is
  longer than others.

## 0.1.0 (2026-11-24)

### Changed

- First.
"""


def test_the_changelog_of_debian_is_made_from_ours(tmp_path):
    day = datetime.datetime(2026, 12, 1, tzinfo=datetime.UTC)
    made = debian_changelog.entries(CHANGELOG, day)
    assert made[0].startswith(
        "baton (0.2.0~dev20261201) unstable; urgency=medium\n\n  * A verb: baton fly (wings), which"
    )
    assert made[1].endswith(
        "  * First.\n\n -- The Baton developers <baton@example.org>  Tue, 24 Nov 2026 00:00:00 +0000\n"
    )
    file = tmp_path / "changelog"
    file.write_text("\n".join(made))
    parsed = subprocess.run(
        ["dpkg-parsechangelog", "--all", "-l", file, "-S", "Version"], capture_output=True, text=True, check=True
    )
    assert parsed.stdout.split()[0] == "0.2.0~dev20261201" and parsed.stderr == ""
    older = ["dpkg", "--compare-versions", "0.2.0~dev20261201", "lt", "0.2.0"]
    assert subprocess.run(older, check=False).returncode == 0
    # Symbols of a version that is not released yet are in its packages.
    assert (
        subprocess.run(["dpkg", "--compare-versions", "0.2.0~dev20261201", "ge", "0.2.0~"], check=False).returncode == 0
    )


def test_the_version_scripts_export_the_symbols_of_the_list(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["public_symbols", "--map", str(tmp_path)])
    assert public_symbols.main() == 0
    listed = re.findall(r"^ (\S+)@Base", public_symbols.SYMBOLS.read_text(), re.MULTILINE)
    scripts = [(tmp_path / f"{library}.map").read_text() for library in public_symbols.LIBRARIES]
    assert re.findall(r"^    (\S+);$", "".join(scripts), re.MULTILINE) == listed
    assert all(script.endswith("  local: *;\n};\n") for script in scripts)
