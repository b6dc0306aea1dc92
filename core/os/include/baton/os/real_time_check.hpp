// SPDX-License-Identifier: Apache-2.0
// Proves, in a test, that a thread keeps the real-time profile: counts the thread's heap calls, page faults and system
// calls. It is a library of its own, baton::real_time_check, which replaces malloc and related functions by counting
// ones. Link it to tests only. x86-64 and aarch64, glibc.
//
// Thread rules: one RealTimeCheck per thread at a time, made, read and destroyed by the thread that it watches.
// A seccomp filter (seccomp(2), SECCOMP_RET_TRAP) catches system calls; the handler of SIGSYS counts and makes each
// call. A filter cannot be removed: after the check the thread, and every thread that it starts, still goes through the
// handler, uncounted. So watch a thread made for the check, or let the process end afterwards. A program that such a
// thread executes (execve) dies of SIGSYS.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace baton {

/// What a thread did since its RealTimeCheck was made.
struct RealTimeReport {
  std::uint64_t heap_calls =
      0;  ///< malloc, calloc, realloc, aligned_alloc, posix_memalign, memalign, free (not of null)
  std::uint64_t minor_faults = 0, major_faults = 0;
  std::uint64_t system_calls = 0;     ///< except the allowed ones
  std::array<long, 8> first_calls{};  ///< numbers of the first of them (SYS_*)
  bool clean() const noexcept { return heap_calls + minor_faults + major_faults + system_calls == 0; }
  /// One line for people, e.g. "2 heap calls, 1 minor fault, 3 system calls (first: 257, 3, 0)".
  std::string text() const;
};

class RealTimeCheck {
 public:
  /// Watches the calling thread from now on. Does not count futex, futex_waitv and clock_nanosleep: waking, waiting for
  /// a message and waiting for the next period. Throws Exception (unsupported on other processors or without seccomp,
  /// system).
  RealTimeCheck();
  /// Does not count the system calls `allowed` (SYS_* numbers).
  explicit RealTimeCheck(std::initializer_list<long> allowed);
  ~RealTimeCheck();
  RealTimeCheck(const RealTimeCheck&) = delete;
  RealTimeCheck& operator=(const RealTimeCheck&) = delete;

  /// Itself makes no heap call and no counted system call.
  RealTimeReport report() const noexcept;

 private:
  std::uint64_t minor_before_ = 0, major_before_ = 0;
};

}  // namespace baton
