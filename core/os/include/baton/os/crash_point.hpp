// SPDX-License-Identifier: Apache-2.0
// Named places where a test can kill the process: BATON_CRASH_POINT("room.step"). Compiled in only with
// -DBATON_CRASH_POINTS=ON; otherwise nothing is left of them.
// The environment chooses one: BATON_CRASH_AT="name" kills (SIGKILL) at the first pass, "name:3" at the third.
#pragma once

#ifdef BATON_CRASH_POINTS

#include <unistd.h>
#include <csignal>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "baton/os/environment.hpp"

namespace baton::os {

/// Any thread. `passes` counts the passes of one place in the source.
inline void crash_point(const char* name, std::atomic<unsigned>& passes) {
  static const char* const wanted = environment("BATON_CRASH_AT");
  if (wanted == nullptr) return;
  const std::size_t length = std::strlen(name);
  if (std::strncmp(wanted, name, length) != 0 || (wanted[length] != '\0' && wanted[length] != ':')) return;
  const unsigned pass = passes.fetch_add(1, std::memory_order_relaxed) + 1;
  const unsigned at = wanted[length] == ':' ? static_cast<unsigned>(std::atoi(wanted + length + 1)) : 1U;
  if (pass == at) ::kill(::getpid(), SIGKILL);
}

}  // namespace baton::os

#define BATON_CRASH_POINT(name)                   \
  do {                                            \
    static std::atomic<unsigned> baton_passes{0}; \
    ::baton::os::crash_point(name, baton_passes); \
  } while (false)

#else
#define BATON_CRASH_POINT(name) \
  do {                          \
  } while (false)
#endif
