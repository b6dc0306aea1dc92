// SPDX-License-Identifier: Apache-2.0
// A node with a link of its own: no second process is needed on this host. talker [PORT [PEER...]]
#include <baton/link/link.hpp>
#include <baton/msg/std_msgs/string.hpp>
#include <baton/node/node.hpp>
#include <cstdlib>
#include <iostream>

using baton::msg::std_msgs::String;

int main(int argc, char** argv) {
  baton::link::Options options;
  if (argc > 1) options.port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  for (int i = 2; i < argc; ++i) options.peers.push_back(argv[i]);
  options.on_diagnostic = [](const auto& said) { std::cerr << "link: " << said.text << std::endl; };
  options.domain_diagnostics = false;  // the node logs those
  const auto link = std::move(baton::link::Link::start(options)).or_throw();

  baton::shutdown_on_signals();
  baton::Node node("talker");
  auto publisher = node.advertise<String>("chatter");
  int count = 0;
  auto timer = node.create_timer(std::chrono::milliseconds(100), [&] {
    String text;
    text.data = "hello " + std::to_string(++count);
    publisher.publish(text);
  });
  baton::spin(node);
  for (const auto& topic : link->state().topics)
    std::cout << topic.topic << ": " << topic.messages << " messages" << std::endl;
}
