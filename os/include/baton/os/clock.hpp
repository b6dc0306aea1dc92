// SPDX-License-Identifier: Apache-2.0
// The two clocks of Baton. Thread rules: pure functions; no system call (vDSO).
#pragma once

#include <cstdint>
#include <ctime>

namespace baton::os {

inline std::int64_t clock_ns(clockid_t id) noexcept {
  timespec now{};
  ::clock_gettime(id, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}
/// CLOCK_MONOTONIC: deadlines, lifespans, leases, order between publishers of one machine.
inline std::int64_t monotonic_ns() noexcept { return clock_ns(CLOCK_MONOTONIC); }
/// CLOCK_REALTIME: the source and reception times that users see.
inline std::int64_t realtime_ns() noexcept { return clock_ns(CLOCK_REALTIME); }

}  // namespace baton::os
