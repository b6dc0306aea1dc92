// SPDX-License-Identifier: Apache-2.0
// The resources that a process used: getrusage(2), /proc/self/smaps_rollup, and the copies that libbaton_perf_copies.so
// has counted.
#pragma once

#include <cstdint>

#include <nlohmann/json_fwd.hpp>

namespace baton::perf {

struct Usage {
  std::int64_t wall_ns, utime_us, stime_us, minor_faults, major_faults, voluntary_switches, involuntary_switches;
  std::uint64_t copies, copied_bytes;  ///< 0 unless the counting library is preloaded
};
Usage usage_now();
/// `end` - `begin`, with the present memory: rss_kb, pss_kb, shared_kb, peak_rss_kb.
nlohmann::json usage_between(const Usage& begin, const Usage& end);

}  // namespace baton::perf
