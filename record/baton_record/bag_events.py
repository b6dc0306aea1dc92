# SPDX-License-Identifier: Apache-2.0
"""Definitions of the events of services. rosbag2 does not write them: it writes the text of the service (.srv) in their place.

Thread rules: pure functions.
"""

from __future__ import annotations

import re

_LINE = "=" * 80
_HEAD = re.compile(r"\A={3,}[ \t]*\nSRV: .*\n")  # rosbag2 writes it before the service's text
_NESTED = re.compile(r"^={3,}\s*$", re.MULTILINE)
_HALVES = re.compile(r"^---\s*$", re.MULTILINE)
_TIME = "builtin_interfaces/Time"
# The first fields of every event (docs/guides/record.md, "Services").
_INFO = f"""{_LINE}
MSG: service_msgs/ServiceEventInfo
uint8 REQUEST_SENT=0
uint8 REQUEST_RECEIVED=1
uint8 RESPONSE_SENT=2
uint8 RESPONSE_RECEIVED=3
uint8 event_type
{_TIME} stamp
uint8[16] client_gid
int64 sequence_number
"""


def definition_of(type_name: str, text: str) -> str:
    """The definition of a type. `text`: the bag's definition, which for the events of a service may be the service's text."""
    of_service = _HEAD.sub("", text)
    end = _NESTED.search(of_service)
    own, nested = (of_service[: end.start()], of_service[end.start() :]) if end else (of_service, "")
    halves = _HALVES.split(own)
    if not type_name.endswith("_Event") or len(halves) != 2:
        return text
    service = type_name.removesuffix("_Event")
    out = (
        f"service_msgs/ServiceEventInfo info\n{service}_Request[<=1] request\n{service}_Response[<=1] response\n{_INFO}"
    )
    for part, half in zip(("Request", "Response"), halves, strict=True):
        out += f"{_LINE}\nMSG: {service}_{part}\n{half.strip()}\n"
    if not re.search(r"^MSG: builtin_interfaces/(msg/)?Time\s*$", nested, re.MULTILINE):
        out += f"{_LINE}\nMSG: {_TIME}\nint32 sec\nuint32 nanosec\n"
    return out + nested
