// SPDX-License-Identifier: Apache-2.0
// Many processes, many topics: the time until all are matched, and their cost when they are idle.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "accept.hpp"
#include "baton/baton.hpp"
#include "baton/msg/std_msgs/string.hpp"
#include "baton/os/child.hpp"
#include "baton/os/clock.hpp"
#include "figures.hpp"

namespace baton::perf {
namespace {

using String = msg::std_msgs::String;
using namespace std::chrono_literals;

std::string topic(unsigned number) { return "scale/t" + std::to_string(number); }

// utime + stime in clock ticks, fields 14 and 15 of /proc/<pid>/stat (proc(5)).
std::uint64_t cpu_ticks(std::int32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string word;
  std::uint64_t user = 0, system = 0;
  for (int i = 3; i < 14; ++i) fields >> word;
  fields >> user >> system;
  return user + system;
}

// Proportional set size in KiB (/proc/<pid>/smaps_rollup): private pages, and shared ones divided by their users.
double proportional_kib(std::int32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/smaps_rollup");
  std::string line;
  while (std::getline(file, line))
    if (line.rfind("Pss:", 0) == 0) return std::stod(line.substr(4));
  return 0;
}

std::size_t descriptors(std::int32_t pid) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd"))
    ++count;
  return count;
}

std::vector<os::Child> start(const AcceptOptions& options, const char* role) {
  std::vector<os::Child> children;
  for (unsigned i = 0; i < options.processes; ++i)
    children.push_back(
        os::Child::start("/proc/self/exe",
                         {"--child", role, "--directory", options.directory, "--index", std::to_string(i), "--count",
                          std::to_string(options.processes), "--messages", std::to_string(options.topics_per_process)})
            .or_throw());
  return children;
}

double mean_kib(const std::vector<os::Child>& children) {
  double sum = 0;
  for (const os::Child& child : children) sum += proportional_kib(child.pid());
  return sum / static_cast<double>(children.size());
}

bool at_most(const char* name, double value, const char* unit, double bar, const std::string& detail) {
  return verdict(name, {value, value, value}, unit, bar, detail);
}

}  // namespace

bool accept_scale(const AcceptOptions& options) {
  double empty_kib = 0;
  {
    // The same program without a node: the base cost of a process.
    std::vector<os::Child> children = start(options, "scale-empty");
    std::string line;
    for (os::Child& child : children) child.read_line(&line);
    empty_kib = mean_kib(children);
  }
  const std::int64_t begin = os::monotonic_ns();
  std::vector<os::Child> children = start(options, "scale");
  std::string line;
  std::size_t matched = 0;
  for (os::Child& child : children) matched += child.read_line(&line) && line == "matched";
  const double seconds = static_cast<double>(os::monotonic_ns() - begin) / 1e9;
  const unsigned topics = options.processes * options.topics_per_process;
  const std::string what = std::to_string(options.processes) + " processes, " + std::to_string(topics) + " topics";
  bool pass = at_most(("scale: all matched, " + what).c_str(), matched == children.size() ? seconds : 1e9, " s", 10,
                      std::to_string(matched) + " matched, processes started within this time");
  std::this_thread::sleep_for(2s);  // announcements still in flight are no idle load
  std::vector<std::uint64_t> before;
  for (const os::Child& child : children) before.push_back(cpu_ticks(child.pid()));
  std::this_thread::sleep_for(std::chrono::seconds(options.idle_seconds));
  std::uint64_t ticks = 0, worst = 0;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const std::uint64_t spent = cpu_ticks(children[i].pid()) - before[i];
    ticks += spent;
    worst = std::max(worst, spent);
  }
  pass &= at_most("scale: idle CPU, clock ticks of all processes", static_cast<double>(ticks), "", 0,
                  "worst process " + std::to_string(worst) + ", over " + std::to_string(options.idle_seconds) + " s");
  std::size_t most = 0;
  for (const os::Child& child : children) most = std::max(most, descriptors(child.pid()));
  const double kib = mean_kib(children) - empty_kib;
  pass &=
      at_most("scale: memory per process beyond an empty one", kib / 1024, " MiB", 1,
              "proportional set size; an empty process has " + std::to_string(static_cast<int>(empty_kib)) + " KiB");
  pass &=
      at_most("scale: descriptors of the largest process", static_cast<double>(most), "", 1024, "the usual soft limit");
  return pass;
}

int scale_child(const ChildOptions& options) {
  if (options.role == "scale-empty") {
    std::puts("ready");
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::hours(1));
    return 0;
  }
  Node node("scale_" + std::to_string(options.index), NodeOptions{0, options.directory, {}});
  std::vector<Publisher<String>> publishers;
  std::vector<Subscription<String>> subscriptions;
  for (unsigned i = 0; i < options.messages; ++i) {
    publishers.push_back(node.advertise<String>(topic(options.index * options.messages + i), QoS(4)));
    const unsigned next = (options.index + 1) % options.count;
    subscriptions.push_back(node.subscribe<String>(topic(next * options.messages + i), QoS(4)));
  }
  const bool matched = node.wait_for(
      [&] {
        for (const auto& publisher : publishers)
          if (publisher.matched() != 1) return false;
        for (const auto& subscription : subscriptions)
          if (subscription.matched() != 1) return false;
        return true;
      },
      60s);
  std::puts(matched ? "matched" : "timed out");
  std::fflush(stdout);
  std::this_thread::sleep_for(std::chrono::hours(1));
  return 0;
}

}  // namespace baton::perf
