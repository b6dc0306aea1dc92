# SPDX-License-Identifier: Apache-2.0
# C++ headers from ROS 1 and ROS 2 interface files.
#
#   baton_generate_messages(<target>
#     [PACKAGES <package>...]   everything in these packages, e.g. sensor_msgs
#     [TYPES <type>...]         single types, e.g. sensor_msgs/Image or std_srvs/srv/SetBool
#     [FILES <file>...]         .msg and .srv files of PACKAGE
#     [PACKAGE <name>]          the package of FILES; default: the project's name
#     [SEARCH <dir>...]         directories that contain packages; before an installed ROS and the standard sets
#     [STANDARD <set>]          standard set for packages found nowhere else; default ros2_kilted
#     [DIALECT ros1|ros2]       read every file as this dialect instead of recognising it
#     [ROS1])                   also <baton/ros1/sensor_msgs/image.hpp>, which names roscpp's type of the same message, for
#                               baton::ros1 (docs/guides/ros1.md); its users include roscpp's generated headers
#
#   baton_ros1_messages(<target>
#     [PACKAGES | TYPES | FILES | PACKAGE | SEARCH ...]   as above; STANDARD is ros1_noetic
#     [HEADERS <dir>...])       include directories with ROS 1's headers of these messages; default: those of roscpp and catkin.
#                               Definitions are looked for beside them, too: in <dir>/../share. A message with a file needs no header
#
# writes <sensor_msgs/Image.h> and so on for recompiled ROS 1 programs (docs/guides/ros1.md). A program that links <target>
# has messages in shared memory without a change of its source; its include directories begin with Baton's. Needs
# find_package(roscpp) (or of catkin with it) and find_package(baton COMPONENTS ros1) before it. A build of everything checks each executable and shared library that links
# <target> (`baton migrate check`; of one program: its target <program>_recompiled_check): it fails if it shares a class, a function or a variable that has messages inside with a library that was
# compiled with ROS's own. -DBATON_ROS1_CHECK=OFF switches that off.
#
# baton_generate_messages defines the INTERFACE library <target>: its include directory, and baton's message library. What is included as
# <baton/msg/sensor_msgs/image.hpp> also brings every type it contains. Headers lie below
# <binary dir>/<target>/include. A changed interface file, also one that another merely contains, or a file added to a
# package rebuilds what includes its header; headers whose text stays alike are left alone. The target's property
# BATON_HEADERS lists them.
#
# Needs Python 3.10 with jinja2, and in a source tree rosbags for the standard sets. Python is chosen by BATON_PYTHON, else the
# .venv of Baton's source tree, else the first on the path, else the one that Baton was built with.

# Where the Python package lies: an installation's batonConfig.cmake says so; in the source tree above this file's directory.
if(BATON_GENERATOR_OF_INSTALLATION)
  set(BATON_GENERATOR_DIR "${BATON_GENERATOR_OF_INSTALLATION}" CACHE INTERNAL "")
