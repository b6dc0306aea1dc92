# SPDX-License-Identifier: Apache-2.0
"""Every type of the installed message packages arrives unchanged, as a message and serialized, over each path."""

import re

import pytest


@pytest.mark.parametrize(("writer", "reader"), [("baton", "baton"), ("plain", "baton"), ("baton", "plain")])
def test_every_type_arrives_unchanged(processes, writer, reader):
    sender = processes.start(writer, "send", "2", file="every_type.py")
    hearers = [processes.start(reader, "hear", kind, file="every_type.py") for kind in ("native", "raw")]
    heard = [processes.result(hearer) for hearer in hearers]
    sent = processes.result(sender)
    assert sent["sent"] >= 100
    for each in heard:
        assert each["got"] == sent["sent"] and each["wrong"] == []
    if (writer, reader) == ("baton", "baton"):
        through = [int(n) for n in re.findall(r"publisher of \S+: (\d+) messages through Baton", sent["log"])]
        assert sum(through) >= sent["sent"] * 0.9
