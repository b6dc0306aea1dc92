# SPDX-License-Identifier: Apache-2.0
"""Reads ROS 1 and ROS 2 interface files and writes Baton's C++ message headers.

Order of the modules (each may import those above it):
``diagnostics``, ``model``, ``dialect``, ``values``, ``parser``, ``packages``, ``equivalence``, ``canonical``, ``split``, ``cpp``, ``golden``.
"""
