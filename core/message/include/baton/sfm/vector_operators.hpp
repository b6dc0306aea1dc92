// SPDX-License-Identifier: Apache-2.0
// Comparison and printing of sfm vectors, also with std::vector. Included by vector.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iosfwd>
#include <type_traits>
#include <vector>

#include "baton/sfm/vector.hpp"

namespace baton::sfm {

template <class T, std::uint32_t N, std::uint32_t M>
bool operator==(const BasicVector<T, N>& a, const BasicVector<T, M>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}
template <class T, std::uint32_t N, std::uint32_t M>
bool operator!=(const BasicVector<T, N>& a, const BasicVector<T, M>& b) {
  return !(a == b);
}
template <class T, std::uint32_t N, std::uint32_t M>
bool operator<(const BasicVector<T, N>& a, const BasicVector<T, M>& b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}
template <class T, std::uint32_t N, std::uint32_t M>
bool operator>(const BasicVector<T, N>& a, const BasicVector<T, M>& b) {
  return b < a;
}
template <class T, std::uint32_t N, std::uint32_t M>
bool operator<=(const BasicVector<T, N>& a, const BasicVector<T, M>& b) {
  return !(b < a);
}
template <class T, std::uint32_t N, std::uint32_t M>
bool operator>=(const BasicVector<T, N>& a, const BasicVector<T, M>& b) {
  return !(a < b);
}
template <class T, std::uint32_t N, class U, class A>
bool operator==(const BasicVector<T, N>& a, const std::vector<U, A>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}
template <class T, std::uint32_t N, class U, class A>
bool operator!=(const BasicVector<T, N>& a, const std::vector<U, A>& b) {
  return !(a == b);
}
template <class T, std::uint32_t N, class U, class A>
bool operator==(const std::vector<U, A>& a, const BasicVector<T, N>& b) {
  return b == a;
}
template <class T, std::uint32_t N, class U, class A>
bool operator!=(const std::vector<U, A>& a, const BasicVector<T, N>& b) {
  return !(b == a);
}

/// "[1, 2, 3]"; bytes as numbers.
template <class Traits, class T, std::uint32_t N>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& os, const BasicVector<T, N>& v) {
  os << '[';
  const char* separator = "";
  for (const T& element : v) {
    os << separator;
    if constexpr (std::is_integral_v<T> && sizeof(T) == 1) {
      os << static_cast<int>(element);
    } else {
      os << element;
    }
    separator = ", ";
  }
  return os << ']';
}

}  // namespace baton::sfm
