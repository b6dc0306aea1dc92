// SPDX-License-Identifier: Apache-2.0
// An end of matrix_test.py in C++: `matrix_end talk KIND` publishes numbered texts and images until its input ends, `matrix_end hear
// KIND...` prints a line for each message of these kinds of talkers.
#include <baton/msg/sensor_msgs/image.hpp>
#include <baton/msg/std_msgs/string.hpp>
#include <baton/node/node.hpp>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

using baton::msg::sensor_msgs::Image;
using baton::msg::std_msgs::String;

constexpr std::size_t kImageBytes = 1'000;
constexpr std::chrono::milliseconds kPeriod{100};

/// As ros1/tests/programs/pattern.hpp.
std::uint8_t pattern(std::uint32_t number, std::size_t i) {
  return static_cast<std::uint8_t>(number * 31 + i * 7 + (i >> 12));
}

void talk(baton::Node& node, const std::string& kind) {
  auto texts = node.advertise<String>("/matrix/text_" + kind, 100);
  auto images = node.advertise<Image>("/matrix/image_" + kind, 10);
  std::uint32_t number = 0;
  auto timer = node.create_timer(kPeriod, [&] {
    String text;
    text.data = "text " + std::to_string(++number);
    texts.publish(text);
    auto image = images.loan();
    image->header.frame_id = "camera";
    image->width = number;
    image->height = 1;
    image->encoding = "mono8";
    image->data.resize(kImageBytes);
    for (std::size_t i = 0; i < kImageBytes; ++i) image->data[i] = pattern(number, i);
    images.publish(std::move(image));
  });
  baton::spin(node);
}

void hear(baton::Node& node, const std::vector<std::string>& kinds) {
  std::vector<baton::Subscription<String>> texts;
  std::vector<baton::Subscription<Image>> images;
  for (const std::string& kind : kinds) {
    texts.push_back(node.subscribe<String>("/matrix/text_" + kind, 100, [kind](const String& text) {
      const std::string said(text.data.begin(), text.data.end());
      std::cout << "text_" << kind << ' ' << said.substr(said.find(' ') + 1) << ' '
                << (said.rfind("text ", 0) == 0 ? "good" : "bad") << std::endl;
    }));
    images.push_back(node.subscribe<Image>("/matrix/image_" + kind, 10, [kind](const Image& image) {
      bool good = image.data.size() == kImageBytes;
      for (std::size_t i = 0; good && i < kImageBytes; ++i) good = image.data[i] == pattern(image.width, i);
      std::cout << "image_" << kind << ' ' << image.width << ' ' << (good ? "good" : "bad") << std::endl;
    }));
  }
  std::cout << "ready" << std::endl;
  baton::spin(node);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  baton::shutdown_on_signals();
  const std::vector<std::string> kinds(argv + 2, argv + argc);
  if (std::string(argv[1]) == "talk") {
    baton::Node node("cpp_talker");
    talk(node, kinds[0]);
  } else {
    baton::Node node("cpp_listener");
    hear(node, kinds);
  }
}
