// SPDX-License-Identifier: Apache-2.0
// One byte that is read as `!= 0`, so that no byte value a peer may write is undefined behaviour (a C++ `bool` holding
// 2 is).
#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>

namespace baton::sfm {

class Bool {
 public:
  constexpr Bool() noexcept = default;
  constexpr Bool(bool value) noexcept : byte_(value ? 1 : 0) {}    // NOLINT(google-explicit-constructor)
  constexpr operator bool() const noexcept { return byte_ != 0; }  // NOLINT(google-explicit-constructor)
  constexpr Bool& operator|=(bool other) noexcept { return *this = Bool(*this || other); }
  constexpr Bool& operator&=(bool other) noexcept { return *this = Bool(*this && other); }
  constexpr Bool& operator^=(bool other) noexcept { return *this = Bool(static_cast<bool>(*this) != other); }

 private:
  std::uint8_t byte_ = 0;
};
static_assert(sizeof(Bool) == 1 && std::is_trivially_copyable_v<Bool> && std::is_standard_layout_v<Bool>);

// No operator== for Bool: the built-in operator takes Bool, bool and, as in `flag == 1`, int; overloads would make the
// call ambiguous.

}  // namespace baton::sfm

template <>
struct std::hash<baton::sfm::Bool> {
  std::size_t operator()(baton::sfm::Bool value) const noexcept { return std::hash<bool>()(value); }
};
