# SPDX-License-Identifier: Apache-2.0
"""What the command `baton` knows of ROS 1: the verb `baton ros1`, and in the other verbs ROS 1's graph (``graph``; baton_cli/middleware.py)."""
