// SPDX-License-Identifier: Apache-2.0
// A C++ program over rcl whose type support describes std_msgs/String as no ROS 2 lays it out: layouts talk <messages> | listen <messages>.
// Two topics of that type, and one of a type that is described as it is. Prints what was heard of each as JSON.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "rcl.hpp"
#include "rosidl_typesupport_cpp/message_type_support.hpp"
#include "rosidl_typesupport_introspection_c/identifier.h"
#include "rosidl_typesupport_introspection_cpp/identifier.hpp"
#include "rosidl_typesupport_introspection_cpp/message_introspection.hpp"
#include "std_msgs/msg/int32.hpp"
#include "std_msgs/msg/string.hpp"

namespace {

namespace introspection = rosidl_typesupport_introspection_cpp;
using std_msgs::msg::Int32;
using std_msgs::msg::String;
constexpr int kLimitS = 120;

const rosidl_message_type_support_t* real() {
  return rosidl_typesupport_cpp::get_message_type_support_handle<String>();
}

introspection::MessageMember g_member;
introspection::MessageMembers g_members;
rosidl_message_type_support_t g_introspection, g_type;

const rosidl_message_type_support_t* altered(const rosidl_message_type_support_t*, const char* identifier) {
  if (std::strcmp(identifier, introspection::typesupport_identifier) == 0) return &g_introspection;
  if (std::strcmp(identifier, rosidl_typesupport_introspection_c__identifier) == 0) return nullptr;
  return real()->func(real(), identifier);
}

/// The real type support, but for its introspection: the string is said to lie 8 bytes further on.
const rosidl_message_type_support_t* type() {
  const auto* const found = real()->func(real(), introspection::typesupport_identifier);
  if (found == nullptr) fail("introspection");
  const auto& members = *static_cast<const introspection::MessageMembers*>(found->data);
  std::memcpy(static_cast<void*>(&g_member), members.members_, sizeof g_member);
  std::memcpy(static_cast<void*>(&g_members), &members, sizeof g_members);
  g_member.offset_ += 8;
  g_members.members_ = &g_member;
  g_introspection = *found;
  g_introspection.data = &g_members;
  g_type = *real();
  g_type.func = altered;
  return &g_type;
}

template <class Done>
bool wait_until(Done done) {
  for (int i = 0; i < kLimitS * 100; ++i) {
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

struct Talker {
  Talker(rcl_node_t& its_node, const char* topic, const rosidl_message_type_support_t* its_type) : node(its_node) {
    const rcl_publisher_options_t options = rcl_publisher_get_default_options();
    check(rcl_publisher_init(&publisher, &node, its_type, topic, &options), "publisher");
  }
  ~Talker() {
    if (rcl_publisher_fini(&publisher, &node) != RCL_RET_OK) fail("publisher's end");
  }
  void wait() {
    std::size_t count = 0;
    if (!wait_until(
            [&] { return rcl_publisher_get_subscription_count(&publisher, &count) == RCL_RET_OK && count > 0; }))
      fail("no subscription");
  }
  rcl_node_t& node;
  rcl_publisher_t publisher = rcl_get_zero_initialized_publisher();
};

int talk(int messages) {
  Ros ros("layouts_talk");
  {
    Talker first(ros.node, "first", type()), second(ros.node, "second", type());
    Talker third(ros.node, "third", rosidl_typesupport_cpp::get_message_type_support_handle<Int32>());
    for (Talker* each : {&first, &second, &third}) each->wait();
    for (int i = 0; i < messages; ++i) {
      String text;
      text.data = "a text that is too long for a string without memory of its own: " + std::to_string(i);
      Int32 number;
      number.data = i;
      check(rcl_publish(&first.publisher, &text, nullptr), "publish");
      check(rcl_publish(&second.publisher, &text, nullptr), "publish");
      check(rcl_publish(&third.publisher, &number, nullptr), "publish");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    check(rcl_publisher_wait_for_all_acked(&first.publisher, kLimitS * 1'000'000'000LL), "acknowledgements");
    check(rcl_publisher_wait_for_all_acked(&second.publisher, kLimitS * 1'000'000'000LL), "acknowledgements");
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  std::printf("{}\n");
  return 0;
}

std::mutex g_node;  // rcl's functions that make and end a node's subscriptions are not thread-safe (rcl/subscription.h)

template <class Message>
int hear(rcl_node_t& node, const char* topic, const rosidl_message_type_support_t* its_type, int messages) {
  rcl_subscription_t subscription = rcl_get_zero_initialized_subscription();
  rcl_subscription_options_t options = rcl_subscription_get_default_options();
  options.qos.depth = 1000;
  {
    const std::lock_guard<std::mutex> lock(g_node);
    check(rcl_subscription_init(&subscription, &node, its_type, topic, &options), "subscription");
  }
  int right = 0;
  wait_until([&] {
    Message message;
    while (rcl_take(&subscription, &message, nullptr, nullptr) == RCL_RET_OK) {
      if constexpr (std::is_same_v<Message, Int32>)
        right += message.data == right;
      else
        right +=
            message.data == "a text that is too long for a string without memory of its own: " + std::to_string(right);
    }
    return right >= messages;
  });
  const std::lock_guard<std::mutex> lock(g_node);
  check(rcl_subscription_fini(&subscription, &node), "subscription's end");
  return right;
}

int listen(int messages) {
  Ros ros("layouts_listen");
  int heard[3] = {0, 0, 0};
  const rosidl_message_type_support_t* const text = type();
  std::thread first([&] { heard[0] = hear<String>(ros.node, "first", text, messages); });
  std::thread second([&] { heard[1] = hear<String>(ros.node, "second", text, messages); });
  heard[2] = hear<Int32>(ros.node, "third", rosidl_typesupport_cpp::get_message_type_support_handle<Int32>(), messages);
  first.join();
  second.join();
  std::printf("{\"first\": %d, \"second\": %d, \"third\": %d}\n", heard[0], heard[1], heard[2]);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "talk" && argc == 3) return talk(std::stoi(argv[2]));
  if (role == "listen" && argc == 3) return listen(std::stoi(argv[2]));
  std::fprintf(stderr, "usage: %s talk <messages> | listen <messages>\n", argv[0]);
  return 2;
}
