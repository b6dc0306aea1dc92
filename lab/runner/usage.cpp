// SPDX-License-Identifier: Apache-2.0
#include "usage.hpp"

#include <dlfcn.h>
#include <sys/resource.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "baton/os/clock.hpp"

namespace baton::perf {
namespace {

std::int64_t micros(const timeval& t) { return t.tv_sec * 1'000'000LL + t.tv_usec; }

std::uint64_t counted(const char* symbol) {
  // Present only when the counting library was preloaded (copies.cpp).
  void* const found = ::dlsym(RTLD_DEFAULT, symbol);
  return found == nullptr ? 0 : reinterpret_cast<std::uint64_t (*)()>(found)();
}

/// Not ru_maxrss: it begins with what the process had before exec(), which is the memory of the command that starts the runs.
std::int64_t largest_resident_kb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.compare(0, 6, "VmHWM:") == 0) return std::stoll(line.substr(6));
  return 0;
}

}  // namespace

Usage usage_now() {
  rusage r{};
  ::getrusage(RUSAGE_SELF, &r);
  return {os::monotonic_ns(),
          micros(r.ru_utime),
          micros(r.ru_stime),
          r.ru_minflt,
          r.ru_majflt,
          r.ru_nvcsw,
          r.ru_nivcsw,
          counted("baton_perf_copies"),
          counted("baton_perf_copied_bytes")};
}

nlohmann::json usage_between(const Usage& begin, const Usage& end) {
  nlohmann::json out = {{"wall_ns", end.wall_ns - begin.wall_ns},
                        {"utime_us", end.utime_us - begin.utime_us},
                        {"stime_us", end.stime_us - begin.stime_us},
                        {"minor_faults", end.minor_faults - begin.minor_faults},
                        {"major_faults", end.major_faults - begin.major_faults},
                        {"voluntary_switches", end.voluntary_switches - begin.voluntary_switches},
                        {"involuntary_switches", end.involuntary_switches - begin.involuntary_switches},
                        {"copies", end.copies - begin.copies},
                        {"copied_bytes", end.copied_bytes - begin.copied_bytes}};
  out["peak_rss_kb"] = largest_resident_kb();
  std::ifstream rollup("/proc/self/smaps_rollup");
  std::int64_t shared = 0;
  for (std::string line; std::getline(rollup, line);) {
    const auto value = [&](const char* key) {
      const std::string wanted = std::string(key) + ":";
      return line.compare(0, wanted.size(), wanted) == 0 ? std::stoll(line.substr(wanted.size())) : -1;
    };
    if (const auto kb = value("Rss"); kb >= 0) out["rss_kb"] = kb;
    if (const auto kb = value("Pss"); kb >= 0) out["pss_kb"] = kb;
    if (const auto kb = value("Shared_Clean"); kb >= 0) shared += kb;
    if (const auto kb = value("Shared_Dirty"); kb >= 0) shared += kb;
  }
  out["shared_kb"] = shared;
  return out;
}

}  // namespace baton::perf
