// SPDX-License-Identifier: Apache-2.0
#include "baton/shared/block.hpp"

#include <cstring>
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

// Types that were registered: lists that only grow, so that objects can end in a forked child and while static objects go.
struct KnownType {
  TypeInfo info;
  const KnownType* next;
};
std::atomic<const KnownType*> g_types[256];  // zero before any constructor runs
std::atomic<const KnownType*>& types_like(std::uint64_t id) noexcept { return g_types[(id ^ id >> 32) & 0xff]; }
bool find_type(std::uint64_t id, TypeInfo* info) noexcept {
  // acquire: pairs with the release in register_type().
  for (const KnownType* known = types_like(id).load(std::memory_order_acquire); known != nullptr; known = known->next) {
    if (known->info.id != id) continue;
    *info = known->info;
    return true;
  }
  return false;
}

HeapState* find_state(const void* address) noexcept {
  const memory::SegmentRecord* record = memory::Window::find(address);
  return record == nullptr ? nullptr : static_cast<HeapState*>(record->heap);
}
HeapState& state_of(Block& block) noexcept { return *private_of(block.heap_base()).state; }
LocalCount& local_of(Block& block) noexcept { return private_of(block.heap_base()).locals[block.place]; }
Block& block_of_object(void* object) noexcept { return *(static_cast<Block*>(object) - 1); }
/// Null: the pointer is, or it was the parent's of a forked child.
Block* block_of(const LocalCount* local) noexcept {
  if (local == nullptr) return nullptr;
  HeapState* const state = find_state(local);
  return state == nullptr || state->forked() ? nullptr : state->block_of(local);
}
std::uint64_t my_bit(HeapState& state) noexcept { return std::uint64_t{1} << slot_of(state.me()); }

std::atomic<std::uint32_t>& count_in(LocalCount& local, Strength strength) noexcept {
  return strength == Strength::kStrong ? local.strong : local.weak;
}

/// The process gets its hold, or one pointer more. The block exists. False (strong only): its object has ended.
bool acquire_hold(HeapState& state, Block& block, Strength strength) noexcept {
  std::atomic<std::uint32_t>& count = count_in(local_of(block), strength);
  if (!lock_unless_held(
          count, [&] { state.lock_block(block); }, [&] { state.unlock_block(block); },
          [] { std::this_thread::yield(); })) {
    return true;
  }
  const bool got = strength == Strength::kWeak || block.state.load(std::memory_order_relaxed) == BlockState::kAlive;
  if (got) {
    state.held();
    (strength == Strength::kStrong ? block.holds : block.weak_holds) |= my_bit(state);
    BATON_CRASH_POINT("shared.pointer.hold_marked");
    begin_holding(count);
  }
  state.unlock_block(block);
  return got;
}

std::uint32_t& count_in(Block& block, Strength strength) noexcept {
  return strength == Strength::kStrong ? block.count : block.weak_count;
}
std::uint64_t& holds_in(Block& block, Strength strength) noexcept {
  return strength == Strength::kStrong ? block.holds : block.weak_holds;
}

/// A process is at it, named as `worker`.
bool in_work(BlockState state) noexcept {
  return state == BlockState::kConstructing || state == BlockState::kDue || state == BlockState::kEnding ||
         state == BlockState::kDestroyed;
}

Held held_of(Block& block, void* address) noexcept { return {address, &local_of(block)}; }

