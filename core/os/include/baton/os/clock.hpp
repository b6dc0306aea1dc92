// SPDX-License-Identifier: Apache-2.0
// The clocks of Baton. Thread rules: pure functions; no system call (vDSO).
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

/// How far CLOCK_MONOTONIC of this process runs ahead of the machine's: the offset of its time namespace
/// (time_namespaces(7)), read when the library was loaded. 0 outside of one, and where /proc does not say.
std::int64_t time_namespace_ns() noexcept;
// Times that processes write for each other are of the machine: CLOCK_MONOTONIC of the initial time namespace. Unsigned, because another
// process names any time.
inline std::int64_t of_machine(std::int64_t monotonic_ns) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(monotonic_ns) -
                                   static_cast<std::uint64_t>(time_namespace_ns()));
}
inline std::int64_t of_process(std::int64_t machine_ns) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(machine_ns) +
                                   static_cast<std::uint64_t>(time_namespace_ns()));
}

/// Both clocks, one right after the other. A publisher reads them so: this code lies beside the publisher's, that of clock_ns() beside the
/// subscriber's.
struct Times {
  std::int64_t machine_ns;  ///< of_machine() of CLOCK_MONOTONIC
  std::int64_t realtime_ns;
};
Times read_both_clocks() noexcept;

}  // namespace baton::os
