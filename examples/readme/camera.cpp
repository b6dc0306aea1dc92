// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <baton/msg/sensor_msgs/image.hpp>
#include <baton/node/node.hpp>

using baton::msg::sensor_msgs::Image;

int main(int argc, char** argv) {
  baton::init(argc, argv);  // remapping, parameters, Ctrl-C
  std::uint8_t brightness = 0;
  baton::Node node("camera");
  auto publisher = node.advertise<Image>("image");
  baton::Executor executor;
  executor.add(node);
  auto timer = node.create_timer(std::chrono::milliseconds(33), [&] {
    auto image = publisher.loan();  // lives in shared memory from here on
    image->header.frame_id = "camera";
    image->width = 640;
    image->height = 480;
    image->step = 640 * 3;  // bytes of a row
    image->encoding = "rgb8";
    image->data.resize_for_overwrite(640 * 480 * 3);  // not zeroed first: the next line writes all of it
    std::fill(image->data.begin(), image->data.end(), brightness++);
    publisher.publish(std::move(image));  // hands it over: no copy, whatever its size
  });
  executor.spin();
}
