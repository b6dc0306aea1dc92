# SPDX-License-Identifier: Apache-2.0
"""C++ nodes with and without libbaton_heap.so: what is copied, what is lent, what comes back."""

import json
import signal
import subprocess

import pytest
from ros2_processes import BUILD, LIBRARY, ROOT, claim_domain, environment

PROGRAM = BUILD / "bin/heap_rcl_program"
HEAP = LIBRARY.with_name("libbaton_heap.so")
WHEELS = ROOT / ".venv-ros2"
IMAGE = 6220800
LIMIT_S = 300

pytestmark = pytest.mark.skipif(
    not PROGRAM.exists(), reason="needs heap_rcl_program: build the preset release after make setup"
)


class Nodes:
    def __init__(self):
        self.domain, self.claim = claim_domain()
        self.running = []

    def start(self, *arguments, heap, rmw="baton"):
        env = environment(rmw, self.domain)
        if heap:
            env["LD_PRELOAD"] = f"{HEAP}:{env['LD_PRELOAD']}"
        libraries = [WHEELS / "lib", *sorted(WHEELS.glob("lib/python3*/site-packages/ros_*.libs"))]
        env |= {"AMENT_PREFIX_PATH": str(WHEELS), "LD_LIBRARY_PATH": ":".join(map(str, libraries))}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], env=env, **pipes)
        self.running.append(process)
        return process

    @staticmethod
    def result(process):
        out, err = process.communicate(timeout=LIMIT_S)
        assert process.returncode in (0, -signal.SIGPROF), (
            f"{process.args} ended with {process.returncode}:\n{out}\n{err}"
        )
        return json.loads(out.splitlines()[-1])


@pytest.fixture
def nodes():
    made = Nodes()
    yield made
    for process in made.running:
        if process.poll() is None:
            process.kill()
        process.communicate()
    made.claim.close()


def exchange(nodes, bytes_, way, heap_pub, heap_sub):
    subscriber = nodes.start("sub", 20, bytes_, heap=heap_sub)
    publisher = nodes.start("pub", 20, bytes_, way, heap=heap_pub)
    return nodes.result(publisher), nodes.result(subscriber)


RIGHT = {"got": 20, "wrong": 0, "live": 0, "unknown": 0}


def test_with_loans_and_the_heap_library_nothing_is_copied(nodes):
    published, taken = exchange(nodes, IMAGE, "loan", True, True)
    assert published == {"lent": 19, "live": 0}  # the first one taught the capacity
    assert taken == RIGHT | {"aliased": 20}


def test_an_unmodified_publisher_copies_in_and_its_subscriber_does_not_copy_out(nodes):
    published, taken = exchange(nodes, IMAGE, "plain", True, True)
    assert published == {"lent": 0, "live": 0}
    assert taken == RIGHT | {"aliased": 20}


def test_either_end_may_do_without_the_library(nodes):
    published, taken = exchange(nodes, IMAGE, "loan", True, False)
    assert published == {"lent": 19, "live": 0} and taken == RIGHT | {"aliased": 0}
    published, taken = exchange(nodes, IMAGE, "loan", False, True)
    assert published == {"lent": 0, "live": 0} and taken == RIGHT | {"aliased": 20}


def test_a_lent_message_reaches_a_subscription_that_baton_does_not_serve(nodes):
    subscriber = nodes.start("sub", 20, 100000, heap=False, rmw="plain")
    publisher = nodes.start("pub", 20, 100000, "loan", heap=True)
    assert nodes.result(publisher)["live"] == 0
    assert nodes.result(subscriber) == RIGHT | {"aliased": 0}


def test_a_program_that_keeps_every_message_receives_every_message(nodes):
    subscriber = nodes.start("sub", 40, 100000, 40, heap=True)
    publisher = nodes.start("pub", 40, 100000, "loan", heap=True)
    assert nodes.result(publisher) == {"lent": 39, "live": 0}
    taken = nodes.result(subscriber)
    assert taken == RIGHT | {"got": 40, "aliased": 4}  # as many as a subscription may keep, then copies


def test_kept_vectors_outlive_a_publisher_that_is_killed(nodes):
    subscriber = nodes.start("sub", 12, IMAGE, heap=True)
    first = nodes.start("pub", 10, IMAGE, "hold", heap=True)
    assert first.stdout.readline() == "holding\n"
    first.kill()
    nodes.start("pub", 2, IMAGE, "hold", heap=True)  # the subscriber keeps two of the first one's, too
    assert nodes.result(subscriber) == RIGHT | {"got": 12, "aliased": 12}
