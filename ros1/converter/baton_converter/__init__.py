# SPDX-License-Identifier: Apache-2.0
"""Reads C++ sources of ROS 1 programs by clang, and says what happens to their messages (`baton migrate`).

Reading order: compile_commands, parser (libclang), messages (which types are messages), state (what is known at one place of a function),
walk (the statements and expressions of a function), advice (what to write instead), tree (all files of a folder), text and sarif (the
report), rewrite (fix-its).
"""
