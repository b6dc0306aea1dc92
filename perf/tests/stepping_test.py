# SPDX-License-Identifier: Apache-2.0
"""What single-stepping notes, of a program whose touches are known."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from baton_perf import stepping
from baton_perf.touch import Places

try:
    stepping.check()
except stepping.CannotStep as problem:
    pytest.skip(f"{problem} (make setup)", allow_module_level=True)

PROGRAM = r"""
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <stdio.h>
static _Alignas(4096) volatile unsigned char page[16 * 4096];
static _Alignas(64) unsigned char from[1024], to[1024];
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
int main(void) {
  printf("%p %p %p %p %p\n", (void*)page, (void*)marked, (void*)from, (void*)to, (void*)work);
  fflush(stdout);
  for (;;) {
    struct timespec t = {0, 20000000};
    nanosleep(&t, 0);
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
    subprocess.run(["cc", "-O1", "-o", "stepped", "stepped.c"], cwd=folder, check=True)
    return folder / "stepped"


@pytest.fixture
def stepped(program):
    """A process, and the addresses that it says: the pages, the mark, both ends of the copy, the function."""
    process = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
    yield process, [int(word, 16) for word in process.stdout.readline().split()]
    process.kill()
    process.wait()


def window(thread: stepping.Thread, mark: int) -> stepping.Touched:
    thread.run_to_end_of_a_wait()
    touched = stepping.Touched()
    while thread.registers.rip != mark:
        assert not thread.step(touched)
    return touched


def test_lines_are_those_that_the_program_reads_and_writes_each_once(stepped):
    process, (page, mark, source, target, work) = stepped
    with stepping.Thread(process.pid) as thread:
        window(thread, mark)  # resolves what is bound lazily
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


def test_a_process_that_has_ended_is_an_error_that_names_it(program):
    process = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    process.kill()
    process.wait()
    with pytest.raises((stepping.CannotStep, FileNotFoundError)):
        stepping.Thread(process.pid).__enter__()
