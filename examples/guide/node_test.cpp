// SPDX-License-Identifier: Apache-2.0
#include <baton/msg/std_msgs/string.hpp>
#include <baton/node/node.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>

using baton::msg::std_msgs::String;
using namespace std::chrono_literals;

// The node under test says "stop" when it has heard nothing for a second. Its node and its clock come from outside: in its own program
// the clock is none, so the steady clock counts.
class Watchdog {
 public:
  explicit Watchdog(baton::Node& node, std::shared_ptr<baton::Clock> clock = nullptr)
      : commands_(node.advertise<String>("command")),
        heartbeats_(node.subscribe<String>("heartbeat", 10, [this](const String&) { heard_ = true; })),
        timer_(node.create_timer(
            1s, [this] { on_timer(); }, std::move(clock))) {}

 private:
  void on_timer() {
    if (!std::exchange(heard_, false)) {
      String command;
      command.data = "stop";
      commands_.publish(command);
    }
  }
  bool heard_ = false;
  baton::Publisher<String> commands_;
  baton::Subscription<String> heartbeats_;
  baton::Timer timer_;
};

// What the test does with every framework; gtest's ASSERT_TRUE() is the same.
void expect(bool good, const char* what) {
  std::cout << (good ? "ok: " : "FAILED: ") << what << std::endl;
  if (!good) std::exit(1);
}

int main() {
  // A directory of its own: no node of the machine is in the same domain, and tests run side by side.
  std::string directory = (std::filesystem::temp_directory_path() / "watchdog-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) return 1;
  baton::NodeOptions options;
  options.runtime_directory = directory;
  options.use_global_arguments = false;
  {
    baton::Node node("watchdog", options), test("test", options);
    auto clock = std::make_shared<baton::SimulatedClock>();
    Watchdog watchdog(node, clock);
    baton::Executor executor;
    executor.add(node);

    auto heartbeat = test.advertise<String>("heartbeat");
    auto commands = test.subscribe<String>("command", baton::QoS(10));
    const auto met = [&] { return heartbeat.matched() == 1 && commands.matched() == 1; };
    expect(test.wait_for(met, 30s), "the node has its topics");

    heartbeat.publish(String());
    expect(executor.spin_once(30s), "the heartbeat is taken");  // one callback, and no thread but this one
    clock->set(1s);                                             // a second in no time
    expect(executor.spin_once(30s) && !commands.take(), "a node that hears something is silent");
    clock->set(2s);
    expect(executor.spin_once(30s), "the second second is over");
    const auto command = commands.take();
    expect(command && command->data == "stop", "a node that hears nothing says stop");
  }
  std::filesystem::remove_all(directory);
}