else()
  get_filename_component(generator_dir "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
  set(BATON_GENERATOR_DIR "${generator_dir}" CACHE INTERNAL "")
endif()

# Sets BATON_PYTHON to an interpreter that can run the generator; `found` to whether there is one.
function(baton_find_generator found)
  baton_find_python(BATON_PYTHON "import jinja2, baton_generator.standard_sets as s; s.names()" why)
  set(${found} OFF PARENT_SCOPE)
  if(BATON_PYTHON)
    set(${found} ON PARENT_SCOPE)
  endif()
endfunction()

# Sets the cache variable `python` to an interpreter that runs `program` without an error; else `why` to the last error.
function(baton_find_python python program why)
  set(candidates "${${python}}")
  if(NOT ${python})
    find_package(Python3 3.10 COMPONENTS Interpreter QUIET)
    set(candidates
      "${BATON_PYTHON}" "${BATON_GENERATOR_DIR}/../.venv/bin/python" "${Python3_EXECUTABLE}" "${BATON_PYTHON_OF_BUILD}" /usr/bin/python3)
  endif()
  set(error "")
  foreach(candidate IN LISTS candidates)
    if(candidate AND EXISTS "${candidate}")
      execute_process(
        COMMAND "${CMAKE_COMMAND}" -E env "PYTHONPATH=${BATON_GENERATOR_DIR}" PYTHONDONTWRITEBYTECODE=1 "${candidate}" -c "${program}"
        RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE error)
      if(NOT failed)
        set(${python} "${candidate}" CACHE FILEPATH "Python that runs Baton's tools")
        return()
      endif()
    endif()
  endforeach()
  unset(${python} CACHE)
  string(REGEX REPLACE ".*\n([^\n]+)\n?$" "\\1" error "${error}")
  set(${why} "${error}" PARENT_SCOPE)
endfunction()

function(baton_generate_messages target)
  cmake_parse_arguments(GENERATE "ROS1" "PACKAGE;STANDARD;DIALECT" "PACKAGES;TYPES;FILES;SEARCH;RECOMPILED" ${ARGN})
  if(GENERATE_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "baton_generate_messages(${target}): unknown arguments: ${GENERATE_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT GENERATE_PACKAGES AND NOT GENERATE_TYPES AND NOT GENERATE_FILES)
    message(FATAL_ERROR "baton_generate_messages(${target}): nothing to generate; give PACKAGES, TYPES or FILES")
  endif()
  baton_find_generator(found)
  if(NOT found)
    message(FATAL_ERROR
      "baton_generate_messages(${target}): no Python that can import jinja2 (and rosbags, in Baton's source tree; tried: ${BATON_PYTHON} ${Python3_EXECUTABLE}).\n"
      "Way out: run `make setup` in Baton's source tree, or `pip install jinja2 rosbags` and set -DBATON_PYTHON=<that python>.")
  endif()
  if(NOT GENERATE_PACKAGE)
    set(GENERATE_PACKAGE "${PROJECT_NAME}")
  endif()

  set(root "${CMAKE_CURRENT_BINARY_DIR}/${target}")
  set(arguments --output "${root}/include")
  foreach(package IN LISTS GENERATE_PACKAGES)
    list(APPEND arguments --package "${package}")
  endforeach()
  foreach(type IN LISTS GENERATE_TYPES)
    list(APPEND arguments --type "${type}")
  endforeach()
  foreach(file IN LISTS GENERATE_FILES)
    get_filename_component(file "${file}" ABSOLUTE)
    list(APPEND arguments --file "${GENERATE_PACKAGE}:${file}")
  endforeach()
  foreach(directory IN LISTS GENERATE_SEARCH)
    get_filename_component(directory "${directory}" ABSOLUTE)
    list(APPEND arguments --search "${directory}")
  endforeach()
  if(GENERATE_STANDARD)
    list(APPEND arguments --standard "${GENERATE_STANDARD}")
  endif()
  if(GENERATE_DIALECT)
    list(APPEND arguments --dialect "${GENERATE_DIALECT}")
  endif()
  if(GENERATE_ROS1)
    list(APPEND arguments --ros1)
  endif()
  set(ros1_path "$ENV{ROS_PACKAGE_PATH}")
  foreach(directory IN LISTS GENERATE_RECOMPILED)  # for baton_ros1_messages
    list(APPEND arguments --recompiled "${directory}")
    # Where ROS 1 installs the definitions of what has its headers there; Debian's ROS has no ROS_PACKAGE_PATH.
    get_filename_component(share "${directory}/../share" ABSOLUTE)
    if(IS_DIRECTORY "${share}")
      string(APPEND ros1_path ":${share}")
    endif()
  endforeach()
  # The environment of the configuring shell (a sourced ROS) also decides what the build finds.
  set(command "${CMAKE_COMMAND}" -E env "PYTHONPATH=${BATON_GENERATOR_DIR}" "PYTHONDONTWRITEBYTECODE=1"
    "AMENT_PREFIX_PATH=$ENV{AMENT_PREFIX_PATH}" "ROS_PACKAGE_PATH=${ros1_path}"
    "${BATON_PYTHON}" -m baton_generator ${arguments})

  # Which headers there will be, and from which files, is known when CMake runs; it runs again when one of those changes,
  # since a changed file may name new types. So the lists are never stale.
  file(MAKE_DIRECTORY "${root}/include")
  execute_process(COMMAND ${command} --list "${root}/lists.cmake" RESULT_VARIABLE failed ERROR_VARIABLE diagnostics)
  # An error in an interface file must not keep CMake from noticing that it is mended.
  set(watched ${GENERATE_FILES})
  if(failed)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${watched})
    message(NOTICE "${diagnostics}")  # not part of the error, whose lines CMake would break anew
    message(FATAL_ERROR "baton_generate_messages(${target}): the interface files above have errors")
  endif()
  include("${root}/lists.cmake")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${baton_inputs} ${baton_watched})

  file(GLOB generator_files
    "${BATON_GENERATOR_DIR}/baton_generator/*.py" "${BATON_GENERATOR_DIR}/baton_generator/templates/*.j2")
  # Headers keep their time stamp when their text stays alike, so a stamp file tells the build tool that the command ran.
  add_custom_command(
    OUTPUT "${root}/generated.stamp"
    BYPRODUCTS ${baton_outputs}
    COMMAND ${command}
    COMMAND "${CMAKE_COMMAND}" -E touch "${root}/generated.stamp"
    DEPENDS ${baton_inputs} ${generator_files} "${root}/lists.cmake"
    COMMENT "Generating messages of ${target}"
    VERBATIM)
  add_custom_target(${target}_generate DEPENDS "${root}/generated.stamp")

  add_library(${target} INTERFACE)
  add_dependencies(${target} ${target}_generate)
  target_include_directories(${target} INTERFACE "${root}/include")
  target_link_libraries(${target} INTERFACE baton::message)
  set_property(TARGET ${target} PROPERTY BATON_HEADERS ${baton_outputs})
