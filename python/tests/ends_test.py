# SPDX-License-Identifier: Apache-2.0
"""Threads that wait in Baton do not keep a process alive whose main thread has ended, whatever they wait for."""

import signal
import sys

import pytest

LIMIT_S = 120

PREAMBLE = """
import baton, os, signal, sys, threading
nodes = [baton.Node(f"n{i}") for i in range(3)]
node = nodes[0]
for each in nodes: each.create_timer(0.005, lambda: None)
publisher = node.advertise("topic", "std_msgs/String")
subscription = node.subscribe("topic", "std_msgs/String")
client = node.client("nobody", "std_srvs/SetBool")
"""

# Each waits for ever.
WAITS = {
    "spin": "baton.spin(node)",
    "spin of several nodes": "baton.spin(*nodes)",
    "spin on several threads": "baton.spin(*nodes, threads=3)",
    "executor": "baton.Executor(*nodes).spin()",
    "spin_once": "baton.Executor(nodes[1].__class__('idle')).spin_once(None)",
    "take": "subscription.take(None)",
    "iteration": "next(iter(subscription))",
    "waiting for a match": "subscription.wait_for_publishers(9, None)",
    "waiting for a condition": "node.wait_for(lambda: False, None)",
    "a call": "client.call({}, None)",
}


def threads_run(wait, *, loop, daemon, how="threading.Thread(target=run, daemon=%s).start()"):
    again = "while True: " if loop else ""
    start = how % daemon if "%" in how else how
    return f"""{PREAMBLE}
begun = threading.Event()
def run():
    begun.set()
    try:
        {again}{wait}
    finally:
        print("finally", flush=True)
{start}
begun.wait()
import time; time.sleep(0.05)  # mostly asleep by then; each moment before that must do, too
print("main ends", flush=True)
"""


def end_of(process):
    out, errors = process.communicate(timeout=LIMIT_S)
    return process.returncode, out, errors


@pytest.mark.parametrize("loop", [False, True], ids=["once", "again and again"])
@pytest.mark.parametrize("wait", WAITS)
def test_a_thread_that_waits_for_ever_ends_with_the_main_thread(start, wait, loop):
    process = start(threads_run(WAITS[wait], loop=loop, daemon=False))
    assert end_of(process) == (0, "main ends\nfinally\n", "")


@pytest.mark.parametrize("wait", WAITS)
def test_a_daemon_that_waits_for_ever_does_not_disturb_the_end(start, wait):
    code, out, errors = end_of(start(threads_run(WAITS[wait], loop=True, daemon=True)))
    assert (code, errors) == (0, "") and out.startswith("main ends\n")


@pytest.mark.parametrize("wait", ["spin", "take", "a call"])
@pytest.mark.parametrize("first", ["import baton", "import concurrent.futures.thread"])
def test_a_worker_of_a_pool_that_waits_for_ever_ends_with_the_main_thread(start, first, wait):
    pool = "import concurrent.futures; concurrent.futures.ThreadPoolExecutor().submit(run)"
    process = start(first + "\n" + threads_run(WAITS[wait], loop=False, daemon=False, how=pool))
    assert end_of(process) == (0, "main ends\nfinally\n", "")


def test_many_threads_that_wait_for_different_things_all_end(start):
    process = start(f"""
{PREAMBLE}
waits = {list(WAITS.values())!r}
own = [node.subscribe("other", "std_msgs/String") for _ in range(8)]
for each in own: threading.Thread(target=each.take, args=(None,)).start()
for wait in waits[3:4] + waits[5:]: threading.Thread(target=exec, args=(wait, globals())).start()
publisher.publish({{"data": "x"}})
print("main ends", flush=True)
""")
    assert end_of(process) == (0, "main ends\n", "")


def test_ctrl_c_ends_a_program_whose_main_thread_joins_one_that_spins(start):
    process = start(f"""
{PREAMBLE}
thread = threading.Thread(target=baton.spin, args=(node,))
thread.start()
print("spins", flush=True)
thread.join()
""")
    assert process.stdout.readline() == "spins\n"
    process.send_signal(signal.SIGINT)
    code, _, errors = end_of(process)
    assert code != 0 and "KeyboardInterrupt" in errors


