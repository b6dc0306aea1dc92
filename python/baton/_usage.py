# SPDX-License-Identifier: Apache-2.0
"""How a program ends for a mistake of its user: a wrong option or value on the command line, in a file of parameters, or in the
environment. As in C++ (baton::UsageError) and with argparse: one line on stderr, and status 2."""

import atexit
import os
import sys
from types import TracebackType

_former = sys.excepthook


def install() -> None:
    """Installs the excepthook. A second call does nothing."""
    global _former
    if sys.excepthook is not _end:
        _former = sys.excepthook
        sys.excepthook = _end


def _end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not getattr(error, "is_usage", False) or hasattr(
        sys, "ps1"
    ):  # at a prompt the traceback helps, and the interpreter does not end
        _former(kind, error, trace)
        return
    text = str(error).partition(": ")[2]  # the text without the name of the error code
    print(f"{os.path.basename(sys.argv[0]) or 'python'}: {text}", file=sys.stderr)
    # An excepthook cannot choose the status: the interpreter ends with 1.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(2)
