# SPDX-License-Identifier: Apache-2.0
"""Lines for people, with severities: on stderr in ROS 2's format, and on the topic /rosout (docs/guides/logging.md)."""

from __future__ import annotations

import logging
import math
import sys
import time
from enum import IntEnum
from typing import Any

from . import _core


class LoggingSeverity(IntEnum):
    """The numbers of ROS 2, and of Python's own logging."""

    UNSET = 0
    DEBUG = 10
    INFO = 20
    WARN = 30
    ERROR = 40
    FATAL = 50
    OFF = 255  # for set_level(): no line is logged


# When a place in a program logged: file, function, line, instruction -> time.monotonic() of the last time. A place whose first
# time was skipped, and that has logged nothing yet, has None.
_places: dict[tuple[str, str, int, int], float | None] = {}


class Logger:
    """A name with a level, as rclpy's. Loggers of one name share their level; a logger without a level of its own has the level
    of the name before its last dot, at last the program's. Thread-safe; logging never blocks.

    `once=True` logs the first time only, `throttle_duration_sec=1.0` at most once in this time, `skip_first=True` each time but
    the first; each is for the line of the program that has it. Times at which the level is not enabled do not count.
    """

    def __init__(self, core: _core.Logger) -> None:
        self._core = core

    @property
    def name(self) -> str:
        return self._core.name

    def __repr__(self) -> str:
        return f"<baton.Logger '{self.name}' {self.get_effective_level().name}>"

    def get_child(self, name: str) -> Logger:
        """ "camera" -> "camera.driver"."""
        return Logger(self._core._child(name))

    def set_level(self, level: int) -> None:
        """For all loggers of this name in the process, now and later. UNSET: as the name before the last dot."""
        self._core._set_level(LoggingSeverity(level))

    def get_effective_level(self) -> LoggingSeverity:
        """Never UNSET."""
        return LoggingSeverity(self._core._level())

    def is_enabled_for(self, severity: int) -> bool:
        return severity >= self._core._level()

    def log(self, message: Any, severity: int, *arguments: Any, **when: Any) -> bool:
        """Logs str(message). True if the line was logged."""
        return self._log(severity, message, arguments, **when)

    def debug(self, message: Any, *arguments: Any, **when: Any) -> bool:
        return self._log(LoggingSeverity.DEBUG, message, arguments, **when)

    def info(self, message: Any, *arguments: Any, **when: Any) -> bool:
        return self._log(LoggingSeverity.INFO, message, arguments, **when)

    def warning(self, message: Any, *arguments: Any, **when: Any) -> bool:
        return self._log(LoggingSeverity.WARN, message, arguments, **when)

    warn = warning

    def error(self, message: Any, *arguments: Any, **when: Any) -> bool:
        return self._log(LoggingSeverity.ERROR, message, arguments, **when)

    def fatal(self, message: Any, *arguments: Any, **when: Any) -> bool:
        return self._log(LoggingSeverity.FATAL, message, arguments, **when)

    def _log(
        self,
        severity: int,
        message: Any,
        arguments: tuple[Any, ...],
        *,
        once: bool = False,
        skip_first: bool = False,
        throttle_duration_sec: float | None = None,
    ) -> bool:
        if arguments:
            raise TypeError(
                f"a line has one text, and {len(arguments)} more arguments came: write logger.info(f'{{x}} frames'), or "
                "logger.info('%d frames' % x) (docs/guides/from-ros.md)"
            )
        if severity < self._core._level():
            return False
        frame = sys._getframe(1)  # of info() and its like
        frame = frame.f_back or frame  # none if C called it, e.g. atexit
        code = frame.f_code
        if once or skip_first or throttle_duration_sec is not None:
            place = (code.co_filename, code.co_name, frame.f_lineno, frame.f_lasti)
            if throttle_duration_sec is not None and math.isnan(throttle_duration_sec):
                raise _core.InvalidArgument("throttle_duration_sec must be a number of seconds, not nan")
            first = place not in _places
            before = _places.setdefault(place, None)
            now = time.monotonic()
            if (first and skip_first) or (once and before is not None):
                return False
            if throttle_duration_sec is not None and before is not None and now - before < throttle_duration_sec:
                return False
            _places[place] = now
        self._core._log(int(severity), str(message), code.co_name, code.co_filename, frame.f_lineno)
        return True


def get_logger(name: str) -> Logger:
    """A logger without a node: its lines do not go to /rosout."""
    return Logger(_core._get_logger(name))


class LogHandler(logging.Handler):
    """Hands the lines of Python's own logging to a logger: `logging.getLogger().addHandler(LogHandler(node.get_logger()))`."""

    def __init__(self, logger: Logger, level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self._logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        # Severities between two of ROS's count as the lower one.
        severity = min(max(record.levelno // 10 * 10, 10), 50)
        if not self._logger.is_enabled_for(severity):
            return
        try:
            self._logger._core._log(
                severity, self.format(record), record.funcName or "", record.pathname, record.lineno
            )
        except Exception:
            self.handleError(record)
