# SPDX-License-Identifier: Apache-2.0
# Tests of everything that works from descriptors: codecs, partial serialization, byte order, printing.
baton_test(message_codec_tests
  SOURCES
    src/builder_test.cpp
    src/byte_order_test.cpp
    src/cdr_codec_test.cpp
    src/codec_vectors_test.cpp
    src/definition_test.cpp
    src/loan_builder_test.cpp
    src/partial_test.cpp
    src/print_test.cpp
    src/ros1_codec_test.cpp
    src/testing/messages.cpp
    src/testing/test_chunk_pool.cpp
  DEPENDS message)
if(TARGET message_codec_tests)
  target_compile_definitions(message_codec_tests PRIVATE
    BATON_CODEC_VECTORS_DIR="${PROJECT_SOURCE_DIR}/tests/vectors/codec")
endif()
add_subdirectory(fuzz)
if(NOT BATON_SANITIZE AND NOT BATON_COVERAGE)
  # Counts allocations: a sanitizer has its own.
  baton_test(message_codec_cost_tests SOURCES src/codec_cost_test.cpp DEPENDS message LABELS count)
endif()
