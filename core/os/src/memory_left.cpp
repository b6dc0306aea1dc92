// SPDX-License-Identifier: Apache-2.0
#include "baton/os/memory_left.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace baton::os {
namespace {

constexpr std::size_t kMostCredit = std::size_t{64} << 20;
constexpr std::size_t kMargin = std::size_t{2} << 20;  // for needs of the process besides its messages

// Bytes that may be taken before the next check. Relaxed: an estimate that orders nothing.
std::atomic<std::size_t> g_credit{0};

struct Left {
  std::size_t bytes = std::numeric_limits<std::size_t>::max();
  std::string whose;
  std::string way_out;
};

void lower(Left& left, std::size_t bytes, const std::string& whose, const char* way_out) {
  if (bytes < left.bytes) left = {bytes, whose, way_out};
}

std::optional<std::size_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::size_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;  // "max" is no number
}

// The sum of the lines `a` and `b` of a file of "name value" lines, in the file's units. Nullopt if the file cannot be
// opened: without /proc or a free descriptor nothing is known, which is no reason to refuse.
std::optional<std::size_t> lines_in(const std::string& path, const std::string& a, const std::string& b) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::size_t sum = 0;
  for (std::string line; std::getline(file, line);) {
    const std::size_t end = line.find_first_of(" :");
    if (end == std::string::npos) continue;
    const std::string name = line.substr(0, end);
    if (name == a || name == b) sum += std::strtoull(line.c_str() + end + 1, nullptr, 10);
  }
  return sum;
}

// One cgroup hierarchy, from the process's group up. Clean file pages count as free memory: the kernel drops them
// first.
void look_at_groups(Left& left, const std::string& mount, std::string path, bool second) {
  for (;;) {
    const std::string group = mount + (path == "/" ? "" : path) + "/";
    const auto limit = number_in(group + (second ? "memory.max" : "memory.limit_in_bytes"));
    const auto used = number_in(group + (second ? "memory.current" : "memory.usage_in_bytes"));
    if (limit && used && *limit < std::size_t{1} << 60) {
      const std::size_t files = (second ? lines_in(group + "memory.stat", "inactive_file", "active_file")
                                        : lines_in(group + "memory.stat", "total_inactive_file", "total_active_file"))
                                    .value_or(0);
      const std::size_t held = *used - std::min(*used, files);
      lower(left, *limit - std::min(*limit, held), "cgroup " + path + " (limit " + std::to_string(*limit) + " bytes)",
            second ? "raise its memory.max" : "raise its memory.limit_in_bytes");
    }
    if (path.empty() || path == "/") return;
    path.erase(std::max<std::size_t>(path.rfind('/'), 1));
  }
}

Left measure() {
  Left left;
  // meminfo counts in KiB.
  if (const auto machine = lines_in("/proc/meminfo", "MemAvailable", "SwapFree"))
    lower(left, *machine * 1024, "this machine", "free memory");
  std::ifstream groups("/proc/self/cgroup");  // cgroups(7): "hierarchy:controllers:path", version 2 is "0::path"
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos || line[second + 1] != '/') continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") {
      look_at_groups(left, "/sys/fs/cgroup", path, true);
    } else if (controllers.find(",memory,") != std::string::npos) {
      look_at_groups(left, "/sys/fs/cgroup/memory", path, false);
    }
  }
  return left;
}

}  // namespace

std::size_t memory_left() {
  const std::size_t left = measure().bytes;
  return left - std::min(left, kMargin);
}

std::size_t shared_memory_of_machine() {
  const auto unused = lines_in("/proc/meminfo", "SwapFree", "SwapFree");
  const auto most = lines_in("/proc/meminfo", "Shmem", "SwapTotal");
  if (!most || !unused) return std::numeric_limits<std::size_t>::max();
  return (*most - std::min(*most, *unused)) * 1024;
}

Result<void> check_memory_left(std::size_t bytes) {
  std::size_t credit = g_credit.load(std::memory_order_relaxed);
  while (credit >= bytes)
    if (g_credit.compare_exchange_weak(credit, credit - bytes, std::memory_order_relaxed)) return {};
  const Left left = measure();
  if (left.bytes < kMargin || left.bytes - kMargin < bytes)
    return Error{Errc::out_of_memory, std::to_string(bytes) + " bytes of message memory are needed, but " + left.whose +
                                          " has " + std::to_string(left.bytes) + " left; " + left.way_out +
                                          ", or lower memory_limit_bytes of the publishers"};
  g_credit.store(std::min((left.bytes - kMargin - bytes) / 8, kMostCredit), std::memory_order_relaxed);
  return {};
}

}  // namespace baton::os
