# SPDX-License-Identifier: Apache-2.0
"""No lies: an honest raw peer. If these fail, the others show nothing."""

from raw_peer import Link, Published, Subscribed, image_message
from table import attack


@attack("joins and does nothing", expected="idle")
def joins(stage):
    stage.begin()
    stage.keep(Link(stage.directory, stage.victim))
    return "idle"


@attack("takes and releases as the format says", expected="took 5")
def takes(stage):
    subscribed = stage.keep(Subscribed(Link(stage.directory, stage.victim), "/victim"))
    stage.begin()
    for _ in range(5):
        subscribed.release(subscribed.take())
    return "took 5"


@attack("publishes as the format says", expected="taken True")
def publishes(stage):
    published = stage.keep(Published(Link(stage.directory, stage.victim), "/image"))
    stage.begin()
    for number in range(5):
        published.publish(image_message(bytes([number]) * 1000))
    return f"taken {published.await_taken()}"
