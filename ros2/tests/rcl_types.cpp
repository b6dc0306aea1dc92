// SPDX-License-Identifier: Apache-2.0
// A C++ program over rcl, for message types that it learns when it runs: rcl_types send <file> <readers> | hear <file> <sender> ... |
// local <file>.
// The file has a type a line: "std_msgs/msg/String". Every sender publishes a message as a struct and one serialized; every reader
// takes each as a struct and serialized, and compares all fields with those that it expects. Prints one line of JSON.
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iostream>
#include <thread>
#include <vector>

#include "every_type_values.hpp"
#include "rcl.hpp"
#include "rmw/rmw.h"

namespace {

constexpr auto kLimit = std::chrono::seconds(280);
using Clock = std::chrono::steady_clock;
using every_type::Message;

struct Type {
  std::string name;
  const rosidl_message_type_support_t* support;
  const every_type::Members* members;
};

std::vector<Type> types_in(const char* file) {
  std::vector<Type> types;
  std::ifstream lines(file);
  for (std::string name; std::getline(lines, name);) {
    const std::string package = name.substr(0, name.find('/'));
    void* library = dlopen(("lib" + package + "__rosidl_typesupport_cpp.so").c_str(), RTLD_LAZY);
    std::string symbol = "rosidl_typesupport_cpp__get_message_type_support_handle__";
    for (const char c : name) symbol += c == '/' ? std::string("__") : std::string(1, c);
    void* get = library != nullptr ? dlsym(library, symbol.c_str()) : nullptr;
    if (get == nullptr) fail(dlerror());
    const auto* support = reinterpret_cast<const rosidl_message_type_support_t* (*)()>(get)();
    types.push_back({name, support, &every_type::members_of(support)});
  }
  return types;
}

struct Bytes {
  rcl_serialized_message_t bytes = rmw_get_zero_initialized_serialized_message();
  Bytes() {
    const rcutils_allocator_t allocator = rcutils_get_default_allocator();
    check(rmw_serialized_message_init(&bytes, 0, &allocator), "bytes");
  }
  ~Bytes() { static_cast<void>(rmw_serialized_message_fini(&bytes)); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
};

int send(const std::vector<Type>& types, std::size_t readers) {
  Ros ros("send_cpp");
  std::deque<rcl_publisher_t> publishers;
  for (const Type& type : types) {
    rcl_publisher_t& publisher = publishers.emplace_back(rcl_get_zero_initialized_publisher());
    const rcl_publisher_options_t options = rcl_publisher_get_default_options();
    check(rcl_publisher_init(&publisher, &ros.node, type.support, type.name.c_str(), &options), type.name);
  }
  const auto end = Clock::now() + kLimit;
  for (std::size_t i = 0; i < types.size(); ++i) {
    for (std::size_t matched = 0; matched < readers;) {
      if (Clock::now() > end) fail("nobody hears " + types[i].name);
      check(rcl_publisher_get_subscription_count(&publishers[i], &matched), "count");
      if (matched < readers) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  Bytes serialized;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Type& type = types[i];
    const Message message = every_type::make(*type.members, type.name + " cpp struct");
    check(rcl_publish(&publishers[i], message.get(), nullptr), type.name);
    const Message second = every_type::make(*type.members, type.name + " cpp bytes");
    check(rmw_serialize(second.get(), type.support, &serialized.bytes), type.name);
    check(rcl_publish_serialized_message(&publishers[i], &serialized.bytes, nullptr), type.name);
  }
  std::string line;
  std::getline(std::cin, line);  // until everything has arrived
  for (rcl_publisher_t& publisher : publishers) check(rcl_publisher_fini(&publisher, &ros.node), "publisher's end");
  std::printf("{\"sent\": %zu}\n", types.size());
  return 0;
}

/// A publisher, which leaves before anybody took from it, and two subscriptions of its own context, one of which ignores it; both
/// hear a sender of another process.
int local(const Type& type) {
  Ros ros("local");
  rcl_publisher_t publisher = rcl_get_zero_initialized_publisher();
  const rcl_publisher_options_t publisher_options = rcl_publisher_get_default_options();
  check(rcl_publisher_init(&publisher, &ros.node, type.support, type.name.c_str(), &publisher_options), "publisher");
  rcl_subscription_t subscriptions[2] = {rcl_get_zero_initialized_subscription(),
                                         rcl_get_zero_initialized_subscription()};
  for (const bool ignores : {false, true}) {
    rcl_subscription_options_t options = rcl_subscription_get_default_options();
    options.rmw_subscription_options.ignore_local_publications = ignores;
    check(rcl_subscription_init(&subscriptions[ignores], &ros.node, type.support, type.name.c_str(), &options),
          "subscription");
  }
  // Who says that it does not lend, does not.
  bool as_said = true;
  void* lent = nullptr;
  rmw_message_info_t lent_info;
  if (!rcl_publisher_can_loan_messages(&publisher))
    as_said = rcl_borrow_loaned_message(&publisher, type.support, &lent) == RCL_RET_UNSUPPORTED && lent == nullptr;
  rcutils_reset_error();
  if (!rcl_subscription_can_loan_messages(&subscriptions[0])) {
    const rcl_ret_t taken = rcl_take_loaned_message(&subscriptions[0], &lent, &lent_info, nullptr);
    as_said = as_said && taken == RCL_RET_UNSUPPORTED && lent == nullptr;
  }
  rcutils_reset_error();
  const auto end = Clock::now() + kLimit;
  for (std::size_t matched = 0; matched < 2 && Clock::now() < end;) {
    check(rcl_publisher_get_subscription_count(&publisher, &matched), "count");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  for (int i = 0; i < 5; ++i) {
    const Message message = every_type::make(*type.members, std::to_string(i));
    check(rcl_publish(&publisher, message.get(), nullptr), "publish");
  }
  // What it leaves behind is heard, and is still its context's own.
  check(rcl_publisher_wait_for_all_acked(&publisher, kLimit.count() * 1'000'000'000), "acknowledgements");
  check(rcl_publisher_fini(&publisher, &ros.node), "publisher's end");
  std::size_t heard[2] = {0, 0};
  auto enough = end;  // once the others' two are there, a little longer
  while (Clock::now() < std::min(end, enough)) {
    for (const bool ignores : {false, true}) {
      const Message message = every_type::make(*type.members);
      rmw_message_info_t info;
      const rcl_ret_t taken = rcl_take(&subscriptions[ignores], message.get(), &info, nullptr);
      if (taken == RCL_RET_OK) {
        ++heard[ignores];
      } else if (taken != RCL_RET_SUBSCRIPTION_TAKE_FAILED) {
        fail("take");
      }
      rcutils_reset_error();
    }
    if (enough == end && heard[0] >= 7 && heard[1] >= 2) enough = Clock::now() + std::chrono::milliseconds(300);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  for (rcl_subscription_t& subscription : subscriptions) check(rcl_subscription_fini(&subscription, &ros.node), "end");
  std::printf("{\"all\": %zu, \"others\": %zu, \"lends_as_said\": %s}\n", heard[0], heard[1],
              as_said ? "true" : "false");
  return 0;
}

struct Hearing {
  const Type* type;
  bool raw;
  rcl_subscription_t subscription;
  std::vector<std::string> expected;  // seeds of messages that did not come yet
};

/// Takes one message; the seed that it was made from is crossed off. False: there was none.
bool take(Hearing& hearing, Bytes& serialized, std::vector<std::string>& wrong) {
  const every_type::Members& members = *hearing.type->members;
  const Message message = every_type::make(members);
  rmw_message_info_t info;
  const rcl_ret_t taken = hearing.raw
                              ? rcl_take_serialized_message(&hearing.subscription, &serialized.bytes, &info, nullptr)
                              : rcl_take(&hearing.subscription, message.get(), &info, nullptr);
  if (taken == RCL_RET_SUBSCRIPTION_TAKE_FAILED) {
    rcutils_reset_error();
    return false;
  }
  check(taken, hearing.type->name);
  if (hearing.raw) check(rmw_deserialize(&serialized.bytes, hearing.type->support, message.get()), hearing.type->name);
  std::string differs;
  for (auto seed = hearing.expected.begin(); seed != hearing.expected.end(); ++seed) {
    const std::string found = every_type::difference(members, message.get(), every_type::make(members, *seed).get());
    if (found.empty()) {
      hearing.expected.erase(seed);
      return true;
    }
    differs += " " + found;
  }
  wrong.push_back(hearing.type->name + (hearing.raw ? " bytes:" : " struct:") + differs);
  return true;
}

int hear(const std::vector<Type>& types, const std::vector<std::string>& senders) {
  Ros ros("hear_cpp");
  std::deque<Hearing> hearings;
  for (const Type& type : types) {
    for (const bool raw : {false, true}) {
      Hearing& hearing = hearings.emplace_back(Hearing{&type, raw, rcl_get_zero_initialized_subscription(), {}});
      for (const std::string& sender : senders) {
        for (const char* way : {" struct", " bytes"}) hearing.expected.push_back(type.name + " " + sender + way);
      }
      const rcl_subscription_options_t options = rcl_subscription_get_default_options();
      check(rcl_subscription_init(&hearing.subscription, &ros.node, type.support, type.name.c_str(), &options),
            type.name);
    }
  }
  std::size_t missing = hearings.size() * senders.size() * 2;
  rcl_wait_set_t wait_set = rcl_get_zero_initialized_wait_set();
  check(rcl_wait_set_init(&wait_set, hearings.size(), 0, 0, 0, 0, 0, &ros.context, rcl_get_default_allocator()),
        "wait set");
  std::vector<std::string> wrong;
  Bytes serialized;
  const auto end = Clock::now() + kLimit;
  while (missing != 0 && Clock::now() < end) {
    check(rcl_wait_set_clear(&wait_set), "clear");
    for (Hearing& hearing : hearings)
      check(rcl_wait_set_add_subscription(&wait_set, &hearing.subscription, nullptr), "add");
    const rcl_ret_t waited = rcl_wait(&wait_set, 500'000'000);
    if (waited == RCL_RET_TIMEOUT) continue;
    check(waited, "wait");
    for (std::size_t i = 0; i < hearings.size(); ++i) {
      if (wait_set.subscriptions[i] == nullptr) continue;
      while (missing != 0 && take(hearings[i], serialized, wrong)) --missing;
    }
  }
  check(rcl_wait_set_fini(&wait_set), "wait set's end");
  for (Hearing& hearing : hearings)
    check(rcl_subscription_fini(&hearing.subscription, &ros.node), "subscription's end");
  std::printf("{\"types\": %zu, \"missing\": %zu, \"wrong\": [", types.size(), missing);
  for (std::size_t i = 0; i < wrong.size(); ++i) std::printf("%s\"%s\"", i == 0 ? "" : ", ", wrong[i].c_str());
  std::printf("]}\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  try {
    if (role == "send" && argc == 4) return send(types_in(argv[2]), std::stoul(argv[3]));
    if (role == "local" && argc == 3) return local(types_in(argv[2]).at(0));
    if (role == "hear" && argc > 3) return hear(types_in(argv[2]), {argv + 3, argv + argc});
  } catch (const std::exception& error) {
    fail(error.what());
  }
  std::fprintf(stderr, "usage: %s send <file> <readers> | hear <file> <sender> ... | local <file>\n", argv[0]);
  return 2;
}
