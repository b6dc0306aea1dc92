// SPDX-License-Identifier: Apache-2.0
// How the threads of one process count their pointers to a block, and which thread takes and drops the process's hold
// on the block. The count is a word in private memory, which ends with the process. A template over the word, so that
// tests/model explores it.
//
//   0       no hold
//   1       the last pointer is gone; its thread is about to drop the hold
//   2n + 1  n pointers
//   H1 a copy             + 2, by a thread that has a pointer
//   H2 a pointer's end    - 2; the thread that leaves 1 does H3
//   H3 the hold goes      1 -> 0, under the block's lock, after the hold is off the block
//   H4 the hold comes     0 -> 3, under the block's lock, after the hold is on the block
//   H5 one more pointer   + 2, by a thread that has none, but only from 3 up, so by exchange
// An odd number includes the hold, so the last pointer's end (H2) and the right to do H3 are one step. Only an owner of
// the block's lock changes 0 and 1: with the lock held, 0 stays 0. A load under the lock cannot read an outdated 0 or
// 1, since the step that replaced it was done under an earlier lock.
#pragma once

#include <atomic>
#include <cstdint>

namespace baton::objects::detail {

/// H1.
template <class Count>
void count_up(Count& count) noexcept {
  count.fetch_add(2, std::memory_order_relaxed);  // as std::shared_ptr
}
/// H2. True: H3 is due.
template <class Count>
bool count_down(Count& count) noexcept {
  // release: this thread's accesses to the object happen before its end; acquire: for the thread that ends the object.
  return count.fetch_sub(2, std::memory_order_acq_rel) == 3;
}
/// H3.
template <class Count>
void end_holding(Count& count) noexcept {
  count.store(0, std::memory_order_release);  // for the thread that reuses the block's memory, without its lock
}
/// H4.
template <class Count>
void begin_holding(Count& count) noexcept {
  count.store(3, std::memory_order_release);  // pairs with H5: the hold is on the block
}
/// False: H5 was done. True: lock() has locked the block, and the process has no hold; H4 may follow. wait() waits for
/// the thread that is about to drop the hold.
template <class Count, class Lock, class Unlock, class Wait>
bool lock_unless_held(Count& count, Lock&& lock, Unlock&& unlock, Wait&& wait) noexcept {
  for (;;) {
    std::uint32_t seen = count.load(std::memory_order_relaxed);
    if (seen == 0) {
      lock();
      if (count.load(std::memory_order_relaxed) == 0) return true;
      unlock();  // another thread got the hold
    } else if (seen == 1) {
      wait();
    } else if (count.compare_exchange_weak(seen, seen + 2, std::memory_order_acquire, std::memory_order_relaxed)) {
      return false;  // acquire: pairs with H4
    }
  }
}

}  // namespace baton::objects::detail
