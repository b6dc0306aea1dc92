// SPDX-License-Identifier: Apache-2.0
// Callbacks of entities, and wait sets beside them, through rcl: prints one line of JSON with what they were told.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "baton/rosidl/ros2_version.hpp"
#include "rcl.hpp"
#include "rcl/event.h"
#include "rosidl_typesupport_cpp/message_type_support.hpp"
#include "std_msgs/msg/u_int64.hpp"

namespace {

using namespace std::chrono_literals;
using Number = std_msgs::msg::UInt64;
constexpr auto kLimit = 200s;

const rosidl_message_type_support_t* type() {
  return rosidl_typesupport_cpp::get_message_type_support_handle<Number>();
}

void until(const std::function<bool()>& condition, const char* what) {
  const auto end = std::chrono::steady_clock::now() + kLimit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) fail(what);
    std::this_thread::sleep_for(1ms);
  }
}

struct Publisher {
  rcl_node_t& node;
  rcl_publisher_t it = rcl_get_zero_initialized_publisher();
  explicit Publisher(Ros& ros, bool durable = false, const char* topic = "/called", std::size_t depth = 10)
      : node(ros.node) {
    rcl_publisher_options_t options = rcl_publisher_get_default_options();
    options.qos.depth = depth;
    if (durable) options.qos.durability = RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL;
    check(rcl_publisher_init(&it, &node, type(), topic, &options), "publisher");
  }
  ~Publisher() { check(rcl_publisher_fini(&it, &node), "publisher's end"); }
  void publish(std::uint64_t value = 0) {
    Number number;
    number.data = value;
    check(rcl_publish(&it, &number, nullptr), "publish");
  }
  std::size_t matched() const {
    std::size_t count = 0;
    check(rcl_publisher_get_subscription_count(&it, &count), "subscription count");
    return count;
  }
};

struct Subscription {
  rcl_node_t& node;
  rcl_subscription_t it = rcl_get_zero_initialized_subscription();
  explicit Subscription(Ros& ros, bool durable = false, const char* topic = "/called", std::size_t depth = 10)
      : node(ros.node) {
    rcl_subscription_options_t options = rcl_subscription_get_default_options();
    options.qos.depth = depth;
    if (durable) options.qos.durability = RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL;
    check(rcl_subscription_init(&it, &node, type(), topic, &options), "subscription");
  }
  ~Subscription() { check(rcl_subscription_fini(&it, &node), "subscription's end"); }
  bool take(std::uint64_t* value = nullptr) {
    Number number;
    const rcl_ret_t result = rcl_take(&it, &number, nullptr, nullptr);
    if (result == RCL_RET_SUBSCRIPTION_TAKE_FAILED) {
      rcutils_reset_error();
      return false;
    }
    check(result, "take");
    if (value != nullptr) *value = number.data;
    return true;
  }
  void call(std::atomic<std::size_t>* counter) {
    const auto add = [](const void* user_data, std::size_t count) {
      *static_cast<std::atomic<std::size_t>*>(const_cast<void*>(user_data)) += count;
    };
    check(rcl_subscription_set_on_new_message_callback(&it, counter != nullptr ? +add : nullptr, counter), "callback");
  }
};

/// Each of three callbacks, and what each is told of messages that nobody takes.
void replaced(Ros& ros, bool more) {
  Subscription subscription(ros);
  Publisher publisher(ros);
  until([&] { return publisher.matched() == 1; }, "no match");
  std::atomic<std::size_t> first{0}, second{0}, third{0};
  subscription.call(&first);
  publisher.publish();
  until([&] { return first >= 1; }, "the first callback was not called");
  subscription.call(&second);
  publisher.publish();
  until([&] { return second >= 1; }, "the second callback was not called");
  subscription.call(nullptr);
  for (int i = 0; i < 3; ++i) publisher.publish();
  subscription.call(&third);
  subscription.call(&third);  // as rclcpp does
  until([&] { return third >= 3; }, "the third callback was not called");
  std::size_t taken = 0;
  until([&] { return (taken += subscription.take()) == 5; }, "not all was there");
  std::printf("[%zu, %zu, %zu, %zu]%s", first.load(), second.load(), third.load(), taken, more ? ", " : "]}\n");
}

