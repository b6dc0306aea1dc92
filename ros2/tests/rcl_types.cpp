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
#include <optional>
#include <thread>
#include <vector>

#include "every_type_values.hpp"
#include "rcl.hpp"
#include "rmw/rmw.h"

namespace {

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
  std::deque<Publisher> publishers;
  for (const Type& type : types) publishers.emplace_back(ros, type.support, type.name);
  for (Publisher& each : publishers) each.wait_for(readers);
  Bytes serialized;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Type& type = types[i];
    const Message message = every_type::make(*type.members, type.name + " cpp struct");
    publishers[i].publish(message.get());
    const Message second = every_type::make(*type.members, type.name + " cpp bytes");
    check(rmw_serialize(second.get(), type.support, &serialized.bytes), type.name);
    check(rcl_publish_serialized_message(&publishers[i].it, &serialized.bytes, nullptr), type.name);
  }
  std::string line;
  std::getline(std::cin, line);  // until everything has arrived
  std::printf("{\"sent\": %zu}\n", types.size());
  return 0;
}

/// A publisher, which leaves before anybody took from it, and two subscriptions of its own context, one of which ignores it; both
/// hear a sender of another process.
int local(const Type& type) {
  Ros ros("local");
  std::optional<Publisher> publisher(std::in_place, ros, type.support, type.name);
  Subscription hears(ros, type.support, type.name),
      ignores(ros, type.support, type.name, rmw_qos_profile_default, true);
  Subscription* const subscriptions[] = {&hears, &ignores};
  // Who says that it does not lend, does not.
  bool as_said = true;
  void* lent = nullptr;
  rmw_message_info_t lent_info;
  if (!rcl_publisher_can_loan_messages(&publisher->it))
    as_said = rcl_borrow_loaned_message(&publisher->it, type.support, &lent) == RCL_RET_UNSUPPORTED && lent == nullptr;
  rcutils_reset_error();
  if (!rcl_subscription_can_loan_messages(&hears.it)) {
    const rcl_ret_t taken = rcl_take_loaned_message(&hears.it, &lent, &lent_info, nullptr);
    as_said = as_said && taken == RCL_RET_UNSUPPORTED && lent == nullptr;
  }
  rcutils_reset_error();
  publisher->wait_for(2);
  for (int i = 0; i < 5; ++i) {
    const Message message = every_type::make(*type.members, std::to_string(i));
    publisher->publish(message.get());
  }
  // What it leaves behind is heard, and is still its context's own.
  publisher->wait_for_all_acked();
  publisher.reset();
  std::size_t heard[2] = {0, 0};
  const auto end = Clock::now() + kLimit;
  auto enough = end;  // once the others' two are there, a little longer
  while (Clock::now() < std::min(end, enough)) {
    for (const std::size_t i : {0, 1}) heard[i] += subscriptions[i]->take(every_type::make(*type.members).get());
    if (enough == end && heard[0] >= 7 && heard[1] >= 2) enough = Clock::now() + std::chrono::milliseconds(300);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::printf("{\"all\": %zu, \"others\": %zu, \"lends_as_said\": %s}\n", heard[0], heard[1],
              as_said ? "true" : "false");
  return 0;
}

struct Hearing {
  Hearing(Ros& ros, const Type& its_type, bool is_raw)
      : type(&its_type), raw(is_raw), subscription(ros, its_type.support, its_type.name) {}
  const Type* type;
  bool raw;
  Subscription subscription;
  std::vector<std::string> expected;  // seeds of messages that did not come yet
};

/// Takes one message; the seed that it was made from is crossed off. False: there was none.
bool take(Hearing& hearing, Bytes& serialized, std::vector<std::string>& wrong) {
  const every_type::Members& members = *hearing.type->members;
  const Message message = every_type::make(members);
  rcl_subscription_t* const it = &hearing.subscription.it;
  if (!Subscription::taken(hearing.raw ? rcl_take_serialized_message(it, &serialized.bytes, nullptr, nullptr)
                                       : rcl_take(it, message.get(), nullptr, nullptr)))
    return false;
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
      Hearing& hearing = hearings.emplace_back(ros, type, raw);
      for (const std::string& sender : senders) {
        for (const char* way : {" struct", " bytes"}) hearing.expected.push_back(type.name + " " + sender + way);
      }
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
      check(rcl_wait_set_add_subscription(&wait_set, &hearing.subscription.it, nullptr), "add");
    const rcl_ret_t waited = rcl_wait(&wait_set, 500'000'000);
    if (waited == RCL_RET_TIMEOUT) continue;
    check(waited, "wait");
    for (std::size_t i = 0; i < hearings.size(); ++i) {
      if (wait_set.subscriptions[i] == nullptr) continue;
      while (missing != 0 && take(hearings[i], serialized, wrong)) --missing;
    }
  }
  check(rcl_wait_set_fini(&wait_set), "wait set's end");
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
