# SPDX-License-Identifier: Apache-2.0
"""The verbs that this room brings to the command baton."""
