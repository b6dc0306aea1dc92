// SPDX-License-Identifier: Apache-2.0
// Memory for the objects that every message touches. malloc(3) puts them where a hole is, between objects that no message needs, so that
// the few hundred bytes of an endpoint lay on eight pages; side by side they lie on two or three (`baton perf touch`). Blocks of one
// endpoint are made together, so that they lie together, whatever the number of endpoints.
//
// A block is cut from a slab of 64 KiB, and goes to a list of its size when it is freed. Slabs stay with the process: they
// are as many as the most blocks that lived at once need. Not for the hot path itself: there is one lock.
// Thread rules: all functions are thread-safe, and usable in a forked child.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

/// For a variable that every message reads and that is zero at first: cmake/hot_path.ld lays these side by side.
#define BATON_HOT_BSS [[gnu::section(".bss.baton_hot")]]

namespace baton::os {

/// `bytes` aligned to 16, from 64 bytes on to 64. Throws std::bad_alloc. More than a page comes from operator new.
void* hot_allocate(std::size_t bytes);
/// With the size that was asked for.
void hot_free(void* block, std::size_t bytes) noexcept;
/// From now on every block comes from operator new, which tests replace. Before the first block; with AddressSanitizer it is so.
void keep_hot_memory_plain() noexcept;

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
