# SPDX-License-Identifier: Apache-2.0
"""A thread that waits in Baton, for anything, does not keep a process alive whose main thread has ended."""

import signal
import sys

import pytest
from support.waiting import LIMIT_S

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
    out, errors = process.ends(None)
    return process.returncode, out, errors


@pytest.mark.parametrize("loop", [False, True], ids=["once", "again and again"])
@pytest.mark.parametrize("wait", WAITS)
def test_a_thread_that_waits_for_ever_ends_with_the_main_thread(programs, wait, loop):
    process = programs.python(threads_run(WAITS[wait], loop=loop, daemon=False))
    assert end_of(process) == (0, "main ends\nfinally\n", "")


@pytest.mark.parametrize("wait", WAITS)
def test_a_daemon_that_waits_for_ever_does_not_disturb_the_end(programs, wait):
    code, out, errors = end_of(programs.python(threads_run(WAITS[wait], loop=True, daemon=True)))
    assert (code, errors) == (0, "") and out.startswith("main ends\n")


@pytest.mark.parametrize("wait", ["spin", "take", "a call"])
@pytest.mark.parametrize("first", ["import baton", "import concurrent.futures.thread"])
def test_a_worker_of_a_pool_that_waits_for_ever_ends_with_the_main_thread(programs, first, wait):
    pool = "import concurrent.futures; concurrent.futures.ThreadPoolExecutor().submit(run)"
    process = programs.python(first + "\n" + threads_run(WAITS[wait], loop=False, daemon=False, how=pool))
    assert end_of(process) == (0, "main ends\nfinally\n", "")


def test_many_threads_that_wait_for_different_things_all_end(programs):
    process = programs.python(f"""
{PREAMBLE}
waits = {list(WAITS.values())!r}
own = [node.subscribe("other", "std_msgs/String") for _ in range(8)]
for each in own: threading.Thread(target=each.take, args=(None,)).start()
for wait in waits[3:4] + waits[5:]: threading.Thread(target=exec, args=(wait, globals())).start()
publisher.publish({{"data": "x"}})
print("main ends", flush=True)
""")
    assert end_of(process) == (0, "main ends\n", "")


def test_ctrl_c_ends_a_program_whose_main_thread_joins_a_spinning_thread(programs):
    process = programs.python(f"""
{PREAMBLE}
thread = threading.Thread(target=baton.spin, args=(node,))
thread.start()
print("spins", flush=True)
thread.join()
""")
    _, errors = process.says("spins").interrupted(None)
    assert process.returncode != 0 and "KeyboardInterrupt" in errors


def test_sys_exit_in_a_callback_of_the_main_thread_ends_the_program(programs):
    process = programs.python(f"""
{PREAMBLE}
threading.Thread(target=baton.spin, args=(nodes[1],)).start()
node.create_timer(0.01, lambda: sys.exit(7))
baton.spin(node)
""")
    assert end_of(process) == (7, "", "")


def test_sys_exit_in_a_callback_of_another_thread_ends_that_thread_alone(programs):
    process = programs.python(f"""
{PREAMBLE}
node.create_timer(0.01, lambda: sys.exit(7))
thread = threading.Thread(target=baton.spin, args=(node,))
thread.start()
thread.join({LIMIT_S})
print(thread.is_alive(), flush=True)
""")
    assert end_of(process) == (0, "False\n", "")