endfunction()

function(baton_ros1_messages target)
  cmake_parse_arguments(RECOMPILED "" "" "PACKAGES;TYPES;FILES;PACKAGE;SEARCH;HEADERS" ${ARGN})
  if(RECOMPILED_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "baton_ros1_messages(${target}): unknown arguments: ${RECOMPILED_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT TARGET baton::ros1_recompiled)
    message(FATAL_ERROR "baton_ros1_messages(${target}): no baton::ros1_recompiled; write find_package(baton REQUIRED COMPONENTS ros1)")
  endif()
  if(NOT RECOMPILED_HEADERS)
    find_path(baton_ros1_headers std_msgs/Header.h PATHS ${catkin_INCLUDE_DIRS} ${roscpp_INCLUDE_DIRS} /opt/ros/noetic/include)
    mark_as_advanced(baton_ros1_headers)
    set(RECOMPILED_HEADERS ${catkin_INCLUDE_DIRS} ${roscpp_INCLUDE_DIRS})
    if(baton_ros1_headers)
      list(APPEND RECOMPILED_HEADERS "${baton_ros1_headers}")
    endif()
    list(REMOVE_DUPLICATES RECOMPILED_HEADERS)
  endif()
  set(arguments "")
  foreach(name IN ITEMS PACKAGES TYPES FILES PACKAGE SEARCH)
    if(RECOMPILED_${name})
      list(APPEND arguments ${name} ${RECOMPILED_${name}})
    endif()
  endforeach()
  baton_generate_messages(${target} ${arguments} STANDARD ros1_noetic RECOMPILED ${RECOMPILED_HEADERS})
  get_target_property(is_imported baton::ros1_recompiled IMPORTED)
  if(is_imported)  # roscpp follows the library on the linker's line, whatever order the program names them in
    target_link_libraries(baton::ros1_recompiled INTERFACE ${catkin_LIBRARIES} ${roscpp_LIBRARIES})
    # So do the libraries that its stock side calls. A program that does not use one of them is not linked with it.
    get_property(stock_libraries TARGET baton::ros1_recompiled PROPERTY BATON_STOCK_LIBRARIES)
    foreach(library IN LISTS stock_libraries)
      find_library(baton_stock_${library}_library "${library}" PATHS /opt/ros/noetic/lib)
      mark_as_advanced(baton_stock_${library}_library)
      if(baton_stock_${library}_library)
        target_link_libraries(baton::ros1_recompiled INTERFACE
          "-Wl,--push-state,--as-needed,${baton_stock_${library}_library},--pop-state")
      endif()
    endforeach()
    option(BATON_ROS1_CHECK "Recompiled ROS 1 programs are checked for libraries with ROS's own messages inside" ON)
  endif()
  get_property(recompiled GLOBAL PROPERTY BATON_RECOMPILED)
  if(NOT recompiled)
    cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL baton_put_recompiled_headers_first)
    if(BATON_ROS1_CHECK)
      cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL baton_check_recompiled_programs)
    endif()
  endif()
  set_property(GLOBAL APPEND PROPERTY BATON_RECOMPILED "${target}")
  target_link_libraries(${target} INTERFACE baton::ros1_recompiled)
endfunction()

