// SPDX-License-Identifier: Apache-2.0
// A C++ program as rclcpp is one, on rcl: "pub <messages> <bytes> <plain|loan|hold>" publishes images (hold: lent ones, and then waits
// to be killed), "sub <messages> <bytes> <kept>" takes them, keeps that many, changes them and frees them late. "first <messages> <bytes>
// <more>" publishes messages, and more once it reads a line; "outlive <messages> <bytes>" keeps all that it takes, ends subscription, node and
// context, and looks at what it kept once it reads a line. Each reports one line of JSON. It knows Baton only to count.
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "baton/containers/heap.hpp"
#include "baton/memory/window.hpp"
#include "rcl.hpp"
#include "rosidl_typesupport_cpp/message_type_support.hpp"
#include "sensor_msgs/msg/image.hpp"

namespace {

using sensor_msgs::msg::Image;
using namespace std::chrono_literals;
constexpr std::size_t kDepth = 50;  // nothing gives way while the reader is slow

template <class Done>
void wait_until(Done done, const char* what) {
  const auto end = std::chrono::steady_clock::now() + 200s;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) fail(std::string("never: ") + what);
    std::this_thread::sleep_for(1ms);
  }
}

const rosidl_message_type_support_t* type() { return rosidl_typesupport_cpp::get_message_type_support_handle<Image>(); }

/// The RMW's; zeros if it is another RMW.
baton::containers::Counters counters() {
  baton::containers::Counters sums;
  if (void* found = dlsym(RTLD_DEFAULT, "baton_heap_counters"))
    reinterpret_cast<decltype(&baton::containers::baton_heap_counters)>(found)(&sums);
  return sums;
}

/// Says so, and waits for a line.
void wait_for_a_line(const char* said) {
  std::printf("%s\n", said);
  std::fflush(stdout);
  while (std::getchar() != '\n' && !std::feof(stdin)) {
  }
}

void publish(rcl_node_t& node, int messages, std::size_t bytes, bool loan, bool hold, int more = 0) {
  rcl_publisher_t publisher = rcl_get_zero_initialized_publisher();
  rcl_publisher_options_t options = rcl_publisher_get_default_options();
  options.qos.depth = kDepth;
  check(rcl_publisher_init(&publisher, &node, type(), "image", &options), "publisher");
  std::size_t subscriptions = 0;
  wait_until(
      [&] {
        return rcl_publisher_get_subscription_count(&publisher, &subscriptions) == RCL_RET_OK && subscriptions > 0;
      },
      "a subscription");
  int lent = 0;
  for (int i = 0; i < messages + more; ++i) {
    if (more != 0 && i == messages) wait_for_a_line("published");
    const auto fill = [&](Image& image) {
      image.header.frame_id = "a frame whose name is not short at all";
      image.height = static_cast<std::uint32_t>(i);
      image.data.assign(bytes, static_cast<std::uint8_t>(i));
    };
    if (loan && rcl_publisher_can_loan_messages(&publisher)) {
      void* borrowed = nullptr;
      check(rcl_borrow_loaned_message(&publisher, type(), &borrowed), "borrow");
      fill(*static_cast<Image*>(borrowed));
      lent += baton::memory::in_window(static_cast<Image*>(borrowed)->data.data());
      check(rcl_publish_loaned_message(&publisher, borrowed, nullptr), "publish a loan");
    } else {
      Image image;
      fill(image);
      check(rcl_publish(&publisher, &image, nullptr), "publish");
    }
    std::this_thread::sleep_for(20ms);
  }
  if (hold) {
    std::printf("holding\n");
    std::fflush(stdout);
    std::this_thread::sleep_for(300s);
  }
  if (loan && rcl_publisher_can_loan_messages(&publisher)) {  // one that is not published
    void* borrowed = nullptr;
    check(rcl_borrow_loaned_message(&publisher, type(), &borrowed), "borrow");
    static_cast<Image*>(borrowed)->data.assign(100, 1);
    check(rcl_return_loaned_message_from_publisher(&publisher, borrowed), "return a loan");
  }
  std::this_thread::sleep_for(500ms);
  check(rcl_publisher_fini(&publisher, &node), "publisher's end");
  std::printf("{\"lent\": %d, \"live\": %zu}\n", lent, counters().live_messages);
}