/// How often a callback is told of messages that are there before it, and of those that come after.
void counted(Ros& ros) {
  constexpr std::size_t kBefore = 5, kAfter = 40;
  Publisher publisher(ros, true);
  for (std::size_t i = 0; i < kBefore; ++i) publisher.publish();
  Subscription subscription(ros, true);
  std::atomic<std::size_t> told{0};
  std::size_t taken = 0;
  subscription.call(&told);
  for (std::size_t i = 0; i <= kAfter; ++i) {
    until([&] { return told >= kBefore + i; }, "the callback was not called");
    until([&] { return (taken += subscription.take()) == kBefore + i; }, "not all was there");
    publisher.publish();
  }
  until([&] { return told > kBefore + kAfter; }, "the callback was not called");
  // What came twice came before this one.
  std::printf("{\"told\": %zu, \"taken\": %zu}\n", told.load(), taken + subscription.take());
}

/// As an events executor: takes once for each message that it was told of, and gets what was published.
struct Executor {
  std::atomic<std::size_t> told{0};
  std::size_t takes = 0;
  std::vector<std::uint64_t> taken;
  /// True if there was something to do.
  bool run_once(Subscription& subscription) {
    if (takes == told) return false;
    ++takes;
    std::uint64_t value = 0;
    if (subscription.take(&value)) taken.push_back(value);
    return true;
  }
};

/// The most that a callback was told of and nobody has taken yet, of many messages that wait.
void many(Ros& ros) {
  constexpr std::size_t kMessages = 1000;
  Subscription subscription(ros, false, "/called", kMessages);
  Publisher publisher(ros, false, "/called", kMessages);
  until([&] { return publisher.matched() == 1; }, "no match");
  for (std::size_t i = 0; i < kMessages; ++i) publisher.publish(i);
  Executor executor;
  std::size_t most = 0;
  subscription.call(&executor.told);
  until(
      [&] {
        most = std::max(most, executor.told - executor.takes);
        executor.run_once(subscription);
        return executor.taken.size() == kMessages;
      },
      "a message that nobody was told of waits");
  std::printf("{\"told\": %zu, \"most\": %zu}\n", executor.told.load(), most);
}

/// Callbacks come, are replaced and go while messages come.
void executed(Ros& ros, bool durable) {
  constexpr std::size_t kMessages = 5000;
  Subscription subscription(ros, durable, "/called", kMessages);
  Ros other("other");
  Publisher publisher(other, durable, "/called", kMessages);
  until([&] { return publisher.matched() == 1; }, "no match");
  Executor executor;
  subscription.call(&executor.told);
  std::atomic<bool> done{false};
  std::thread talker([&] {
    for (std::size_t i = 0; i < kMessages; ++i) {
      publisher.publish(i);
      if (i % 20 == 0) std::this_thread::sleep_for(1ms);
    }
  });
  std::thread changer([&] {
    for (int i = 0; !done; ++i) {
      if (i % 3 == 0) subscription.call(nullptr);
      subscription.call(&executor.told);
      std::this_thread::sleep_for(std::chrono::microseconds(100 + 37 * (i % 20)));
    }
  });
  until(
      [&] {
        while (executor.run_once(subscription)) {
        }
        return executor.taken.size() == kMessages;
      },
      "a message that nobody was told of waits");
  talker.join();
  done = true;
  changer.join();
  subscription.call(nullptr);
  const bool in_order = std::is_sorted(executor.taken.begin(), executor.taken.end());
  std::printf("{\"in_order\": %s, \"more\": %d}\n", in_order ? "true" : "false", subscription.take() ? 1 : 0);
}

constexpr std::uint64_t kEnd = 999999;

/// Three messages; and more when a line comes.
void talk(Ros& ros) {
  Publisher publisher(ros, false, "/called", 100);  // nothing gives way while its reader is slow
  until([&] { return publisher.matched() == 1; }, "no match");
  for (std::uint64_t i = 0; i < 3; ++i) publisher.publish(i);
  std::getchar();
  for (std::uint64_t i = 3; i < 20; ++i) {
    publisher.publish(i);
    std::this_thread::sleep_for(10ms);
  }
  publisher.publish(kEnd);
  std::getchar();
  std::printf("{}\n");
}

