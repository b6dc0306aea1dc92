// SPDX-License-Identifier: Apache-2.0
// What the C++ programs of these tests need of rcl: a node in a context of its own, and an end with a word where something fails.
#pragma once

#include <sys/time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "rcl/rcl.h"
#include "rcutils/error_handling.h"
#include "rcutils/logging.h"

[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", what.c_str(), rcutils_get_error_string().str);
  std::exit(1);
}
inline void check(rcl_ret_t result, const std::string& what) {
  if (result != RCL_RET_OK) fail(what);
}

struct Ros {
  rcl_context_t context = rcl_get_zero_initialized_context();
  rcl_init_options_t options = rcl_get_zero_initialized_init_options();
  rcl_node_t node = rcl_get_zero_initialized_node();
  bool is_shut_down = false;

  explicit Ros(const char* name) {
    check(rcutils_logging_set_logger_level("rmw_baton_cpp", RCUTILS_LOG_SEVERITY_DEBUG), "log level");
    check(rcl_init_options_init(&options, rcl_get_default_allocator()), "init options");
    check(rcl_init(0, nullptr, &options, &context), "init");
    const rcl_node_options_t node_options = rcl_node_get_default_options();
    check(rcl_node_init(&node, name, "", &context, &node_options), "node");
  }
  ~Ros() {
    // As rclpy_program.report_and_end(): what Fast DDS spins in for ever ends by SIGPROF.
    std::fflush(stdout);
    const itimerval limit{{0, 0}, {10, 0}};
    ::setitimer(ITIMER_PROF, &limit, nullptr);
    if (rcl_node_fini(&node) != RCL_RET_OK || (!is_shut_down && rcl_shutdown(&context) != RCL_RET_OK) ||
        rcl_context_fini(&context) != RCL_RET_OK || rcl_init_options_fini(&options) != RCL_RET_OK) {
      fail("the end");
    }
    const itimerval none{};
    ::setitimer(ITIMER_PROF, &none, nullptr);
  }
};
