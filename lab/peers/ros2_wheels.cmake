# SPDX-License-Identifier: Apache-2.0
# C++ programs against ROS 2's wheels: headers, libraries and the libraries that the wheels carry. They are those of the distribution that the
# laboratory measures (ros2/distributions/).

set(BATON_ROS2_PREFIX "${baton_ros2_measured_prefix}")
file(GLOB baton_ros2_carried "${BATON_ROS2_PREFIX}/lib/python3*/site-packages/ros_*.libs")

# baton_ros2_peer_ready(<out> <header> <library>...): are they there?
function(baton_ros2_ready out header)
  set(${out} OFF PARENT_SCOPE)
  if(NOT EXISTS "${BATON_ROS2_PREFIX}/include/${header}")
    return()
  endif()
  foreach(library IN LISTS ARGN)
    if(NOT EXISTS "${BATON_ROS2_PREFIX}/lib/lib${library}.so")
      return()
    endif()
  endforeach()
  set(${out} ON PARENT_SCOPE)
endfunction()

# baton_link_ros2(<target> <library>...)
function(baton_link_ros2 target)
  list(TRANSFORM ARGN REPLACE "(.+)" "${BATON_ROS2_PREFIX}/lib/lib\\1.so" OUTPUT_VARIABLE libraries)
  target_link_libraries(${target} PRIVATE ${libraries})
  set(folders "${BATON_ROS2_PREFIX}/lib" ${baton_ros2_carried})
  set_target_properties(${target} PROPERTIES BUILD_RPATH "${folders}" INSTALL_RPATH "${folders}")
  # The wheels' libraries find each other through the program's DT_RPATH; the newer DT_RUNPATH does not reach theirs. Some name
  # Python's libraries without need.
  target_link_options(${target} PRIVATE LINKER:--disable-new-dtags LINKER:--as-needed LINKER:--allow-shlib-undefined)
endfunction()

# baton_ros2_middleware(<target>): where peers/ros2/middleware.cpp finds rmw_baton_cpp; empty if it is not built.
function(baton_ros2_middleware target)
  set(rmw "")
  set(heap "")
  get_property(measured GLOBAL PROPERTY BATON_ROS2_MEASURED_RMW)
  if(measured)
    set(rmw "$<TARGET_FILE:${measured}>")
    set(heap "$<TARGET_FILE:baton_heap>")
    add_dependencies(${target} ${measured} baton_heap)
  endif()
  list(JOIN baton_ros2_carried ":" carried)
  target_compile_definitions(${target} PRIVATE BATON_RMW_LIBRARY="${rmw}" BATON_HEAP_LIBRARY="${heap}"
    BATON_ROS2_LIBRARIES="${BATON_ROS2_PREFIX}/lib:${carried}")
endfunction()
