# SPDX-License-Identifier: Apache-2.0
"""A node with a link of its own: prints the messages of another host. listener.py [PORT [PEER...]]"""

import sys

import baton
from baton.msg.std_msgs import String

port = int(sys.argv[1]) if len(sys.argv) > 1 else None
with baton.Link(sys.argv[2:], port=port) as link:
    node = baton.Node("listener")
    for message in node.subscribe("chatter", String):
        print(f"{message.data} (from {', '.join(h.name for h in link.state().hosts if h.connected)})", flush=True)
