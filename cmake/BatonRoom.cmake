# SPDX-License-Identifier: Apache-2.0
# How a room is declared.
#
#   baton_room(<name>
#     [SOURCES <file>...]        none: a header-only room (INTERFACE library)
#     [HEADERS_DIR <dir>]        public headers; default include/ if it exists
#     [DEPENDS <room>...]        rooms this one may use (PUBLIC)
#     [LIBS <target>...]         other libraries (PRIVATE, or INTERFACE for a header-only room)
#     [TESTS <file>...]          one gtest executable <name>_tests
#     [TEST_DEPENDS <x>...]      room names or targets for the tests; unknown optional ones are skipped
#     [NO_INSTALL])              a static library, not part of the installed package: what is installed and links it contains it
#
# defines target baton_<name>, alias baton::<name>, its installation, and its tests. The installed rooms are one library,
# libbaton: a process that wakes up cold pays for every page, and one library keeps what runs for each message on few. Linking
# a room still gives only the headers of that room and of those before it. baton_<name>_objects is what compiles it.
#
#   baton_test(<name> SOURCES <file>... [DEPENDS <x>...] [TIMEOUT <s>] [LABELS <l>...] [SERIAL])
#
# makes one more gtest executable (slow or multi-process tests are kept apart so that the unit tests stay quick);
# LABELS default to "unit". Tests labelled "unit" also run under TSan and under qemu-user: a test that forks and
# execs, counts system calls or measures anything wears another label ("process", "count", "measure"); "house" is
# where no code of the build runs: what the compiler refuses. "pure" says that
# everything happens in one thread: under qemu-user, but not under TSan. The targets unit_tests and pure_tests build them, unit_tests_of_rooms
# those "unit" tests of the rooms with shared memory or threads (scripts/sanitize.sh --rooms).
#
#   baton_fuzzer(<name> SOURCES <file>... [DEPENDS <x>...] [SEEDS <dir>])
#
# makes a libFuzzer executable <name> when BATON_FUZZ is on; scripts/fuzz.sh finds it in bin/fuzz.

function(baton_warnings target)
  set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc 12 reports these falsely in inlined standard-library code at -O2 and above.
    list(APPEND warnings -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-maybe-uninitialized -Wno-restrict)
  else()
    list(APPEND warnings -Wno-gnu-zero-variadic-macro-arguments)  # in the macros of <sys/sdt.h>
  endif()
  if(BATON_WERROR)
    list(APPEND warnings -Werror)
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>")
endfunction()

# Links each name of the list: a room by its name, any other target or library as it is.
function(baton_link target scope)
  foreach(dependency IN LISTS ARGN)
    if(TARGET baton_${dependency})
      target_link_libraries(${target} ${scope} baton_${dependency})
    elseif(dependency STREQUAL "rapidcheck" OR dependency STREQUAL "baton_rapidcheck")
      if(TARGET baton_rapidcheck)
        target_link_libraries(${target} ${scope} baton_rapidcheck)
      endif()
    else()
      target_link_libraries(${target} ${scope} ${dependency})
    endif()
  endforeach()
endfunction()

# Version and binding of a library; Threads for those that link it.
function(baton_library_settings target)
  set_target_properties(${target} PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} LINKER_LANGUAGE CXX)
  target_link_libraries(${target} PUBLIC Threads::Threads)
  if(BUILD_SHARED_LIBS AND NOT BATON_SANITIZE AND NOT BATON_FUZZ AND NOT BATON_COVERAGE)
    target_link_options(${target} PRIVATE -Wl,-Bsymbolic-functions -Wl,-z,now)
  endif()
endfunction()

# In a package a library exports only what scripts/public_symbols.py lists; the tests of a build use the rest as well.
function(baton_exports target name)
  if(BATON_EXPORTS)
    target_link_options(${target} PRIVATE "-Wl,--version-script=${BATON_EXPORTS}/${name}.map")
  endif()
endfunction()

# Calls inside a library are direct, others go without a stub, each function can be placed, and nothing pads the code: fewer cache lines
# for a process that wakes up cold. Words that are put together in a vector register cost more code than two stores. Static libraries are
# compiled alike: the compiler cache has them already, and a program can drop what it does not use.
function(baton_few_pages target)
  if(NOT BATON_SANITIZE AND NOT BATON_FUZZ AND NOT BATON_COVERAGE)
    target_compile_options(${target} PRIVATE -fno-semantic-interposition -fno-plt -ffunction-sections
      -fno-align-functions -fno-tree-slp-vectorize
      $<$<CXX_COMPILER_ID:GNU>:-fno-align-jumps> $<$<CXX_COMPILER_ID:GNU>:-fno-align-loops>
      $<$<CXX_COMPILER_ID:GNU>:-fno-align-labels>)
  endif()
endfunction()

