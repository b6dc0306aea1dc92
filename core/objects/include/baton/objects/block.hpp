// SPDX-License-Identifier: Apache-2.0
// The target of smart pointers: a block in a shared heap, 64 bytes before its object; and the words of smart pointers.
//
// Two kinds of reference keep an object:
//   stored pointers   lie in the heap (members of shared objects, elements of queues), and are counted in `count`
//   process holds     one bit per process, for all its pointers in private memory (counted in its LocalCount)
// The object lives while `count` or `holds` is not 0. The block also stays while a weak reference of either kind
// exists. A hold's bit names its process, so the hold of a dead process is found and dropped. A stored pointer belongs
// to the object or container in which it lies.
//
// Everything but `state` and the lock is read and written under `lock`. A stored pointer changes in the steps of
// transfer.hpp (undo_count is `before`, undo_target is `record`). From that record the process that takes the lock over
// completes or undoes the change of a dead owner.
// States: the process named in `worker` owns kConstructing, kDue, kEnding and kDestroyed. kDue: nothing refers to the
// object any more, and its destructor has not begun. Objects that become due while a thread ends another object wait in
// a list (`next_due`), so a chain of any length needs the stack of one destructor only.
//
// LocalCount (private memory): local_count.hpp.
// Thread rules: like std::shared_ptr's control block; any thread of any process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "baton/memory/arena.hpp"
#include "baton/objects/local_count.hpp"
#include "baton/objects/process_lock.hpp"

namespace baton::objects {
class Heap;
}

namespace baton::objects::detail {

struct LocalCount {
  std::atomic<std::uint32_t> strong, weak;
};

struct Block;

/// A pointer of a process, in private memory: plain addresses. Null: both null.
struct Held {
  void* object = nullptr;
  LocalCount* local = nullptr;
};

/// A stored<> pointer. Null: both 0. In the heap: `pointer` is the object's distance from this word, `block` the
/// block's | kInHeap (and kWeakInHeap). In private memory (while it moves into the heap or out of it): a Held.
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
  std::uint64_t type;               // TypeInfo::id; 0: no destructor to run
  std::uint64_t undo_target;  // the pointer's offset | 1: from this block to null | 2: weak; 0: nothing is half done
  std::uint32_t undo_count;
  std::atomic<ProcessWord> worker;
  std::uint32_t place;     // its offset in the heap, in units of 64 bytes
  std::uint32_t next_due;  // the place of the next block in its thread's list; 0: the last
  void* object() noexcept { return this + 1; }
  std::byte* heap_base() noexcept { return reinterpret_cast<std::byte*>(this) - std::size_t{place} * 64; }
};
static_assert(sizeof(Block) == 64);

/// How to destroy objects of a type. Every program that names shared_ptr<T> or unique_ptr<T> has it.
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

// The functions for everything except one addition to a LocalCount. "Throws": baton::Exception (invalid_argument), and
// nothing has changed, if a stored pointer would lie in another heap than its object, or point outside the heap. A null
// source is allowed.

/// Throws as store() would.
void check_storable(const StoredWords* to, const Held& from);
void check_storable(const StoredWords* to, const StoredWords& from);
/// *to (null) becomes one more pointer to the block of `from`; kWeak: `from` may be weak or strong. Throws.
void store(StoredWords* to, const Held& from, Strength strength);
void store(StoredWords* to, const StoredWords& from, Strength strength);
/// *to (null) takes over the reference of `from`, which counted as one pointer of this process. Throws.
void put_in(StoredWords* to, const Held& from, Strength strength);
/// *to (null) takes over the reference of *from, which becomes null. Throws.
void move_stored(StoredWords* to, StoredWords* from, Strength strength);
/// Makes one more pointer of this process.
Held hold(const StoredWords& from, Strength strength);
Held hold_weakly(const Held& strong);
/// A hold() after which *from is null.
Held take_out(StoredWords* from, Strength strength);
/// *stored becomes null.
void clear_stored_words(StoredWords* stored, Strength strength) noexcept;
inline void clear_stored(StoredWords* stored, Strength strength) noexcept {
  if (stored->block != 0) clear_stored_words(stored, strength);
}
/// Called when the last pointer of this process to a block is gone: its LocalCount went from 3 to 1.
void drop_hold(LocalCount* local, Strength strength) noexcept;
/// A strong pointer if the object of the weak pointer lives, else null.
Held lock_weak(const Held& weak);
Held lock_weak(const StoredWords& weak);
/// True if the object has ended or its end is due, or if `weak` is null.
bool is_expired(const Held& weak) noexcept;
bool is_expired(const StoredWords& weak) noexcept;
/// Number of stored and private pointers of all processes: each other process's hold counts 1, private pointers of this
/// process count in full.
std::uint32_t use_count(const LocalCount* local) noexcept;
std::uint32_t use_count(const StoredWords& words) noexcept;
/// The Held of a unique_ptr's object (not null): the only pointer of this process to it.
Held held_of_unique(void* object) noexcept;
void end_unique(void* object) noexcept;

/// Memory for an object of `bytes` in the state kConstructing, all zero if it has a type. Throws baton::Exception with
/// the errors of Heap::allocate().
Block* make_block(Heap& heap, std::size_t bytes, const TypeInfo* type);
/// Call when the object is constructed; returns the only pointer to it.
Held finish_block(Block* block);
/// Call when the object's constructor threw.
void abandon_block(Block* block) noexcept;

}  // namespace baton::objects::detail
