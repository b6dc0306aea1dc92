# SPDX-License-Identifier: Apache-2.0
"""scripts/check_locks.py finds an access without its lock, in the words that Baton's sources use."""

import json
import shutil
from pathlib import Path

import check_locks
import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADERS = "core/os/include/baton/os"
SOURCE, OF_ROS1 = "core/os/src/account.cpp", "ros1/preload/src/account.cpp"

pytestmark = pytest.mark.skipif(shutil.which("clang++") is None, reason="needs clang++: make setup")

ACCOUNT = """
#pragma once
#include "baton/os/lock.hpp"
#include "baton/os/pi_mutex.hpp"
using namespace baton;
template <class M>
struct Account {
  M mutex;
  int sum BATON_GUARDED_BY(mutex) = 0;
  void add(int more) BATON_REQUIRES(mutex) { sum += more; }
  void say() BATON_EXCLUDES(mutex) {}
};
"""


@pytest.fixture(scope="module")
def problems(tmp_path_factory):
    """The problems that are found in a function with this body, for an account with this kind of mutex."""
    root = tmp_path_factory.mktemp("locks")
    (root / HEADERS).mkdir(parents=True)
    (root / SOURCE).parent.mkdir(parents=True)
    for name in ("lock_words", "lock", "hot_path", "pi_mutex", "futex_lock", "real_time", "result", "error_codes"):
        for file in (ROOT / HEADERS).glob(name + ".*"):
            shutil.copy(file, root / HEADERS)
    command = f"c++ -I{root}/core/os/include -O2 -c {root / SOURCE}"
    for build, source in (("release", SOURCE), ("ros1", OF_ROS1)):
        (root / "build" / build).mkdir(parents=True)
        entry = {"directory": str(root), "file": str(root / source), "command": command.replace(SOURCE, source)}
        (root / "build" / build / "compile_commands.json").write_text(json.dumps([entry]))

    def of(body, mutex="os::Mutex", account=ACCOUNT, source=SOURCE):
        for path in (SOURCE, OF_ROS1):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).with_suffix(".hpp").write_text(account)
            (root / path).write_text("")
        (root / source).write_text(f'#include "account.hpp"\nvoid use(Account<{mutex}>& account) {{ {body} }}\n')
        return "".join(check_locks.check(root))

    return of


GOOD = [
    "const os::Lock lock(account.mutex); account.add(1); account.sum = 2;",
    "account.mutex.lock(); account.add(1); { const os::Unlock unlocked(account.mutex); account.say(); } account.mutex.unlock();",
    "if (account.mutex.try_lock()) { ++account.sum; account.mutex.unlock(); }",
    "const os::Lock lock(account.mutex); const auto add = [&]() BATON_REQUIRES(account.mutex) { ++account.sum; }; add();",
    "const os::Lock lock(account.mutex); out_of_line([&]() BATON_REQUIRES(account.mutex) { return ++account.sum; });",
]


@pytest.mark.parametrize("mutex", ["os::Mutex", "os::PiMutex"])
def test_accesses_with_the_lock_pass(problems, mutex):
    assert problems(" ".join(f"{{ {body} }}" for body in GOOD), mutex) == ""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("account.sum = 1;", "writing variable 'sum' requires holding mutex 'account.mutex'"),
        ("(void)(account.sum == 1);", "reading variable 'sum' requires holding mutex 'account.mutex'"),
        ("account.add(1);", "calling function 'add' requires holding mutex 'account.mutex'"),
        ("{ const os::Lock lock(account.mutex); } account.add(1);", "calling function 'add' requires"),
        (
            "const os::Lock lock(account.mutex); const os::Unlock unlocked(account.mutex); ++account.sum;",
            "variable 'sum' requires",
        ),
        ("const os::Lock lock(account.mutex); [&] { ++account.sum; }();", "variable 'sum' requires"),
        (
            "const os::Lock lock(account.mutex); account.say();",
            "cannot call function 'say' while mutex 'account.mutex' is held",
        ),
        (
            "const os::Lock lock(account.mutex); const os::Lock again(account.mutex);",
            "acquiring mutex 'account.mutex' that is already held",
        ),
        ("account.mutex.lock();", "mutex 'account.mutex' is still held at the end of function"),
        (
            "Account<os::Mutex> other; const os::Lock lock(other.mutex); ++account.sum;",
            "variable 'sum' requires holding mutex 'account.mutex'",
        ),
    ],
)
def test_accesses_without_the_lock_are_found(problems, body, found):
    assert found in problems(body)


def test_files_of_ros_1_are_read_as_its_build_compiles_them(problems):
    assert "writing variable 'sum' requires" in problems("account.sum = 1;", source=OF_ROS1)
    assert problems("const os::Lock lock(account.mutex); account.sum = 1;", source=OF_ROS1) == ""


def test_a_mutex_that_inherits_priority_is_checked_as_well(problems):
    assert "writing variable 'sum' requires" in problems("account.sum = 1;", "os::PiMutex")


def test_a_wait_for_a_condition_keeps_the_lock(problems):
    wait = "std::condition_variable changed; os::UniqueLock lock(account.mutex); "
    wait += "changed.wait(lock.standard(), [&]() BATON_REQUIRES(account.mutex) { return account.sum > 0; }); "
    assert problems(wait + "++account.sum;") == ""
    assert "variable 'sum' requires" in problems(wait + "lock.unlock(); ++account.sum;")


def test_a_file_is_read_again_when_a_header_has_changed(problems):
    body = "account.sum = 1;"
    assert problems(body, account=ACCOUNT.replace(" BATON_GUARDED_BY(mutex)", "")) == ""
    assert "writing variable 'sum' requires" in problems(body)


def test_files_of_the_product_are_read():
    """A room's own words choose its files: one of each room that has locks."""
    sources = check_locks.Sources(ROOT)
    for path in (
        "core/memory/src/window.cpp",
        "core/transport/src/matching.cpp",
        "core/node/src/executor.cpp",
        "python/src/news.cpp",
        "ros1/preload/src/links.cpp",
        "ros2/rmw_baton_cpp/src/loan.cpp",
    ):
        room = check_locks.room_of(path)
        seen = sources.seen_by(path)
        assert any(check_locks.room_of(at) == room and check_locks.WORD.search(sources.text[at]) for at in seen), path
