// SPDX-License-Identifier: Apache-2.0
// What rmw_baton_cpp itself (not the standard library for it) allocates with `new` on this thread fails at the n-th time, for every n: each function of the RMW says so, throws
// nothing, and leaves nothing half made. Prints how many allocations failed.
#include <link.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rcl.hpp"
#include "rcl/graph.h"
#include "rosidl_typesupport_cpp/message_type_support.hpp"
#include "rosidl_typesupport_cpp/service_type_support.hpp"
#include "sensor_msgs/msg/image.hpp"
#include "sensor_msgs/srv/set_camera_info.hpp"

namespace {

std::uintptr_t code_begin = 0, code_end = 0;  // of rmw_baton_cpp; before there are threads
thread_local long until_failure = -1;         // negative: nothing fails
thread_local long allocations = 0;            // of rmw_baton_cpp on this thread
long failures = 0;

int find_code(dl_phdr_info* info, std::size_t, void*) {
  if (std::string(info->dlpi_name).find("librmw_baton_cpp.so") == std::string::npos) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    code_begin = info->dlpi_addr + header.p_vaddr;
    code_end = code_begin + header.p_memsz;
  }
  return 1;
}

void* allocate(std::size_t size, const void* caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  if (address >= code_begin && address < code_end) {
    ++allocations;
    if (until_failure >= 0 && until_failure-- == 0) throw std::bad_alloc();
  }
  if (void* made = std::malloc(size != 0 ? size : 1)) return made;
  throw std::bad_alloc();
}

