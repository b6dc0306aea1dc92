// SPDX-License-Identifier: Apache-2.0
// The life of blocks (baton/objects/block.hpp): their lock, the end of unreferenced objects, and the holds of this
// process, which keep the heap open. The functions on references are in references.cpp.
// Thread rules: everything is thread-safe.
// Invariants:
//   1. An object's end is begun by the process that `worker` names, and completed by that process or by its recovery.
//   2. The list of objects that a thread has yet to end belongs to that thread alone. After its death each of them is
//      kDue, and recovery finds them one by one.
#pragma once

#include <atomic>
#include <cstdint>

#include "allocations.hpp"
#include "events.hpp"
#include "operation_guard.hpp"

namespace baton::objects::detail {

struct BlockWords {
  std::atomic<std::uint32_t> orphans{0};  // a hint: the number of objects that may wait for a process that knows their
                                          // type
};

// Plain words of blocks and stored pointers. The order of their stores matters to a process that takes over from a dead
// one. A kill leaves every store before it and none behind it. The releases keep the compiler (and other processors)
// from reordering them.
template <class T>
void put(T& word, T value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}
template <class T>
T get(const T& word) noexcept {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}
/// A plain word with the functions of an atomic one, for transfer.hpp.
template <class T>
struct Word {
  T& word;
  T load(std::memory_order) const noexcept { return get(word); }
  void store(T value, std::memory_order) noexcept { put(word, value); }
};
template <class T>
Word(T&) -> Word<T>;

inline std::uint32_t& count_in(Block& block, Strength strength) noexcept {
  return strength == Strength::kStrong ? block.count : block.weak_count;
}
inline std::uint64_t& holds_in(Block& block, Strength strength) noexcept {
  return strength == Strength::kStrong ? block.holds : block.weak_holds;
}

/// False: no program of this process has named the type.
bool find_type(std::uint64_t id, TypeInfo* info) noexcept;

class Blocks {
 public:
  Blocks(Mapping& mapping, Allocations& allocations, BlockWords& words, Events& events) noexcept
      : mapping_(mapping), allocations_(allocations), words_(words), events_(events) {}

  Allocations& allocations() noexcept { return allocations_; }
  std::uint64_t my_bit() const noexcept { return std::uint64_t{1} << slot_of(mapping_.me()); }

  /// Undoes or completes a change that a dead owner had begun.
  void lock(Block& block) noexcept {
    std::byte* const base = block.heap_base();  // from the block's own cache line: quicker than from mapping_
    const ProcessWord me = private_of(base).me.load(std::memory_order_relaxed);  // see Mapping::me()
    if (block.lock.lock_until(base, me, INT64_MAX) == Locked::kOwnerDied) after_dead_owner(block);
  }
  void after_dead_owner(Block& block) noexcept;
  void unlock(Block& block) noexcept { block.lock.unlock_consistent(); }  // lock() has made it consistent
  /// For the lock's owner, which loses the lock: ends the object if nothing refers to it, and frees its memory when
  /// possible.
  void unlock_and_settle(Block& block) noexcept {
    // relaxed: under the lock; only a worker changes it without.
    if (block.state.load(std::memory_order_relaxed) == BlockState::kAlive && (block.count != 0 || block.holds != 0)) {
      unlock(block);
    } else {
      unlock_and_end(block);
    }
  }
  /// For an unlocked block that is kDue or kEnding, with this process as its worker: ends the object, now or later if
  /// this thread is ending another object of the heap.
  void end_object(Block& block) noexcept;
  /// For an unlocked block that is kDestroyed, with this process as its worker: frees its memory.
  void end_memory(Block& block) noexcept;

  bool may_have_orphans() const noexcept { return words_.orphans.load(std::memory_order_relaxed) != 0; }
  void adopt_orphan() noexcept { words_.orphans.fetch_sub(1, std::memory_order_relaxed); }  // a hint

  // Holds of this process, counted from the end of its Heap object on (operation_guard.hpp).
  void begin_closing() noexcept;
  /// Under the lock of the list of heaps to close. False if the process may have a hold.
  bool nothing_held() noexcept;
  /// Call before the hold's bit is set.
  void count_hold() noexcept {
    if (!closing_.load(std::memory_order_relaxed)) return;
    gains_.fetch_add(1, std::memory_order_acq_rel);  // with holds_, see nothing_held()
    holds_.fetch_add(1, std::memory_order_acq_rel);
  }
  /// Call after the bit is cleared, within an operation.
  void uncount_hold() noexcept {
    // acquire: pairs with the release in begin_closing().
    if (closing_.load(std::memory_order_acquire) && holds_.fetch_sub(1, std::memory_order_acq_rel) <= 1)
      OperationGuard::request_close();
  }

 private:
  void unlock_and_end(Block& block) noexcept;
  void end_one(Block& block) noexcept;

  Mapping& mapping_;
  Allocations& allocations_;
  BlockWords& words_;
  Events& events_;
  std::atomic<bool> closing_{false};
  std::atomic<std::int64_t> holds_{0};  // while the heap is closing; may be too low
  std::atomic<std::uint64_t> gains_{0};
};

}  // namespace baton::objects::detail