def test_sys_exit_in_a_callback_of_the_main_thread_ends_the_program(start):
    process = start(f"""
{PREAMBLE}
threading.Thread(target=baton.spin, args=(nodes[1],)).start()
node.create_timer(0.01, lambda: sys.exit(7))
baton.spin(node)
""")
    assert end_of(process) == (7, "", "")


def test_sys_exit_in_a_callback_of_another_thread_ends_that_thread_alone(start):
    process = start(f"""
{PREAMBLE}
node.create_timer(0.01, lambda: sys.exit(7))
thread = threading.Thread(target=baton.spin, args=(node,))
thread.start()
thread.join({LIMIT_S})
print(thread.is_alive(), flush=True)
""")
    assert end_of(process) == (0, "False\n", "")


def test_what_follows_a_spin_that_the_end_has_ended_still_runs(start):
    process = start(f"""
{PREAMBLE}
begun = threading.Event()
node.create_timer(0.01, begun.set)
def run():
    baton.spin(node)
    publisher.publish({{"data": "still works"}})
    print(subscription.take(0).data, flush=True)
subscription.wait_for_publishers(1, {LIMIT_S})  # its side comes after the publisher's
threading.Thread(target=run).start()
begun.wait()
""")
    assert end_of(process) == (0, "still works\n", "")


def test_functions_of_atexit_may_still_publish_and_take(start):
    process = start(f"""
{PREAMBLE}
import atexit
@atexit.register
def last():
    publisher.publish({{"data": "last words"}})
    print(subscription.take({LIMIT_S}).data, publisher.wait_for_all_acked({LIMIT_S}), flush=True)
publisher.wait_for_subscriptions(1, {LIMIT_S})
threading.Thread(target=baton.spin, args=(node,)).start()
""")
    assert end_of(process) == (0, "last words True\n", "")


def test_a_thread_that_begins_to_wait_after_the_end_has_begun_ends_too(start):
    process = start(f"""
{PREAMBLE}
import time
def run():
    time.sleep(0.5)  # while the interpreter joins this thread
    try: subscription.take(None)
    finally: print("finally", flush=True)
threading.Thread(target=run).start()
print("main ends", flush=True)
""")
    assert end_of(process) == (0, "main ends\nfinally\n", "")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_worker_process_with_a_thread_that_spins_ends(tmp_path, start, method):
    script = tmp_path / "worker.py"
    script.write_text(f"""
import multiprocessing, threading, baton
def work():
    node = baton.Node("worker")
    threading.Thread(target=baton.spin, args=(node,)).start()
def in_a_thread():
    baton.spin(baton.Node("parent"))
if __name__ == "__main__":
    threading.Thread(target=in_a_thread).start()
    worker = multiprocessing.get_context({method!r}).Process(target=work)
    worker.start()
    worker.join({LIMIT_S})
    print(worker.exitcode, flush=True)
""")
    code, out, errors = end_of(start.command([sys.executable, str(script)]))
    assert (code, out) == (0, "0\n"), errors


def test_a_child_that_a_spinning_thread_forks_has_none_of_its_parents_waits(start):
    process = start(f"""
{PREAMBLE}
import warnings; warnings.simplefilter("ignore")  # newer Pythons advise against fork() beside threads
def fork_once():
    pid = os.fork()
    if pid == 0:
        mine = baton.Node("child")
        own = mine.subscribe("none", "std_msgs/String")
        waiter = threading.Thread(target=own.take, args=(None,))
        waiter.start()
        threading._shutdown()  # as multiprocessing's children end
        print("child ends", waiter.is_alive(), flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
    raise SystemExit
threading.Thread(target=subscription.take, args=(None,)).start()
node.create_timer(0.01, fork_once)
spinner = threading.Thread(target=baton.spin, args=(node,))
spinner.start()
spinner.join({LIMIT_S})
""")
    assert end_of(process) == (0, "child ends False\n", "")
