# SPDX-License-Identifier: Apache-2.0
"""The file with the numbers is that of ros1/domain/domain_test.cpp."""

from baton._ros1_domain import WORDS, domain_of_master
from support.build import ROOT


def test_the_domain_of_a_master_is_that_of_baton_ros1():
    rows = [row.split() for row in (ROOT / "ros1/domain/domains.txt").read_text().splitlines()[1:]]
    assert len(rows) > 10 and rows == [[uri, str(domain_of_master(uri, "Robot"))] for uri, _ in rows]


def test_each_constant_of_the_header_is_read():
    header = (ROOT / "ros1/domain/words.hpp").read_text()
    assert len(WORDS) == header.count("inline constexpr ") > 0
    assert (WORDS["kChannelPart"], WORDS["kInFlight"]) == ("/_tcpros/", 4)
