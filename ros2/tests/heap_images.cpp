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
#include <optional>
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

const rosidl_message_type_support_t* type() { return rosidl_typesupport_cpp::get_message_type_support_handle<Image>(); }

/// The RMW's; zeros if it is another RMW.
baton::containers::Counters counters() {
  baton::containers::Counters sums;
  if (void* found = dlsym(RTLD_DEFAULT, "baton_heap_counters"))
    reinterpret_cast<decltype(&baton::containers::baton_heap_counters)>(found)(&sums);
  return sums;
}

void publish(Ros& ros, int messages, std::size_t bytes, bool loan, bool hold, int more = 0) {
  std::optional<Publisher> made(std::in_place, ros, type(), "image", with_depth(kDepth));
  Publisher& publisher = *made;
  publisher.wait_for(1);
  int lent = 0;
  for (int i = 0; i < messages + more; ++i) {
    if (more != 0 && i == messages) wait_for_a_line("published");
    const auto fill = [&](Image& image) {
      image.header.frame_id = "a frame whose name is not short at all";
      image.height = static_cast<std::uint32_t>(i);
      image.data.assign(bytes, static_cast<std::uint8_t>(i));
    };
    if (loan && rcl_publisher_can_loan_messages(&publisher.it)) {
      void* borrowed = nullptr;
      check(rcl_borrow_loaned_message(&publisher.it, type(), &borrowed), "borrow");
      fill(*static_cast<Image*>(borrowed));
      lent += baton::memory::in_window(static_cast<Image*>(borrowed)->data.data());
      check(rcl_publish_loaned_message(&publisher.it, borrowed, nullptr), "publish a loan");
    } else {
      Image image;
      fill(image);
      publisher.publish(&image);
    }
    std::this_thread::sleep_for(20ms);
  }
  if (hold) {
    std::printf("holding\n");
    std::fflush(stdout);
    std::this_thread::sleep_for(300s);
  }
  if (loan && rcl_publisher_can_loan_messages(&publisher.it)) {  // one that is not published
    void* borrowed = nullptr;
    check(rcl_borrow_loaned_message(&publisher.it, type(), &borrowed), "borrow");
    static_cast<Image*>(borrowed)->data.assign(100, 1);
    check(rcl_return_loaned_message_from_publisher(&publisher.it, borrowed), "return a loan");
  }
  std::this_thread::sleep_for(500ms);
  made.reset();
  std::printf("{\"lent\": %d, \"live\": %zu}\n", lent, counters().live_messages);
}

void subscribe(Ros& ros, int messages, std::size_t bytes, std::size_t most) {
  int got = 0, wrong = 0, aliased = 0;
  {
    std::deque<std::vector<std::uint8_t>> kept;
    {
      Subscription subscription(ros, type(), "image", with_depth(kDepth));
      for (; got < messages; ++got) {
        Image image;
        until([&] { return subscription.take(&image); }, "a message");
        const auto value = static_cast<std::uint8_t>(image.height);
        aliased += baton::memory::in_window(image.data.data());
        wrong += image.data != std::vector<std::uint8_t>(bytes, value);
        kept.push_back(std::move(image.data));
        kept.back()[bytes / 2] = 255;
        if (kept.size() > most) kept.pop_front();
      }
    }
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
    Subscription subscription(ros, type(), "image");
    while (static_cast<int>(kept.size()) < messages) {
      Image image;
      until([&] { return subscription.take(&image); }, "a message");
      aliased += baton::memory::in_window(image.data.data());
      kept.push_back(std::move(image.data));
    }
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
    publish(ros, messages, bytes, false, false, std::stoi(more));
  else if (role == "pub")
    publish(ros, messages, bytes, more == "loan" || more == "hold", more == "hold");
  else
    subscribe(ros, messages, bytes, more.empty() ? 3 : std::stoul(more));
}