# Puts Baton's headers before those of the target's own include_directories(), which are ROS's in a catkin package. Runs when all
# targets are known.
function(baton_put_recompiled_headers_first)
  baton_targets_of_project(targets)
  set(used "")
  foreach(target IN LISTS targets)
    get_target_property(type "${target}" TYPE)
    if(type MATCHES "^(EXECUTABLE|(STATIC|SHARED|MODULE|OBJECT)_LIBRARY)$")
      baton_messages_of("${target}" messages)
      list(APPEND used ${messages})
      list(TRANSFORM messages REPLACE "(.+)" "$<TARGET_PROPERTY:\\1,INTERFACE_INCLUDE_DIRECTORIES>")
      get_target_property(directories "${target}" INCLUDE_DIRECTORIES)
      if(directories)
        list(APPEND messages ${directories})
      endif()
      set_property(TARGET "${target}" PROPERTY INCLUDE_DIRECTORIES "${messages}")
    endif()
  endforeach()
  get_property(recompiled GLOBAL PROPERTY BATON_RECOMPILED)
  foreach(messages IN LISTS recompiled)
    if(NOT messages IN_LIST used)
      message(WARNING "baton_ros1_messages(${messages}): no target links ${messages}, so no program is recompiled with it.\n"
        "Way out: target_link_libraries(<program> ${messages} ...) for each program and library that is to be recompiled.")
    endif()
  endforeach()
endfunction()

# Sets `found` to the targets of baton_ros1_messages whose headers a target is compiled with.
function(baton_messages_of target found)
  get_property(messages GLOBAL PROPERTY BATON_RECOMPILED)
  set(part "${target}")
  set(name LINK_LIBRARIES)
  set(todo "")
  set(seen "")
  set(result "")
  while(part)
    get_target_property(entries "${part}" ${name})
    set(name INTERFACE_LINK_LIBRARIES)
    if(entries)
      string(REGEX REPLACE "[$]<LINK_ONLY:[^>]*>" "" entries "${entries}")  # linked, and not compiled with
      string(REGEX REPLACE "[$]<[A-Za-z_]*:?|>:?|," ";" entries "${entries}")
      list(APPEND todo ${entries})
    endif()
    set(part "")
    while(todo AND NOT part)
      list(POP_FRONT todo next)
      if(next IN_LIST messages)
        list(APPEND result "${next}")
      elseif(TARGET "${next}" AND NOT next IN_LIST seen)
        list(APPEND seen "${next}")
        set(part "${next}")
      endif()
    endwhile()
  endwhile()
  list(REMOVE_DUPLICATES result)
  set(${found} "${result}" PARENT_SCOPE)
endfunction()

function(baton_targets_of_project found)
  set(result "")
  set(directories "${CMAKE_SOURCE_DIR}")
  while(directories)
    list(POP_FRONT directories directory)
    get_property(inner DIRECTORY "${directory}" PROPERTY SUBDIRECTORIES)
    list(APPEND directories ${inner})
    get_property(targets DIRECTORY "${directory}" PROPERTY BUILDSYSTEM_TARGETS)
    list(APPEND result ${targets})
  endwhile()
  set(${found} "${result}" PARENT_SCOPE)
endfunction()

