# SPDX-License-Identifier: Apache-2.0
"""Single-stepping of a program whose touched lines are known."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from baton_perf import stepping, touch
from baton_perf.touch import Places

try:
    stepping.check()
except stepping.CannotStep as problem:
    pytest.skip(f"{problem} (make setup)", allow_module_level=True)

PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include <stdio.h>
static _Alignas(4096) volatile unsigned char page[16 * 4096];
static _Alignas(64) unsigned char from[1024], to[1024];
static _Alignas(4096) unsigned char big[2][4 << 20];
__attribute__((noinline)) void marked(void) { __asm__ volatile(""); }
__attribute__((noinline)) void strings(void) {
  void *d = to, *s = from;
  uint64_t n = 256;
  __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
}
__attribute__((noinline)) void work(void) {
  page[0] = 1;                                  /* line 0 of page 0 */
  *(volatile uint64_t*)(page + 4096 + 60) = 2;  /* lines 0 and 1 of page 1 */
  for (int i = 0; i < 5; ++i) page[2 * 4096 + 64 * i] += 1;
  (void)page[9 * 4096 + 100];
}
static void nap(long ns) {
  struct timespec t = {0, ns};
  nanosleep(&t, 0);
}
static void say(void* a, void* b, void* c, void* d, void* e) {
  printf("%p %p %p %p %p\n", a, b, c, d, e);
  fflush(stdout);
}
static void* comes_to_the_mark(void* nothing) {
  for (;; nap(20000000)) marked();
  return nothing;
}
static void calls(void) {
  for (;;) {
    nap(20000);
    getrandom(big, sizeof big, 0);
    marked();
  }
}
static void nothing(int number) { (void)number; }
extern char behind_trap[];
static void traps(void) {
  signal(SIGTRAP, nothing);
  for (;;) {
    nap(20000000);
    __asm__ volatile("int3\nbehind_trap:");
  }
}
static void waits(void) {
  struct epoll_event event = {.events = EPOLLIN};
  int set = epoll_create1(0);
  epoll_ctl(set, EPOLL_CTL_ADD, 0, &event);
  exit(epoll_wait(set, &event, 1, 600000) == 1 ? 0 : 4);
}
static void copies(void) {
  for (;;) {
    nap(20000000);
    void *d = big[1], *s = big[0];
    uint64_t n = sizeof big[0];
    __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
    if (d != big[2] || n) abort();
    d = (void*)page, n = 0;
    __asm__ volatile("rep stosb; repne scasb; repe cmpsb" : "+D"(d), "+S"(s), "+c"(n) : "a"(0) : "memory", "cc");
    d = to, n = sizeof to; /* stops in the second line, of 16 */
    to[100] = 7;
    __asm__ volatile("repne scasb" : "+D"(d), "+c"(n) : "a"(7) : "memory", "cc");
    if (d != to + 101) abort();
    d = (void*)(page + 4096 + 3 * 64 - 8), n = 16; /* backwards through lines 1 and 2 */
    __asm__ volatile("std; rep stosq; cld" : "+D"(d), "+c"(n) : "a"(0) : "memory", "cc");
    marked();
  }
}
void odd(void*, void*, void*, void*); /* fxsave, xsave of AVX, xlatb, loads with addresses of 32 bits */
void nested(void);
void never(void);
extern char never_end[];
__asm__(
    ".globl odd, nested, never, never_end\n"
    "odd: push %rbx; push %rdx\n"
    "fxsave64 (%rdi); fxrstor64 (%rdi)\n"
    "mov $7, %eax; xor %edx, %edx; xsave64 (%rsi); xrstor64 (%rsi)\n"
    "pop %rdx; mov %rdx, %rbx; mov $130, %eax; xlatb\n"
    "lea -1(%rcx), %r8; movabs $0x7700000000, %rax; or %rax, %rcx; mov $1, %r9d\n"
    "addr32 mov 64(%ecx), %eax; addr32 mov 125(%r8d,%r9d,4), %eax\n"
    "mov %rsp, %r8; mov %rbp, %r9; sub $8192, %rsp; enter $0, $0; mov %r9, %rbp; mov %r8, %rsp\n"
    "pop %rbx; ret\n"
    "never:\n"
    "vpgatherdd %ymm1, (%rax,%ymm2,4), %ymm3\n"
    "bts %rax, (%rdi)\n"
    "enter $16, $2\n"
    "movdir64b (%rdi), %rax\n"
    "never_end: ret\n");
static void odds(void) {
  unsigned char* low = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (low == MAP_FAILED) abort();
  say((void*)page, low, never, never_end, marked);
  for (;;) {
    nap(20000000);
    odd((void*)page, (void*)(page + 4096), (void*)(page + 2 * 4096), low);
    marked();
  }
}
int main(int count, char** words) {
  char what = count > 1 ? words[1][0] : ' ';
  if (what == 'o') odds();
  say((void*)page, marked, from, to, what == 'b' ? (void*)big : what == 't' ? behind_trap : (void*)work);
  pthread_t thread;
  if (what == 'c') calls();
  if (what == 't') traps();
  if (what == 'b') copies();
  if (what == 'm') pthread_create(&thread, 0, comes_to_the_mark, 0);
  if (what == 'w') waits();
  if (what == 'e') exit(read(0, to, 1) == 0 ? 3 : 0);
  for (;;) {
    nap(20000000);
    if (what == 'm') continue;
    work();
    strings();
    getppid();
    marked();
  }
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("stepped")
    (folder / "stepped.c").write_text(PROGRAM)
    subprocess.run(["cc", "-O1", "-pthread", "-o", "stepped", "stepped.c"], cwd=folder, check=True)
    return folder / "stepped"


@pytest.fixture
def start(program):
    """Starts a process with this word; the process, and the five addresses that it says."""
    started = []

    def starts(word: str) -> tuple[subprocess.Popen, list[int]]:
        process = subprocess.Popen([program, word], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process, [int(word, 16) for word in process.stdout.readline().split()]

    yield starts
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def stepped(start):
    """The pages, the mark, both ends of the copy, the function."""
    return start(" ")


def window(thread: stepping.Thread, mark: int) -> stepping.Touched:
    thread.run_to_end_of_a_wait()
    touched = stepping.Touched()
    while thread.registers.rip != mark:
        assert not thread.step(touched)
    return touched


def test_lines_are_those_that_the_program_reads_and_writes_each_once(stepped):
    process, (page, mark, source, target, work) = stepped
    with stepping.Thread(process.pid) as thread:
        window(thread, mark)  # resolves lazily bound symbols
        first, second = window(thread, mark), window(thread, mark)
    assert first.lines() == second.lines()
    assert first.instructions == second.instructions
    begin = page // 64
    noted = sorted(line - begin for line in first.data if begin <= line < begin + 16 * 64)
    assert noted == [0, 64, 65, 128, 129, 130, 131, 132, 9 * 64 + 1]
    for side in (source, target):
        assert sum(side <= line * 64 < side + 1024 for line in first.data) == 4
    assert work // 64 in first.code
    assert {line * 64 // 4096 for line in first.data} <= first.pages()
    assert len(first.system_calls) == 1  # getppid
    assert any("stack" in Places(process.pid).region(line * 64) for line in first.data)


def test_addresses_are_named_by_region_and_function(stepped):
    process, (page, _, _, _, work) = stepped
    places = Places(process.pid)
    assert places.region(work) == "code: stepped"
    assert places.function(work) == "work"
    assert places.region(page + 5000) == "data: stepped"
    assert places.function(page + 5000) == "page"
    assert places.region(0) == "anonymous memory"


def test_a_stepped_process_goes_on_by_itself(stepped):
    process, (_, mark, *_) = stepped
    with stepping.Thread(process.pid) as thread:
        thread.run_to(mark)
        assert thread.registers.rip == mark
        thread.step(None)
        thread.run_to(mark)
    state = Path(f"/proc/{process.pid}/status").read_text()
    assert "TracerPid:\t0" in state
    assert process.poll() is None
    with stepping.Thread(process.pid) as thread:
        assert window(thread, mark).instructions > 10


def test_a_call_that_would_end_because_of_the_tracer_goes_on(start):
    process, _ = start("waits")
    for _ in range(20):
        call = Path(f"/proc/{process.pid}/syscall")
        while process.poll() is None and not call.read_text().startswith("232 "):  # epoll_wait
            time.sleep(0.001)
        with stepping.Thread(process.pid):
            pass
    process.communicate("x")
    assert process.returncode == 0, "4: the call ended with EINTR"


def test_a_process_that_has_ended_is_an_error_that_names_it(program):
    process = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    process.kill()
    process.wait()
    with pytest.raises((stepping.CannotStep, FileNotFoundError)):
        stepping.Thread(process.pid).__enter__()


def test_even_a_short_wait_counts_and_a_long_call_without_a_wait_does_not(start):
    process, (_, mark, *_) = start("calls")
    waits: dict[int, set[bool]] = {}
    with stepping.Thread(process.pid) as thread:
        for _ in range(3):
            thread.run_to(mark)
            while True:
                touched = stepping.Touched()
                waited = thread.step(touched)
                for call in touched.system_calls:
                    waits.setdefault(call, set()).add(waited)
                if thread.registers.rip == mark:
                    break
        clock_nanosleep, getrandom = 230, 318
        assert waits == {clock_nanosleep: {True}, getrandom: {False}}
        thread.run_to_end_of_a_wait()
        assert os.pread(thread._memory, 2, thread.registers.rip - 2) == b"\x0f\x05"
        window(thread, mark)


def test_a_program_dies_with_its_killed_tracer_so_no_breakpoint_stays(program):
    script = (
        "import subprocess, sys, time\n"
        "from baton_perf import stepping\n"
        "process = subprocess.Popen([sys.argv[1], ' '], stdout=subprocess.PIPE, pass_fds=[int(sys.argv[2])])\n"
        "process.stdout.readline()\n"
        "with stepping.Thread(process.pid) as thread:\n"
        "    print(process.pid, flush=True)\n"
        "    time.sleep(600)\n"
    )
    lives, held = os.pipe()  # readable when the other end is closed: the tracer and the program have ended
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script, str(program), str(held)]
    tracer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, pass_fds=[held], env=environment)
    os.close(held)
    traced = int(tracer.stdout.readline())
    tracer.kill()
    tracer.communicate()
    ended, _, _ = select.select([lives], [], [], 120)
    os.close(lives)
    if not ended:
        os.kill(traced, signal.SIGKILL)
    assert ended, "the program lives on"


def test_the_parent_of_a_traced_program_gets_its_status(start):
    process, (_, mark, *_) = start("exits with 3 at the end of its input")
    with stepping.Thread(process.pid) as thread:
        process.stdin.close()
        process.stdin = None
        with pytest.raises(stepping.CannotStep, match=f"process {process.pid} has ended with status 3"):
            thread.run_to(mark)
    assert process.wait() == 3


def test_a_program_that_is_killed_between_two_steps_is_an_error_that_names_the_signal(stepped):
    process, (_, mark, *_) = stepped
    with stepping.Thread(process.pid) as thread:
        thread.run_to_end_of_a_wait()
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        for goes_on in (lambda: thread.step(None), lambda: thread.run_to(mark)):
            with pytest.raises(stepping.CannotStep, match="was ended by SIGKILL"):
                goes_on()
    assert process.wait() == -signal.SIGKILL


def test_another_thread_at_the_breakpoint_is_an_error_that_says_so(start):
    process, (_, mark, *_) = start("meets the mark on another thread")
    with stepping.Thread(process.pid) as thread:
        with pytest.raises(stepping.CannotStep, match="another thread came to the breakpoint"):
            thread.run_to(mark)
    assert process.wait() == -signal.SIGTRAP


def test_a_trap_of_the_program_itself_is_not_taken_for_the_breakpoint(start):
    process, (_, mark, _, _, behind_trap) = start("traps")
    with stepping.Thread(process.pid) as thread:
        with pytest.raises(stepping.CannotStep, match="has stopped at .* by itself"):
            thread.run_to(mark)
        *_, at = Path(f"/proc/{process.pid}/syscall").read_text().split()
        assert int(at, 16) == behind_trap
    assert process.poll() is None


def test_a_repeated_instruction_counts_once_with_all_that_it_touches(start):
    process, (page, mark, _, to, big) = start("big copy")
    with stepping.Thread(process.pid) as thread:
        thread.run_to(mark)
        counted = window(thread, mark)
    assert counted.instructions < 100
    assert sum(big <= line * 64 < big + (8 << 20) for line in counted.data) == (8 << 20) // 64
    assert [line - to // 64 for line in sorted(counted.data) if to <= line * 64 < to + 1024] == [0, 1]
    # rcx = 0 touches nothing of the first page
    assert [line - page // 64 for line in sorted(counted.data) if page <= line * 64 < page + 8192] == [65, 66]


def test_instructions_touch_all_that_they_save_or_load(start):
    process, (page, low, _, _, mark) = start("odd instructions")
    avx = 256 if " avx " in Path("/proc/cpuinfo").read_text() else 0
    with stepping.Thread(process.pid) as thread:
        thread.run_to(mark)
        counted = window(thread, mark)

    def lines(begin: int) -> list[int]:
        return sorted(line - begin // 64 for line in counted.data if begin <= line * 64 < begin + 4096)

    assert lines(page) == list(range(512 // 64))  # fxsave
    assert lines(page + 4096) == list(range((512 + 64 + avx) // 64))  # xsave
    assert lines(page + 2 * 4096) == [2]  # xlatb
    assert lines(low) == [1, 2]  # addresses of 32 bits
    places = Places(process.pid)
    stack = sorted(line for line in counted.data if places.region(line * 64) == "stack")
    assert 126 <= stack[1] - stack[0] <= 128  # enter pushes 8 KiB below the others


def test_an_instruction_whose_touches_are_not_known_is_named(start):
    process, (_, _, never, never_end, _) = start("odd instructions")
    with stepping.Thread(process.pid) as thread:
        at, named = never, []
        while at < never_end:
            code = os.pread(thread._memory, 15, at)
            instruction = next(thread._decoder.disasm(code, at, 1))
            with pytest.raises(stepping.CannotStep, match=f"not known what the instruction {instruction.mnemonic} "):
                thread._decode(at)
            named.append(instruction.mnemonic)
            at += instruction.size
    assert named == ["vpgatherdd", "bts", "enter", "movdir64b"]


def test_of_the_payload_the_line_of_its_first_byte_counts():
    class AtTheMark:
        """A thread that has just slept and is at the mark."""

        registers = stepping._Registers(rip=0x1000, rdi=touch.RECEIVED, rsi=5 * stepping.LINE + 8)

        def run_to_end_of_a_wait(self) -> None:
            pass

    first, _ = touch._Watch(messages=1, spin=False)._subscriber(AtTheMark(), 0x1000, [])
    assert list(first.data) == [5]
