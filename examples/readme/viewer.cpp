// SPDX-License-Identifier: Apache-2.0
#include <baton/msg/sensor_msgs/image.hpp>
#include <baton/node/node.hpp>
#include <iostream>

using baton::msg::sensor_msgs::Image;

int main(int argc, char** argv) {
  baton::init(argc, argv);  // remapping, parameters, Ctrl-C
  baton::Node node("viewer");
  auto subscription = node.subscribe<Image>("image", 4, [](const Image& image) {
    std::cout << image.width << "x" << image.height << " " << image.data.size() << " bytes" << std::endl;
  });
  baton::Executor executor;
  executor.add(node);
  executor.spin();
}
