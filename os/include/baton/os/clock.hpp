// SPDX-License-Identifier: Apache-2.0
// The two clocks of Baton. Thread rules: pure functions; no system call (vDSO).
#pragma once

#include <cstdint>
#include <ctime>

namespace baton::os {

/// clock_gettime(3) of CLOCK_MONOTONIC or CLOCK_REALTIME, in nanoseconds. It calls the kernel's function in the vDSO directly (vdso(7)): libc's
/// own reads three more pages, and each message reads a clock at either end (`baton perf touch`). Where another library has put a
/// clock_gettime of its own before libc's (a simulated time, a sanitizer), or there is no vDSO, that one is called.
std::int64_t clock_ns(clockid_t id) noexcept;
/// CLOCK_MONOTONIC: deadlines, lifespans, leases, order between publishers of one machine.
inline std::int64_t monotonic_ns() noexcept { return clock_ns(CLOCK_MONOTONIC); }
/// CLOCK_REALTIME: the source and reception times that users see.
inline std::int64_t realtime_ns() noexcept { return clock_ns(CLOCK_REALTIME); }

/// Both clocks, one right after the other. A publisher reads them so: this code lies beside the publisher's, that of clock_ns() beside the
/// subscriber's.
struct Times {
  std::int64_t monotonic_ns, realtime_ns;
};
Times read_both_clocks() noexcept;

}  // namespace baton::os
