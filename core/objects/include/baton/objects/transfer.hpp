// SPDX-License-Identifier: Apache-2.0
// How the count of a block's stored pointers and one such pointer change together: the redo record. A process that
// takes the block's lock over from a dead owner uses it to make count and pointer agree again. On words with load() and
// store(), so that tests/model explores it with kills at every step.
//
// REQUIRES, for both functions: the block's lock. Every store is a release: a kill leaves the stores before it and none
// behind it, in the order written here. Steps: before = count; record = what; count changes; the pointer changes (the
// transfer has happened); record = 0.
#pragma once

#include <atomic>
#include <cstdint>

#include "baton/os/crash_point.hpp"

namespace baton::objects::detail {

/// `what` of a transfer: the pointer's offset in the heap (a multiple of 8), and these.
inline constexpr std::uint64_t kToNull = 1;       // the pointer becomes null, else from null to the block
inline constexpr std::uint64_t kWeakPointer = 2;  // the count is that of weak ones

/// change() stores the pointer's block word, last.
template <class Count, class Before, class Record, class Change>
void transfer(Count&& count, Before&& before, Record&& record, std::uint64_t what, Change&& change) {
  const std::uint32_t now = count.load(std::memory_order_relaxed);  // changed under the lock only
  before.store(now, std::memory_order_release);
  record.store(what, std::memory_order_release);
  if ((what & kToNull) != 0) {
    BATON_CRASH_POINT("shared.pointer.clear_begun");
    count.store(now - 1, std::memory_order_release);
    BATON_CRASH_POINT("shared.pointer.clear_counted");
    change();
    BATON_CRASH_POINT("shared.pointer.cleared");
  } else {
    BATON_CRASH_POINT("shared.pointer.store_begun");
    count.store(now + 1, std::memory_order_release);
    BATON_CRASH_POINT("shared.pointer.store_counted");
    change();
    BATON_CRASH_POINT("shared.pointer.stored");
  }
  record.store(0, std::memory_order_release);
}

/// Repairs after a dead owner. count_of(what) gives the count's word; refers(what) says whether the pointer refers to
/// the block. A death may interrupt it; it can run again.
template <class CountOf, class Before, class Record, class Refers>
void redo(CountOf&& count_of, Before&& before, Record&& record, Refers&& refers) {
  const std::uint64_t what = record.load(std::memory_order_acquire);
  if (what == 0) return;
  const bool happened = refers(what) == ((what & kToNull) == 0);
  if (!happened) count_of(what).store(before.load(std::memory_order_relaxed), std::memory_order_release);
  BATON_CRASH_POINT("shared.pointer.undone");
  record.store(0, std::memory_order_release);
}

}  // namespace baton::objects::detail
