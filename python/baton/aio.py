# SPDX-License-Identifier: Apache-2.0
"""Subscriptions and clients in an asyncio event loop, which waits on their descriptors: no thread, no polling."""

from __future__ import annotations

from ._node import call, messages

__all__ = ["call", "messages"]
