# SPDX-License-Identifier: Apache-2.0
"""The verb that this room brings to the command baton."""
