// SPDX-License-Identifier: Apache-2.0
#include <baton/msg/sensor_msgs/image.hpp>
#include <baton/node/node.hpp>
#include <deque>
#include <iostream>

using baton::msg::sensor_msgs::Image;

int main() {
  baton::Node node("tracker");
  auto publisher = node.advertise<Image>("image");

  // Unread: the newest 2. Held: 5, the four kept and the one just taken. They stay as and where they are while they are kept.
  auto subscription = node.subscribe<Image>("image", baton::QoS(2).hold(5));
  if (!node.wait_for([&] { return subscription.matched() == 1; }, std::chrono::seconds(30))) return 1;

  std::deque<baton::Sample<Image>> latest;
  for (std::uint32_t i = 0; i < 20; ++i) {
    auto image = publisher.loan();
    image->height = i;
    image->data.assign(1000000, static_cast<std::uint8_t>(i));
    publisher.publish(std::move(image));

    while (auto sample = subscription.take()) {
      latest.push_back(std::move(sample));
      if (latest.size() > 4) latest.pop_front();  // its end gives the chunk back; no order is needed
    }
  }
  std::cout << "kept " << latest.front()->height << " to " << latest.back()->height << std::endl;
}
