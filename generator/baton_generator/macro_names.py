# SPDX-License-Identifier: Apache-2.0
"""Names that common headers define as macros: `python -m baton_generator.macro_names` asks the compiler and rewrites macro_names.txt.

A field, constant or type of such a name would not compile behind that header. The names of the C++ library are macros in nearly
every program, so cpp.py gives them another spelling. The others keep theirs, and a generated header that has one hides the macro from
itself.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_suffix(".txt")

# The library of C++, and of C.
STANDARD = """algorithm any array atomic bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits clocale cmath codecvt
complex condition_variable csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception
filesystem forward_list fstream functional future initializer_list iomanip ios iosfwd iostream istream iterator limits list locale map memory
memory_resource mutex new numeric optional ostream queue random ratio regex scoped_allocator set shared_mutex sstream stack stdexcept
streambuf string string_view system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant
vector assert.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h locale.h math.h setjmp.h signal.h stdalign.h stdarg.h stdbool.h
stddef.h stdint.h stdio.h stdlib.h string.h threads.h time.h uchar.h wchar.h wctype.h""".split()
# POSIX, and what programs of robots include of Linux.
OTHERS = """aio.h arpa/inet.h cpio.h dirent.h dlfcn.h fcntl.h fmtmsg.h fnmatch.h ftw.h getopt.h glob.h grp.h iconv.h langinfo.h libgen.h
monetary.h mqueue.h net/if.h netdb.h netinet/in.h netinet/tcp.h nl_types.h poll.h pthread.h pwd.h regex.h sched.h search.h semaphore.h spawn.h
strings.h sys/epoll.h sys/eventfd.h sys/inotify.h sys/ioctl.h sys/ipc.h sys/mman.h sys/msg.h sys/prctl.h sys/resource.h sys/select.h sys/sem.h
sys/shm.h sys/socket.h sys/stat.h sys/statvfs.h sys/sysmacros.h sys/time.h sys/timerfd.h sys/times.h sys/types.h sys/uio.h
sys/un.h sys/utsname.h sys/wait.h syslog.h tar.h termios.h ulimit.h unistd.h utime.h utmpx.h wordexp.h
linux/can.h linux/can/raw.h linux/gpio.h linux/i2c-dev.h linux/i2c.h linux/input.h linux/joystick.h linux/serial.h linux/spi/spidev.h
linux/videodev2.h""".split()
# Qt's own words (qobjectdefs.h), which a machine without Qt must know, too.
QT = (
    "#define emit\n#define foreach(a, b) for (a : b)\n#define forever for (;;)\n#define signals public\n#define slots\n"
)

_DEFINE = re.compile(r"#define ([A-Za-z]\w*)(\(?)[^ ]* ?(.*)")


def defined_by(headers: list[str], compiler: str = "c++", more: str = "") -> set[str]:
    """The names that stand for something else wherever they appear: no function-like macro, and none that is its own name."""
    text = "".join(f"#if __has_include(<{header}>)\n#include <{header}>\n#endif\n" for header in headers) + more
    run = subprocess.run(
        [compiler, "-std=gnu++17", "-dM", "-E", "-x", "c++", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    found = (_DEFINE.match(line) for line in run.stdout.splitlines())
    return {m[1] for m in found if m and not m[2] and m[1] != m[3]}


@cache
def names() -> tuple[frozenset[str], frozenset[str]]:
    """(those of the standard library, the others)."""
    standard, others = TABLE.read_text("utf-8").split("\n\n")[1:]
    return frozenset(standard.split()), frozenset(others.split())


def main() -> int:
    """Names only come: another machine's headers define others."""
    standard, others = names() if TABLE.exists() else (frozenset(), frozenset())
    standard |= defined_by(STANDARD)
    others = (others | defined_by(STANDARD + OTHERS, more=QT)) - standard

    def lines(words: frozenset[str]) -> str:
        return textwrap.fill(" ".join(sorted(words)), 140, break_long_words=False, break_on_hyphens=False)

    TABLE.write_text(
        "# Written by python -m baton_generator.macro_names: the standard library's, then the others.\n\n"
        f"{lines(standard)}\n\n{lines(others)}\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
