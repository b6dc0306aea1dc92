// SPDX-License-Identifier: Apache-2.0
// Proves, in a test, that a thread keeps the real-time profile: it counts what the thread asks of the heap, its page faults and
// its system calls. In a library of its own, baton::real_time_check, which replaces malloc and its kin by counting ones; link it
// to tests only. x86-64 and aarch64, glibc.
//
// Thread rules: one RealTimeCheck per thread at a time, made, read and destroyed by the thread that it watches.
// System calls are seen by a seccomp filter (seccomp(2), SECCOMP_RET_TRAP); the handler of SIGSYS counts the call and makes it.
// A filter cannot be taken back: after the check the thread, and what it starts, goes on through the handler, uncounted. So
// watch a thread made for it, or let the process end afterwards. What such a thread executes (execve) dies of SIGSYS.
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
  std::uint64_t system_calls = 0;     ///< but those allowed
  std::array<long, 8> first_calls{};  ///< numbers of the first of them (SYS_*)
  bool clean() const noexcept { return heap_calls + minor_faults + major_faults + system_calls == 0; }
  /// One line for people, e.g. "2 heap calls, 1 minor fault, 3 system calls (first: 257, 3, 0)".
  std::string text() const;
};

class RealTimeCheck {
 public:
  /// Watches the calling thread from now on. Not counted are futex, futex_waitv and clock_nanosleep: waking, waiting for a message,
  /// waiting for the next period. Throws Exception (unsupported on other processors or without seccomp, system).
  RealTimeCheck();
  /// Not counted are these: SYS_* numbers.
  explicit RealTimeCheck(std::initializer_list<long> allowed);
  ~RealTimeCheck();
  RealTimeCheck(const RealTimeCheck&) = delete;
  RealTimeCheck& operator=(const RealTimeCheck&) = delete;

  /// Makes no heap or counted system call itself.
  RealTimeReport report() const noexcept;

 private:
  std::uint64_t minor_before_ = 0, major_before_ = 0;
};

}  // namespace baton
