# SPDX-License-Identifier: Apache-2.0
"""`baton topic hz`, `bw` and `delay`, against known traffic."""

import io
import json
import re

import pytest
from baton_cli import rates
from rich.console import Console


def test_rate_bandwidth_and_delay_are_measured(baton):
    baton.camera()
    rate = json.loads(baton("topic", "hz", "image", "-n", "20", "--json").splitlines()[-1])
    assert rate["window"] == 20
    assert rate["min_s"] <= 1 / rate["rate_hz"] <= rate["max_s"]
    width = json.loads(baton("topic", "bw", "image", "-n", "10", "--json").splitlines()[-1])
    assert 1_000_000 < width["min"] < 1_001_000
    assert width["bytes_per_s"] > 0
    by_stamp = json.loads(baton("topic", "delay", "image", "-n", "3", "--json").splitlines()[-1])
    assert by_stamp["min_s"] > 1e9  # stamped in 1970
    assert json.loads(baton("topic", "delay", "chatter", "-n", "3", "--json").splitlines()[-1])["min_s"] < 1e6
    assert "average rate" in baton("topic", "hz", "chatter", "-n", "5")


def test_bandwidth_is_printed_in_the_units_of_the_message(baton):
    baton.camera()
    text = baton("topic", "bw", "image", "-n", "10")
    assert re.search(r"message size mean: 1\.00 MB min: 1\.00 MB max: 1\.00 MB", text), text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.00 KB"),
        (921_660, "921.66 KB"),
        (45_158_400, "45.16 MB"),
        (1_500_000_000, "1.50 GB"),
        (2e12, "2000.00 GB"),
    ],
)
def test_bytes_are_printed_with_decimal_units(value, text):
    assert rates.bytes_text(value) == text


def test_rates_of_many_topics_make_one_table(baton):
    baton.camera()
    lines = baton("topic", "hz", "image", "chatter", "-n", "20").splitlines()
    assert lines[1].split() == ["topic", "Hz", "min", "ms", "max", "ms", "std", "dev", "ms", "window"]
    rows = {line.split()[0]: line.split() for line in lines if line.strip().startswith("/")}
    assert set(rows) == {"/image", "/chatter"}
    last = json.loads(baton("topic", "hz", "*ma*", "chatter", "std_msgs/String", "-n", "5", "--json").splitlines()[-1])
    assert sorted(row["topic"] for row in last["topics"]) == ["/chatter", "/image"]
    for row in last["topics"]:
        assert row["min_s"] <= 1 / row["rate_hz"] <= row["max_s"]
        assert row["window"] >= 5
    width = json.loads(baton("topic", "bw", "--all", "-n", "5", "--json").splitlines()[-1])
    (image,) = (row for row in width["topics"] if row["topic"] == "/image")
    assert 1_000_000 < image["mean"] < 1_001_000
    ages = json.loads(baton("topic", "delay", "/ch*", "-n", "2", "--json").splitlines()[-1])
    assert [row["topic"] for row in ages["topics"]] == ["/chatter"]
    assert "name topics or patterns" in baton("topic", "hz", code=2)


def test_rates_are_printed_as_they_were_published():
    class Made(rates.RateMeter):
        def value_of(self, message):
            return message

    steady = Made("/steady", 10)
    for tick in range(0, 500_000_001, 100_000_000):
        steady.on_message(tick)
    text = "average rate: 10.000\n\tmin: 0.100000s max: 0.100000s std dev: 0.000000s window: 6"
    assert steady.text(steady.figures()) == text
    silent = Made("/silent", 10)
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(rates.table([silent, steady], Made.columns))
    assert [line.split() for line in console.export_text().splitlines()[3:5]] == [
        ["/silent", "no", "messages", "yet"],
        ["/steady", "10.000", "100.000", "100.000", "0.000", "6"],
    ]

    class Sized(rates.Width):
        def value_of(self, message):
            return message

    camera = Sized("/camera", 10)
    for tick in range(4):
        camera.on_message((tick * 33_333_333, 921_660))
    assert camera.text(camera.figures()) == (
        "27.65 MB/s from 4 messages\n\tmessage size mean: 921.66 KB min: 921.66 KB max: 921.66 KB"
    )

    class Old(rates.Age):
        def value_of(self, message):
            return message

    late = Old("/late", 10)
    late.on_message(0.25)
    late.on_message(0.75)
    text = "average delay: 0.500000\n\tmin: 0.250000s max: 0.750000s std dev: 0.250000s window: 2"
    assert late.text(late.figures()) == text


def test_a_type_may_stand_behind_each_topic():
    assert rates.wanted(("image", "sensor_msgs/msg/Image", "/b/*", "b/C", "odom/x")) == [
        ("/image", "sensor_msgs/msg/Image"),
        ("/b/*", "b/C"),
        ("/odom/x", None),
    ]