# Lays the code that one message runs through side by side, as `script` has it. A linker that does not know INSERT leaves it where it is.
function(baton_order_code target script)
  check_linker_flag(CXX "-Wl,-T,${script}" BATON_ORDERS_CODE)
  if(BATON_ORDERS_CODE AND BUILD_SHARED_LIBS)
    target_link_options(${target} PRIVATE "-Wl,-T,${script}")
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
  endif()
endfunction()

function(baton_room name)
  cmake_parse_arguments(ROOM "NO_INSTALL" "HEADERS_DIR" "SOURCES;DEPENDS;LIBS;TESTS;TEST_DEPENDS" ${ARGN})
  if(ROOM_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "baton_room(${name}): unknown arguments: ${ROOM_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ROOM_HEADERS_DIR AND IS_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/include")
    set(ROOM_HEADERS_DIR include)
  endif()
  if(ROOM_HEADERS_DIR)
    get_filename_component(ROOM_HEADERS_DIR "${ROOM_HEADERS_DIR}" ABSOLUTE)
  endif()

  set(target baton_${name})
  set(compiled ${target})  # what compiles the sources
  if(NOT ROOM_SOURCES)
    add_library(${target} INTERFACE)
    set(compiled "")
    set(scope INTERFACE)
  elseif(ROOM_NO_INSTALL)
    add_library(${target} STATIC ${ROOM_SOURCES})
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    set(scope PUBLIC)
  else()
    # Not linked, so that the library does not depend on itself: include directories are all that a room needs of those below.
    set(compiled ${target}_objects)
    add_library(${compiled} OBJECT ${ROOM_SOURCES})
    add_library(${target} INTERFACE)
    target_include_directories(${compiled} PRIVATE $<TARGET_PROPERTY:${target},INTERFACE_INCLUDE_DIRECTORIES>)
    target_compile_features(${compiled} PRIVATE cxx_std_17)
    target_compile_definitions(${compiled} PRIVATE BATON_IN_LIBRARY)
    if(NOT TARGET baton_library)
      add_library(baton_library)
      set_target_properties(baton_library PROPERTIES OUTPUT_NAME baton EXPORT_NAME library)
      baton_library_settings(baton_library)
      baton_exports(baton_library libbaton)
      baton_order_code(baton_library ${PROJECT_SOURCE_DIR}/cmake/hot_path.ld)
    endif()
    target_sources(baton_library PRIVATE $<TARGET_OBJECTS:${compiled}>)
    baton_link(baton_library PRIVATE ${ROOM_LIBS})
    set(ROOM_LIBS "")
    target_link_libraries(${target} INTERFACE baton_library)
    set(scope INTERFACE)
  endif()
  if(compiled)
    baton_warnings(${compiled})
    target_include_directories(${compiled} PRIVATE src)
    baton_few_pages(${compiled})
  endif()
  add_library(baton::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} ${scope} cxx_std_17)
  if(ROOM_HEADERS_DIR)
    target_include_directories(${target} ${scope}
      $<BUILD_INTERFACE:${ROOM_HEADERS_DIR}>
      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    set_property(GLOBAL APPEND PROPERTY BATON_HEADER_DIRS "${ROOM_HEADERS_DIR}")
  endif()
  baton_link(${target} ${scope} ${ROOM_DEPENDS})
  if(ROOM_SOURCES)
    baton_link(${target} PRIVATE ${ROOM_LIBS})
  else()
    baton_link(${target} INTERFACE ${ROOM_LIBS})
  endif()
  target_link_libraries(${target} ${scope} Threads::Threads)

  if(NOT ROOM_NO_INSTALL)
    set_property(GLOBAL APPEND PROPERTY BATON_INSTALLED_ROOMS ${name})
    install(TARGETS ${target} EXPORT batonTargets)
    if(ROOM_HEADERS_DIR)
      install(DIRECTORY ${ROOM_HEADERS_DIR}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "*.def")
    endif()
  endif()

  if(BATON_TESTS AND ROOM_TESTS)
    baton_test(${name}_tests SOURCES ${ROOM_TESTS} DEPENDS ${name} ${ROOM_TEST_DEPENDS})
  endif()
endfunction()

# A file that an installation has if it was built: BatonInstall.cmake reports the others.
function(baton_may_be_unbuilt file)
  set_property(GLOBAL APPEND PROPERTY BATON_MAY_BE_UNBUILT "${file}")
endfunction()

# gtest's header is a third of what a test file costs: it is compiled once. In an executable, because the flags must be those of the tests;
# gcc reads the header itself where they differ. Only gcc: with clang the compiler cache would not know a test file again. Not in the preset
# dev, whose compile commands clang-tidy and clangd read.
function(baton_precompile_gtest test)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  if(NOT TARGET baton_gtest_header)
    set(source "${PROJECT_BINARY_DIR}/gtest_header.cpp")
    file(GENERATE OUTPUT "${source}" CONTENT "int main() {}\n")
    add_executable(baton_gtest_header EXCLUDE_FROM_ALL "${source}")
    baton_warnings(baton_gtest_header)
    baton_test_code(baton_gtest_header)
    target_compile_options(baton_gtest_header PRIVATE -fpch-preprocess)
    target_link_libraries(baton_gtest_header PRIVATE GTest::gtest_main)
    target_precompile_headers(baton_gtest_header PRIVATE <gtest/gtest.h>)
  endif()
  target_compile_options(${test} PRIVATE -fpch-preprocess)  # for the compiler cache
  target_precompile_headers(${test} REUSE_FROM baton_gtest_header)
endfunction()

# How the code of tests, and of programs that tests start, is compiled: what is tested is compiled as users run it, but code that runs once need not
# be fast.
function(baton_test_code target)
  if(NOT CMAKE_CROSSCOMPILING)  # an emulator would run it three times as long
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
  endif()
  if(NOT DEFINED CMAKE_UNITY_BUILD)  # clang, which reads the commands of the preset dev, does not know the parameter
    # gcc looks for garbage only in a heap of this many KiB: a tenth of what such a file costs otherwise.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>)
  endif()
endfunction()

# Sets `units` to the given sources, with files that include up to five tests each in place of the tests: headers are read, and their templates
# compiled, once for them. A test with a name of another one in its unnamed namespace needs another name. Not CMake's UNITY_BUILD, whose files
# have absolute paths in them, by which the compiler cache would not know them in another clone. Nothing of it in the preset dev
# (CMAKE_UNITY_BUILD is OFF), where each file has to include what it uses.
function(baton_units units target)
  set(tests ${ARGN})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(LENGTH tests count)
  if(count LESS 2 OR DEFINED CMAKE_UNITY_BUILD)
    set(${units} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(others ${ARGN})
  list(REMOVE_ITEM others ${tests})
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/units")
  set(made "")
  set(count 0)
  foreach(source IN LISTS tests)
    math(EXPR number "${count} / 5")
    math(EXPR in_unit "${count} % 5")
    math(EXPR count "${count} + 1")
    if(in_unit EQUAL 0)
      list(APPEND made "${folder}/${target}_${number}.cpp")
      set(text_${number} "")
    endif()
    get_filename_component(source "${source}" ABSOLUTE)
    file(RELATIVE_PATH source "${folder}" "${source}")
    string(APPEND text_${number} "#include \"${source}\"\n")
  endforeach()
  foreach(each RANGE ${number})
    file(CONFIGURE OUTPUT "${folder}/${target}_${each}.cpp" CONTENT "${text_${each}}" @ONLY)
  endforeach()
  set(${units} ${made} ${others} PARENT_SCOPE)
endfunction()

function(baton_test name)
  if(NOT BATON_TESTS)
    return()
  endif()
  cmake_parse_arguments(TEST "SERIAL" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 300)
  endif()
  if(NOT TEST_LABELS)
    set(TEST_LABELS unit)
  endif()
  baton_units(units ${name} ${TEST_SOURCES})
  add_executable(${name} ${units})
  baton_warnings(${name})
  if("count" IN_LIST TEST_LABELS)  # what the queues and containers in headers cost is counted: they are optimized
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    set_target_properties(${name} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)  # the header's flags are others
  else()
    baton_test_code(${name})
  endif()
  if(IS_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/src")
    target_include_directories(${name} PRIVATE src)
  endif()
  baton_link(${name} PRIVATE ${TEST_DEPENDS} GTest::gtest_main)
  baton_precompile_gtest(${name})
  foreach(label IN ITEMS unit pure)
    if(label IN_LIST TEST_LABELS)
      if(NOT TARGET ${label}_tests)
        add_custom_target(${label}_tests)
      endif()
      add_dependencies(${label}_tests ${name})
    endif()
  endforeach()
  if(NOT TARGET unit_tests_of_rooms)
    add_custom_target(unit_tests_of_rooms)
  endif()
  if("unit" IN_LIST TEST_LABELS AND name MATCHES "^(os|memory|transport|node|objects|heap|link)_")
    add_dependencies(unit_tests_of_rooms ${name})
  endif()
  set(properties TIMEOUT ${TEST_TIMEOUT} LABELS "${TEST_LABELS}")
  if(TEST_SERIAL)
    list(APPEND properties RUN_SERIAL ON)
  endif()
  # PRE_TEST: a test that cannot even list itself fails as a test and does not break the build.
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 300 NO_PRETTY_VALUES
    PROPERTIES ${properties})
endfunction()

function(baton_fuzzer name)
  if(NOT BATON_FUZZ)
    return()
  endif()
  cmake_parse_arguments(FUZZ "" "SEEDS" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${FUZZ_SOURCES})
  baton_warnings(${name})
  baton_link(${name} PRIVATE ${FUZZ_DEPENDS})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin/fuzz")
  if(FUZZ_SEEDS)
    get_filename_component(seeds "${FUZZ_SEEDS}" ABSOLUTE)
    file(WRITE "${PROJECT_BINARY_DIR}/bin/fuzz/${name}.seeds" "${seeds}\n")
  endif()
endfunction()
