// SPDX-License-Identifier: Apache-2.0
// One publisher, one subscriber process. Every round interleaves the two kinds that are compared, so that the machine's
// noise affects both. Hand-over = from just before publish (payload written) until the subscriber has read the first
// byte.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <sstream>
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

constexpr std::size_t kSmall = 64, kBig = 16u << 20;
// The kinds of exchange, as given to the child and as reported by it.
enum class Kind : int { kSmallMessage, kBigMessage, kBare };

constexpr auto kPause = 1500us;  // asleep: long enough for the subscriber to be in the kernel again

std::int64_t stamp(Image& image) {
  const std::int64_t now = os::monotonic_ns();
  image.height = static_cast<std::uint32_t>(now >> 32);
  image.width = static_cast<std::uint32_t>(now);
  return now;
}
std::int64_t stamped(const Image& image) {
  return static_cast<std::int64_t>(std::uint64_t{image.height} << 32 | image.width);
}

void pause(bool spin) {
  if (!spin) {
    std::this_thread::sleep_for(kPause);
    return;
  }
  const std::int64_t until = os::monotonic_ns() + 20'000;
  while (os::monotonic_ns() < until) {
  }
}

/// Latencies in ns. `at_once`: of exchanges in which the subscriber had read before the publisher's call returned. On one
/// CPU the scheduler either gives it to the woken subscriber at once, or lets the publisher go on until it sleeps.
struct Latencies {
  std::vector<double> all, at_once;
};

// Latencies of `order`, a schedule of kinds, per kind, without the first `warm_up` of each kind.
std::map<Kind, Latencies> exchange(const AcceptOptions& options, const std::vector<Kind>& order, bool spin,
                                   unsigned round, std::size_t warm_up) {
  const Placement placement(!options.together);
  Bare bare = Bare::create();
  const std::string directory = options.directory;
  Node node("accept", NodeOptions{0, directory, {}});
  const std::string topic = "latency/round_" + std::to_string(round);
  auto publisher = node.advertise<Image>(topic, QoS(4));
  std::string schedule;
  for (Kind kind : order) schedule += static_cast<char>('0' + static_cast<int>(kind));
  std::vector<std::string> arguments = {"--child",
                                        "latency",
                                        "--directory",
                                        directory,
                                        "--parent",
                                        std::to_string(os::process_id()),
                                        "--bare-fd",
                                        std::to_string(bare.fd()),
                                        "--index",
                                        std::to_string(round),
                                        spin ? "--spin" : "--sleep",
                                        "--schedule",
                                        schedule};
  if (const std::string cpus = placement.others(); !cpus.empty()) arguments.insert(arguments.end(), {"--cpus", cpus});
  os::Child child = os::Child::start("/proc/self/exe", arguments).or_throw();
  if (!node.wait_for([&] { return publisher.matched() == 1; }, 20s))
    throw std::runtime_error("the subscriber did not come");
  while (bare.page().children_ready.load(std::memory_order_acquire) == 0) std::this_thread::sleep_for(1ms);

  const bool with_big = std::find(order.begin(), order.end(), Kind::kBigMessage) != order.end();
  std::vector<std::uint8_t> elsewhere(with_big ? kBig : 0);
  std::uint8_t value = 0;
  std::vector<std::int64_t> call_ns;  // how long the publisher's call took
  for (std::size_t i = 0; i < order.size(); ++i) {
    ++value;
    Loan<Image> image;
    if (order[i] != Kind::kBare) {
      image = publisher.loan();
      image->data.resize_for_overwrite(order[i] == Kind::kBigMessage ? kBig : kSmall);
      std::fill(image->data.begin(), image->data.end(), value);
    }
    // In runs with 16 MB messages, the small ones also write as many bytes to private memory: so the caches are equally
    // cold for both.
    if (order[i] != Kind::kBigMessage) std::fill(elsewhere.begin(), elsewhere.end(), value);
    pause(spin);
    if (image) {
      const std::int64_t begin = stamp(*image);
      publisher.publish(std::move(image));
      call_ns.push_back(os::monotonic_ns() - begin);
    } else if (spin) {
      bare.touch();
      call_ns.push_back(0);
    } else {
      call_ns.push_back(bare.wake_all());
    }
    while (bare.page().rounds_done.load(std::memory_order_acquire) <= i)
      if (!spin) std::this_thread::sleep_for(200us);
  }
  std::map<Kind, Latencies> result;
  std::map<Kind, std::size_t> seen;
  std::string line;
  for (std::size_t i = 0; i < order.size() && child.read_line(&line); ++i) {
    std::istringstream fields(line);
    int code;
    double ns;
    if (!(fields >> code >> ns)) throw std::runtime_error("the subscriber wrote '" + line + "'");
    const Kind kind = static_cast<Kind>(code);
    if (seen[kind]++ < warm_up) continue;
    result[kind].all.push_back(ns);
    if (ns < static_cast<double>(call_ns[i])) result[kind].at_once.push_back(ns);
  }
  if (const int code = child.wait(); code != 0)
    throw std::runtime_error("the subscriber ended with " + std::to_string(code));
  return result;
}

// Alternates `a` and `b`, the first of each pair changing, after a few of each to warm up.
std::vector<Kind> alternate(Kind a, Kind b, unsigned exchanges) {
  std::vector<Kind> order;
  for (unsigned i = 0; i < exchanges; ++i) {
    order.push_back(i % 2 ? a : b);
    order.push_back(i % 2 ? b : a);
  }
  return order;
}

