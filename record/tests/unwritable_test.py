# SPDX-License-Identifier: Apache-2.0
"""Folders in which nothing can be written: a file system that is mounted read-only, and a folder without write permission."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

import pytest
from bag_files import START_NS, STORE, text, write_mcap
from baton_record.bag_copy import copy
from baton_record.bag_source import open_bag
from rosbags.rosbag2 import CompressionFormat, CompressionMode
from rosbags.rosbag2 import Writer as Writer2
from support import processes
from support.build import RECORD, needs_package

pytestmark = needs_package(RECORD)

STRING = "std_msgs/msg/String"
SEVERAL = """
import json, sys
from baton_cli.main import baton
from click.testing import CliRunner
done = [CliRunner().invoke(baton, words) for words in json.loads(sys.argv[1])]
print(json.dumps([(each.exit_code, each.stderr) for each in done]))
"""


def _allowed(prefix, folder):
    try:
        subprocess.run([*prefix, "true"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"this machine permits no test with {folder}: {error}")
    return prefix


@pytest.fixture(params=["read-only file system", "permission denied"])
def unwritable(request, tmp_path):
    """(folder, the words before a command for which it cannot be written, what the error says)."""
    folder = tmp_path / "unwritable"
    folder.mkdir()
    if request.param == "permission denied":
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
        # Root needs no permission unless it gives this capability up.
        prefix = ["setpriv", "--bounding-set", "-dac_override"] if os.geteuid() == 0 else []
    else:
        namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
        prefix = [
            *namespace,
            "sh",
            "-c",
            'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"',
            str(folder),
        ]
    yield folder, _allowed(prefix, f"a folder with {request.param}"), request.param
    folder.chmod(stat.S_IRWXU)


@pytest.fixture
def run(unwritable, runtime_directory):
    """Runs commands of `baton`, all in one process, or one of another program. Returns a status and what was said of each."""

    def run(*commands, program=(sys.executable, "-c", SEVERAL), code=1):
        words = [str(word) for word in program] + ([json.dumps(commands, default=str)] if commands else [])
        done = subprocess.run(
            [*unwritable[1], *words],
            capture_output=True,
            text=True,
            env=processes.environment(runtime_directory),
            stdin=subprocess.DEVNULL,
            timeout=120,
        )
        rows = json.loads(done.stdout) if commands else [(done.returncode, done.stderr)]
        assert all(row[0] == code for row in rows) and "Traceback" not in done.stderr, (rows, done)
        return [said for _, said in rows]

    return run


def check_refusal(said, unwritable, new, way_out):
    """One line names the file, the reason and the way out, and nothing stays."""
    (line,) = said.splitlines()
    assert str(new) in line and unwritable[2] in line.lower() and way_out in line
    assert os.listdir(unwritable[0]) == []


def test_recordings_end_at_once(unwritable, run):
    bag = unwritable[0] / "bag"
    records = ["record", "--all", "--output", bag]
    for said in run(records, [*records, "--snapshot", "5"]) + run(program=(RECORD, *records[1:])):
        check_refusal(said, unwritable, bag, "another folder")


def test_new_bags_are_refused(tmp_path, unwritable, run):
    old = write_mcap(tmp_path / "bag.mcap", [("/a", STRING, START_NS, text("hello"))])
    file, bag1, folder = (unwritable[0] / name for name in ("new.mcap", "new.bag", "new"))
    cases = [("convert", file), ("convert", bag1), ("convert", folder), ("cut", file), ("recover", file)]
    found = run(*(["bag", verb, old, new] for verb, new in cases), ["bag", "merge", old, "-o", file])
    for (_, new), said in zip([*cases, ("merge", file)], found, strict=True):
        check_refusal(said, unwritable, new, "another folder")


def test_bags_of_every_form_are_played_from_there(tmp_path, unwritable, run):
    old = open_bag(write_mcap(tmp_path / "bag.mcap", [("/a", STRING, START_NS, text("hello"))]))
    folder, *_ = unwritable
    folder.chmod(stat.S_IRWXU)
    for name in ("new.mcap", "new.bag", "new"):
        copy([old], folder / name)
    copy([old], folder / "database", storage="sqlite3")
    writer = Writer2(folder / "compressed", version=9)
    writer.set_compression(CompressionMode.FILE, CompressionFormat.ZSTD)
    with writer:
        writer.write(writer.add_connection("/a", STRING, typestore=STORE), START_NS, text("hello"))
    names = sorted(os.listdir(folder))
    assert len(names) == 5
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert ["1 message\n" in said for said in run(*(["play", folder / name] for name in names), code=0)] == [True] * 5
    run(*(["bag", "check", folder / name] for name in names), code=0)
    assert sorted(os.listdir(folder)) == names
