// SPDX-License-Identifier: Apache-2.0
// What the C++ programs of these tests need of rcl: a node in a context of its own, its endpoints, and an end with a word where something fails.
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

constexpr std::chrono::seconds kLimit{200};

/// The longest that a program waits for one thing, which `what` names.
template <class Done>
void until(Done done, const std::string& what) {
  const auto end = std::chrono::steady_clock::now() + kLimit;
  for (; !done(); std::this_thread::sleep_for(std::chrono::milliseconds(1)))
    if (std::chrono::steady_clock::now() > end) fail("never: " + what);
}

/// Says so, and waits for a line, or the end of the input.
inline void wait_for_a_line(const char* said) {
  std::printf("%s\n", said);
  std::fflush(stdout);
  for (int read = 0; read != '\n' && read != EOF;) read = std::getchar();
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

inline rmw_qos_profile_t with_depth(std::size_t depth) {
  rmw_qos_profile_t qos = rmw_qos_profile_default;
  qos.depth = depth;
  return qos;
}

struct Publisher {
  Publisher(Ros& ros, const rosidl_message_type_support_t* type, const std::string& topic,
            const rmw_qos_profile_t& qos = rmw_qos_profile_default)
      : node(ros.node) {
    rcl_publisher_options_t options = rcl_publisher_get_default_options();
    options.qos = qos;
    options.disable_loaned_message = false;
    check(rcl_publisher_init(&it, &node, type, topic.c_str(), &options), "publisher of " + topic);
  }
  ~Publisher() { check(rcl_publisher_fini(&it, &node), "publisher's end"); }
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;
  void publish(const void* message) { check(rcl_publish(&it, message, nullptr), "publish"); }
  std::size_t matched() const {
    std::size_t count = 0;
    check(rcl_publisher_get_subscription_count(&it, &count), "subscription count");
    return count;
  }
  void wait_for(std::size_t subscriptions) {
    until([&] { return matched() >= subscriptions; }, "a subscription");
  }
  void wait_for_all_acked() {
    check(rcl_publisher_wait_for_all_acked(&it, std::chrono::nanoseconds(kLimit).count()), "acknowledgements");
  }
  rcl_node_t& node;
  rcl_publisher_t it = rcl_get_zero_initialized_publisher();
};

struct Subscription {
  Subscription(Ros& ros, const rosidl_message_type_support_t* type, const std::string& topic,
               const rmw_qos_profile_t& qos = rmw_qos_profile_default, bool ignores_local = false)
      : node(ros.node) {
    rcl_subscription_options_t options = rcl_subscription_get_default_options();
    options.qos = qos;
    options.disable_loaned_message = false;
    options.rmw_subscription_options.ignore_local_publications = ignores_local;
    check(rcl_subscription_init(&it, &node, type, topic.c_str(), &options), "subscription of " + topic);
  }
  ~Subscription() { check(rcl_subscription_fini(&it, &node), "subscription's end"); }
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;
  /// What one of rcl's functions that take gave: false if there was nothing.
  static bool taken(rcl_ret_t result) {
    if (result != RCL_RET_SUBSCRIPTION_TAKE_FAILED) check(result, "take");
    rcutils_reset_error();
    return result == RCL_RET_OK;
  }
  bool take(void* message) { return taken(rcl_take(&it, message, nullptr, nullptr)); }
  rcl_node_t& node;
  rcl_subscription_t it = rcl_get_zero_initialized_subscription();
};