# Adds the check to all programs of the project. Runs when all of them are known.
function(baton_check_recompiled_programs)
  if(CMAKE_CROSSCOMPILING OR NOT CMAKE_GENERATOR MATCHES "Make|Ninja")
    message(WARNING "recompiled programs are not checked for libraries with ROS's own messages inside: ${CMAKE_GENERATOR} writes no "
      "compile commands, or the programs are for another machine. -DBATON_ROS1_CHECK=OFF says that you know.")
    return()
  endif()
  baton_find_python(BATON_PYTHON_OF_CHECK "import click; from baton_converter.parser import Parser; Parser()" why)
  if(NOT BATON_PYTHON_OF_CHECK)
    message(WARNING "recompiled programs are not checked for libraries with ROS's own messages inside: no Python has libclang (${why}).\n"
      "Way out: apt-get install baton-tools python3-clang-14 libclang-common-14-dev; or -DBATON_ROS1_CHECK=OFF, which says that you know.")
    return()
  endif()
  baton_targets_of_project(targets)
  foreach(program IN LISTS targets)
    get_target_property(type "${program}" TYPE)
    if(type MATCHES "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)$")
      baton_recompiled_parts("${program}" parts stock)
      if(parts)
        set_property(TARGET ${parts} PROPERTY EXPORT_COMPILE_COMMANDS ON)
        list(TRANSFORM parts PREPEND "--target=")
        list(TRANSFORM stock REPLACE "(.+)" "--archive=$<TARGET_FILE:\\1>")
        set(stamp "${CMAKE_BINARY_DIR}/CMakeFiles/${program}_recompiled_check.stamp")
        add_custom_command(
          OUTPUT "${stamp}"
          COMMAND "${CMAKE_COMMAND}" -E env "PYTHONPATH=${BATON_GENERATOR_DIR}" PYTHONDONTWRITEBYTECODE=1
            "${BATON_PYTHON_OF_CHECK}" -m baton_converter check "$<TARGET_FILE:${program}>" --build "${CMAKE_BINARY_DIR}" ${parts} ${stock}
          COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
          DEPENDS "${program}" "$<TARGET_FILE:${program}>"
          COMMENT "Checking ${program} for libraries with ROS's own messages inside"
          VERBATIM)
        get_target_property(is_excluded "${program}" EXCLUDE_FROM_ALL)
        get_target_property(directory "${program}" SOURCE_DIR)
        get_property(is_folder_excluded DIRECTORY "${directory}" PROPERTY EXCLUDE_FROM_ALL)
        set(all ALL)
        if(is_excluded OR is_folder_excluded)  # `all` does not build it
          set(all "")
        endif()
        add_custom_target(${program}_recompiled_check ${all} DEPENDS "${stamp}")
      endif()
    endif()
  endforeach()
endfunction()

# Sets `parts` to the targets of this project that are linked into `program` and were compiled with recompiled messages, itself
# included, to nothing if there is none; and `stock` to the static libraries of the project inside it that were not.
function(baton_recompiled_parts program parts stock)
  baton_linked_targets("${program}" all messages_of_program)
  set(compiled "")
  set(others "")
  foreach(part IN LISTS all)
    get_target_property(type "${part}" TYPE)
    get_target_property(is_imported "${part}" IMPORTED)
    if(NOT is_imported AND (part STREQUAL program OR type MATCHES "^(STATIC|OBJECT)_LIBRARY$"))
      baton_linked_targets("${part}" inner has_messages)
      if(has_messages)
        list(APPEND compiled "${part}")
      elseif(type STREQUAL "STATIC_LIBRARY")
        list(APPEND others "${part}")
      endif()
    endif()
  endforeach()
  set(${parts} "${compiled}" PARENT_SCOPE)
  set(${stock} "${others}" PARENT_SCOPE)
endfunction()

# Sets `all` to the targets that a target is made of, itself included; `has_messages` to whether it is compiled with messages of
# baton_ros1_messages.
function(baton_linked_targets target all has_messages)
  get_property(messages GLOBAL PROPERTY BATON_RECOMPILED)
  set(todo "${target}")
  set(seen "")
  set(found OFF)
  while(todo)
    list(POP_FRONT todo part)
    if(NOT TARGET "${part}")
      continue()
    endif()
    get_target_property(aliased "${part}" ALIASED_TARGET)
    if(aliased)
      set(part "${aliased}")
    endif()
    if(part IN_LIST seen)
      continue()
    endif()
    if(part IN_LIST messages)
      set(found ON)
      continue()
    endif()
    list(APPEND seen "${part}")
    get_target_property(type "${part}" TYPE)
    get_target_property(is_imported "${part}" IMPORTED)
    set(names INTERFACE_LINK_LIBRARIES)  # what a shared library uses for itself is not for its users
    if(part STREQUAL target OR (NOT is_imported AND type MATCHES "^(STATIC|OBJECT)_LIBRARY$"))
      list(APPEND names LINK_LIBRARIES SOURCES)  # SOURCES: $<TARGET_OBJECTS:...>
    endif()
    foreach(name IN LISTS names)
      get_target_property(entries "${part}" ${name})
      if(entries)
        # Of $<BUILD_INTERFACE:x>, $<$<CONFIG:Release>:x> and the like, each word: what is a target counts.
        string(REGEX REPLACE "[$]<[A-Za-z_]*:?|>:?|," ";" entries "${entries}")
        list(APPEND todo ${entries})
      endif()
    endforeach()
  endwhile()
  set(${all} "${seen}" PARENT_SCOPE)
  set(${has_messages} ${found} PARENT_SCOPE)
endfunction()
