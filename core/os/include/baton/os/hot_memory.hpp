// SPDX-License-Identifier: Apache-2.0
// Memory for the objects that every message touches. malloc(3) puts them where a hole is, between objects that no message needs, so that
// the few hundred bytes of an endpoint lay on eight pages (`baton perf touch`).
//
// Hot memory is pages of 4 KiB. An endpoint has a page of its own, its room: what it needs later, as its connections, lies there, too, and
// other endpoints' objects do not. So the pages that a message touches do not depend on the number of endpoints. With one
// connection, an idle subscription uses 1.8 KiB of its room, and an idle publisher of depth 10 uses 3.2 KiB: with a hundred of each, 300 KiB of
// the rooms are unused. All other blocks share pages, as do those for which a room has no place left.
//
// A room serves another endpoint when its last block is freed, whoever owns that block: a sample that is kept keeps the page of its
// subscription. Pages stay with the process: they are as many as the
// most blocks that lived at once need. Not for the hot path itself: there is one lock.
// Thread rules: all functions are thread-safe, and usable in a forked child.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "baton/os/hot_path.hpp"

/// For a variable that every message reads and that is zero at first: cmake/hot_path.ld lays these side by side.
#define BATON_HOT_BSS [[gnu::section(".bss.baton_hot")]]

namespace baton::os {

/// `bytes` aligned to 16, from 64 bytes on to 64. Throws std::bad_alloc. From the room that this thread has open, else from the room that it
/// opened last, else from a page that many share. More than 4032 bytes come from operator new.
void* hot_allocate(std::size_t bytes);
/// With the size that was asked for.
void hot_free(void* block, std::size_t bytes) noexcept;
/// From now on every block comes from operator new, which tests replace. Before the first block; with AddressSanitizer it is so.
void keep_hot_memory_plain() noexcept;

/// While it lives, hot memory for this thread comes from one room, as long as that has place. They nest; each ends on its own thread.
class HotRoom {
 public:
  /// A new room, or the one that this thread has open already: for all that is made together with an endpoint. Throws std::bad_alloc.
  HotRoom();
  /// The room of an object, for what is made later for the same endpoint. REQUIRES: the object lies in hot memory, or is null: then nothing
  /// changes.
  template <class T>
  explicit HotRoom(const T* beside) noexcept {
    static_assert(alignof(T) <= 16 && sizeof(T) < 4000, "such objects do not lie in hot memory");
    open(beside);
  }
  HotRoom(const HotRoom&) = delete;
  HotRoom& operator=(const HotRoom&) = delete;
  ~HotRoom();

 private:
  void open(const void* beside) noexcept;

  void* page_ = nullptr;
  void* before_ = nullptr;  // what was open
};

/// Base of a class whose objects lie in hot memory, however they are made, but for std::make_shared: make_hot_shared().
struct Hot {
  static void* operator new(std::size_t bytes) { return hot_allocate(bytes); }
  static void* operator new[](std::size_t bytes) { return hot_allocate(bytes); }
  static void* operator new(std::size_t, void* place) noexcept { return place; }
  static void operator delete(void* block, std::size_t bytes) noexcept { hot_free(block, bytes); }
  static void operator delete[](void* block, std::size_t bytes) noexcept { hot_free(block, bytes); }
};

/// For std::allocate_shared and containers.
template <class T>
struct HotAllocator {
  using value_type = T;
  static_assert(alignof(T) <= 16, "hot memory is aligned to 16");

  HotAllocator() noexcept = default;
  template <class U>
  HotAllocator(const HotAllocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor): as std::allocator
  T* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(hot_allocate(count * sizeof(T)));
  }
  void deallocate(T* block, std::size_t count) noexcept { hot_free(block, count * sizeof(T)); }
  template <class U>
  bool operator==(const HotAllocator<U>&) const noexcept {
    return true;
  }
  template <class U>
  bool operator!=(const HotAllocator<U>&) const noexcept {
    return false;
  }
};

template <class T>
using HotVector = std::vector<T, HotAllocator<T>>;

/// As std::make_shared, with the object and its counts in hot memory, if the type needs no alignment beyond that of hot memory.
template <class T, class... Arguments>
std::shared_ptr<T> make_hot_shared(Arguments&&... arguments) {
  if constexpr (alignof(T) > 16) {
    return std::make_shared<T>(std::forward<Arguments>(arguments)...);
  } else {
    return std::allocate_shared<T>(HotAllocator<T>(), std::forward<Arguments>(arguments)...);
  }
}

}  // namespace baton::os