void check_same_heap(Block& block, const StoredWords* to, const void* address) {
  std::byte* const base = block.heap_base();
  const std::uint64_t limit = private_of(base).limit;
  if (static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(to) - base) >= limit) {
    throw Exception(Error{Errc::invalid_argument, "a stored smart pointer must lie in the heap of its object"});
  }
  if (address != nullptr && static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - base) >= limit) {
    throw Exception(Error{
        Errc::invalid_argument,
        "what a stored smart pointer points to must lie in the heap: this one shares an object of the heap and points "
        "elsewhere"});
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
void write_stored(HeapState& state, StoredWords* to, const void* address, Block& block, Strength strength) noexcept {
  const std::uint64_t what = state.offset_of(to) | (strength == Strength::kWeak ? kWeakPointer : 0);
  const std::uintptr_t marks =
      StoredWords::kInHeap | (strength == Strength::kWeak ? StoredWords::kWeakInHeap : std::uintptr_t{0});
  transfer(Word{count_in(block, strength)}, Word{block.undo_count}, Word{block.undo_target}, what, [&] {
    put(to->pointer, reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(to));
    put(to->block, (reinterpret_cast<std::uintptr_t>(&block) - reinterpret_cast<std::uintptr_t>(to)) | marks);
  });
}

/// *stored, a pointer to the block that the caller has locked, becomes null.
void write_null(HeapState& state, StoredWords* stored, Block& block, Strength strength) noexcept {
  const std::uint64_t what = state.offset_of(stored) | kToNull | (strength == Strength::kWeak ? kWeakPointer : 0);
  transfer(Word{count_in(block, strength)}, Word{block.undo_count}, Word{block.undo_target}, what, [&] {
    put(stored->block, std::uintptr_t{0});
    put(stored->pointer, std::uintptr_t{0});
  });
}

void store_in(Block& block, StoredWords* to, const void* address, Strength strength) {
  check_same_heap(block, to, address);
  HeapState& state = state_of(block);
  state.lock_block(block);
  write_stored(state, to, address, block, strength);
  state.unlock_block(block);
}

}  // namespace

void register_type(const TypeInfo& info) noexcept {
  TypeInfo known{};
  if (find_type(info.id, &known)) return;  // two at once may add it twice: the same
  std::atomic<const KnownType*>& first = types_like(info.id);
  auto* const added = new KnownType{info, first.load(std::memory_order_relaxed)};  // NOLINT: for ever
  // release: pairs with the acquire in find_type().
  while (!first.compare_exchange_weak(added->next, added, std::memory_order_release, std::memory_order_relaxed)) {
  }
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
        const auto* const target = reinterpret_cast<const StoredWords*>(base_ + (what & ~(kToNull | kWeakPointer)));
        return get(target->block) != 0 && target->at() == &block;
      });
  block.lock.make_consistent();
}

void HeapState::unlock_and_end(Block& block) noexcept {
  BlockState now = block.state.load(std::memory_order_relaxed);
  const bool over = now == BlockState::kAlive && block.count == 0 && block.holds == 0;
  if (over && block.type == 0) {  // there is nothing to end
    now = BlockState::kDead;
    block.state.store(now, std::memory_order_release);
    BATON_CRASH_POINT("shared.object.over");
  }
  if (over && now == BlockState::kAlive) {
    block.worker.store(me(), std::memory_order_relaxed);
    block.state.store(BlockState::kDue, std::memory_order_release);  // its worker before it; see recover()
    BATON_CRASH_POINT("shared.object.due");
    unlock_block(block);
    end_object(block);
  } else if (now == BlockState::kDead && block.weak_count == 0 && block.weak_holds == 0) {
    release(&block);  // nobody knows it: no need to unlock
  } else {
    unlock_block(block);
  }
}

// A death leaves those in the list kDue, each by itself: the links are this thread's only.
void HeapState::end_object(Block& block) noexcept {
  struct Running {
    HeapState* heap = nullptr;
    std::uint32_t first = 0;  // place of the one that is next; 0: none
  };
  thread_local Running running;
  if (running.heap == this) {
    block.next_due = running.first;
    running.first = block.place;
    return;
  }
  const Inside inside;            // destructors may end the Heap object
  const Running outer = running;  // of another heap
  running = {this, block.place};
  block.next_due = 0;
  while (running.first != 0) {
    Block& next = *reinterpret_cast<Block*>(base_ + std::size_t{running.first} * 64);
    running.first = next.next_due;
    end_one(next);
  }
  running = outer;
}

