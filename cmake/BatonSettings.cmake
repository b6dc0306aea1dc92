# SPDX-License-Identifier: Apache-2.0
# Compiler settings of the whole build: standard, default build type, ccache, sanitizers, test frameworks.
include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Not PATH, whose relative values the command line makes absolute. Debian's packages use lib/python3/dist-packages.
set(BATON_PYTHON_INSTALL_DIR "${CMAKE_INSTALL_LIBDIR}/baton/python" CACHE STRING
  "Where --install puts the Python packages, relative to the prefix")
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# Installed programs find the libraries beside them wherever the prefix is moved.
if(NOT DEFINED CMAKE_INSTALL_RPATH)
  set(CMAKE_INSTALL_RPATH "$ORIGIN;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
endif()

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(BATON_CCACHE ccache)
  mark_as_advanced(BATON_CCACHE)
  if(BATON_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${BATON_CCACHE}")
    set(CMAKE_C_COMPILER_LAUNCHER "${BATON_CCACHE}")
  endif()
endif()

set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)  # a project around this one links what links it
find_package(Threads REQUIRED)
unset(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL)

# The generator's Python packages are in the repository's .venv (make setup).
if(NOT Python3_EXECUTABLE AND EXISTS "${PROJECT_SOURCE_DIR}/.venv/bin/python")
  set(Python3_EXECUTABLE "${PROJECT_SOURCE_DIR}/.venv/bin/python" CACHE FILEPATH "Python with the packages of requirements.txt")
endif()

if(BATON_SANITIZE)
  add_compile_options(-fsanitize=${BATON_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BATON_SANITIZE})
  if(BATON_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
    # Its check of vtable pointers opens a pipe to see whether memory can be read; in a process that has no descriptor left it
    # calls every object invalid, and having no descriptor left is what some tests are about.
    add_compile_options(-fno-sanitize=vptr)
  endif()
  if(BATON_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc warns at every atomic_thread_fence, which TSan does not model; each fence's pairing is covered
    # by the interleaving explorer instead.
    add_compile_options(-Wno-tsan)
  endif()
endif()
if(BATON_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()
if(BATON_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "BATON_FUZZ needs clang: configure with the preset 'fuzz' or -DCMAKE_CXX_COMPILER=clang++")
  endif()
  # Instruments everything; the fuzz executables themselves link with -fsanitize=fuzzer (baton_fuzzer()).
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
if(BATON_CRASH_POINTS)
  add_compile_definitions(BATON_CRASH_POINTS=1)
endif()

if(BATON_TESTS OR BATON_FUZZ)
  enable_testing()
  include(GoogleTest)
  if(CMAKE_CROSSCOMPILING)
    # A foreign architecture has no prebuilt googletest: build Debian's sources.
    set(INSTALL_GTEST OFF)
    add_subdirectory(/usr/src/googletest "${PROJECT_BINARY_DIR}/googletest" EXCLUDE_FROM_ALL)
    if(NOT TARGET GTest::gtest_main)
      add_library(GTest::gtest ALIAS gtest)
      add_library(GTest::gtest_main ALIAS gtest_main)
    endif()
  else()
    find_package(GTest REQUIRED)
  endif()
  # Property tests: rooms write `if(TARGET baton_rapidcheck)`; absent when cross-compiling.
  if(NOT CMAKE_CROSSCOMPILING)
    find_path(BATON_RAPIDCHECK_INCLUDE rapidcheck.h)
    find_library(BATON_RAPIDCHECK_LIBRARY rapidcheck)
    mark_as_advanced(BATON_RAPIDCHECK_INCLUDE BATON_RAPIDCHECK_LIBRARY)
    if(BATON_RAPIDCHECK_INCLUDE AND BATON_RAPIDCHECK_LIBRARY)
      add_library(baton_rapidcheck INTERFACE)
      target_include_directories(baton_rapidcheck SYSTEM INTERFACE "${BATON_RAPIDCHECK_INCLUDE}")
      target_link_libraries(baton_rapidcheck INTERFACE "${BATON_RAPIDCHECK_LIBRARY}")
      target_compile_definitions(baton_rapidcheck INTERFACE BATON_HAS_RAPIDCHECK=1)
    endif()
  endif()
endif()
