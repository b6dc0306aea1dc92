# SPDX-License-Identifier: Apache-2.0
"""The numbers are those of ros1/domain/domain_test.cpp."""

from baton._ros1_domain import domain_of_master

DEFAULT = "http://localhost:11311 http://127.0.0.1:11311/ http://ROBOT:11311/ robot localhost:11311 http://[::1]:11311 http://:11311"
DOMAINS = dict.fromkeys(DEFAULT.split(), 0) | {
    "http://localhost:11312": 3080,
    "http://127.0.0.1:11312/": 3080,
    "http://base:11311": 4379,
    "http://other": 8978,
}


def test_the_domain_of_a_master_is_that_of_baton_ros1():
    assert {uri: domain_of_master(uri, "Robot") for uri in DOMAINS} == DOMAINS