// Nothing refers to the object.
void HeapState::end_one(Block& block) noexcept {
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
    block.state.store(BlockState::kEnding, std::memory_order_release);
    BATON_CRASH_POINT("shared.object.ending");
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

bool HeapState::lock_pinned(const Found& found, const std::function<bool()>& of_interest) noexcept {
  Block& block = *found.block;
  while (!found.is_freed() && of_interest()) {
    const Locked locked = block.lock.try_lock(base_, me());
    if (locked == Locked::kNo) {  // its owner lives, and is at it
      std::this_thread::yield();
      continue;
    }
    if (found.is_freed()) return false;  // by an owner who died then
    if (locked == Locked::kOwnerDied) after_dead_owner(block);
    return true;
  }
  return false;
}

// One block of the walk over the heap. Others may free it at any time, so it is pinned until its lock is ours; only the lock's owner frees it.
void HeapState::recover(const Found& found, std::size_t slot) noexcept {
  Block& block = *found.block;
  const std::uint64_t bit = slot < kMaxProcesses ? std::uint64_t{1} << slot : 0;
  const auto dead = [&](ProcessWord process) {
    return process != 0 && slot < kMaxProcesses && slot_of(process) == slot && process != me();
  };
  TypeInfo type{};
  bool orphan = false;
  const auto of_interest = [&] {
    const BlockState state = block.state.load(std::memory_order_acquire);
    orphan = state == BlockState::kOrphan && find_type(get(block.type), &type);
    return orphan || ((get(block.holds) | get(block.weak_holds)) & bit) != 0 ||
           dead(block.lock.word.load(std::memory_order_acquire) & kProcessMask) ||
           (in_work(state) && dead(block.worker.load(std::memory_order_relaxed)));
  };
  if (!of_interest())
    return;  // whatever is read here: what concerns the dead one's slot stays until somebody recovers it
  if (!pin(found)) return;
  const bool locked = lock_pinned(found, of_interest);
  unpin(found);
  if (!locked) return;
  const bool constructed = (block.holds & bit) != 0;
  put(block.holds, block.holds & ~bit);
  put(block.weak_holds, block.weak_holds & ~bit);
  const BlockState now = block.state.load(std::memory_order_acquire);
  const bool still_orphan = now == BlockState::kOrphan && orphan;
  const bool unfinished = in_work(now) && dead(block.worker.load(std::memory_order_relaxed));
  if (!still_orphan && !unfinished) {
    unlock_and_settle(block);
    return;
  }
  if (now == BlockState::kConstructing || now == BlockState::kEnding || now == BlockState::kDue) {
    // The constructor or destructor may have run in part.
    const bool whole = (now == BlockState::kConstructing && constructed) || now == BlockState::kDue;
    const bool again = block.type == 0 || whole || (find_type(block.type, &type) && type.recoverable);
    if (!again) {
      tell({HeapEvent::Kind::kDiedInDestructor, 0,
            std::string("a process died in the constructor or destructor of ") +
                (type.name != nullptr ? type.name : "an unknown type") +
                "; its memory and the smart pointers in it are freed, what else it owned is not"});
      clear_pointers_in(static_cast<std::byte*>(block.object()), allocation_at(&block).bytes - sizeof(Block));
    }
    block.worker.store(me(), std::memory_order_relaxed);
    block.state.store(!again  ? BlockState::kDestroyed
                      : whole ? BlockState::kDue
                              : BlockState::kEnding,
                      std::memory_order_release);
    unlock_block(block);
    again ? end_object(block) : end_memory(block);
    return;
  }
  block.worker.store(me(), std::memory_order_relaxed);
  block.state.store(still_orphan ? BlockState::kDue : BlockState::kDestroyed, std::memory_order_release);
  if (still_orphan) header().orphans.fetch_sub(1, std::memory_order_relaxed);
  unlock_block(block);
  still_orphan ? end_object(block) : end_memory(block);
}

void check_storable(const StoredWords* to, const Held& from) {
  Block* const block = block_of(from.local);
  if (block != nullptr && memory::in_window(to)) check_same_heap(*block, to, from.object);
}
void check_storable(const StoredWords* to, const StoredWords& from) {
  if (!from.in_heap()) {
    check_storable(to, from.held());
  } else if (memory::in_window(to)) {
    check_same_heap(*from.at(), to, from.address());
  }
}

void store(StoredWords* to, const Held& from, Strength strength) {
  Block* const block = block_of(from.local);
  if (block == nullptr) return;
  if (memory::in_window(to)) {
    store_in(*block, to, from.object, strength);
  } else {
    acquire_hold(state_of(*block), *block, strength);
    to->set(from);
  }
}
void store(StoredWords* to, const StoredWords& from, Strength strength) {
  if (!from.in_heap()) {
    store(to, from.held(), strength);
  } else if (memory::in_window(to)) {
    store_in(*from.at(), to, from.address(), strength);
  } else {
    to->set(hold(from, strength));
  }
}

// Between private memory and the heap, with the process's only pointer on the private side: the hold comes or goes under the same lock as
// the stored pointer goes or comes.

void put_in(StoredWords* to, const Held& from, Strength strength) {
  Block* const found = block_of(from.local);
  if (found == nullptr) return;
  if (!memory::in_window(to)) return to->set(from);
  Block& block = *found;
  check_same_heap(block, to, from.object);
  HeapState& state = state_of(block);
  std::atomic<std::uint32_t>& count = count_in(*from.local, strength);
  std::uint32_t mine = 3;
  // acq_rel: as count_down().
  if (count.compare_exchange_strong(mine, 1, std::memory_order_acq_rel, std::memory_order_relaxed)) {
    const Inside inside;
    state.lock_block(block);
    write_stored(state, to, from.object, block, strength);
    BATON_CRASH_POINT("shared.pointer.putting_in");
    put(holds_in(block, strength), holds_in(block, strength) & ~my_bit(state));
    end_holding(count);
    state.unlock_block(block);
    state.let_go();
    return;
  }
  store_in(block, to, from.object, strength);
  if (count_down(count)) drop_hold(from.local, strength);
}

Held take_out(StoredWords* from, Strength strength) {
  if (!from->in_heap()) {
    const Held out = from->held();
    *from = StoredWords{};
    return out;
  }
  Block& block = *from->at();
  HeapState& state = state_of(block);
  const Held out = held_of(block, from->address());
  std::atomic<std::uint32_t>& count = count_in(*out.local, strength);
  if (count.load(std::memory_order_relaxed) == 0) {
    state.lock_block(block);
    if (count.load(std::memory_order_relaxed) == 0) {
      state.held();
      put(holds_in(block, strength), holds_in(block, strength) | my_bit(state));
      BATON_CRASH_POINT("shared.pointer.taking_out");
      write_null(state, from, block, strength);
      begin_holding(count);
      state.unlock_block(block);
      return out;
    }
    state.unlock_block(block);  // another thread got the hold
  }
  acquire_hold(state, block, strength);
  clear_stored(from, strength);
  return out;
}

void move_stored(StoredWords* to, StoredWords* from, Strength strength) {
  if (!from->in_heap()) {
    put_in(to, from->held(), strength);
    *from = StoredWords{};
  } else if (memory::in_window(to)) {
    store(to, *from, strength);
    clear_stored(from, strength);
  } else {
    to->set(take_out(from, strength));
  }
}

Held hold(const StoredWords& from, Strength strength) {
  if (!from.in_heap()) {
    const Held out = from.held();
    if (out.local != nullptr) count_up(count_in(*out.local, strength));
    return out;
  }
  Block& block = *from.at();
  const Held out = held_of(block, from.address());
  acquire_hold(state_of(block), block, strength);  // the stored pointer keeps it
  return out;
}

Held hold_weakly(const Held& strong) {
  Block* const block = block_of(strong.local);
  if (block == nullptr) return {};
  acquire_hold(state_of(*block), *block, Strength::kWeak);
  return strong;
}

void clear_stored_words(StoredWords* stored, Strength strength) noexcept {
  if (!stored->in_heap()) {
    const Held gone = take_out(stored, strength);
    if (count_down(count_in(*gone.local, strength))) drop_hold(gone.local, strength);
    return;
  }
  Block& block = *stored->at();
  HeapState& state = state_of(block);
  state.lock_block(block);
  write_null(state, stored, block, strength);
  state.unlock_and_settle(block);
}

void drop_hold(LocalCount* local, Strength strength) noexcept {
  Block* const found = block_of(local);
  if (found == nullptr) return;
  const Inside inside;
  Block& block = *found;
  HeapState& state = state_of(block);
  state.lock_block(block);
  std::uint64_t& holds = holds_in(block, strength);
  put(holds, holds & ~my_bit(state));
  BATON_CRASH_POINT("shared.pointer.hold_dropped");
  end_holding(count_in(*local, strength));
  state.unlock_and_settle(block);
  state.let_go();
}

Held lock_weak(const Held& weak) {
  Block* const block = block_of(weak.local);
  if (block == nullptr || !acquire_hold(state_of(*block), *block, Strength::kStrong)) return {};
  return weak;
}
Held lock_weak(const StoredWords& weak) {
  if (!weak.in_heap()) return lock_weak(weak.held());
  Block& block = *weak.at();
  const Held out = held_of(block, weak.address());
  return acquire_hold(state_of(block), block, Strength::kStrong) ? out : Held{};
}

bool is_expired(const Held& weak) noexcept {
  Block* const block = block_of(weak.local);
  return block == nullptr || block->state.load(std::memory_order_acquire) != BlockState::kAlive;
}
bool is_expired(const StoredWords& weak) noexcept {
  if (!weak.in_heap()) return is_expired(weak.held());
  return const_cast<StoredWords&>(weak).at()->state.load(std::memory_order_acquire) != BlockState::kAlive;
}

namespace {
std::uint32_t count_uses(Block& block) noexcept {
  HeapState& state = state_of(block);
  const std::uint32_t mine = local_of(block).strong.load(std::memory_order_relaxed) / 2;
  return __atomic_load_n(&block.count, __ATOMIC_RELAXED) + mine +
         static_cast<std::uint32_t>(
             __builtin_popcountll(__atomic_load_n(&block.holds, __ATOMIC_RELAXED) & ~my_bit(state)));
}
}  // namespace
std::uint32_t use_count(const LocalCount* local) noexcept {
  Block* const block = block_of(local);
  return block == nullptr ? 0 : count_uses(*block);
}
std::uint32_t use_count(const StoredWords& words) noexcept {
  return words.in_heap() ? count_uses(*words.at()) : use_count(words.held().local);
}

Held held_of_unique(void* object) noexcept {
  if (object == nullptr) return {};
  const HeapState* const state = find_state(object);
  if (state == nullptr || state->forked()) return {};
  return held_of(block_of_object(object), object);
}
void end_unique(void* object) noexcept {
  const Held held = held_of_unique(object);
  if (held.local == nullptr) return;
  held.local->strong.store(
      1, std::memory_order_relaxed);  // from 3: there is no other pointer of this process to race with
  drop_hold(held.local, Strength::kStrong);
}

Block* make_block(Heap& heap, std::size_t bytes, const TypeInfo* type) {
  HeapState& state = HeapAccess::state(heap);
  void* const memory = state.allocate(sizeof(Block) + bytes, 64).or_throw();
  // The object, too, where a destructor may have to run on what was not constructed.
  std::memset(memory, 0, type == nullptr ? sizeof(Block) : sizeof(Block) + bytes);
  auto* const block = static_cast<Block*>(memory);
  block->type = type == nullptr ? 0 : type->id;
  block->place = static_cast<std::uint32_t>(state.offset_of(block) / 64);
  block->worker.store(state.me(), std::memory_order_relaxed);
  block->state.store(BlockState::kConstructing, std::memory_order_release);
  BATON_CRASH_POINT("shared.object.allocated");
  state.settle(memory, HeapState::Kind::kBlock);
  BATON_CRASH_POINT("shared.object.constructing");
  return block;
}

Held finish_block(Block* block) {
  HeapState& state = state_of(*block);
  LocalCount& local = local_of(*block);
  state.held();
  // The hold before the state: a block that is alive is referred to.
  put(block->holds, my_bit(state));
  BATON_CRASH_POINT("shared.object.constructed");
  block->state.store(BlockState::kAlive, std::memory_order_release);
  BATON_CRASH_POINT("shared.object.alive");
  while (local.strong.load(std::memory_order_acquire) != 0)
    std::this_thread::yield();  // a thread that dropped what lay here before
  local.strong.store(3, std::memory_order_release);
  return {block->object(), &local};
}

void abandon_block(Block* block) noexcept {
  HeapState& state = state_of(*block);
  block->state.store(BlockState::kDestroyed, std::memory_order_release);
  state.end_memory(*block);
}

}  // namespace baton::shared::detail
