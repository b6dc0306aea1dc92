// SPDX-License-Identifier: Apache-2.0
// Logs when each image was received (TZC IV-E: the first of the four nodes).
// Argument: queue size. Prints "ready" with the first image; at its end, for each image, "frame TAKEN RECEIVED".
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "middleware.hpp"
#include "world_file.hpp"

using namespace baton::robot;

int main(int argc, char** argv) {
  ros::init(argc, argv, "logger", ros::init_options::NoRosout);
  if (argc != 2) return 2;
  ros::NodeHandle node;
  std::vector<std::pair<Nanoseconds, Nanoseconds>> all;
  all.reserve(10'000);
  const ImageSubscriber subscriber(node, static_cast<std::uint32_t>(std::stoul(argv[1])), [&](const Image& image) {
    if (all.empty()) std::cout << "ready" << std::endl;
    all.emplace_back(taken_at(image.header), now());
  });
  ros::spin();
  for (const auto& [taken, received] : all) std::cout << "frame " << taken << ' ' << received << '\n';
}
