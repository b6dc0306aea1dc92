// SPDX-License-Identifier: Apache-2.0
#include <baton/msg/sensor_msgs/laser_scan.hpp>
#include <baton/node/node.hpp>
#include <baton/node/real_time.hpp>
#include <iostream>

using baton::msg::sensor_msgs::LaserScan;

int main() {
  try {
    baton::real_time::lock_memory();  // before the first node: everything stays in RAM
  } catch (const baton::Exception& error) {
    std::cerr << error.what() << std::endl;  // no right to; on a robot: end here
  }
  baton::Node node("controller");
  // 16 messages of at most 64 KiB alive at the same time: backed, mapped and locked now.
  auto publisher = node.advertise<LaserScan>("scan", baton::QoS(4), baton::real_time::pool(64 * 1024, 16));
  auto subscription = node.subscribe<LaserScan>("scan", baton::QoS(4).hold(2));
  baton::transport::WaitSet wait_set;
  wait_set.add(subscription.reader()).or_throw();
  if (!node.wait_for([&] { return subscription.matched() == 1; }, std::chrono::seconds(30))) return 1;
  try {
    baton::real_time::run_fifo(80);  // this thread: SCHED_FIFO, its stack touched
  } catch (const baton::Exception& error) {
    std::cerr << error.what() << std::endl;
  }
  int taken = 0;
  for (int i = 0; i < 100; ++i) {  // the loop: only wakes and waits from here on
    auto scan = publisher.loan();
    scan->ranges.resize(1080);
    publisher.publish(std::move(scan));
    (void)wait_set.wait(std::chrono::seconds(30)).or_throw();
    while (subscription.take()) ++taken;
  }
  std::cout << taken << " scans" << std::endl;
}
