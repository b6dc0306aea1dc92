// SPDX-License-Identifier: Apache-2.0
#include <sys/epoll.h>
#include <unistd.h>
#include <baton/msg/std_msgs/string.hpp>
#include <baton/node/node.hpp>
#include <iostream>
#include <thread>

using baton::msg::std_msgs::String;

int main() {
  baton::Node node("listener");
  auto subscription = node.subscribe<String>("chatter");

  const int loop = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(loop, EPOLL_CTL_ADD, subscription.pollable_fd(), &event);  // beside sockets, serial ports, timers ...

  std::thread talker([] {
    baton::Node other("talker");
    auto publisher = other.advertise<String>("chatter");
    other.wait_for([&] { return publisher.matched() == 1; }, std::chrono::seconds(30));
    for (int i = 0; i < 3; ++i) {
      String text;
      text.data = "hello " + std::to_string(i);
      publisher.publish(text);  // built on the stack: one copy
    }
  });
  for (int heard = 0; heard < 3;) {
    if (epoll_wait(loop, &event, 1, 30000) != 1) return 1;
    while (auto sample = subscription.take()) {  // until it is empty: then the descriptor is quiet again
      std::cout << sample->data << std::endl;
      ++heard;
    }
  }
  talker.join();
  close(loop);
}
