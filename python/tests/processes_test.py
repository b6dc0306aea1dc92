# SPDX-License-Identifier: Apache-2.0
"""Signals, forks, ends of processes: nothing hangs, nothing dangles."""

import signal
import sys

import baton
import pytest
from baton.msg.std_msgs import String

WAITERS = {
    "take": "node.subscribe('topic', 'std_msgs/String').take(None)",
    "iteration": "next(iter(node.subscribe('topic', 'std_msgs/String')))",
    "spin": "baton.spin(node)",
    "spin on two threads": "baton.spin(node, threads=2)",
    "waiting for a publisher": "node.subscribe('topic', 'std_msgs/String').wait_for_publishers(1, None)",
    "a call": "node.client('s', 'std_srvs/SetBool').call({}, None)",
    "asyncio": """
import asyncio, baton.aio
async def main():
    async for message in baton.aio.messages(node.subscribe('topic', 'std_msgs/String')): pass
asyncio.run(main())""",
}


@pytest.mark.parametrize("waiter", WAITERS)
def test_ctrl_c_ends_every_wait(programs, waiter):
    code = "import baton, sys\nnode = baton.Node('n')\nprint('waiting', flush=True)\n"
    process = programs.python(code + WAITERS[waiter], ready="waiting")
    # Asleep: the wait that matters.
    while open(f"/proc/{process.pid}/stat").read().rpartition(")")[2].split()[0] != "S":
        assert process.poll() is None
    _, errors = process.interrupted(None)
    assert "KeyboardInterrupt" in errors
    assert process.returncode != 0


BUSY = {
    "take": "subscription.take(0.001)",
    "publishing objects": "publisher.publish({'data': 'x'})",
    "waiting for a match": "publisher.wait_for_subscriptions(9, 0.001)",
    "waiting for a condition": "node.wait_for(lambda: None, 0.001)",
    "a call": "client.call({}, 0.001)",
    "spin": "baton.spin(node)",
    "spin with a timer": "node.create_timer(0.0005, lambda: sum(range(100))); baton.spin(node)",
    "spin on two threads": "node.create_timer(0.0005, lambda: sum(range(100))); baton.spin(node, threads=2)",
}


@pytest.mark.parametrize("what", BUSY)
def test_a_daemon_thread_that_is_busy_does_not_disturb_the_end(programs, what):
    code = f"""
        import threading, baton, sys
        node = baton.Node('n')
        publisher = node.advertise('topic', 'std_msgs/String')
        subscription = node.subscribe('topic', 'std_msgs/String')
        client = node.client('nobody', 'std_srvs/SetBool')
        begun = threading.Event()
        def run():
            begun.set()
            while True: {BUSY[what]}
        threading.Thread(target=run, daemon=True).start()
        begun.wait()
        class Slow:  # the interpreter's end takes long enough for the thread to ask for the GIL
            def __del__(self, sleep=__import__('time').sleep): sleep(0.05)
        sys.kept = Slow()
        """
    assert programs.python(code).ends() == ("", "")


def test_a_python_signal_handler_runs_during_a_wait_which_then_goes_on(programs):
    process = programs.python("""
        import baton, signal
        node = baton.Node('n')
        subscription = node.subscribe('topic', 'std_msgs/String')
        signal.signal(signal.SIGUSR1, lambda *_: print('handled', flush=True))
        print('waiting', flush=True)
        print(subscription.take(None).data, flush=True)
    """)
    process.says("waiting")
    process.send_signal(signal.SIGUSR1)
    process.says("handled")
    node = baton.Node("other")
    publisher = node.advertise("topic", String)
    assert publisher.wait_for_subscriptions(1, 120)
    publisher.publish({"data": "after the signal"})
    process.says("after the signal")
    assert process.wait(120) == 0


def test_the_interpreter_ends_with_everything_still_alive(programs):
    process = programs.python("""
        import baton
        node = baton.Node('n')
        publisher = node.advertise('topic', 'sensor_msgs/Image')
        subscription = node.subscribe('topic', 'sensor_msgs/Image')
        node.subscribe('topic', 'sensor_msgs/Image', lambda m: None)
        timer = node.create_timer(0.001, lambda: None)
        executor = baton.Executor(node)
        publisher.wait_for_subscriptions(2)
        publisher.publish({'data': bytes(100000)})
        sample = subscription.take(None)
        data = sample.data
        loan = publisher.loan()
        loan.data = data
        kept = loan.data
        executor.spin_some()
        import sys
        sys.modules['keeps'] = (sample, data, loan, kept, node)
        class Late:
            def __init__(self, *things): self.things = things
            def __del__(self): print('late', self.things[0][5], flush=True)
        late = Late(data)
    """)
    assert process.ends() == ("late 0\n", "")


