// SPDX-License-Identifier: Apache-2.0
// What became of aliased buffers. Thread rules: a plain value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace baton::containers {

/// Sums since the start of the process, and the numbers of living messages.
struct Counters {
  std::uint64_t aliased = 0;  ///< buffers handed out
  std::uint64_t freed = 0;    ///< buffers that came back
  std::uint64_t unknown =
      0;  ///< frees of addresses in the window where no buffer begins: errors of the program; ignored
  std::uint64_t discarded_pages =
      0;  ///< pages of received messages that the program had written, as far as they were counted
  std::size_t live_buffers = 0;
  std::size_t live_messages = 0;  ///< received messages and loans that are kept by buffers
};

}  // namespace baton::containers
