# SPDX-License-Identifier: Apache-2.0
"""What `baton demo` says about reports; the programs behind it run in tests/ and in the README's command."""

from baton_cli.verbs.demo import RECEIVERS, Step, summary


def step(transport: str, p50: float, rate: float, wanted: float = 15) -> Step:
    receiver = {
        "latency_us": {"p50": p50, "p99": 2 * p50, "max": 9 * p50},
        "rate_hz": rate,
        "cpu_us_per_message": p50 / 2,
        "copies": 0,
    }
    camera = {"messages": 10, "copies": 0 if transport == "baton" else 40}
    return Step("720p", transport, wanted, {"camera": camera} | {role: receiver for role in RECEIVERS})


def test_the_summary_gives_the_ratio_of_medians_and_of_tails() -> None:
    lines = summary([step("baton", 50, 15), step("socket", 1000, 15)])
    assert lines == [
        "720p: Baton hands a frame over 20x sooner (p50; p99: 20x), its receivers use 20.0x less CPU per frame, "
        "0 copies instead of 4."
    ]


def test_the_summary_names_the_steps_in_which_the_machine_did_not_keep_up() -> None:
    lines = summary([step("baton", 50, 29, 30), step("socket", 1000, 20, 30)])
    assert "did not keep up in: 720p socket." in lines[-1]
