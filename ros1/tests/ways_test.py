# SPDX-License-Identifier: Apache-2.0
"""Ways change while subscribers join and leave: nothing is lost, doubled or reordered. The long version is ways_run.py."""

import ways_run


def test_each_subscriber_gets_each_message_once_and_in_order_while_others_come_and_go(ros):
    ways_run.random_steps(ros, steps=25, seed=1)
