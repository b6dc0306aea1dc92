// SPDX-License-Identifier: Apache-2.0
// A pointer that counts from its own address. So it means the same in every process that maps pointer and pointee in
// one segment, wherever the segment lies. For structures in shared memory; messages use the 8-byte words of
// docs/format/sfm.md.
// Thread rules: a value, like a plain pointer.
// Invariants: (1) 8 bytes on every architecture; (2) all zero bytes are null, so fresh shared memory holds null
// pointers; (3) a copy at another place points to the same object: so copy it as an object, never as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace baton::memory {

/// May point to anything but its own first byte. Another process can use the result only if pointer and pointee lie in
/// the same mapping. A distance in memory that another process writes is untrusted: check the pointer with
/// points_into() before use.
template <class T>
class OffsetPtr {
 public:
  OffsetPtr() noexcept = default;
  OffsetPtr(std::nullptr_t) noexcept {}             // NOLINT(google-explicit-constructor)
  OffsetPtr(T* pointer) noexcept { set(pointer); }  // NOLINT(google-explicit-constructor)
  OffsetPtr(const OffsetPtr& other) noexcept { set(other.get()); }
  template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  OffsetPtr(const OffsetPtr<U>& other) noexcept {
    set(other.get());
  }  // NOLINT(google-explicit-constructor)
  OffsetPtr& operator=(const OffsetPtr& other) noexcept {
    set(other.get());
    return *this;
  }
  OffsetPtr& operator=(T* pointer) noexcept {
    set(pointer);
    return *this;
  }

  T* get() const noexcept {
    // Integers, since a pointer may not leave its object by arithmetic ([expr.add]); the sum wraps as addresses do.
    return distance_ == 0
               ? nullptr
               : reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(this) + static_cast<std::uintptr_t>(distance_));
  }
  T* operator->() const noexcept { return get(); }
  template <class U = T, class = std::enable_if_t<!std::is_void_v<U>>>
  U& operator*() const noexcept {
    return *get();
  }
  explicit operator bool() const noexcept { return distance_ != 0; }

  /// The pointer, if it is aligned for T and the `bytes` bytes from it on lie in [base, base + size); else null. Reads
  /// the distance once, so the checked value is the returned value.
  T* points_into(const void* base, std::size_t size, std::size_t bytes) const noexcept {
    const std::int64_t distance = *static_cast<const volatile std::int64_t*>(&distance_);
    if (distance == 0) return nullptr;
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(this) + static_cast<std::uintptr_t>(distance);
    const std::uintptr_t offset = address - reinterpret_cast<std::uintptr_t>(base);
    if (offset >= size || bytes > size - offset) return nullptr;
    if constexpr (!std::is_void_v<T>) {
      if (address % alignof(T) != 0) return nullptr;
    }
    return reinterpret_cast<T*>(address);
  }

  friend bool operator==(const OffsetPtr& a, const OffsetPtr& b) noexcept { return a.get() == b.get(); }
  friend bool operator!=(const OffsetPtr& a, const OffsetPtr& b) noexcept { return a.get() != b.get(); }

 private:
  void set(const volatile void* pointer) noexcept {
    distance_ = pointer == nullptr ? 0
                                   : static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(pointer) -
                                                               reinterpret_cast<std::uintptr_t>(this));
  }

  std::int64_t distance_ = 0;  // bytes from this word's address to the object; 0 = null
};
static_assert(sizeof(OffsetPtr<int>) == 8);

}  // namespace baton::memory
