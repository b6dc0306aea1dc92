// SPDX-License-Identifier: Apache-2.0
#include <baton/msg/std_msgs/string.hpp>
#include <baton/node/node.hpp>
#include <csignal>
#include <iostream>

using baton::msg::std_msgs::String;

// A handler of the program's own: sets a flag of type sig_atomic_t, writes to a pipe, or calls this. Not exit().
extern "C" void on_hangup(int) { baton::request_shutdown(); }

int main() {
  baton::shutdown_on_signals();  // SIGINT and SIGTERM; others: shutdown_on_signals({SIGINT, SIGQUIT})
  std::signal(SIGHUP, on_hangup);

  baton::Node node("worker");
  auto publisher = node.advertise<String>("chatter");
  int published = 0;
  auto timer = node.create_timer(std::chrono::milliseconds(10), [&] {
    String text;
    text.data = "hello " + std::to_string(++published);
    publisher.publish(text);
    if (published == 3) std::raise(SIGHUP);  // as `kill -HUP` would
  });
  baton::Executor executor;
  executor.add(node);
  executor.spin();  // returns after the callback that runs; a loop of your own asks baton::ok()
  std::cout << published << " published, ok: " << baton::ok() << std::endl;
}  // what main made ends here, in order
