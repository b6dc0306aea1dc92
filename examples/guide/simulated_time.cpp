// SPDX-License-Identifier: Apache-2.0
#include <baton/msg/rosgraph_msgs/clock.hpp>
#include <baton/node/node.hpp>
#include <iostream>

using baton::msg::rosgraph_msgs::Clock;

int main() {
  baton::Node node("filter");
  auto time = std::make_shared<baton::SimulatedClock>();
  auto clock = node.subscribe<Clock>("clock", 1, [&](const Clock& message) {
    time->set(std::chrono::seconds(message.clock.sec) + std::chrono::nanoseconds(message.clock.nanosec));
  });
  int calls = 0;
  auto timer = node.create_timer(
      std::chrono::seconds(1), [&] { ++calls; }, time);  // a second of the simulation
  baton::Executor executor;
  executor.add(node);

  auto simulator = node.advertise<Clock>("clock");
  if (!node.wait_for([&] { return clock.matched() == 1; }, std::chrono::seconds(30))) return 1;
  for (int i = 1; i <= 10; ++i) {
    Clock now;
    now.clock.sec = i;
    simulator.publish(now);
    executor.spin_once(std::chrono::seconds(30));  // the clock's callback
    executor.spin_once(std::chrono::seconds(30));  // the timer's
  }
  std::cout << calls << " calls in 10 simulated seconds" << std::endl;
}
