// SPDX-License-Identifier: Apache-2.0
// A C++ program over rcl, which is what rclcpp is built on: rcl_image talk <bytes> <images> <pause_ms> | listen <images>.
// Prints one line of JSON: the images that arrived, whether each was intact, and how many lay in huge pages.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "rcl.hpp"
#include "rosidl_typesupport_cpp/message_type_support.hpp"
#include "sensor_msgs/msg/image.hpp"

namespace {

using sensor_msgs::msg::Image;

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
  Publisher publisher(ros, image_type(), "image", with_depth(5));
  publisher.wait_for(1);
  Image image;
  image.data.resize(bytes);
  for (std::size_t i = 0; i < images; ++i) {
    image.height = static_cast<std::uint32_t>(i);
    image.encoding = std::to_string(i);
    for (std::size_t at = 0; at < bytes; at += 4096) image.data[at] = byte_of(i, at);
    publisher.publish(&image);
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
  }
  publisher.wait_for_all_acked();
  std::printf("{}\n");
  return 0;
}

int listen(std::size_t images) {
  Ros ros("listen");
  Subscription subscription(ros, image_type(), "image", with_depth(5));
  bool intact = true;
  std::size_t heard = 0, huge = 0;
  for (std::uint32_t last = 0; last + 1 < images;) {
    auto image = std::make_shared<Image>();  // as rclcpp does
    until([&] { return subscription.take(image.get()); }, "an image");
    ++heard;
    last = image->height;
    intact = intact && image->encoding == std::to_string(last);
    if (asked_for_huge_pages(image->data.data() + image->data.size() / 2)) ++huge;
    for (std::size_t at = 0; at < image->data.size(); at += 4096)
      intact = intact && image->data[at] == byte_of(last, at);
  }
  std::printf("{\"heard\": %zu, \"huge\": %zu, \"intact\": %s}\n", heard, huge, intact ? "true" : "false");
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
