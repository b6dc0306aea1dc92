// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <baton/msg/std_msgs/string.hpp>
#include <baton/node/node.hpp>
#include <iostream>

using baton::msg::std_msgs::String;

int main() {
  baton::Node node("watcher");
  std::atomic<bool> lost{false}, left{false};
  auto subscription = node.subscribe<String>("chatter", baton::QoS(1));  // room for one unread message
  // Called on Baton's background thread: set a flag, and do the work elsewhere.
  subscription.on_event([&](baton::Event event) {
    if (event == baton::Event::kMessageLost) lost = true;
    if (event == baton::Event::kMatched && subscription.matched() == 0) left = true;
  });
  {
    auto publisher = node.advertise<String>("chatter");
    if (!node.wait_for([&] { return subscription.matched() == 1; }, std::chrono::seconds(30))) return 1;
    for (const char* text : {"one", "two", "three"}) {
      String message;
      message.data = text;
      publisher.publish(message);
    }
    std::cout << subscription.take()->data << std::endl;
  }  // the publisher's end
  if (!node.wait_for([&] { return lost && left; }, std::chrono::seconds(30))) return 1;
  subscription.on_event(nullptr);  // what the callback uses ends before the subscription does
  std::cout << subscription.statuses().lost_total << " lost, the publisher has left" << std::endl;
}