def test_code_after_a_spin_runs_although_the_interpreter_ended_the_spin(programs):
    process = programs.python(f"""
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


def test_functions_of_atexit_may_still_publish_and_take(programs):
    process = programs.python(f"""
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


def test_a_thread_that_begins_to_wait_after_the_end_has_begun_ends_too(programs):
    process = programs.python(f"""
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
def test_a_worker_process_with_a_thread_that_spins_ends(tmp_path, programs, method):
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
    code, out, errors = end_of(programs.start([sys.executable, script]))
    assert (code, out) == (0, "0\n"), errors


def test_a_child_that_a_spinning_thread_forks_has_none_of_its_parents_waits(programs):
    process = programs.python(f"""
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


READY = """
import time
def ready(): print("ready", flush=True)
try:
    {block}
finally:
    print("finally", flush=True)
"""
# How programs of nodes wait in their main thread. Each says "ready" before.
MAINS = {
    "spin": "baton.spin(node)",
    "executor": "baton.Executor(node).spin()",
    "take after init": "subscription.take(None)",
    "sleep after init": "time.sleep(400)",
    "asyncio after init": "import asyncio; asyncio.run(asyncio.sleep(400))",
    "a thread that spins": "t = threading.Thread(target=baton.spin, args=(node,)); t.start(); t.join()",
}


def program(main):
    if main in ("spin", "executor"):  # the handlers are there while it spins
        ready = "node.create_timer(0.001, lambda: ready() if not said.append(1) and len(said) == 1 else None)"
        return PREAMBLE + "said = []\n" + READY.format(block=f"{ready}; {MAINS[main]}")
    return PREAMBLE + "baton.init()\n" + READY.format(block=f"ready(); {MAINS[main]}")


@pytest.mark.parametrize("main", MAINS)
def test_sigterm_ends_a_program_of_nodes_in_order(programs, main):
    # As systemd and `docker stop` do. C++ programs after shutdown_on_signals(), and those of rospy and rclpy, end so, too.
    process = programs.python(program(main)).says("ready")
    process.send_signal(signal.SIGTERM)
    assert end_of(process) == (0, "finally\n", "")


@pytest.mark.parametrize("main", ["spin", "take after init"])
def test_sigint_ends_a_program_that_a_shell_has_started_in_the_background(programs, main):
    process = programs.python(program(main), preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    process.says("ready")
    process.send_signal(signal.SIGINT)
    code, out, errors = end_of(process)
    assert (code, out) == (-signal.SIGINT, "finally\n") and errors.rstrip().endswith("KeyboardInterrupt")


def test_a_second_sigterm_ends_a_program_whose_end_hangs(programs):
    process = programs.python("""
import baton, time
baton.init()
try:
    print("ready", flush=True)
    time.sleep(400)
finally:
    print("hangs", flush=True)
    time.sleep(400)
""")
    process.says("ready")
    process.send_signal(signal.SIGTERM)
    process.says("hangs")
    process.send_signal(signal.SIGTERM)
    assert end_of(process)[0] == -signal.SIGTERM


def test_signals_that_the_program_handles_stay_its_own(programs):
    process = programs.python(f"""
import signal
own = lambda *_: print("own", flush=True) or executor.cancel()
signal.signal(signal.SIGTERM, own)
{PREAMBLE}
baton.init()
executor = baton.Executor(node)
node.create_timer(0.001, lambda: print("ready", flush=True) if not said.append(1) and len(said) == 1 else None)
said = []
executor.spin()
print(signal.getsignal(signal.SIGTERM) is own, flush=True)
""")
    process.says("ready")
    process.send_signal(signal.SIGTERM)
    assert end_of(process) == (0, "own\nTrue\n", "")


def test_handlers_are_there_while_a_program_spins_or_after_init_and_not_in_a_forked_child(programs):
    process = programs.python(f"""
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
def now(): return [signal.getsignal(each) in (signal.SIG_DFL, signal.SIG_IGN) for each in (signal.SIGTERM, signal.SIGINT)]
{PREAMBLE}
seen = [now()]
executor = baton.Executor(node)
node.create_timer(0.001, lambda: (seen.append(now()), executor.cancel()))
executor.spin()
seen.append(now())
baton.init(signals=False)
seen.append(now())
baton.init()
seen.append(now())
if os.fork() == 0:
    print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, flush=True)
    os._exit(0)
os.wait()
thread = threading.Thread(target=baton.init)  # only the main thread may install handlers
thread.start()
thread.join()
print(seen[0], seen[1], *seen[-3:], flush=True)
""")
    left, handled = "[True, True]", "[False, False]"
    assert end_of(process) == (0, f"True\n{left} {handled} {left} {left} {handled}\n", "")
