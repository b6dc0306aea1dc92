// SPDX-License-Identifier: Apache-2.0
#include <baton/msg/sensor_msgs/laser_scan.hpp>
#include <baton/node/node.hpp>
#include <iostream>

using baton::msg::sensor_msgs::LaserScan;

int main() {
  baton::Node node("recorder");
  const auto every_one = baton::QoS().keep_all(4);  // both sides, or the publisher is never refused
  auto publisher = node.advertise<LaserScan>("scan", every_one);
  auto subscription = node.subscribe<LaserScan>("scan", every_one);
  if (!node.wait_for([&] { return subscription.matched() == 1; }, std::chrono::seconds(30))) return 1;

  int refused = 0, read = 0;
  for (int i = 0; i < 10; ++i) {
    auto scan = publisher.loan();
    scan->ranges.resize(1080);
    for (auto result = publisher.try_publish(scan); !result; result = publisher.try_publish(scan)) {
      if (result.error().code != baton::Errc::queue_full) throw baton::Exception(result.error());
      ++refused;                        // Baton never waits in publish: the program decides what to do
      if (subscription.take()) ++read;  // here both are one program; else wait, or do something more useful
    }
  }
  while (subscription.take()) ++read;
  std::cout << read << " read, " << refused << " times refused, " << subscription.statuses().lost_total << " lost"
            << std::endl;
}
