// SPDX-License-Identifier: Apache-2.0
// References to blocks: the functions that smart pointers call (block.hpp), and the construction of objects. A stored
// pointer is counted in its block; the pointers of a process are counted in its LocalCount, with one bit in the block
// for all of them.
#include "baton/objects/block.hpp"

#include <cstring>
#include <thread>

#include "baton/objects/transfer.hpp"
#include "baton/os/crash_point.hpp"
#include "blocks.hpp"

namespace baton::objects::detail {
namespace {

Blocks& blocks_of(Block& block) noexcept { return *private_of(block.heap_base()).blocks; }
std::uint64_t my_bit(Block& block) noexcept {
  return std::uint64_t{1} << slot_of(
             private_of(block.heap_base()).me.load(std::memory_order_relaxed));  // see Mapping::me()
}
std::uint64_t offset_in_heap(Block& block, const void* p) noexcept {
  return static_cast<std::uint64_t>(static_cast<const std::byte*>(p) - block.heap_base());
}
LocalCount& local_of(Block& block) noexcept { return private_of(block.heap_base()).locals[block.place]; }
Block& block_of_object(void* object) noexcept { return *(static_cast<Block*>(object) - 1); }
/// Null: the pointer is null, or it belongs to the parent of this forked child.
Block* block_of(const LocalCount* local) noexcept {
  if (local == nullptr) return nullptr;
  const Mapping* const mapping = Mapping::find(local);
  return mapping == nullptr || mapping->forked() ? nullptr : mapping->block_of(local);
}

std::atomic<std::uint32_t>& count_in(LocalCount& local, Strength strength) noexcept {
  return strength == Strength::kStrong ? local.strong : local.weak;
}

/// The process gets its hold, or one more pointer. The block exists. False (strong only): its object has ended.
bool acquire_hold(Blocks& blocks, Block& block, Strength strength) noexcept {
  std::atomic<std::uint32_t>& count = count_in(local_of(block), strength);
  if (!lock_unless_held(
          count, [&] { blocks.lock(block); }, [&] { blocks.unlock(block); }, [] { std::this_thread::yield(); })) {
    return true;
  }
  const bool got = strength == Strength::kWeak || block.state.load(std::memory_order_relaxed) == BlockState::kAlive;
  if (got) {
    blocks.count_hold();
    (strength == Strength::kStrong ? block.holds : block.weak_holds) |= my_bit(block);
    BATON_CRASH_POINT("shared.pointer.hold_marked");
    begin_holding(count);
  }
  blocks.unlock(block);
  return got;
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

/// *to (null, in the heap) points to the block, which the caller has locked and keeps alive.
void write_stored(StoredWords* to, const void* address, Block& block, Strength strength) noexcept {
  const std::uint64_t what = offset_in_heap(block, to) | (strength == Strength::kWeak ? kWeakPointer : 0);
  const std::uintptr_t marks =
      StoredWords::kInHeap | (strength == Strength::kWeak ? StoredWords::kWeakInHeap : std::uintptr_t{0});
  transfer(Word{count_in(block, strength)}, Word{block.undo_count}, Word{block.undo_target}, what, [&] {
    put(to->pointer, reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(to));
    put(to->block, (reinterpret_cast<std::uintptr_t>(&block) - reinterpret_cast<std::uintptr_t>(to)) | marks);
  });
}

/// *stored, a pointer to the block that the caller has locked, becomes null.
void write_null(StoredWords* stored, Block& block, Strength strength) noexcept {
  const std::uint64_t what = offset_in_heap(block, stored) | kToNull | (strength == Strength::kWeak ? kWeakPointer : 0);
  transfer(Word{count_in(block, strength)}, Word{block.undo_count}, Word{block.undo_target}, what, [&] {
    put(stored->block, std::uintptr_t{0});
    put(stored->pointer, std::uintptr_t{0});
  });
}

void store_in(Block& block, StoredWords* to, const void* address, Strength strength) {
  check_same_heap(block, to, address);
  Blocks& blocks = blocks_of(block);
  blocks.lock(block);
  write_stored(to, address, block, strength);
  blocks.unlock(block);
}

}  // namespace

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
    acquire_hold(blocks_of(*block), *block, strength);
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

// Moves the process's only pointer between private memory and the heap: the hold is added or removed under the same
// lock as the stored pointer is removed or added.

void put_in(StoredWords* to, const Held& from, Strength strength) {
  Block* const found = block_of(from.local);
  if (found == nullptr) return;
  if (!memory::in_window(to)) return to->set(from);
  Block& block = *found;
  check_same_heap(block, to, from.object);
  Blocks& blocks = blocks_of(block);
  std::atomic<std::uint32_t>& count = count_in(*from.local, strength);
  std::uint32_t mine = 3;
  // acq_rel: as count_down().
  if (count.compare_exchange_strong(mine, 1, std::memory_order_acq_rel, std::memory_order_relaxed)) {
    const OperationGuard guard;
    blocks.lock(block);
    write_stored(to, from.object, block, strength);
    BATON_CRASH_POINT("shared.pointer.putting_in");
    put(holds_in(block, strength), holds_in(block, strength) & ~my_bit(block));
    end_holding(count);
    blocks.unlock(block);
    blocks.uncount_hold();
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
  Blocks& blocks = blocks_of(block);
  const Held out = held_of(block, from->address());
  std::atomic<std::uint32_t>& count = count_in(*out.local, strength);
  if (count.load(std::memory_order_relaxed) == 0) {
    blocks.lock(block);
    if (count.load(std::memory_order_relaxed) == 0) {
      blocks.count_hold();
      put(holds_in(block, strength), holds_in(block, strength) | my_bit(block));
      BATON_CRASH_POINT("shared.pointer.taking_out");
      write_null(from, block, strength);
      begin_holding(count);
      blocks.unlock(block);
      return out;
    }
    blocks.unlock(block);  // another thread got the hold
  }
  acquire_hold(blocks, block, strength);
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
  acquire_hold(blocks_of(block), block, strength);  // the stored pointer keeps it
  return out;
}

Held hold_weakly(const Held& strong) {
  Block* const block = block_of(strong.local);
  if (block == nullptr) return {};
  acquire_hold(blocks_of(*block), *block, Strength::kWeak);
  return strong;
}

void clear_stored_words(StoredWords* stored, Strength strength) noexcept {
  if (!stored->in_heap()) {
    const Held gone = take_out(stored, strength);
    if (count_down(count_in(*gone.local, strength))) drop_hold(gone.local, strength);
    return;
  }
  Block& block = *stored->at();
  Blocks& blocks = blocks_of(block);
  blocks.lock(block);
  write_null(stored, block, strength);
  blocks.unlock_and_settle(block);
}

void drop_hold(LocalCount* local, Strength strength) noexcept {
  Block* const found = block_of(local);
  if (found == nullptr) return;
  const OperationGuard guard;
  Block& block = *found;
  Blocks& blocks = blocks_of(block);
  blocks.lock(block);
  std::uint64_t& holds = holds_in(block, strength);
  put(holds, holds & ~my_bit(block));
  BATON_CRASH_POINT("shared.pointer.hold_dropped");
  end_holding(count_in(*local, strength));
  blocks.unlock_and_settle(block);
  blocks.uncount_hold();
}

Held lock_weak(const Held& weak) {
  Block* const block = block_of(weak.local);
  if (block == nullptr || !acquire_hold(blocks_of(*block), *block, Strength::kStrong)) return {};
  return weak;
}
Held lock_weak(const StoredWords& weak) {
  if (!weak.in_heap()) return lock_weak(weak.held());
  Block& block = *weak.at();
  const Held out = held_of(block, weak.address());
  return acquire_hold(blocks_of(block), block, Strength::kStrong) ? out : Held{};
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
  const std::uint32_t mine = local_of(block).strong.load(std::memory_order_relaxed) / 2;
  return __atomic_load_n(&block.count, __ATOMIC_RELAXED) + mine +
         static_cast<std::uint32_t>(
             __builtin_popcountll(__atomic_load_n(&block.holds, __ATOMIC_RELAXED) & ~my_bit(block)));
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
  const Mapping* const mapping = Mapping::find(object);
  return mapping == nullptr || mapping->forked() ? Held{} : held_of(block_of_object(object), object);
}
void end_unique(void* object) noexcept {
  const Held held = held_of_unique(object);
  if (held.local == nullptr) return;
  held.local->strong.store(
      1, std::memory_order_relaxed);  // from 3: there is no other pointer of this process to race with
  drop_hold(held.local, Strength::kStrong);
}

Block* make_block(Heap& heap, std::size_t bytes, const TypeInfo* type) {
  std::byte* const base = heap_base_or_throw(heap);
  HeapPrivate& here = private_of(base);
  Allocations& allocations = here.blocks->allocations();
  void* const memory = allocations.allocate(sizeof(Block) + bytes, 64).or_throw();
  // Zero the object, too, if a destructor may have to run on an object that was not constructed.
  std::memset(memory, 0, type == nullptr ? sizeof(Block) : sizeof(Block) + bytes);
  auto* const block = static_cast<Block*>(memory);
  block->type = type == nullptr ? 0 : type->id;
  block->place = static_cast<std::uint32_t>((static_cast<std::byte*>(memory) - base) / 64);
  block->worker.store(here.me.load(std::memory_order_relaxed), std::memory_order_relaxed);  // before the state
  block->state.store(BlockState::kConstructing, std::memory_order_release);
  BATON_CRASH_POINT("shared.object.allocated");
  allocations.settle(memory, Kind::kBlock);
  BATON_CRASH_POINT("shared.object.constructing");
  return block;
}

Held finish_block(Block* block) {
  Blocks& blocks = blocks_of(*block);
  LocalCount& local = local_of(*block);
  blocks.count_hold();
  // The hold before the state: a block that is alive is referred to.
  put(block->holds, my_bit(*block));
  BATON_CRASH_POINT("shared.object.constructed");
  block->state.store(BlockState::kAlive, std::memory_order_release);
  BATON_CRASH_POINT("shared.object.alive");
  while (local.strong.load(std::memory_order_acquire) != 0)
    std::this_thread::yield();  // another thread is dropping its hold on the former block at this place
  local.strong.store(3, std::memory_order_release);
  return {block->object(), &local};
}

void abandon_block(Block* block) noexcept {
  Blocks& blocks = blocks_of(*block);
  block->state.store(BlockState::kDestroyed, std::memory_order_release);
  blocks.end_memory(*block);
}

}  // namespace baton::objects::detail
