// SPDX-License-Identifier: Apache-2.0
#include "baton/shared/block.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "baton/os/crash_point.hpp"
#include "baton/shared/transfer.hpp"
#include "heap_state.hpp"

namespace baton::shared::detail {
namespace {

// Plain words of blocks and stored pointers whose order of stores matters to whoever takes over from a dead process. A kill leaves every
// store before it and none behind it; the releases keep the compiler (and other processors) from reordering them.
template <class T>
void put(T& word, T value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}
template <class T>
T get(const T& word) noexcept {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

struct Types {
  std::mutex mutex;
  std::map<std::uint64_t, TypeInfo> known;
};
Types& types() noexcept {
  static auto* const instance =
      new Types;  // NOLINT(bugprone-unhandled-exception-at-new): objects end while static ones go
  return *instance;
}
bool find_type(std::uint64_t id, TypeInfo* info) noexcept {
  const std::lock_guard<std::mutex> lock(types().mutex);
  const auto found = types().known.find(id);
  if (found == types().known.end()) return false;
  *info = found->second;
  return true;
}

HeapState* find_state(const void* address) noexcept {
  const memory::SegmentRecord* record = memory::Window::find(address);
  return record == nullptr ? nullptr : static_cast<HeapState*>(record->heap);
}
HeapState& state_at(const void* address) {
  HeapState* const state = find_state(address);
  if (state == nullptr) {
    throw Exception(Error{Errc::invalid_argument, "a smart pointer lies in memory of Baton's that is no shared heap"});
  }
  return *state;
}
HeapState& state_of(const PointerWords* words) {
  return state_at(words->stored() ? static_cast<const void*>(words) : static_cast<const void*>(words->local()));
}
Block* block_of(HeapState& state, const PointerWords* words) noexcept {
  return words->stored() ? reinterpret_cast<Block*>(state.base() + (words->block & ~std::uintptr_t{1}))
                         : state.block_of(words->local());
}
std::uint64_t my_bit(HeapState& state) noexcept { return std::uint64_t{1} << slot_of(state.me()); }

std::atomic<std::uint32_t>& count_in(LocalCount& local, Strength strength) noexcept {
  return strength == Strength::kStrong ? local.strong : local.weak;
}

/// The process gets its hold, or one pointer more. The block exists. False (strong only): its object has ended.
bool acquire_hold(HeapState& state, Block& block, Strength strength) {
  std::atomic<std::uint32_t>& count = count_in(state.local_of(&block), strength);
  for (;;) {
    std::uint32_t seen = count.load(std::memory_order_relaxed);
    if (seen >= 3) {
      // acquire: pairs with the release below, by the thread that got the hold.
      if (count.compare_exchange_weak(seen, seen + 2, std::memory_order_acquire, std::memory_order_relaxed))
        return true;
    } else if (seen == 1) {
      std::this_thread::yield();
    } else if (count.compare_exchange_weak(seen, 1, std::memory_order_acquire, std::memory_order_relaxed)) {
      break;
    }
  }
  state.lock_block(block);
  const bool got = strength == Strength::kWeak || block.state.load(std::memory_order_relaxed) == BlockState::kAlive;
  if (got) (strength == Strength::kStrong ? block.holds : block.weak_holds) |= my_bit(state);
  BATON_CRASH_POINT("shared.pointer.hold_marked");
  if (got) state.held();
  count.store(got ? 3 : 0, std::memory_order_release);  // pairs with the acquires above
  state.unlock_block(block);
  return got;
}

std::uint32_t& count_in(Block& block, Strength strength) noexcept {
  return strength == Strength::kStrong ? block.count : block.weak_count;
}
std::uint64_t& holds_in(Block& block, Strength strength) noexcept {
  return strength == Strength::kStrong ? block.holds : block.weak_holds;
}

void check_same_heap(const HeapState& state, const PointerWords* to) {
  if (heap_base_of(to) != state.base()) {
    throw Exception(Error{Errc::invalid_argument, "a stored smart pointer must lie in the heap of its object"});
  }
}

/// A plain word with the functions of an atomic one.
template <class T>
struct Word {
  T& word;
  T load(std::memory_order) const noexcept { return get(word); }
  void store(T value, std::memory_order) noexcept { put(word, value); }
};
template <class T>
Word(T&) -> Word<T>;

/// *to (null, in the heap) points to the block, which the caller has locked and keeps alive.
void write_stored(HeapState& state, PointerWords* to, std::uintptr_t address, Block& block,
                  Strength strength) noexcept {
  const std::uint64_t what = state.offset_of(to) | (strength == Strength::kWeak ? kWeakPointer : 0);
  transfer(Word{count_in(block, strength)}, Word{block.undo_count}, Word{block.undo_target}, what, [&] {
    put(to->pointer, to->distance_to(address));
    put(to->block, static_cast<std::uintptr_t>(state.offset_of(&block) | 1));
  });
}

/// *stored, a pointer to the block that the caller has locked, becomes null.
void write_null(HeapState& state, PointerWords* stored, Block& block, Strength strength) noexcept {
  const std::uint64_t what = state.offset_of(stored) | kToNull | (strength == Strength::kWeak ? kWeakPointer : 0);
  transfer(Word{count_in(block, strength)}, Word{block.undo_count}, Word{block.undo_target}, what, [&] {
    put(stored->block, std::uintptr_t{0});
    put(stored->pointer, std::uintptr_t{0});
  });
}

}  // namespace

void register_type(const TypeInfo& info) noexcept {
  const std::lock_guard<std::mutex> lock(types().mutex);
  types().known.emplace(info.id, info);
}

void HeapState::lock_block(Block& block) noexcept {
  if (block.lock.lock_until(base_, me(), INT64_MAX) == Locked::kOwnerDied) after_dead_owner(block);
}

// With the lock: completes or undoes what the dead owner had half done.
void HeapState::after_dead_owner(Block& block) noexcept {
  redo(
      [&](std::uint64_t what) {
        return Word{count_in(block, (what & kWeakPointer) != 0 ? Strength::kWeak : Strength::kStrong)};
      },
      Word{block.undo_count}, Word{block.undo_target},
      [&](std::uint64_t what) {
        const auto* const target = reinterpret_cast<const PointerWords*>(base_ + (what & ~(kToNull | kWeakPointer)));
        return get(target->block) == (offset_of(&block) | 1);
      });
  block.lock.make_consistent();
}

void HeapState::unlock_and_settle(Block& block) noexcept {
  const BlockState now = block.state.load(std::memory_order_relaxed);
  if (now == BlockState::kAlive && block.count == 0 && block.holds == 0) {
    block.worker.store(me(), std::memory_order_relaxed);
    block.state.store(BlockState::kEnding, std::memory_order_release);  // its worker before it; see recover()
    BATON_CRASH_POINT("shared.object.ending");
    unlock_block(block);
    end_object(block);
  } else if (now == BlockState::kDead && block.weak_count == 0 && block.weak_holds == 0) {
    release(&block);  // nobody knows it: no need to unlock
  } else {
    unlock_block(block);
  }
}

// kEnding, with this process as the worker, unlocked. Nothing refers to the object.
void HeapState::end_object(Block& block) noexcept {
  if (block.type != 0) {
    TypeInfo type{};
    if (!find_type(block.type, &type)) {
      block.state.store(BlockState::kOrphan, std::memory_order_release);
      header().orphans.fetch_add(1, std::memory_order_relaxed);
      tell({HeapEvent::Kind::kOrphan, 0,
            "an object whose last holder died has a type that this process does not know; it is kept until a process "
            "that knows it collects"});
      return;
    }
    type.destroy(block.object());
  }
  BATON_CRASH_POINT("shared.object.destroyed");
  block.state.store(BlockState::kDestroyed, std::memory_order_release);
  end_memory(block);
}

// kDestroyed, with this process as the worker, unlocked.
void HeapState::end_memory(Block& block) noexcept {
  lock_block(block);
  block.state.store(BlockState::kDead, std::memory_order_release);
  BATON_CRASH_POINT("shared.object.dead");
  unlock_and_settle(block);
}

// One block of the walk over the heap. Other processes may free it at any time unless the dead one had something of it.
void HeapState::recover(const Found& found, std::size_t slot) noexcept {
  Block& block = *found.block;
  const std::uint64_t bit = slot < kMaxProcesses ? std::uint64_t{1} << slot : 0;
  const auto dead = [&](ProcessWord process) {
    return process != 0 && slot < kMaxProcesses && slot_of(process) == slot && process != me();
  };
  std::uint32_t lock_word = block.lock.word.load(std::memory_order_acquire);
  const bool locked_by_dead = dead(lock_word & kProcessMask);
  const BlockState before = block.state.load(std::memory_order_acquire);
  const bool worked_by_dead =
      (before == BlockState::kConstructing || before == BlockState::kEnding || before == BlockState::kDestroyed) &&
      dead(block.worker.load(std::memory_order_relaxed));
  const bool held_by_dead = ((get(block.holds) | get(block.weak_holds)) & bit) != 0;
  TypeInfo type{};
  const bool orphan = before == BlockState::kOrphan && find_type(block.type, &type);
  if (!locked_by_dead && !worked_by_dead && !held_by_dead && !orphan) return;
  if (!found.exists()) return;  // freed while we looked; what was read meant nothing
  if (locked_by_dead) {
    // Only from the dead one's very word: if somebody else has taken the lock over, he may free the block at any time.
    const std::uint32_t mine = me() | (lock_word & (kDied | kWaiters));
    if (block.lock.word.compare_exchange_strong(lock_word, mine, std::memory_order_acquire,
                                                std::memory_order_relaxed)) {
      if (!found.exists()) {
        block.lock.word.store(lock_word, std::memory_order_relaxed);
        return;
      }
      after_dead_owner(block);
    } else if (!worked_by_dead && !held_by_dead && !orphan) {
      return;
    } else {
      lock_block(block);
    }
  } else {
    lock_block(block);
  }
  const bool constructed = (block.holds & bit) != 0;
  put(block.holds, block.holds & ~bit);
  put(block.weak_holds, block.weak_holds & ~bit);
  const BlockState now = block.state.load(std::memory_order_acquire);
  const bool still_orphan = now == BlockState::kOrphan && orphan;
  const bool unfinished =
      (now == BlockState::kConstructing || now == BlockState::kEnding || now == BlockState::kDestroyed) &&
      dead(block.worker.load(std::memory_order_relaxed));
  if (!still_orphan && !unfinished) {
    unlock_and_settle(block);
    return;
  }
  if (now == BlockState::kConstructing || now == BlockState::kEnding) {
    // The constructor or destructor may have run in part.
    const bool whole = now == BlockState::kConstructing && constructed;
    const bool again = block.type == 0 || whole || (find_type(block.type, &type) && type.recoverable);
    if (!again) {
      tell({HeapEvent::Kind::kDiedInDestructor, 0,
            std::string("a process died in the constructor or destructor of ") +
                (type.name != nullptr ? type.name : "an unknown type") +
                "; its memory is freed, what it owned is not"});
    }
    block.worker.store(me(), std::memory_order_relaxed);
    block.state.store(again ? BlockState::kEnding : BlockState::kDestroyed, std::memory_order_release);
    unlock_block(block);
    again ? end_object(block) : end_memory(block);
    return;
  }
  block.worker.store(me(), std::memory_order_relaxed);
  block.state.store(still_orphan ? BlockState::kEnding : BlockState::kDestroyed, std::memory_order_release);
  if (still_orphan) header().orphans.fetch_sub(1, std::memory_order_relaxed);
  unlock_block(block);
  still_orphan ? end_object(block) : end_memory(block);
}

void copy_pointer(PointerWords* to, const PointerWords* from, Strength strength, bool from_strong) {
  if (from->block == 0) return;
  HeapState& state = state_of(from);
  Block& block = *block_of(state, from);
  const std::uintptr_t address = from->address();
  (void)from_strong;  // either keeps the block
  if (memory::in_window(to)) {
    check_same_heap(state, to);
    state.lock_block(block);
    write_stored(state, to, address, block, strength);
    state.unlock_block(block);
  } else {
    acquire_hold(state, block, strength);
    to->pointer = address;
    to->block = reinterpret_cast<std::uintptr_t>(&state.local_of(&block));
  }
}

void move_pointer(PointerWords* to, PointerWords* from, Strength strength) {
  if (!from->stored() && !memory::in_window(to)) {
    *to = *from;
    *from = PointerWords{};
    return;
  }
  if (from->block == 0) return;
  const bool into_heap = memory::in_window(to);
  // Between private memory and the heap, with the process's only pointer on the private side: the hold comes or goes under the same lock as
  // the stored pointer goes or comes.
  if (from->stored() && !into_heap) {
    HeapState& state = state_of(from);
    Block& block = *block_of(state, from);
    LocalCount& local = state.local_of(&block);
    std::uint32_t none = 0;
    // acquire: pairs with the release of the thread that dropped the hold before.
    if (count_in(local, strength)
            .compare_exchange_strong(none, 1, std::memory_order_acquire, std::memory_order_relaxed)) {
      const std::uintptr_t address = from->address();
      state.lock_block(block);
      put(holds_in(block, strength), holds_in(block, strength) | my_bit(state));
      BATON_CRASH_POINT("shared.pointer.taking_out");
      write_null(state, from, block, strength);
      state.held();
      to->pointer = address;
      to->block = reinterpret_cast<std::uintptr_t>(&local);
      count_in(local, strength).store(3, std::memory_order_release);  // pairs with the acquires in acquire_hold()
      state.unlock_block(block);
      return;
    }
  } else if (!from->stored() && into_heap) {
    HeapState& state = state_of(from);
    Block& block = *block_of(state, from);
    check_same_heap(state, to);
    LocalCount& local = *from->local();
    std::uint32_t mine = 3;
    // acq_rel: as count_down().
    if (count_in(local, strength)
            .compare_exchange_strong(mine, 1, std::memory_order_acq_rel, std::memory_order_relaxed)) {
      state.lock_block(block);
      write_stored(state, to, from->address(), block, strength);
      *from = PointerWords{};
      BATON_CRASH_POINT("shared.pointer.putting_in");
      put(holds_in(block, strength), holds_in(block, strength) & ~my_bit(state));
      count_in(local, strength)
          .store(0, std::memory_order_release);  // pairs with the exchanges in acquire_hold() and here
      state.unlock_block(block);
      state.let_go();
      return;
    }
  }
  copy_pointer(to, from, strength);
  if (from->stored()) {
    clear_stored(from, strength);
  } else if (from->block != 0) {
    LocalCount* const local = from->local();
    *from = PointerWords{};
    if (count_down(count_in(*local, strength))) drop_hold(local, strength);
  }
}

void clear_stored(PointerWords* stored, Strength strength) noexcept {
  HeapState* const found = find_state(stored);
  if (found == nullptr) return;  // overwritten words: it is no stored pointer
  HeapState& state = *found;
  Block& block = *block_of(state, stored);
  state.lock_block(block);
  write_null(state, stored, block, strength);
  state.unlock_and_settle(block);
}

void drop_hold(LocalCount* local, Strength strength) noexcept {
  HeapState* const found = find_state(local);
  if (found == nullptr || found->forked()) return;
  HeapState& state = *found;
  Block& block = *state.block_of(local);
  state.lock_block(block);
  std::uint64_t& holds = strength == Strength::kStrong ? block.holds : block.weak_holds;
  put(holds, holds & ~my_bit(state));
  BATON_CRASH_POINT("shared.pointer.hold_dropped");
  count_in(*local, strength).store(0, std::memory_order_release);  // pairs with the exchange in acquire_hold()
  state.unlock_and_settle(block);
  state.let_go();
}

bool lock_weak(PointerWords* to, const PointerWords* weak) {
  if (weak->block == 0) return false;
  HeapState& state = state_of(weak);
  Block& block = *block_of(state, weak);
  const std::uintptr_t address = weak->address();
  if (!acquire_hold(state, block, Strength::kStrong)) return false;
  PointerWords mine;
  mine.pointer = address;
  mine.block = reinterpret_cast<std::uintptr_t>(&state.local_of(&block));
  move_pointer(to, &mine, Strength::kStrong);
  return true;
}

std::uint32_t use_count(const PointerWords* words) noexcept {
  if (words->block == 0) return 0;
  HeapState* const found = find_state(words->stored() ? static_cast<const void*>(words) : words->local());
  if (found == nullptr) return 0;
  HeapState& state = *found;
  Block& block = *block_of(state, words);
  const std::uint32_t mine = state.local_of(&block).strong.load(std::memory_order_relaxed) / 2;
  return __atomic_load_n(&block.count, __ATOMIC_RELAXED) + mine +
         static_cast<std::uint32_t>(
             __builtin_popcountll(__atomic_load_n(&block.holds, __ATOMIC_RELAXED) & ~my_bit(state)));
}

Block* make_block(Heap& heap, std::size_t bytes, const TypeInfo* type) {
  HeapState& state = HeapAccess::state(heap);
  void* const memory = state.allocate(sizeof(Block) + bytes, 64).or_throw();
  std::memset(memory, 0, sizeof(Block) + bytes);
  auto* const block = static_cast<Block*>(memory);
  block->type = type == nullptr ? 0 : type->id;
  block->worker.store(state.me(), std::memory_order_relaxed);
  block->state.store(BlockState::kConstructing, std::memory_order_release);
  BATON_CRASH_POINT("shared.object.allocated");
  state.settle(memory, true);
  BATON_CRASH_POINT("shared.object.constructing");
  return block;
}

void finish_block(Block* block, PointerWords* to) {
  HeapState& state = state_at(block);
  LocalCount& local = state.local_of(block);
  // The hold before the state: a block that is alive is referred to.
  put(block->holds, my_bit(state));
  BATON_CRASH_POINT("shared.object.constructed");
  block->state.store(BlockState::kAlive, std::memory_order_release);
  BATON_CRASH_POINT("shared.object.alive");
  state.held();
  while (local.strong.load(std::memory_order_acquire) != 0)
    std::this_thread::yield();  // a thread that dropped what lay here before
  local.strong.store(3, std::memory_order_release);
  PointerWords mine;
  mine.pointer = reinterpret_cast<std::uintptr_t>(block->object());
  mine.block = reinterpret_cast<std::uintptr_t>(&local);
  move_pointer(to, &mine, Strength::kStrong);
}

void abandon_block(Block* block) noexcept {
  HeapState& state = *find_state(block);  // make_block() made it
  block->state.store(BlockState::kDestroyed, std::memory_order_release);
  state.end_memory(*block);
}

}  // namespace baton::shared::detail
