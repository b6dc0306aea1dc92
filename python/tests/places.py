# SPDX-License-Identifier: Apache-2.0
"""Where an array physically lies: (inode, offset) of the file behind its address, the same in every process that sees it."""

from __future__ import annotations


def place_of(array):
    wanted = array.ctypes.data
    with open("/proc/self/maps") as maps:
        for line in maps:
            addresses, _, offset, _, inode, *_ = line.split()
            begin, end = (int(a, 16) for a in addresses.split("-"))
            if begin <= wanted < end:
                return inode, int(offset, 16) + wanted - begin
    return None
