// SPDX-License-Identifier: Apache-2.0
// The page by which the processes of a run agree on its phases; a file in the run's directory, so that it needs no
// transport.
// Thread rules: every word may be used by any thread of any process of the run.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace baton::perf {

constexpr unsigned kMostEnds = 64;

struct SyncPage {
  std::atomic<std::uint32_t> subscribers_ready, publishers_ready, publishers_done, subscribers_done, failed;
  /// Bit p of entry s: subscriber s has received a warm-up message of publisher p.
  std::atomic<std::uint64_t> heard[kMostEnds];
  /// Warm-up messages that all subscribers have received.
  std::atomic<std::uint64_t> warmed;
  /// Messages that subscriber s has received after the warm-up; for closed-loop runs.
  struct alignas(64) Count {
    std::atomic<std::uint64_t> value;
  } received[kMostEnds];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "the page is shared between processes");

/// Maps the page, making the file if needed. Throws std::system_error.
SyncPage& map_sync_page(const std::string& directory);

}  // namespace baton::perf
