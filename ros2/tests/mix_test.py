# SPDX-License-Identifier: Apache-2.0
"""The short version of mix_run.py: rclpy processes with libbaton_heap.so among ones without it that are killed at random."""

import signal

from mix_run import Mix, allow_cores

SECONDS = 12


def test_processes_with_the_heap_library_stay_well_among_ones_that_are_killed(tmp_path):
    allow_cores()
    mix = Mix("heap", seed=1, cores=tmp_path)
    try:
        mix.run(SECONDS)
    finally:
        mix.close()
    assert not mix.faults
    assert mix.counts["heap ended"] >= 2 and mix.counts["victim killed"] >= 1, mix.counts


def test_a_process_that_dies_is_a_fault_of_the_mix(tmp_path, capfd):
    mix = Mix("heap", seed=1, cores=tmp_path, staying=1, victims=0)
    try:
        mix.step()
        (_, life) = mix.lives[0]
        life.process.send_signal(signal.SIGSEGV)
        life.process.wait()
        mix.wanted = []
        mix.step()
    finally:
        mix.close()
    assert mix.faults == [life.name] and f"{life.name} (heap) died with -11" in capfd.readouterr().out
