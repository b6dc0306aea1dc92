// SPDX-License-Identifier: Apache-2.0
// Looks for one lit lamp in the middle of each image and publishes the header of each image in which the
// lamp is found.
// Arguments: lamp (red, yellow, green), queue size. Prints "ready" with the first image; at its end, for each image,
// "frame TAKEN RECEIVED DONE FOUND".
#include <std_msgs/Header.h>

#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "lamp_finder.hpp"
#include "middleware.hpp"
#include "world_file.hpp"

using namespace baton::robot;

namespace {

struct Seen {
  Nanoseconds taken, received, done;
  bool found;
};

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "recognition", ros::init_options::NoRosout | ros::init_options::AnonymousName);
  if (argc != 3) return 2;
  const std::string name = argv[1];
  cv::setNumThreads(1);
  ros::NodeHandle node;
  const ros::Publisher publisher = node.advertise<std_msgs::Header>(name + "_light", 10);
  const Lamp lamp = name == "red" ? Lamp::red : name == "yellow" ? Lamp::yellow : Lamp::green;
  std::optional<LampFinder> finder;
  std::vector<Seen> all;
  all.reserve(10'000);
  const ImageSubscriber subscriber(node, static_cast<std::uint32_t>(std::stoul(argv[2])), [&](const Image& image) {
    Seen seen{taken_at(image.header), now(), 0, false};
    if (!finder) finder.emplace(lamp, Size(image.width));
    seen.found = finder->finds(image.data.data());
    seen.done = now();
    if (seen.found) {
      std_msgs::Header light;
      light.stamp = stamp_of(seen.taken);
      publisher.publish(light);
    }
    if (all.empty()) std::cout << "ready" << std::endl;
    all.push_back(seen);
  });
  ros::spin();
  for (const Seen& seen : all)
    std::cout << "frame " << seen.taken << ' ' << seen.received << ' ' << seen.done << ' ' << seen.found << '\n';
}
