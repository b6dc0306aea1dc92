# SPDX-License-Identifier: Apache-2.0
"""Calls "switch" twice. A client needs no executor."""

import sys

import baton

node = baton.Node("client")
client = node.client("switch", "std_srvs/SetBool")
if not client.wait_for_service(60):
    sys.exit("client: nobody serves 'switch'")
for _ in range(2):
    response = client.call({"data": True}, timeout=60)
    if response is None:
        sys.exit("client: no answer")
    print(f"{response.success}: {response.message}", flush=True)
