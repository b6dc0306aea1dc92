// SPDX-License-Identifier: Apache-2.0
// One process of `baton_link_scale` (lab/baton_perf/link_scale.py): publishes a topic that a process of the other host subscribes to,
// and subscribes to that process's topic, with a message now and then. Prints "connected TIME" (CLOCK_MONOTONIC in ns) once it is matched
// and has received. The first process of the second host answers the first one of the first host, which measures round trips when it reads
// a line: "round trips MEDIAN P99 LOST" in ns.
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "baton/baton.hpp"
#include "baton/msg/std_msgs/string.hpp"
#include "baton/os/clock.hpp"

namespace {

using baton::os::monotonic_ns;
using String = baton::msg::std_msgs::String;
using namespace std::chrono_literals;

constexpr std::int64_t kPeriodNs = 100'000'000;
constexpr std::int64_t kAnswerNs = 1'000'000'000;
constexpr int kRoundTrips = 300;
const std::string kPing = "ping ", kAnswer = "answer ";

std::string topic(unsigned host, unsigned index) {
  return "scale/of_" + std::to_string(host) + "/t" + std::to_string(index);
}

/// The next line of the input has come, or its end.
bool input_has_come() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, 0) > 0;
}

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

class ScaleEnd {
 public:
  ScaleEnd(baton::Node& node, unsigned host, unsigned index)
      : answers_(host == 1 && index == 0),
        publisher_(node.advertise<String>(topic(host, index), baton::QoS(10))),
        subscription_(node.subscribe<String>(topic(1 - host, index), baton::QoS(10))) {
    wait_set_.add(subscription_.reader()).or_throw();
  }

  /// Publishes and receives until the input has something.
  void run() {
    std::int64_t next = monotonic_ns() + kPeriodNs;
    while (!input_has_come()) {
      const std::int64_t left = next - monotonic_ns();
      if (left <= 0) {
        publish("tick");
        next += kPeriodNs;
        continue;
      }
      receive(std::chrono::nanoseconds(left));
      if (!connected_ && received_ > 0 && publisher_.matched() > 0) {
        connected_ = true;
        say("connected " + std::to_string(monotonic_ns()));
      }
    }
  }

  void measure() {
    std::vector<std::int64_t> times;
    for (int i = 0; i < kRoundTrips; ++i) {
      answer_.clear();
      const std::string number = std::to_string(i);
      const std::int64_t begin = monotonic_ns();
      publish(kPing + number);
      while (answer_ != number && monotonic_ns() < begin + kAnswerNs) receive(10ms);
      if (answer_ == number) times.push_back(monotonic_ns() - begin);
      std::this_thread::sleep_for(5ms);
    }
    const std::size_t lost = kRoundTrips - times.size();
    std::sort(times.begin(), times.end());
    const auto quantile = [&](std::size_t percent) { return times.empty() ? 0 : times[times.size() * percent / 100]; };
    say("round trips " + std::to_string(quantile(50)) + " " + std::to_string(quantile(99)) + " " +
        std::to_string(lost));
  }

 private:
  void publish(const std::string& text) {
    auto message = publisher_.loan();
    message->data = text;
    publisher_.publish(std::move(message));
  }

  void receive(std::chrono::nanoseconds timeout) {
    auto message = subscription_.take();
    if (!message) {
      (void)wait_set_.wait(timeout).or_throw();
      message = subscription_.take();
    }
    if (!message) return;
    ++received_;
    const std::string text(message->data);
    if (answers_ && text.rfind(kPing, 0) == 0) publish(kAnswer + text.substr(kPing.size()));
    if (text.rfind(kAnswer, 0) == 0) answer_ = text.substr(kAnswer.size());
  }

  const bool answers_;
  baton::Publisher<String> publisher_;
  baton::Subscription<String> subscription_;
  baton::transport::WaitSet wait_set_;
  std::uint64_t received_ = 0;
  bool connected_ = false;
  std::string answer_;  // the number of the newest
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("One process of baton_link_scale, which starts it.");
  unsigned host = 0, index = 0;
  std::string directory;
  app.add_option("--directory", directory, "runtime directory of its host")->required();
  app.add_option("--host", host)->required()->check(CLI::Range(0u, 1u));
  app.add_option("--index", index)->required();
  CLI11_PARSE(app, argc, argv);
  try {
    baton::Node node("scale_" + std::to_string(index), baton::NodeOptions{0, directory, {}});
    ScaleEnd end(node, host, index);
    end.run();
    std::string line;
    while (std::getline(std::cin, line)) {
      if (line == "measure") end.measure();
      end.run();
    }
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
    return 1;
  }
}
