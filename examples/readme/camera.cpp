// SPDX-License-Identifier: Apache-2.0
#include <baton/msg/sensor_msgs/image.hpp>
#include <baton/node/node.hpp>

using baton::msg::sensor_msgs::Image;

int main() {
  baton::shutdown_on_signals();
  baton::Node node("camera");
  auto publisher = node.advertise<Image>("image");
  baton::Executor executor;
  executor.add(node);
  auto timer = node.create_timer(std::chrono::milliseconds(33), [&] {
    auto image = publisher.loan();  // lives in shared memory from here on
    image->header.frame_id = "camera";
    image->width = 640;
    image->height = 480;
    image->encoding = "rgb8";
    image->data.resize(640 * 480 * 3);
    publisher.publish(std::move(image));  // hands it over: no copy, whatever its size
  });
  executor.spin();
}