/// Until nothing that `act` needs fails any more. Where it fails, nothing is to be undone by the caller. Where it is done
/// in spite of a failure, `undo` comes before the next try.
void for_every_allocation(const char* what, const std::function<bool()>& act, const std::function<void()>& undo = {}) {
  for (long n = 0;; ++n) {
    until_failure = n;
    const bool done = act();
    const bool failed = until_failure < 0;
    until_failure = -1;
    if (failed) ++failures;
    if (done && !failed) return;
    if (done && undo) undo();
    if (!done && !failed) fail(std::string(what) + " fails by itself");
    if (!done && !rcutils_error_is_set()) fail(std::string(what) + " does not say why");
    rcutils_reset_error();
    if (n > 100'000) fail(std::string(what) + " never comes to its end");
  }
}

/// What is no concern of the test succeeds.
class Spared {
 public:
  ~Spared() { until_failure = kept_; }

 private:
  const long kept_ = std::exchange(until_failure, -1);
};

/// What a context that failed left behind would be seen in the graph.
void expect_count(const Ros& ros, std::size_t expected, bool publishers) {
  std::size_t count = 0;
  for (int i = 0; i < 6'000; ++i) {
    check(publishers ? rcl_count_publishers(&ros.node, "/image", &count)
                     : rcl_count_subscribers(&ros.node, "/image", &count),
          "count");
    if (count == expected) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  fail("the graph has " + std::to_string(count) + " endpoints instead of " + std::to_string(expected));
}

void contexts() {
  rcl_init_options_t options = rcl_get_zero_initialized_init_options();
  for_every_allocation("init options", [&] {
    options = rcl_get_zero_initialized_init_options();  // which rcl leaves as they were
    return rcl_init_options_init(&options, rcl_get_default_allocator()) == RCL_RET_OK;
  });
  rcl_context_t context = rcl_get_zero_initialized_context();
  for_every_allocation("init", [&] {
    if (rcl_init(0, nullptr, &options, &context) == RCL_RET_OK) return true;
    context = rcl_get_zero_initialized_context();
    return false;
  });
  rcl_node_t node = rcl_get_zero_initialized_node();
  const rcl_node_options_t node_options = rcl_node_get_default_options();
  for_every_allocation("node",
                       [&] { return rcl_node_init(&node, "other", "", &context, &node_options) == RCL_RET_OK; });
  check(rcl_node_fini(&node), "node's end");
  check(rcl_shutdown(&context), "shutdown");
  check(rcl_context_fini(&context), "context's end");
  check(rcl_init_options_fini(&options), "options' end");
}

void entities(Ros& ros) {
  using sensor_msgs::msg::Image;
  const auto* image_type = rosidl_typesupport_cpp::get_message_type_support_handle<Image>();
  rcl_subscription_t subscription = rcl_get_zero_initialized_subscription();
  rcl_subscription_options_t subscription_options = rcl_subscription_get_default_options();
  subscription_options.qos.deadline = {100, 0};
  for_every_allocation(
      "subscription",
      [&] {
        return rcl_subscription_init(&subscription, &ros.node, image_type, "image", &subscription_options) ==
               RCL_RET_OK;
      },
      [&] { check(rcl_subscription_fini(&subscription, &ros.node), "subscription's end"); });
  expect_count(ros, 1, false);
  rcl_publisher_t publisher = rcl_get_zero_initialized_publisher();
  rcl_publisher_options_t publisher_options = rcl_publisher_get_default_options();
  publisher_options.qos.deadline = {100, 0};
  for_every_allocation(
      "publisher",
      [&] { return rcl_publisher_init(&publisher, &ros.node, image_type, "image", &publisher_options) == RCL_RET_OK; },
      [&] { check(rcl_publisher_fini(&publisher, &ros.node), "publisher's end"); });
  expect_count(ros, 1, true);

  const auto* service_type = rosidl_typesupport_cpp::get_service_type_support_handle<sensor_msgs::srv::SetCameraInfo>();
  rcl_service_t service = rcl_get_zero_initialized_service();
  const rcl_service_options_t service_options = rcl_service_get_default_options();
  for_every_allocation(
      "service",
      [&] { return rcl_service_init(&service, &ros.node, service_type, "set", &service_options) == RCL_RET_OK; },
      [&] { check(rcl_service_fini(&service, &ros.node), "service's end"); });
  rcl_client_t client = rcl_get_zero_initialized_client();
  const rcl_client_options_t client_options = rcl_client_get_default_options();
  for_every_allocation(
      "client", [&] { return rcl_client_init(&client, &ros.node, service_type, "set", &client_options) == RCL_RET_OK; },
      [&] { check(rcl_client_fini(&client, &ros.node), "client's end"); });
  rcl_guard_condition_t guard = rcl_get_zero_initialized_guard_condition();
  for_every_allocation("guard condition", [&] {
    return rcl_guard_condition_init(&guard, &ros.context, rcl_guard_condition_get_default_options()) == RCL_RET_OK;
  });
  rcl_wait_set_t wait_set = rcl_get_zero_initialized_wait_set();
  for_every_allocation("wait set", [&] {
    return rcl_wait_set_init(&wait_set, 1, 1, 0, 1, 1, 0, &ros.context, rcl_get_default_allocator()) == RCL_RET_OK;
  });
  const auto wait = [&](std::int64_t limit_ns) {
    check(rcl_wait_set_clear(&wait_set), "clear");
    check(rcl_wait_set_add_subscription(&wait_set, &subscription, nullptr), "add");
    check(rcl_wait_set_add_guard_condition(&wait_set, &guard, nullptr), "add");
    check(rcl_wait_set_add_client(&wait_set, &client, nullptr), "add");
    check(rcl_wait_set_add_service(&wait_set, &service, nullptr), "add");
    return rcl_wait(&wait_set, limit_ns);
  };
  for_every_allocation("wait", [&] {
    const rcl_ret_t result = wait(0);
    return result == RCL_RET_OK || result == RCL_RET_TIMEOUT;
  });

  Image sent, got;
  sent.encoding = std::string(100, 'e');
  sent.data.assign(10'000, 7);
  for_every_allocation("publish", [&] { return rcl_publish(&publisher, &sent, nullptr) == RCL_RET_OK; });
  for_every_allocation("take", [&] {
    rcl_ret_t result = RCL_RET_SUBSCRIPTION_TAKE_FAILED;
    while (result == RCL_RET_SUBSCRIPTION_TAKE_FAILED) {
      {
        const Spared spared;
        check(rcl_publish(&publisher, &sent, nullptr), "publish");
        check(wait(60'000'000'000), "wait for a message");
        got = Image();
      }
      result = rcl_take(&subscription, &got, nullptr, nullptr);
    }
    return result == RCL_RET_OK;
  });
  if (!(got == sent)) fail("another message was taken");

  check(rcl_wait_set_fini(&wait_set), "wait set's end");
  check(rcl_guard_condition_fini(&guard), "guard condition's end");
  check(rcl_client_fini(&client, &ros.node), "client's end");
  check(rcl_service_fini(&service, &ros.node), "service's end");
  check(rcl_publisher_fini(&publisher, &ros.node), "publisher's end");
  check(rcl_subscription_fini(&subscription, &ros.node), "subscription's end");
}

/// A publisher without a subscription looks for one after each change of the graph: at the endpoints of its topic, however many others there
/// are. Counted are allocations, of which each endpoint in a copy of the graph needs some.
void lonely_publisher(Ros& ros) {
  const auto* type = rosidl_typesupport_cpp::get_message_type_support_handle<sensor_msgs::msg::Image>();
  const rcl_publisher_options_t options = rcl_publisher_get_default_options();
  std::vector<rcl_publisher_t> publishers(300, rcl_get_zero_initialized_publisher());
  const auto make = [&](rcl_publisher_t& each, const std::string& topic) {
    check(rcl_publisher_init(&each, &ros.node, type, topic.c_str(), &options), "publisher");
  };
  make(publishers[0], "lonely");
  const sensor_msgs::msg::Image image;
  const auto cost_behind = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) make(publishers[i], "other" + std::to_string(i));
    const long before = allocations;
    check(rcl_publish(&publishers[0], &image, nullptr), "publish");
    return allocations - before;
  };
  const long few = cost_behind(1, 3), many = cost_behind(3, publishers.size());
  if (many > few) fail("a publish allocates " + std::to_string(many) + " times instead of " + std::to_string(few));
  for (rcl_publisher_t& each : publishers) check(rcl_publisher_fini(&each, &ros.node), "publisher's end");
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, __builtin_return_address(0)); }
void* operator new[](std::size_t size) { return allocate(size, __builtin_return_address(0)); }
void operator delete(void* pointer) noexcept { std::free(pointer); }
void operator delete[](void* pointer) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { std::free(pointer); }
void operator delete[](void* pointer, std::size_t) noexcept { std::free(pointer); }

int main() {
  dl_iterate_phdr(find_code, nullptr);
  if (code_begin == 0) fail("rmw_baton_cpp is not there");
  contexts();
  {
    Ros ros("no_memory");
    entities(ros);
    lonely_publisher(ros);
  }
  std::printf("{\"failures\": %ld}\n", failures);
  return 0;
}
