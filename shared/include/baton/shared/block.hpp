// SPDX-License-Identifier: Apache-2.0
// What smart pointers refer to: a block in a shared heap, 64 bytes before its object; and the two words of every smart pointer.
//
// Who refers to a block:
//   stored pointers   lie in the heap themselves (members of shared objects, elements of queues): counted in `count`
//   process holds     one bit per process, however many pointers it has in private memory; those are counted in the process's LocalCount
// The object lives while one of the two is not 0; the block, while there are weak ones of either kind, too. A bit says whose it is, so the hold of a dead process is found and
// dropped. A stored pointer belongs to whatever it lies in.
//
// Everything but `state` and the lock is read and written under `lock`, by the process that owns it. A stored pointer changes in these steps,
// so that who takes the lock over from a dead owner can tell how far he came (the redo record):
//   see transfer.hpp, with undo_count as `before` and undo_target as `record`.
// States: kConstructing, kEnding and kDestroyed name the process that is at it in `worker`.
//
// LocalCount (private memory; an odd number counts, so that the last pointer's end and the hold's are one step):
//   0 no hold; 1 a thread is about to get or drop the hold; 2n+1 n pointers. Copies add 2; who subtracts 2 from 3 drops the hold.
// Thread rules: like std::shared_ptr's control block; any thread of any process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "baton/memory/arena.hpp"
#include "baton/shared/process_lock.hpp"

namespace baton::shared {
class Heap;
}

namespace baton::shared::detail {

struct LocalCount {
  std::atomic<std::uint32_t> strong, weak;
};

/// The two words of a smart pointer. Null: both 0. In private memory: the object's address, and the LocalCount's. In a heap: the
/// object's distance from this word in 63 bits with the highest one set, and the block's offset in the heap | 1.
struct PointerWords {
  std::uintptr_t pointer = 0;
  std::uintptr_t block = 0;

  std::uintptr_t address() const noexcept {
    const auto word = static_cast<std::intptr_t>(pointer);
    if (__builtin_expect(word >= 0, 1)) return pointer;  // one load, one branch that is foreseen
    return static_cast<std::uintptr_t>(static_cast<std::intptr_t>(pointer << 1) >> 1) +
           reinterpret_cast<std::uintptr_t>(this);
  }
  /// What `pointer` is when this lies in a heap.
  std::uintptr_t distance_to(std::uintptr_t address) const noexcept {
    return (address - reinterpret_cast<std::uintptr_t>(this)) | std::uintptr_t{1} << 63;
  }
  bool stored() const noexcept { return (block & 1) != 0; }
  LocalCount* local() const noexcept { return reinterpret_cast<LocalCount*>(block); }
};

enum class BlockState : std::uint32_t { kAlive, kConstructing, kEnding, kDestroyed, kDead, kOrphan };

struct alignas(64) Block {
  LockWord lock;
  std::atomic<BlockState> state;
  std::uint64_t holds, weak_holds;  // bit = slot of a process
  std::uint32_t count, weak_count;  // stored pointers
  std::uint64_t type;               // TypeInfo::id; 0: nothing to do at the end
  std::uint64_t undo_target;  // the pointer's offset | 1: from this block to null | 2: weak; 0: nothing is half done
  std::uint32_t undo_count;
  std::atomic<ProcessWord> worker;
  void* object() noexcept { return this + 1; }
};
static_assert(sizeof(Block) == 64);

/// How the objects of a type end. Known to every program that names shared_ptr<T> or unique_ptr<T> somewhere.
struct TypeInfo {
  std::uint64_t id;  // of the type's name
  const char* name;
  void (*destroy)(void*) noexcept;
  bool recoverable;
};
void register_type(const TypeInfo& info) noexcept;

constexpr std::uint64_t hash_name(const char* name) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (; *name != 0; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100000001b3ULL;
  return hash | 1;
}

enum class Strength : bool { kStrong, kWeak };

// What is not one addition of a LocalCount. All throw baton::Exception (invalid_argument) where a pointer would lie in one heap
// and its object in another.

/// *to (null) becomes a copy of *from. kWeak: both are weak, or `from_strong`.
void copy_pointer(PointerWords* to, const PointerWords* from, Strength strength, bool from_strong = false);
/// *to (null) takes what *from has, which becomes null.
void move_pointer(PointerWords* to, PointerWords* from, Strength strength);
/// A stored pointer becomes null.
void clear_stored(PointerWords* stored, Strength strength) noexcept;
/// The last pointer of this process to a block is gone: its LocalCount went from 3 to 1.
void drop_hold(LocalCount* local, Strength strength) noexcept;
/// *to (null) becomes strong if the object of *weak lives.
bool lock_weak(PointerWords* to, const PointerWords* weak);
/// Stored and private pointers of all processes: holds count 1 each, private ones of this process in full.
std::uint32_t use_count(const PointerWords* words) noexcept;

/// Memory for an object of `bytes` in the state kConstructing, all zero. Throws baton::Exception as Heap::allocate() fails.
Block* make_block(Heap& heap, std::size_t bytes, const TypeInfo* type);
/// It is constructed: *to (null, private or in this heap) is the one pointer to it.
void finish_block(Block* block, PointerWords* to);
/// Its constructor threw.
void abandon_block(Block* block) noexcept;

static_assert(sizeof(void*) == 8, "addresses of programs leave the highest bit free");

inline void count_up(std::atomic<std::uint32_t>& count) noexcept {
  count.fetch_add(2, std::memory_order_relaxed);  // who copies has one: as std::shared_ptr
}
/// True: drop_hold() is due.
inline bool count_down(std::atomic<std::uint32_t>& count) noexcept {
  // release: what this thread did with the object happens before its end; acquire: for the one who ends it.
  return count.fetch_sub(2, std::memory_order_acq_rel) == 3;
}

}  // namespace baton::shared::detail
