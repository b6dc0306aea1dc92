# SPDX-License-Identifier: Apache-2.0
"""Serves "switch". The response is filled in shared memory. Ctrl-C ends it."""

import baton

state = {"on": False}


def switch(request, response):
    response.success = state["on"] != request.data
    response.message = "switched" if response.success else "nothing to do"
    state["on"] = request.data


node = baton.Node("server")
service = node.serve("switch", "std_srvs/SetBool", switch)
try:
    baton.spin(node)
except KeyboardInterrupt:
    pass
