// SPDX-License-Identifier: Apache-2.0
// The only place that knows the layout of a std::vector: three pointers, to the first element, behind the last, and
// behind the capacity (libstdc++ and libc++ alike, without debug modes). layout_is_known() checks it, and active()
// calls that. Also the layout of a rosidl_runtime_c sequence: a pointer, a size, a capacity.
//
// Thread rules: those of any container.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace baton::containers {

/// Gives `vector` the buffer, of which the first `size` elements are its content. Frees the vector's former buffer.
/// REQUIRES: the buffer comes from Received or Loaned and has `capacity` elements; T is trivial. Afterwards the vector
/// is like any other: copied, moved, grown, destroyed.
template <class T>
void adopt(std::vector<T>& vector, void* buffer, std::size_t size, std::size_t capacity) {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>, "an array of scalars");
  static_assert(sizeof(std::vector<T>) == 3 * sizeof(T*), "another kind of std::vector");
  std::vector<T>().swap(vector);
  T* const begin = static_cast<T*>(buffer);
  T* const words[3] = {begin, begin + size, begin + capacity};
  std::memcpy(static_cast<void*>(&vector), words, sizeof words);
}

/// Empties the vector without freeing its buffer, and returns the buffer: the reverse of adopt().
template <class T>
T* forget(std::vector<T>& vector) noexcept {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>, "an array of scalars");
  T* const begin = vector.data();
  T* const words[3] = {nullptr, nullptr, nullptr};
  std::memcpy(static_cast<void*>(&vector), words, sizeof words);
  return begin;
}

/// A vector or C sequence of scalars of which only the element size is known. The elements' alignment is at most that
/// of operator new.
class AnyArray {
 public:
  AnyArray(void* native, bool c, std::size_t element_bytes) noexcept
      : native_(native), c_(c), element_bytes_(element_bytes) {
    std::memcpy(words_, native, sizeof words_);
  }

  void* begin() const noexcept { return words_[0]; }
  std::size_t size() const noexcept {
    if (c_) return reinterpret_cast<std::size_t>(words_[1]);
    return static_cast<std::size_t>(static_cast<std::byte*>(words_[1]) - static_cast<std::byte*>(words_[0])) /
           element_bytes_;
  }
  std::size_t size_bytes() const noexcept { return size() * element_bytes_; }

  /// Frees the present buffer and takes `buffer`.
  void replace(void* buffer, std::size_t size, std::size_t capacity) noexcept {
    if (c_)
      std::free(words_[0]);  // as rcutils_get_default_allocator() does
    else
      ::operator delete(words_[0]);
    set(buffer, size, capacity);
  }
  /// Copies the content into a buffer of its own. False, with nothing changed, if there is no memory.
  bool move_to_heap() noexcept {
    const std::size_t count = size();
    void* buffer = nullptr;
    if (count != 0) {
      buffer = c_ ? std::malloc(count * element_bytes_) : ::operator new(count* element_bytes_, std::nothrow);
      if (buffer == nullptr) return false;
      std::memcpy(buffer, words_[0], count * element_bytes_);
    }
    replace(buffer, count, count);
    return true;
  }
  /// Empties it without freeing anything.
  void forget() noexcept { set(nullptr, 0, 0); }

 private:
  void set(void* buffer, std::size_t size, std::size_t capacity) noexcept {
    auto* const bytes = static_cast<std::byte*>(buffer);
    words_[0] = buffer;
    words_[1] = c_ ? reinterpret_cast<void*>(size) : bytes + size * element_bytes_;
    words_[2] = c_ ? reinterpret_cast<void*>(capacity) : bytes + capacity * element_bytes_;
    std::memcpy(native_, words_, sizeof words_);
  }

  void* native_;
  bool c_;
  std::size_t element_bytes_;
  void* words_[3];
};

/// Whether adopt() and forget() work with this standard library's vector: tried on a vector.
inline bool layout_is_known() {
  std::vector<int> vector;
  vector.reserve(7);
  vector.resize(3);
  const int* words[3] = {nullptr, nullptr, nullptr};
  if (sizeof vector != sizeof words) return false;
  std::memcpy(words, static_cast<const void*>(&vector), sizeof words);
  if (words[0] != vector.data() || words[1] != vector.data() + 3 || words[2] != vector.data() + vector.capacity())
    return false;
  const std::vector<int> empty;
  const int* const nothing[3] = {nullptr, nullptr, nullptr};
  return std::memcmp(static_cast<const void*>(&empty), nothing, sizeof nothing) == 0;
}

}  // namespace baton::containers
