# SPDX-License-Identifier: Apache-2.0
# The ROS 2 distributions for which the RMW is built: those of distributions/<name>.toml that are found. Each has two options:
#   BATON_ROS2_<NAME>_PREFIX       where this ROS 2 is; scripts/setup.sh makes .venv-ros2-<name>
#   BATON_ROS2_<NAME>_INSTALL_DIR  where --install puts the RMW, relative to the prefix or absolute
# With BATON_ROS2_PREFIX the RMW is built for the ROS 2 of that folder alone, and installed in BATON_ROS2_INSTALL_DIR.
# Sets baton_ros2_distributions (names, the default first; "given": that of BATON_ROS2_PREFIX), baton_ros2_places (where ROS 2 was looked for),
# baton_ros2_measured and baton_ros2_measured_prefix (for the laboratory).
if("$CACHE{BATON_ROS2_PREFIX}" STREQUAL "${PROJECT_SOURCE_DIR}/.venv-ros2")
  unset(BATON_ROS2_PREFIX CACHE)  # the default of build folders from before this file, when it was Kilted's
endif()
set(BATON_ROS2_PREFIX "" CACHE PATH "The one ROS 2 to build the RMW for; empty: all of ros2/distributions that are found")
set(BATON_ROS2_INSTALL_DIR "." CACHE STRING "Where --install puts the RMW of BATON_ROS2_PREFIX")

file(GLOB baton_ros2_files CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/distributions/*.toml")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${baton_ros2_files})
set(baton_ros2_distributions "")
set(baton_ros2_places "")
foreach(file IN LISTS baton_ros2_files)
  get_filename_component(name "${file}" NAME_WE)
  string(TOUPPER "${name}" upper)
  file(READ "${file}" text)
  set(BATON_ROS2_${upper}_PREFIX "${PROJECT_SOURCE_DIR}/.venv-ros2-${name}" CACHE PATH "ROS 2 ${name}")
  set(BATON_ROS2_${upper}_INSTALL_DIR "${name}" CACHE STRING "Where --install puts the RMW for ROS 2 ${name}")
  if(text MATCHES "measured = true")
    set(baton_ros2_measured_prefix "${BATON_ROS2_${upper}_PREFIX}")
    set(baton_ros2_measured "${name}")
  endif()
  list(APPEND baton_ros2_places "${BATON_ROS2_${upper}_PREFIX}")
  if(NOT EXISTS "${BATON_ROS2_${upper}_PREFIX}/include/rmw/rmw/rmw.h")
    continue()
  elseif(text MATCHES "default = true")
    list(PREPEND baton_ros2_distributions "${name}")
  else()
    list(APPEND baton_ros2_distributions "${name}")
  endif()
endforeach()

if(BATON_ROS2_PREFIX)
  set(baton_ros2_distributions "")
  set(baton_ros2_places "${BATON_ROS2_PREFIX}")
  set(baton_ros2_measured_prefix "${BATON_ROS2_PREFIX}")
  if(EXISTS "${BATON_ROS2_PREFIX}/include/rmw/rmw/rmw.h")
    set(baton_ros2_distributions given)
    set(baton_ros2_measured given)
  endif()
endif()
