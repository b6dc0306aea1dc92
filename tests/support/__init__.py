# SPDX-License-Identifier: Apache-2.0
"""Code that the Python tests of every room share. It knows no room: only where things are built, processes, waiting, and names and numbers
that one test has at a time. pyproject.toml puts it on pytest's path; a script adds the folder `tests` itself.

    build       where the tree under test is, and what of it is built
    waiting     until(): waits for what a test means
    processes   programs that a test starts, speaks to by lines, and ends
    claims      ROS domains and TCP ports that no other test has
    ros2        the ROS 2 installations of `make setup`, and the environment of their programs

The headers beside these modules are for tests in C++. Code that only one room's tests share lies in that room's `tests` folder.
"""
