// SPDX-License-Identifier: Apache-2.0
// An allocator of a shared heap for containers that know fancy pointers, such as Boost.Container's vector, map and string. It may lie in private memory or,
// with the container, in the heap. The containers are ordinary ones: protect them by a lock; after a death in the middle of
// a change (mutex::owner_died()) they may be broken, and a buffer that was being exchanged is lost to the heap.
// Thread rules: a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "baton/shared/heap.hpp"
#include "baton/shared/offset_ptr.hpp"

namespace baton::shared {

template <class T>
class allocator {
 public:
  using value_type = T;
  using pointer = offset_ptr<T>;
  using const_pointer = offset_ptr<const T>;
  using void_pointer = offset_ptr<void>;
  using const_void_pointer = offset_ptr<const void>;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;

  allocator(Heap& heap) noexcept : base_(heap.base()) {}  // NOLINT(google-explicit-constructor)
  allocator(const allocator&) noexcept = default;
  template <class U>
  allocator(const allocator<U>& other) noexcept : base_(other.base_) {}  // NOLINT(google-explicit-constructor)
  allocator& operator=(const allocator&) noexcept = default;

  /// Throws baton::Exception as Heap::allocate() fails.
  pointer allocate(std::size_t count) {
    if (count > PTRDIFF_MAX / sizeof(T))
      throw Exception(Error{Errc::invalid_argument, "more elements than memory can have"});
    return pointer(static_cast<T*>(detail::allocate_at(base_.get(), count * sizeof(T), alignof(T))));
  }
  void deallocate(const pointer& memory, std::size_t) noexcept { detail::deallocate_at(base_.get(), memory.get()); }

  friend bool operator==(const allocator& a, const allocator& b) noexcept { return a.base_ == b.base_; }
  friend bool operator!=(const allocator& a, const allocator& b) noexcept { return !(a == b); }

 private:
  template <class>
  friend class allocator;
  offset_ptr<std::byte> base_;  // the heap's first byte
};

}  // namespace baton::shared
