// SPDX-License-Identifier: Apache-2.0
// An allocator of a shared heap for containers that know fancy pointers, such as Boost.Container's vector, map and
// string. Shared containers lie under a guarded<> (guarded.hpp): then their memory belongs to the guard in whose memory
// the container lies, so nothing is lost when a process dies in the middle of a change. Memory of an allocator that was
// made from a Heap and is used elsewhere belongs to the container alone.
// Two allocators are equal if their memory belongs to the same guard or container. So containers of different guards
// exchange elements, not memory. A copy in private memory has no guard. **Never move a container, or an element that is
// a container, out of its guard: copy it.** Its memory would stay the guard's, and the compiler cannot detect it.
// Thread rules: a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "baton/objects/heap.hpp"
#include "baton/objects/offset_ptr.hpp"

namespace baton::objects {

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
  using is_always_equal = std::false_type;

  allocator(Heap& heap) noexcept : base_(heap.base()) {}  // NOLINT(google-explicit-constructor)
  /// For guarded<>.
  allocator(std::byte* heap_base, std::uint32_t guard) noexcept : base_(heap_base), guard_(guard), given_(true) {}
  allocator(const allocator&) noexcept = default;
  template <class U>
  allocator(const allocator<U>& other) noexcept  // NOLINT(google-explicit-constructor)
      : base_(other.base_), guard_(other.guard_), given_(other.given_) {}
  allocator& operator=(const allocator&) noexcept = default;

  /// Throws baton::Exception with the errors of Heap::allocate().
  pointer allocate(std::size_t count) {
    static_assert(detail::check_allocated<T>());
    if (count > PTRDIFF_MAX / sizeof(T))
      throw Exception(Error{Errc::invalid_argument, "more elements than memory can have"});
    return pointer(static_cast<T*>(detail::allocate_at(base_.get(), count * sizeof(T), alignof(T), guard())));
  }
  void deallocate(const pointer& memory, std::size_t) noexcept { detail::deallocate_at(base_.get(), memory.get()); }
  allocator select_on_container_copy_construction() const noexcept {
    allocator out = *this;
    out.given_ = false;
    return out;
  }

  friend bool operator==(const allocator& a, const allocator& b) noexcept {
    return a.base_ == b.base_ && a.guard() == b.guard();
  }
  friend bool operator!=(const allocator& a, const allocator& b) noexcept { return !(a == b); }

 private:
  template <class>
  friend class allocator;
  std::uint32_t guard() const noexcept { return guard_ == 0 ? 0 : detail::guard_of(base_.get(), this, guard_, given_); }
  offset_ptr<std::byte> base_;  // the heap's first byte
  std::uint32_t guard_ = 0;     // the guarded<>'s place in units of 64 bytes; 0: none
  bool given_ = false;          // by the guard, not by copying a container
};

}  // namespace baton::objects
