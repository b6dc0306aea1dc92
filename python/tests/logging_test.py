# SPDX-License-Identifier: Apache-2.0
"""Loggers in Python: docs/guides/logging.md, and its rows in docs/guides/from-ros.md."""

import inspect
import logging
import re

import baton
import pytest
from baton import LoggingSeverity
from baton.msg.rcl_interfaces import Log

LATE = baton.QoS(1000, durability="transient_local")


@pytest.fixture(autouse=True)
def levels_as_before():
    yield
    for name in ("", "a", "a.b", "camera", "left.camera"):
        baton.get_logger(name).set_level(LoggingSeverity.UNSET)


def texts(printed):
    return [line.split("]: ", 1)[1] for line in printed.splitlines()]


def test_each_severity_is_a_line_in_the_form_of_ros_2(capfd):
    logger = baton.get_logger("a")
    logger.set_level(LoggingSeverity.DEBUG)
    number = 3
    for log in (logger.debug, logger.info, logger.warning, logger.warn, logger.error, logger.fatal):
        assert log(f"number {number}") is True
    lines = capfd.readouterr().err.splitlines()
    assert [re.fullmatch(r"\[([A-Z]+)\] \[\d{10}\.\d{9}\] \[a\]: number 3", line)[1] for line in lines] == (
        "DEBUG INFO WARN WARN ERROR FATAL".split()
    )


def test_a_level_is_for_the_names_below_it_until_it_is_unset(capfd):
    parent, child = baton.get_logger("a"), baton.get_logger("a").get_child("b")
    assert child.name == "a.b" and child.get_effective_level() == LoggingSeverity.INFO
    parent.set_level(LoggingSeverity.ERROR)
    assert child.warn("no") is False and child.error("yes") is True
    assert not child.is_enabled_for(LoggingSeverity.WARN)
    child.set_level(LoggingSeverity.DEBUG)
    assert child.debug("debug") is True
    child.set_level(LoggingSeverity.UNSET)
    assert child.get_effective_level() == LoggingSeverity.ERROR
    parent.set_level(LoggingSeverity.OFF)
    assert child.fatal("no") is False
    assert texts(capfd.readouterr().err) == ["yes", "debug"]
    with pytest.raises(ValueError, match="17"):
        parent.set_level(17)


def test_a_line_may_be_logged_once_or_all_but_the_first_time(capfd):
    logger = baton.get_logger("a")
    for i in range(3):
        logger.info(f"once {i}", once=True)
        logger.info(f"skip {i}", skip_first=True)
        logger.info(f"both {i}", skip_first=True, once=True)
    assert texts(capfd.readouterr().err) == ["once 0", "skip 1", "both 1", "skip 2"]


def test_a_line_may_be_logged_at_most_once_in_a_time(capfd, monkeypatch):
    logger = baton.get_logger("a")
    for now in (0.0, 0.9, 1.0, 1.5, 2.5):
        monkeypatch.setattr("time.monotonic", lambda now=now: now)
        logger.info(f"{now}", throttle_duration_sec=1.0)
        logger.log(f"log {now}", LoggingSeverity.WARN, throttle_duration_sec=1.0, skip_first=True)
    assert texts(capfd.readouterr().err) == ["0.0", "log 0.9", "1.0", "2.5", "log 2.5"]
    with pytest.raises(TypeError, match="every"):
        logger.info("text", every=3)


def test_a_line_arrives_on_rosout_with_its_place(capfd):
    node = baton.Node("camera", namespace="left")
    assert node.get_logger().name == "left.camera"
    node.get_logger().warning("hello")
    line = inspect.currentframe().f_lineno - 1
    log = baton.Node("reader").subscribe("/rosout", Log, qos=LATE).take(60)
    assert (log.level, log.name, log.msg, log.line) == (Log.WARN, "left.camera", "hello", line)
    assert log.function == "test_a_line_arrives_on_rosout_with_its_place"
    assert log.file == __file__
    assert float(log.stamp) > 1.7e9


def test_lines_of_a_node_without_rosout_are_on_stderr_alone(capfd):
    node = baton.Node("camera", enable_rosout=False)
    node.get_logger().info("line")
    assert texts(capfd.readouterr().err) == ["line"]
    assert node.endpoints() == []


def test_a_text_that_is_no_utf_8_is_logged_with_escapes(capfd):
    baton.get_logger("a").info("file \udcff\0 é")
    assert texts(capfd.readouterr().err) == ["file \\udcff\0 é"]


def test_lines_of_python_s_own_logging_go_to_a_logger(capfd):
    node = baton.Node("camera")
    own = logging.getLogger("library")
    handler = baton.LogHandler(node.get_logger())
    own.addHandler(handler)
    own.propagate = False
    try:
        own.warning("%d left", 3)
        line = inspect.currentframe().f_lineno - 1
        own.debug("not enabled in Python")
    finally:
        own.removeHandler(handler)
    log = baton.Node("reader").subscribe("/rosout", Log, qos=LATE).take(60)
    assert (log.level, log.msg, log.line, log.file) == (Log.WARN, "3 left", line, __file__)
    assert texts(capfd.readouterr().err) == ["3 left"]


def test_a_program_may_log_at_its_end_and_without_memory_for_messages(programs):
    process = programs.python(
        """
        import atexit, baton
        node = baton.Node("camera")
        class Late:
            def __del__(self):
                node.get_logger().info("deleted")
        late = Late()
        atexit.register(node.get_logger().info, "at exit")
        node.get_logger().info("running")
        """,
        env={"BATON_PROCESS_MEMORY_LIMIT": "1", "BATON_LOG_LEVEL": "info"},
    )
    _, printed = process.ends()
    # The transport's own line of a dropped message comes from another thread, before the end or not at all.
    said = [text for text in texts(printed) if "dropped a message for want of memory" not in text]
    assert said[0] == "running" and said[2:] == ["at exit", "deleted"]
    assert said[1].startswith("lines of node 'camera' do not reach '/rosout' now: limit_reached: ")


def test_a_forked_child_logs_on_stderr_alone(programs):
    process = programs.python(
        """
        import os, baton
        node = baton.Node("camera")
        node.get_logger().info("parent")
        if os.fork() == 0:
            node.get_logger().info("child")
            os._exit(0)
        os.wait()
        assert len(node.endpoints()) == 1
        """
    )
    assert texts(process.ends()[1]) == ["parent", "child"]
