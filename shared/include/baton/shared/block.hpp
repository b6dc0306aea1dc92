// SPDX-License-Identifier: Apache-2.0
// What smart pointers refer to: a block in a shared heap, 64 bytes before its object; and the words of smart pointers.
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
// States: kConstructing, kDue, kEnding and kDestroyed name the process that is at it in `worker`. kDue: nothing refers to the object any more; its
// destructor has not begun. What falls due while a thread ends an object waits in a list (`next_due`) until that end is done, so that a chain of
// any length needs the stack of one.
//
// LocalCount (private memory): local_count.hpp.
// Thread rules: like std::shared_ptr's control block; any thread of any process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "baton/memory/arena.hpp"
#include "baton/shared/local_count.hpp"
#include "baton/shared/process_lock.hpp"

namespace baton::shared {
class Heap;
}

namespace baton::shared::detail {

struct LocalCount {
  std::atomic<std::uint32_t> strong, weak;
};

struct Block;

/// A pointer of a process, in private memory: plain addresses. Null: both null.
struct Held {
  void* object = nullptr;
  LocalCount* local = nullptr;
};

/// A stored<> pointer. Null: both 0. In the heap: `pointer` is the object's distance from this word, `block` the block's | kInHeap (and
/// kWeakInHeap). In private memory (on its way into the heap or out of it): a Held.
struct StoredWords {
  std::uintptr_t pointer = 0;
  std::uintptr_t block = 0;

  static constexpr std::uintptr_t kInHeap = 1, kWeakInHeap = 2, kMarks = 7;
  bool in_heap() const noexcept { return (block & kInHeap) != 0; }
  void* address() const noexcept {
    return reinterpret_cast<void*>(pointer + (in_heap() ? reinterpret_cast<std::uintptr_t>(this) : 0));
  }
  Block* at() const noexcept {  // in_heap()
    return reinterpret_cast<Block*>(reinterpret_cast<std::uintptr_t>(this) + (block & ~kMarks));
  }
  Held held() const noexcept {  // !in_heap()
    return {reinterpret_cast<void*>(pointer), reinterpret_cast<LocalCount*>(block)};
  }
  void set(const Held& held) noexcept {
    pointer = reinterpret_cast<std::uintptr_t>(held.object);
    block = reinterpret_cast<std::uintptr_t>(held.local);
  }
};

enum class BlockState : std::uint32_t { kAlive, kConstructing, kEnding, kDestroyed, kDead, kOrphan, kDue };

struct alignas(64) Block {
  LockWord lock;
  std::atomic<BlockState> state;
  std::uint64_t holds, weak_holds;  // bit = slot of a process
  std::uint32_t count, weak_count;  // stored pointers
  std::uint64_t type;               // TypeInfo::id; 0: nothing to do at the end
  std::uint64_t undo_target;  // the pointer's offset | 1: from this block to null | 2: weak; 0: nothing is half done
  std::uint32_t undo_count;
  std::atomic<ProcessWord> worker;
  std::uint32_t place;     // its offset in the heap, in units of 64 bytes
  std::uint32_t next_due;  // the place of the next one in its thread's list; 0: the last
  void* object() noexcept { return this + 1; }
  std::byte* heap_base() noexcept { return reinterpret_cast<std::byte*>(this) - std::size_t{place} * 64; }
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

// What is not one addition of a LocalCount. "Throws": baton::Exception (invalid_argument) where a stored pointer would lie in
// one heap and its object in another, or what it points to in none; then nothing has changed. A null source is fine.

/// Throws as store() would.
void check_storable(const StoredWords* to, const Held& from);
void check_storable(const StoredWords* to, const StoredWords& from);
/// *to (null) becomes one more pointer to what `from` has; kWeak: `from` may be weak or strong. Throws.
void store(StoredWords* to, const Held& from, Strength strength);
void store(StoredWords* to, const StoredWords& from, Strength strength);
/// *to (null) takes over what `from`, one pointer of this process, counts. Throws.
void put_in(StoredWords* to, const Held& from, Strength strength);
/// *to (null) takes what *from has, which becomes null. Throws.
void move_stored(StoredWords* to, StoredWords* from, Strength strength);
/// A pointer of this process, one more.
Held hold(const StoredWords& from, Strength strength);
Held hold_weakly(const Held& strong);
/// The same, and *from becomes null.
Held take_out(StoredWords* from, Strength strength);
/// Becomes null, if it is not.
void clear_stored_words(StoredWords* stored, Strength strength) noexcept;
inline void clear_stored(StoredWords* stored, Strength strength) noexcept {
  if (stored->block != 0) clear_stored_words(stored, strength);
}
/// The last pointer of this process to a block is gone: its LocalCount went from 3 to 1.
void drop_hold(LocalCount* local, Strength strength) noexcept;
/// A strong one if the object of the weak one lives, else null.
Held lock_weak(const Held& weak);
Held lock_weak(const StoredWords& weak);
/// The object of the weak one has ended, or its end is due. Null: true.
bool is_expired(const Held& weak) noexcept;
bool is_expired(const StoredWords& weak) noexcept;
/// Stored and private pointers of all processes: holds count 1 each, private ones of this process in full.
std::uint32_t use_count(const LocalCount* local) noexcept;
std::uint32_t use_count(const StoredWords& words) noexcept;
/// Of the object (not null) of a unique_ptr, its one pointer of this process.
Held held_of_unique(void* object) noexcept;
void end_unique(void* object) noexcept;

/// Memory for an object of `bytes` in the state kConstructing, all zero if it has a type. Throws baton::Exception as Heap::allocate() fails.
Block* make_block(Heap& heap, std::size_t bytes, const TypeInfo* type);
/// It is constructed; the one pointer to it.
Held finish_block(Block* block);
/// Its constructor threw.
void abandon_block(Block* block) noexcept;

}  // namespace baton::shared::detail