def test_the_interpreter_ends_while_another_thread_spins(programs):
    process = programs.python("""
        import baton, threading
        node = baton.Node('n')
        node.create_timer(0.0001, lambda: None)
        threading.Thread(target=baton.Executor(node, threads=2).spin, daemon=True).start()
        for i in range(100000): pass
    """)
    assert process.ends()[1] == ""


def test_a_forked_child_makes_its_own_node_and_leaves_the_parents_alone(programs):
    process = programs.python("""
        import baton, os
        from baton.msg.std_msgs import String
        node = baton.Node('parent')
        publisher = node.advertise('topic', String)
        subscription = node.subscribe('topic', String, qos=baton.QoS(10, held=1))
        publisher.wait_for_subscriptions(1)
        publisher.publish({'data': 'before'})
        sample = subscription.take(None)
        loan = publisher.loan()
        child = os.fork()
        if child == 0:
            for use in (subscription.take, lambda: publisher.publish({'data': 'x'}), publisher.loan):
                try: use()
                except baton.Forked: pass
                else: os._exit(1)
            del sample, loan
            mine = baton.Node('child')
            own = mine.advertise('other', String)
            late = mine.subscribe('other', String)
            own.wait_for_subscriptions(1)
            own.publish({'data': 'from the child'})
            os._exit(0 if late.take(120).data == 'from the child' else 2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert sample.data == 'before'
        loan.data = 'after'
        publisher.publish(loan)
        try: subscription.take()
        except baton.HeldLimit: pass
        else: raise SystemExit('the child released the sample')
        del sample
        assert subscription.take(120).data == 'after'
    """)
    assert process.ends()[1] == ""


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_multiprocessing_workers_talk_to_their_parent(tmp_path, programs, method):
    script = tmp_path / "workers.py"
    script.write_text(f"""
import multiprocessing, baton
def work(number):
    node = baton.Node(f'worker{{number}}')
    publisher = node.advertise('results', 'std_msgs/Int32', 10)
    publisher.wait_for_subscriptions(1)
    publisher.publish({{'data': number}})
    publisher.wait_for_all_acked(120)
if __name__ == '__main__':
    context = multiprocessing.get_context({method!r})
    node = baton.Node('parent')
    subscription = node.subscribe('results', 'std_msgs/Int32', qos=10)
    workers = [context.Process(target=work, args=(i,)) for i in range(2)]
    for w in workers: w.start()
    print(sorted(subscription.take(120).data for _ in workers))
    for w in workers: w.join()
    print([w.exitcode for w in workers])
""")
    assert programs.start([sys.executable, script]).ends()[0] == "[0, 1]\n[0, 0]\n"


def test_a_killed_publisher_leaves_its_messages_readable(programs):
    process = programs.python("""
        import baton
        node = baton.Node('victim')
        publisher = node.advertise('topic', 'std_msgs/String', 10)
        publisher.wait_for_subscriptions(1)
        for i in range(3): publisher.publish({'data': f'message {i}'})
        print('published', flush=True)
        input()
    """)
    node = baton.Node("survivor")
    subscription = node.subscribe("topic", String, qos=10)
    process.says("published")
    first = subscription.take(120)
    process.end()
    assert node.wait_for(lambda: subscription.matched == 0, 120)
    assert [first.data, subscription.take(0).data, subscription.take(0).data] == [f"message {i}" for i in range(3)]
    assert subscription.take(0) is None


@pytest.mark.parametrize("first", ["import baton", ""], ids=["after", "before"])
def test_a_second_interpreter_is_refused_in_words_before_and_after_the_main_one_imports(programs, first):
    process = programs.python(f"""
        {first}
        try: import _xxsubinterpreters as interpreters
        except ImportError: import _interpreters as interpreters
        other = interpreters.create()
        code = "try: import baton\\nexcept ImportError as error: print('refused:', error, flush=True)"
        interpreters.run_string(other, code)
        interpreters.destroy(other)
        import baton
        node = baton.Node("main")
        publisher, subscription = node.advertise("t", "std_msgs/String"), node.subscribe("t", "std_msgs/String")
        publisher.wait_for_subscriptions(1, 120)
        publisher.publish({{"data": "works"}})
        print(subscription.take(120).data)
    """)
    out, errors = process.ends()
    assert out.startswith("refused: baton works in the main interpreter") and out.endswith("works\n"), out + errors


def test_python_without_the_gil_is_refused_in_words(programs):
    process = programs.python("""
        import sys
        sys._is_gil_enabled = lambda: False
        try: import baton
        except ImportError as error: print(error)
    """)
    assert "PYTHON_GIL=1" in process.ends()[0]