struct Compared {
  Interval ratio, difference_us;
  double a_us, b_us, a_p99_us, b_p99_us;
  Interval at_once_ratio;
  double a_at_once, b_at_once;  // shares of all
};

Compared compare(const AcceptOptions& options, Kind a, Kind b, bool spin) {
  std::vector<double> ratios, differences, at_once_ratios;
  std::map<Kind, Latencies> all;
  constexpr unsigned kWarmUp = 10;
  for (unsigned round = 0; round < options.rounds; ++round) {
    auto samples = exchange(options, alternate(a, b, options.exchanges + kWarmUp), spin, round, kWarmUp);
    const double median_a = median(samples[a].all), median_b = median(samples[b].all);
    ratios.push_back(median_a / median_b);
    differences.push_back((median_a - median_b) / 1000);
    if (!samples[a].at_once.empty() && !samples[b].at_once.empty())
      at_once_ratios.push_back(median(samples[a].at_once) / median(samples[b].at_once));
    for (const auto& [kind, of_kind] : samples) {
      all[kind].all.insert(all[kind].all.end(), of_kind.all.begin(), of_kind.all.end());
      all[kind].at_once.insert(all[kind].at_once.end(), of_kind.at_once.begin(), of_kind.at_once.end());
    }
  }
  const auto share = [&](Kind kind) {
    return static_cast<double>(all[kind].at_once.size()) / static_cast<double>(all[kind].all.size());
  };
  return {median_interval(ratios),
          median_interval(differences),
          median(all[a].all) / 1000,
          median(all[b].all) / 1000,
          quantile(all[a].all, 0.99) / 1000,
          quantile(all[b].all, 0.99) / 1000,
          median_interval(at_once_ratios),
          share(a),
          share(b)};
}

std::string detail(const Compared& c, const char* a, const char* b) {
  char text[200];
  std::snprintf(text, sizeof text, "%s p50 %.2f p99 %.2f us, %s p50 %.2f p99 %.2f us", a, c.a_us, c.a_p99_us, b, c.b_us,
                c.b_p99_us);
  return text;
}

}  // namespace

bool accept_size(const AcceptOptions& options) {
  const Compared asleep = compare(options, Kind::kBigMessage, Kind::kSmallMessage, false);
  const bool first = verdict("size: asleep, 16 MB / 64 B", asleep.ratio, "x", 1.1, detail(asleep, "16 MB", "64 B"));
  const Compared spinning = compare(options, Kind::kBigMessage, Kind::kSmallMessage, true);
  const bool second =
      verdict("size: spinning, 16 MB - 64 B", spinning.difference_us, " us", 0.3, detail(spinning, "16 MB", "64 B"));
  return first && second;
}

bool accept_wake(const AcceptOptions& options) {
  const Compared asleep = compare(options, Kind::kSmallMessage, Kind::kBare, false);
  // Where the scheduler places both ends, they may share a CPU: then what the publisher does after its wake counts, too.
  const bool first = verdict("wake: asleep, message / bare futex wake", asleep.ratio, "x", options.together ? 1.3 : 1.1,
                             detail(asleep, "message", "futex"));
  if (options.together) {
    std::printf(
        "      of those that the scheduler ran before the publisher went on (%.0f %% of the messages, %.0f %% of "
        "the futex wakes): %.3gx [%.3g, %.3g]\n",
        100 * asleep.a_at_once, 100 * asleep.b_at_once, asleep.at_once_ratio.middle, asleep.at_once_ratio.low,
        asleep.at_once_ratio.high);
  }
  const Compared spinning = compare(options, Kind::kSmallMessage, Kind::kBare, true);
  const bool second = verdict("wake: spinning, message - bare cache line", spinning.difference_us, " us", 0.4,
                              detail(spinning, "message", "cache line"));
  return first && second;
}

int latency_child(const ChildOptions& options) {
  Bare bare = Bare::open(options.parent, options.bare_fd);
  Node node("accept_child", NodeOptions{0, options.directory, {}});
  auto subscription = node.subscribe<Image>("latency/round_" + std::to_string(options.index), QoS(4));
  transport::WaitSet wait_set;
  wait_set.add(subscription.reader()).or_throw();
  while (subscription.matched() == 0) std::this_thread::sleep_for(1ms);
  std::vector<std::int64_t> latencies;
  latencies.reserve(options.schedule.size());
  std::uint32_t seen = bare.page().word.load(std::memory_order_acquire);
  [[maybe_unused]] volatile std::uint8_t sink = 0;  // the read must happen
  bare.page().children_ready.fetch_add(1, std::memory_order_release);
  for (char code : options.schedule) {
    std::int64_t latency;
    if (static_cast<Kind>(code - '0') == Kind::kBare) {
      latency = options.spin ? bare.spin(seen) : bare.wait(seen);
      ++seen;
    } else {
      Sample<Image> sample = subscription.take();
      while (!sample) {
        if (!options.spin) (void)wait_set.wait(5s).or_throw();
        sample = subscription.take();
      }
      sink = sample->data[0];
      latency = os::monotonic_ns() - stamped(*sample);
    }
    latencies.push_back(latency);
    bare.page().rounds_done.fetch_add(1, std::memory_order_release);
  }
  for (std::size_t i = 0; i < latencies.size(); ++i)
    std::printf("%c %lld\n", options.schedule[i], static_cast<long long>(latencies[i]));
  return 0;
}

}  // namespace baton::perf
