// SPDX-License-Identifier: Apache-2.0
// Callbacks of entities, and wait sets beside them, through rcl: prints one line of JSON with what they were told.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdint>
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

const rosidl_message_type_support_t* type() {
  return rosidl_typesupport_cpp::get_message_type_support_handle<Number>();
}

rmw_qos_profile_t qos_of(bool durable, std::size_t depth) {
  rmw_qos_profile_t qos = with_depth(depth);
  if (durable) qos.durability = RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL;
  return qos;
}

struct Talker : Publisher {
  explicit Talker(Ros& ros, bool durable = false, std::size_t depth = 10)
      : Publisher(ros, type(), "/called", qos_of(durable, depth)) {}
  void say(std::uint64_t value = 0) {
    Number number;
    number.data = value;
    publish(&number);
  }
};

struct Listener : Subscription {
  explicit Listener(Ros& ros, bool durable = false, std::size_t depth = 10)
      : Subscription(ros, type(), "/called", qos_of(durable, depth)) {}
  bool hear(std::uint64_t* value = nullptr) {
    Number number;
    const bool taken = take(&number);
    if (taken && value != nullptr) *value = number.data;
    return taken;
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
  Listener subscription(ros);
  Talker publisher(ros);
  publisher.wait_for(1);
  std::atomic<std::size_t> first{0}, second{0}, third{0};
  subscription.call(&first);
  publisher.say();
  until([&] { return first >= 1; }, "a call of the first callback");
  subscription.call(&second);
  publisher.say();
  until([&] { return second >= 1; }, "a call of the second callback");
  subscription.call(nullptr);
  for (int i = 0; i < 3; ++i) publisher.say();
  subscription.call(&third);
  subscription.call(&third);  // as rclcpp does
  until([&] { return third >= 3; }, "a call of the third callback");
  std::size_t taken = 0;
  until([&] { return (taken += subscription.hear()) == 5; }, "the last message");
  std::printf("[%zu, %zu, %zu, %zu]%s", first.load(), second.load(), third.load(), taken, more ? ", " : "]}\n");
}

/// How often a callback is told of messages that are there before it, and of those that come after.
void counted(Ros& ros) {
  constexpr std::size_t kBefore = 5, kAfter = 40;
  Talker publisher(ros, true);
  for (std::size_t i = 0; i < kBefore; ++i) publisher.say();
  Listener subscription(ros, true);
  std::atomic<std::size_t> told{0};
  std::size_t taken = 0;
  subscription.call(&told);
  for (std::size_t i = 0; i <= kAfter; ++i) {
    until([&] { return told >= kBefore + i; }, "a call of the callback");
    until([&] { return (taken += subscription.hear()) == kBefore + i; }, "the last message");
    publisher.say();
  }
  until([&] { return told > kBefore + kAfter; }, "a call of the callback");
  // What came twice came before this one.
  std::printf("{\"told\": %zu, \"taken\": %zu}\n", told.load(), taken + subscription.hear());
}

/// As an events executor: takes once for each message that it was told of, and gets what was published.
struct Executor {
  std::atomic<std::size_t> told{0};
  std::size_t takes = 0;
  std::vector<std::uint64_t> taken;
  /// True if there was something to do.
  bool run_once(Listener& subscription) {
    if (takes == told) return false;
    ++takes;
    std::uint64_t value = 0;
    if (subscription.hear(&value)) taken.push_back(value);
    return true;
  }
};

/// The most that a callback was told of and nobody has taken yet, of many messages that wait.
void many(Ros& ros) {
  constexpr std::size_t kMessages = 1000;
  Listener subscription(ros, false, kMessages);
  Talker publisher(ros, false, kMessages);
  publisher.wait_for(1);
  for (std::size_t i = 0; i < kMessages; ++i) publisher.say(i);
  Executor executor;
  std::size_t most = 0;
  subscription.call(&executor.told);
  until(
      [&] {
        most = std::max(most, executor.told - executor.takes);
        executor.run_once(subscription);
        return executor.taken.size() == kMessages;
      },
      "the news of a message that waits");
  std::printf("{\"told\": %zu, \"most\": %zu}\n", executor.told.load(), most);
}

/// Callbacks come, are replaced and go while messages come.
void executed(Ros& ros, bool durable) {
  constexpr std::size_t kMessages = 5000;
  Listener subscription(ros, durable, kMessages);
  Ros other("other");
  Talker publisher(other, durable, kMessages);
  publisher.wait_for(1);
  Executor executor;
  subscription.call(&executor.told);
  std::atomic<bool> done{false};
  std::thread talker([&] {
    for (std::size_t i = 0; i < kMessages; ++i) {
      publisher.say(i);
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
      "the news of a message that waits");
  talker.join();
  done = true;
  changer.join();
  subscription.call(nullptr);
  const bool in_order = std::is_sorted(executor.taken.begin(), executor.taken.end());
  std::printf("{\"in_order\": %s, \"more\": %d}\n", in_order ? "true" : "false", subscription.hear() ? 1 : 0);
}

constexpr std::uint64_t kEnd = 999999;

/// Three messages; and more when a line comes.
void talk(Ros& ros) {
  Talker publisher(ros, false, 100);  // nothing gives way while its reader is slow
  publisher.wait_for(1);
  for (std::uint64_t i = 0; i < 3; ++i) publisher.say(i);
  std::getchar();
  for (std::uint64_t i = 3; i < 20; ++i) {
    publisher.say(i);
    std::this_thread::sleep_for(10ms);
  }
  publisher.say(kEnd);
  std::getchar();
  std::printf("{}\n");
}

/// Three messages taken without a callback, and the others with one, after a publisher has come that Baton serves.
void polled(Ros& ros) {
  Listener subscription(ros, false, 5000);
  std::size_t taken = 0;
  until([&] { return (taken += subscription.hear()) == 3; }, "the last message");
  if (subscription.hear()) fail("more was there");
  Executor executor;
  subscription.call(&executor.told);
  Ros other("other");
  Talker publisher(other);
  publisher.wait_for(1);
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
      "the news of a message that waits");
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
    Talker publisher(ros);
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
        const Listener subscription(ros);
        next();
      }
      next();
    }
    check(rcl_event_fini(&event), "event's end");
  }
#endif
  if (!events) {
    Listener subscription(ros);
    Talker publisher(ros);
    publisher.wait_for(1);
    std::atomic<std::size_t> called{0};
    check(rcl_subscription_set_on_new_message_callback(&subscription.it, slow, &called), "callback");
    for (int i = 0; i < kTimes; ++i) {
      publisher.say();
      wait_for([&] { check(rcl_wait_set_add_subscription(&wait_set, &subscription.it, nullptr), "add"); }, called,
               [&] {
                 if (!subscription.hear()) fail("nothing was there");
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