/// Three messages taken without a callback, and the others with one, after a publisher has come that Baton serves.
void polled(Ros& ros) {
  Subscription subscription(ros, false, "/called", 5000);
  std::size_t taken = 0;
  until([&] { return (taken += subscription.take()) == 3; }, "not all was there");
  if (subscription.take()) fail("more was there");
  Executor executor;
  subscription.call(&executor.told);
  Ros other("other");
  Publisher publisher(other);
  until([&] { return publisher.matched() == 1; }, "no match");
  while (executor.run_once(subscription)) {
  }
  std::printf("going\n");
  std::fflush(stdout);
  until(
      [&] {
        while (executor.run_once(subscription)) {
        }
        return !executor.taken.empty() && executor.taken.back() == kEnd;
      },
      "a message that nobody was told of waits");
  subscription.call(nullptr);
  std::printf("{\"taken\": %zu}\n", taken + executor.taken.size());
}

/// A wait set that says that something is there says so after the callback has returned, and says so in time.
void waited(Ros& ros, bool events) {
  constexpr int kTimes = 30;
  rcl_wait_set_t wait_set = rcl_get_zero_initialized_wait_set();
  check(rcl_wait_set_init(&wait_set, events ? 0 : 1, 0, 0, 0, 0, events ? 1 : 0, &ros.context,
                          rcl_get_default_allocator()),
        "wait set");
  int early = 0;
  const auto slow = [](const void* user_data, std::size_t count) {
    std::this_thread::sleep_for(2ms);
    *static_cast<std::atomic<std::size_t>*>(const_cast<void*>(user_data)) += count;
  };
  const auto wait_for = [&](const auto& add, std::atomic<std::size_t>& called, const auto& take) {
    const auto end = std::chrono::steady_clock::now() + kLimit;
    for (bool ready = false; !ready;) {
      if (std::chrono::steady_clock::now() > end) fail("the wait set sleeps on");
      check(rcl_wait_set_clear(&wait_set), "clear");
      add();
      const rcl_ret_t result = rcl_wait(&wait_set, std::chrono::nanoseconds(kLimit).count());
      if (result == RCL_RET_TIMEOUT) fail("the wait set sleeps on");
      check(result, "wait");
      ready = events ? wait_set.events[0] != nullptr : wait_set.subscriptions[0] != nullptr;
    }
    if (called == 0) ++early;
    take();
  };
#if BATON_ROS2_HUMBLE
  if (events) fail("this ROS 2 has no event of a match");
#else
  if (events) {
    Publisher publisher(ros);
    std::atomic<std::size_t> called{0};
    rcl_event_t event = rcl_get_zero_initialized_event();
    check(rcl_publisher_event_init(&event, &publisher.it, RCL_PUBLISHER_MATCHED), "event");
    check(rcl_event_set_callback(&event, slow, &called), "callback");
    const auto next = [&] {
      wait_for([&] { check(rcl_wait_set_add_event(&wait_set, &event, nullptr), "add"); }, called,
               [&] {
                 rmw_matched_status_t status;
                 check(rcl_take_event(&event, &status), "take event");
                 called = 0;
               });
    };
    for (int i = 0; i < kTimes; ++i) {
      {
        const Subscription subscription(ros);
        next();
      }
      next();
    }
    check(rcl_event_fini(&event), "event's end");
  }
#endif
  if (!events) {
    Subscription subscription(ros);
    Publisher publisher(ros);
    until([&] { return publisher.matched() == 1; }, "no match");
    std::atomic<std::size_t> called{0};
    check(rcl_subscription_set_on_new_message_callback(&subscription.it, slow, &called), "callback");
    for (int i = 0; i < kTimes; ++i) {
      publisher.publish();
      wait_for([&] { check(rcl_wait_set_add_subscription(&wait_set, &subscription.it, nullptr), "add"); }, called,
               [&] {
                 if (!subscription.take()) fail("nothing was there");
                 called = 0;
               });
    }
    subscription.call(nullptr);
  }
  check(rcl_wait_set_fini(&wait_set), "wait set's end");
  std::printf("{\"early\": %d}\n", early);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 2 ? argv[1] : "";
  Ros ros("callbacks");
  if (what == "replaced") {
    std::printf("{\"rounds\": [");
    for (int i = 19; i >= 0; --i) replaced(ros, i != 0);
  } else if (what == "counted") {
    counted(ros);
  } else if (what == "many") {
    many(ros);
  } else if (what == "executed" || what == "executed_durable") {
    executed(ros, what == "executed_durable");
  } else if (what == "polled") {
    polled(ros);
  } else if (what == "talk") {
    talk(ros);
  } else if (what == "events" || what == "messages") {
    waited(ros, what == "events");
  } else {
    std::fprintf(stderr,
                 "usage: callbacks replaced | counted | many | executed | executed_durable | polled | talk | events | "
                 "messages\n");
    return 2;
  }
}