void subscribe(rcl_node_t& node, int messages, std::size_t bytes, std::size_t most) {
  rcl_subscription_t subscription = rcl_get_zero_initialized_subscription();
  rcl_subscription_options_t options = rcl_subscription_get_default_options();
  options.qos.depth = kDepth;
  check(rcl_subscription_init(&subscription, &node, type(), "image", &options), "subscription");
  int got = 0, wrong = 0, aliased = 0;
  {
    std::deque<std::vector<std::uint8_t>> kept;
    for (; got < messages; ++got) {
      Image image;
      wait_until([&] { return rcl_take(&subscription, &image, nullptr, nullptr) == RCL_RET_OK; }, "a message");
      const auto value = static_cast<std::uint8_t>(image.height);
      aliased += baton::memory::in_window(image.data.data());
      wrong += image.data != std::vector<std::uint8_t>(bytes, value);
      kept.push_back(std::move(image.data));
      kept.back()[bytes / 2] = 255;
      if (kept.size() > most) kept.pop_front();
    }
    check(rcl_subscription_fini(&subscription, &node), "subscription's end");
    for (std::vector<std::uint8_t>& each : kept) {
      wrong += each[bytes / 2] != 255 || each[0] != each[bytes - 1];
      each.push_back(0);
    }
  }
  const baton::containers::Counters sums = counters();
  std::printf("{\"got\": %d, \"wrong\": %d, \"aliased\": %d, \"live\": %zu, \"unknown\": %lu}\n", got, wrong, aliased,
              sums.live_messages, static_cast<unsigned long>(sums.unknown));
}

/// A process that lives on when its part in ROS has ended, with messages that it keeps.
void outlive(int messages, std::size_t bytes) {
  std::vector<std::vector<std::uint8_t>> kept;
  int aliased = 0, wrong = 0;
  {
    Ros ros("heap_outlive");
    rcl_subscription_t subscription = rcl_get_zero_initialized_subscription();
    const rcl_subscription_options_t options = rcl_subscription_get_default_options();
    check(rcl_subscription_init(&subscription, &ros.node, type(), "image", &options), "subscription");
    while (static_cast<int>(kept.size()) < messages) {
      Image image;
      wait_until([&] { return rcl_take(&subscription, &image, nullptr, nullptr) == RCL_RET_OK; }, "a message");
      aliased += baton::memory::in_window(image.data.data());
      kept.push_back(std::move(image.data));
    }
    check(rcl_subscription_fini(&subscription, &ros.node), "subscription's end");
  }
  wait_for_a_line("kept");
  for (int i = 0; i < messages; ++i)
    wrong += kept[static_cast<std::size_t>(i)] != std::vector<std::uint8_t>(bytes, static_cast<std::uint8_t>(i));
  kept.clear();
  std::printf("{\"wrong\": %d, \"aliased\": %d, \"live\": %zu}\n", wrong, aliased, counters().live_messages);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr,
                 "usage: %s pub <messages> <bytes> [plain | loan | hold] | sub <messages> <bytes> [kept] | first "
                 "<messages> <bytes> <more> | "
                 "outlive <messages> <bytes>\n",
                 argv[0]);
    return 2;
  }
  const std::string role = argv[1], more = argc > 4 ? argv[4] : "";
  const int messages = std::stoi(argv[2]);
  const std::size_t bytes = std::stoul(argv[3]);
  if (role == "outlive") {
    outlive(messages, bytes);
    return 0;
  }
  Ros ros(("heap_" + role).c_str());
  if (role == "first")
    publish(ros.node, messages, bytes, false, false, std::stoi(more));
  else if (role == "pub")
    publish(ros.node, messages, bytes, more == "loan" || more == "hold", more == "hold");
  else
    subscribe(ros.node, messages, bytes, more.empty() ? 3 : std::stoul(more));
}
