// SPDX-License-Identifier: Apache-2.0
// One message of an own type and one of a standard type, from a loan to a sample, in one process.
#include <baton/msg/my_robot/wheel.hpp>
#include <baton/msg/std_msgs/string.hpp>
#include <baton/node/node.hpp>
#include <chrono>
#include <iostream>

using baton::msg::my_robot::Wheel;
using baton::msg::std_msgs::String;

int main() {
  baton::Node node("external");
  auto publisher = node.advertise<Wheel>("wheel");
  auto subscription = node.subscribe<Wheel>("wheel");
  auto greeting = node.advertise<String>("greeting");
  if (!node.wait_for([&] { return subscription.matched() == 1; }, std::chrono::seconds(10))) {
    std::cerr << "publisher and subscription did not meet\n";
    return 1;
  }

  auto wheel = publisher.loan();
  wheel->name = "front left";
  wheel->speed = 1.5;
  wheel->encoder_ticks.resize(1000);
  wheel->encoder_ticks[999] = 7;
  publisher.publish(std::move(wheel));

  auto sample = subscription.take();
  if (!sample || sample->speed != 1.5 || sample->encoder_ticks.size() != 1000 || sample->encoder_ticks[999] != 7) {
    std::cerr << "the message did not arrive as it was sent\n";
    return 1;
  }
  String text;
  text.data = "hello";
  greeting.publish(text);
  std::cout << "took " << std::string(sample->name) << " with " << sample->encoder_ticks.size() << " ticks\n";
}
