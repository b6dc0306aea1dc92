# SPDX-License-Identifier: Apache-2.0
"""The files are those of the tests of C++: ros1/domain/domain_test.cpp and ros1/api/src/by_bytes_test.cpp."""

import sys

import pytest
from baton._ros1_domain import WORDS, domain_of_master, follows, read_follows, read_trailer, trailer
from support.build import ROOT


def test_the_domain_of_a_master_is_that_of_baton_ros1_and_each_constant_of_the_header_is_read():
    rows = [row.split() for row in (ROOT / "ros1/domain/domains.txt").read_text().splitlines()[1:]]
    assert len(rows) > 10 and rows == [[uri, str(domain_of_master(uri, "Robot"))] for uri, _ in rows]
    header = (ROOT / "ros1/domain/words.hpp").read_text()
    assert len(WORDS) == header.count("inline constexpr ") > 0
    assert (WORDS["kChannelPart"], WORDS["kInFlight"]) == ("/_tcpros/", 4)


@pytest.mark.skipif(sys.byteorder == "big", reason="the file is of a little-endian machine")
def test_the_words_of_messages_that_baton_cannot_carry_are_those_of_baton_ros1():
    rows = [row.split() for row in (ROOT / "ros1/domain/by_bytes.txt").read_text().splitlines()[2:]]
    for publisher, number, behind, attachment in rows:
        publisher, number = bytes.fromhex(publisher), int(number, 16)
        assert (trailer(publisher, number).hex(), follows(number).hex()) == (behind, attachment)
        assert read_trailer(b"message" + bytes.fromhex(behind)) == (publisher, number)
        assert read_follows(bytes.fromhex(attachment)) == number
    assert len(rows) > 1
    assert read_trailer(b"Batonby1") is None and read_trailer(b"x" * 64) is None and read_follows(b"x" * 16) == 0
