#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two cameras in namespaces and a viewer, by ROS 2's launch: `ros2 launch ./robot.launch.py watch:=right`, or this file as a program."""

import sys

from launch import LaunchDescription, LaunchService
from launch.actions import DeclareLaunchArgument, ExecuteProcess, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration


def program(*command, **more):
    return ExecuteProcess(cmd=[*command], output="screen", **more)


def generate_launch_description():
    again = {"respawn": True, "respawn_delay": 1.0}
    return LaunchDescription(
        [
            DeclareLaunchArgument("watch", default_value="left", description="The camera that the viewer shows."),
            program("baton_readme_camera", "--ros-args", "-r", "__ns:=/left", **again),
            program("baton_readme_camera", "--ros-args", "-r", "__ns:=/right", **again),
            program("baton_readme_viewer", "--ros-args", "-r", ["image:=/", LaunchConfiguration("watch"), "/image"]),
        ]
    )


if __name__ == "__main__":
    arguments = [tuple(argument.split(":=", 1)) for argument in sys.argv[1:]]
    service = LaunchService()
    source = PythonLaunchDescriptionSource(__file__)
    service.include_launch_description(IncludeLaunchDescription(source, launch_arguments=arguments))
    sys.exit(service.run())
