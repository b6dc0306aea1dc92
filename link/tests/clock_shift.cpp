// SPDX-License-Identifier: Apache-2.0
// Preloaded (LD_PRELOAD) into a process of a test: its CLOCK_REALTIME is BATON_TEST_CLOCK_SHIFT seconds ahead, as on a machine whose
// clock is wrong. CLOCK_MONOTONIC is shifted by a time namespace (link_hosts.py), which CLOCK_REALTIME has none of.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace {

time_t shift() {
  static const time_t seconds = [] {
    const char* const text = std::getenv("BATON_TEST_CLOCK_SHIFT");
    return text == nullptr ? time_t{0} : static_cast<time_t>(std::strtol(text, nullptr, 10));
  }();
  return seconds;
}

}  // namespace

extern "C" int clock_gettime(clockid_t id, timespec* out) noexcept {
  const long done = ::syscall(SYS_clock_gettime, id, out);
  if (done == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) out->tv_sec += shift();
  return static_cast<int>(done);
}
