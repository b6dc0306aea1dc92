// SPDX-License-Identifier: Apache-2.0
// A pointer and a length (std::span is C++20). Does not own; valid as long as the memory that it was made from.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace baton::sfm {

template <class T>
class Span {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using size_type = std::size_t;
  using pointer = T*;
  using reference = T&;
  using iterator = T*;

  constexpr Span() noexcept = default;
  constexpr Span(T* data, std::size_t size) noexcept : data_(data), size_(size) {}
  template <std::size_t N>
  constexpr Span(T (&array)[N]) noexcept : data_(array), size_(N) {}  // NOLINT(google-explicit-constructor)
  /// From anything with data() and size(): sfm and std vectors, std::array, a Span of non-const.
  template <class C, class = std::enable_if_t<std::is_convertible_v<
                         std::remove_pointer_t<decltype(std::declval<C&>().data())> (*)[], T (*)[]>>>
  constexpr Span(C&& container) noexcept  // NOLINT(google-explicit-constructor)
      : data_(container.data()), size_(container.size()) {}

  constexpr T* data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr T* begin() const noexcept { return data_; }
  constexpr T* end() const noexcept { return data_ + size_; }
  /// REQUIRES i < size().
  constexpr T& operator[](std::size_t i) const noexcept { return data_[i]; }
  constexpr T& front() const noexcept { return data_[0]; }
  constexpr T& back() const noexcept { return data_[size_ - 1]; }
  /// REQUIRES offset + count <= size().
  constexpr Span subspan(std::size_t offset, std::size_t count) const noexcept { return {data_ + offset, count}; }
  constexpr Span first(std::size_t count) const noexcept { return {data_, count}; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace baton::sfm
