// SPDX-License-Identifier: Apache-2.0
// A C++ program over rcl, which is what rclcpp is built on: rcl_image talk <bytes> <images> <pause_ms> | listen <images>.
// Prints one line of JSON: what was heard, whether it was intact, and the time from before publish to after take.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rcl.hpp"
#include "rosidl_typesupport_cpp/message_type_support.hpp"
#include "sensor_msgs/msg/image.hpp"

namespace {

using sensor_msgs::msg::Image;
constexpr int kLimitS = 120;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

const rosidl_message_type_support_t* image_type() {
  return rosidl_typesupport_cpp::get_message_type_support_handle<Image>();
}

/// Whether huge pages were asked for at `address` (proc_pid_smaps(5), VmFlags).
bool asked_for_huge_pages(const void* address) {
  std::ifstream smaps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) inside = begin <= wanted && wanted < end;
    if (inside && line.rfind("VmFlags:", 0) == 0) return line.find(" hg") != std::string::npos;
  }
  return false;
}

std::uint8_t byte_of(std::size_t image, std::size_t at) { return static_cast<std::uint8_t>(image + at / 4096); }

int talk(std::size_t bytes, std::size_t images, int pause_ms) {
  Ros ros("talk");
  rcl_publisher_t publisher = rcl_get_zero_initialized_publisher();
  rcl_publisher_options_t options = rcl_publisher_get_default_options();
  options.qos.depth = 5;
  check(rcl_publisher_init(&publisher, &ros.node, image_type(), "image", &options), "publisher");
  std::size_t matched = 0;
  for (int i = 0; i < kLimitS * 100 && matched == 0; ++i) {
    check(rcl_publisher_get_subscription_count(&publisher, &matched), "count");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  Image image;
  image.data.resize(bytes);
  for (std::size_t i = 0; i < images; ++i) {
    image.height = static_cast<std::uint32_t>(i);
    image.encoding = std::to_string(i);
    for (std::size_t at = 0; at < bytes; at += 4096) image.data[at] = byte_of(i, at);
    const std::int64_t begin = now_ns();
    image.header.stamp.sec = static_cast<std::int32_t>(begin / 1'000'000'000);
    image.header.stamp.nanosec = static_cast<std::uint32_t>(begin % 1'000'000'000);
    check(rcl_publish(&publisher, &image, nullptr), "publish");
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
  }
  check(rcl_publisher_wait_for_all_acked(&publisher, kLimitS * 1'000'000'000LL), "acknowledgements");
  check(rcl_publisher_fini(&publisher, &ros.node), "publisher's end");
  std::printf("{}\n");
  return 0;
}

int listen(std::size_t images) {
  Ros ros("listen");
  rcl_subscription_t subscription = rcl_get_zero_initialized_subscription();
  rcl_subscription_options_t options = rcl_subscription_get_default_options();
  options.qos.depth = 5;
  check(rcl_subscription_init(&subscription, &ros.node, image_type(), "image", &options), "subscription");
  rcl_wait_set_t wait_set = rcl_get_zero_initialized_wait_set();
  check(rcl_wait_set_init(&wait_set, 1, 0, 0, 0, 0, 0, &ros.context, rcl_get_default_allocator()), "wait set");
  std::vector<std::int64_t> took;
  bool intact = true;
  std::size_t heard = 0, huge = 0;
  const std::int64_t end = now_ns() + std::int64_t{kLimitS} * 1'000'000'000;
  for (std::uint32_t last = 0; last + 1 < images && now_ns() < end;) {
    check(rcl_wait_set_clear(&wait_set), "clear");
    check(rcl_wait_set_add_subscription(&wait_set, &subscription, nullptr), "add");
    const rcl_ret_t waited = rcl_wait(&wait_set, 500'000'000);
    if (waited == RCL_RET_TIMEOUT) continue;
    check(waited, "wait");
    auto image = std::make_shared<Image>();  // as rclcpp does
    rmw_message_info_t info;
    const rcl_ret_t taken = rcl_take(&subscription, image.get(), &info, nullptr);
    if (taken == RCL_RET_SUBSCRIPTION_TAKE_FAILED) continue;
    check(taken, "take");
    const std::int64_t published = std::int64_t{image->header.stamp.sec} * 1'000'000'000 + image->header.stamp.nanosec;
    took.push_back(now_ns() - published);
    ++heard;
    last = image->height;
    intact = intact && image->encoding == std::to_string(last);
    if (asked_for_huge_pages(image->data.data() + image->data.size() / 2)) ++huge;
    for (std::size_t at = 0; at < image->data.size(); at += 4096)
      intact = intact && image->data[at] == byte_of(last, at);
  }
  check(rcl_wait_set_fini(&wait_set), "wait set's end");
  check(rcl_subscription_fini(&subscription, &ros.node), "subscription's end");
  std::sort(took.begin(), took.end());
  std::printf("{\"heard\": %zu, \"huge\": %zu, \"intact\": %s, \"p50_us\": %.1f, \"p90_us\": %.1f}\n", heard, huge,
              intact ? "true" : "false", took.empty() ? 0.0 : static_cast<double>(took[took.size() / 2]) / 1000,
              took.empty() ? 0.0 : static_cast<double>(took[took.size() * 9 / 10]) / 1000);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "talk" && argc == 5) return talk(std::stoul(argv[2]), std::stoul(argv[3]), std::stoi(argv[4]));
  if (role == "listen" && argc == 3) return listen(std::stoul(argv[2]));
  std::fprintf(stderr, "usage: %s talk <bytes> <images> <pause_ms> | listen <images>\n", argv[0]);
  return 2;
}
