# SPDX-License-Identifier: Apache-2.0
# Peers that are crates of Rust: a static library with C functions, linked into the runner.

option(BATON_PERF_RUST "Build the peers that are crates of Rust (needs cargo and its registry; takes minutes)" OFF)
find_program(BATON_CARGO cargo HINTS "$ENV{HOME}/.cargo/bin")
mark_as_advanced(BATON_CARGO)
set(baton_oldest_cargo 1.89)  # iceoryx2's, by its Cargo.toml; Debian 12's is 1.63
set(baton_cargo_version 0)
if(BATON_CARGO AND BATON_PERF_RUST)
  execute_process(COMMAND "${BATON_CARGO}" --version OUTPUT_VARIABLE said ERROR_QUIET)
  string(REGEX MATCH "[0-9]+\\.[0-9]+" baton_cargo_version "${said}")
endif()

# baton_rust_peer(<folder> SOURCES ... VERSION_OF <crate>): the folder's crate and its C++ sources as one program.
function(baton_rust_peer name)
  cmake_parse_arguments(arg "" "VERSION_OF" "SOURCES" ${ARGN})
  if(NOT BATON_CARGO)
    baton_peer_absent(${name} "there is no cargo (Rust's package manager, ${baton_oldest_cargo} or newer; https://rustup.rs)")
    return()
  elseif(NOT BATON_PERF_RUST)
    baton_peer_absent(${name} "configured without BATON_PERF_RUST (make peers)")
    return()
  elseif(baton_cargo_version VERSION_LESS baton_oldest_cargo)
    baton_peer_absent(${name} "${BATON_CARGO} is ${baton_cargo_version}, ${baton_oldest_cargo} or newer is needed (https://rustup.rs)")
    return()
  endif()
  set(folder "${CMAKE_BINARY_DIR}/cargo/${name}")
  set(library "${folder}/release/libbaton_perf_${name}.a")
  file(GLOB crate CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/*.rs")
  list(APPEND crate "${CMAKE_CURRENT_SOURCE_DIR}/Cargo.toml" "${CMAKE_CURRENT_SOURCE_DIR}/Cargo.lock")
  add_custom_command(
    OUTPUT "${library}"
    COMMAND "${BATON_CARGO}" build --quiet --release --locked --target-dir "${folder}"
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    DEPENDS ${crate}
    COMMENT "Building the crate of peer ${name} (the first time takes minutes)"
    VERBATIM)
  add_custom_target(baton_perf_${name}_crate DEPENDS "${library}")
  baton_peer(${name} SOURCES ${arg_SOURCES} LIBRARIES "${library}" Threads::Threads ${CMAKE_DL_LIBS} m)
  add_dependencies(baton_perf_${name} baton_perf_${name}_crate)
  file(STRINGS Cargo.lock lines)
  list(FIND lines "name = \"${arg_VERSION_OF}\"" at)
  math(EXPR at "${at} + 1")
  list(GET lines ${at} version)
  string(REGEX REPLACE ".*\"(.*)\"" "\\1" version "${version}")
  target_compile_definitions(baton_perf_${name} PRIVATE BATON_CRATE_VERSION="${version}")
endfunction()
