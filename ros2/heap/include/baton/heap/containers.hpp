// SPDX-License-Identifier: Apache-2.0
// The one place that knows what a std::vector is made of: three pointers, to the first element, behind the last, and behind the
// capacity (libstdc++ and libc++ alike, without debug modes). layout_is_known() checks it, active() asks it.
//
// Thread rules: as of any container.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace baton::heap {

/// `vector` gets the buffer, of which `size` elements are its content. What it held before is freed. REQUIRES: the buffer is one of
/// Received or Loaned, of `capacity` elements; T is trivial. Afterwards the vector is like any other: copied, moved, grown, destroyed.
template <class T>
void adopt(std::vector<T>& vector, void* buffer, std::size_t size, std::size_t capacity) {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>, "an array of scalars");
  static_assert(sizeof(std::vector<T>) == 3 * sizeof(T*), "another kind of std::vector");
  std::vector<T>().swap(vector);
  T* const begin = static_cast<T*>(buffer);
  T* const words[3] = {begin, begin + size, begin + capacity};
  std::memcpy(static_cast<void*>(&vector), words, sizeof words);
}

/// Empties the vector without freeing its buffer, which is returned: the reverse of adopt().
template <class T>
T* forget(std::vector<T>& vector) noexcept {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>, "an array of scalars");
  T* const begin = vector.data();
  T* const words[3] = {nullptr, nullptr, nullptr};
  std::memcpy(static_cast<void*>(&vector), words, sizeof words);
  return begin;
}

/// Whether adopt() and forget() know this standard library's vector: tried on one.
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

}  // namespace baton::heap
