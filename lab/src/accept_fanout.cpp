// SPDX-License-Identifier: Apache-2.0
// One publisher, eight subscriber processes: the cost of publishing while they are awake, and while all sleep.
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "accept.hpp"
#include "bare.hpp"
#include "baton/baton.hpp"
#include "baton/msg/sensor_msgs/image.hpp"
#include "figures.hpp"
#include "placement.hpp"

namespace baton::perf {
namespace {

using Image = msg::sensor_msgs::Image;
using namespace std::chrono_literals;
constexpr unsigned kSubscribers = 8;

std::vector<os::Child> start_children(const AcceptOptions& options, const Placement& placement, const Bare& bare,
                                      const char* state, unsigned exchanges) {
  std::vector<os::Child> children;
  for (unsigned i = 0; i < kSubscribers; ++i) {
    std::vector<std::string> arguments = {"--child",     "fanout",
                                          "--directory", options.directory,
                                          "--parent",    std::to_string(os::process_id()),
                                          "--bare-fd",   std::to_string(bare.fd()),
                                          "--index",     std::to_string(i),
                                          "--messages",  std::to_string(exchanges),
                                          state};
    if (const std::string cpus = placement.others(); !cpus.empty()) arguments.insert(arguments.end(), {"--cpus", cpus});
    children.push_back(os::Child::start("/proc/self/exe", arguments).or_throw());
  }
  return children;
}

Loan<Image> prepared(Publisher<Image>& publisher) {
  Loan<Image> image = publisher.loan();
  image->data.resize_for_overwrite(64);
  return image;
}

}  // namespace

bool accept_fanout(const AcceptOptions& options) {
  const Placement placement(!options.together);
  bool pass = true;
  {
    // Awake: the subscribers are busy with other work (their flag is clear) and take the messages when they look again.
    Bare bare = Bare::create();
    Node node("accept", NodeOptions{0, options.directory, {}});
    auto publisher = node.advertise<Image>("fanout/awake", QoS(8));
    std::vector<os::Child> children = start_children(options, placement, bare, "--spin", 0);
    if (!node.wait_for([&] { return publisher.matched() == kSubscribers; }, 30s))
      throw std::runtime_error("fanout: the subscribers did not come");
    std::vector<double> per_round;
    std::vector<double> all;
    for (unsigned round = 0; round < options.rounds; ++round) {
      std::vector<double> costs;
      for (unsigned i = 0; i < options.exchanges * 4; ++i) {
        Loan<Image> image = prepared(publisher);
        const std::int64_t before = os::monotonic_ns();
        publisher.publish(std::move(image));
        costs.push_back(static_cast<double>(os::monotonic_ns() - before) / 1000 / kSubscribers);
        std::this_thread::sleep_for(100us);
      }
      per_round.push_back(median(costs));
      all.insert(all.end(), costs.begin(), costs.end());
    }
    char detail[100];
    std::snprintf(detail, sizeof detail, "p99 %.3f us per subscriber", quantile(all, 0.99));
    pass &= verdict("fanout: publish, per awake subscriber of 8", median_interval(per_round), " us", 1.0, detail);
    bare.page().word.fetch_add(1, std::memory_order_release);  // pairs with the children's acquire: end
    for (os::Child& child : children) child.wait();
  }
  {
    // Asleep: each exchange wakes all eight, in turn by a publish and by one bare wake-all.
    Bare bare = Bare::create();
    Node node("accept", NodeOptions{0, options.directory, {}});
    auto publisher = node.advertise<Image>("fanout/asleep", QoS(8));
    const unsigned exchanges = options.rounds * options.exchanges;
    std::vector<os::Child> children = start_children(options, placement, bare, "--sleep", exchanges);
    if (!node.wait_for([&] { return publisher.matched() == kSubscribers; }, 30s))
      throw std::runtime_error("fanout: the subscribers did not come");
    while (bare.page().children_ready.load(std::memory_order_acquire) < kSubscribers) std::this_thread::sleep_for(1ms);
    std::vector<double> ratios, all_message, all_bare;
    std::uint32_t expected = 0;
    auto everyone = [&] {
      expected += kSubscribers;
      while (bare.page().rounds_done.load(std::memory_order_acquire) < expected) std::this_thread::sleep_for(200us);
      std::this_thread::sleep_for(1500us);  // back in the kernel
    };
    std::this_thread::sleep_for(5ms);
    for (unsigned round = 0; round < options.rounds; ++round) {
      std::vector<double> message, bare_wake;
      for (unsigned i = 0; i < options.exchanges; ++i) {
        Loan<Image> image = prepared(publisher);
        const std::int64_t before = os::monotonic_ns();
        publisher.publish(std::move(image));
        message.push_back(static_cast<double>(os::monotonic_ns() - before) / 1000);
        everyone();
        bare_wake.push_back(static_cast<double>(bare.wake_all()) / 1000);
        everyone();
      }
      ratios.push_back(median(message) / median(bare_wake));
      all_message.insert(all_message.end(), message.begin(), message.end());
      all_bare.insert(all_bare.end(), bare_wake.begin(), bare_wake.end());
    }
    char detail[160];
    std::snprintf(detail, sizeof detail, "publish p50 %.1f p99 %.1f us, bare wake-all p50 %.1f p99 %.1f us",
                  median(all_message), quantile(all_message, 0.99), median(all_bare), quantile(all_bare, 0.99));
    pass &= verdict("fanout: publish to 8 asleep / bare wake-all", median_interval(ratios), "x", 1.3, detail);
    for (os::Child& child : children) child.wait();
  }
  return pass;
}

int fanout_child(const ChildOptions& options) {
  Bare bare = Bare::open(options.parent, options.bare_fd);
  Node node("accept_child_" + std::to_string(options.index), NodeOptions{0, options.directory, {}});
  if (options.spin) {
    auto subscription = node.subscribe<Image>("fanout/awake", QoS(8));
    while (bare.page().word.load(std::memory_order_acquire) == 0) {
      while (subscription.take()) {
      }
      std::this_thread::sleep_for(300us);  // the callback: the flag stays clear
    }
    return 0;
  }
  auto subscription = node.subscribe<Image>("fanout/asleep", QoS(8));
  transport::WaitSet wait_set;
  wait_set.add(subscription.reader()).or_throw();
  while (subscription.matched() == 0) std::this_thread::sleep_for(1ms);
  std::uint32_t seen = 0;
  bare.page().children_ready.fetch_add(1, std::memory_order_release);
  for (unsigned i = 0; i < options.messages; ++i) {
    while (!subscription.take()) (void)wait_set.wait(5s).or_throw();
    bare.page().rounds_done.fetch_add(1, std::memory_order_release);
    bare.wait(seen++);
    bare.page().rounds_done.fetch_add(1, std::memory_order_release);
  }
  return 0;
}

}  // namespace baton::perf
