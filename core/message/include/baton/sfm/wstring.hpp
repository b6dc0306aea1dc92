// SPDX-License-Identifier: Apache-2.0
// sfm::WString and sfm::BoundedWString<N>: ROS 2's wstring, a vector of UTF-16 code units without terminator.
// Thread rules, errors, moving: as sfm::Vector.
#pragma once

#include <string>
#include <string_view>

#include "baton/sfm/vector.hpp"

namespace baton::sfm {

template <std::uint32_t Bound>
class BasicWString : public BasicVector<char16_t, Bound> {
  using Base = BasicVector<char16_t, Bound>;
  template <class S>
  using RequireView = std::enable_if_t<std::is_convertible_v<const S&, std::u16string_view>>;

 public:
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  BasicWString() noexcept = default;
  /// From std::u16string, std::u16string_view, u"literals", wstrings of another bound.
  template <class S, class = RequireView<S>>
  BasicWString(const S& text) {  // NOLINT(google-explicit-constructor)
    assign(std::u16string_view(text));
  }
  BasicWString(std::size_t count, char16_t unit) : Base(count, unit) {}
  BasicWString(std::nullptr_t) = delete;
  template <class S, class = RequireView<S>>
  BasicWString& operator=(const S& text) {
    return assign(std::u16string_view(text));
  }

  BasicWString& assign(std::u16string_view text) {
    Base::assign(text.data(), text.data() + text.size());
    return *this;
  }
  BasicWString& append(std::u16string_view text) {
    Base::insert(Base::cend(), text.data(), text.data() + text.size());
    return *this;
  }
  BasicWString& operator+=(std::u16string_view text) { return append(text); }
  BasicWString& operator+=(char16_t unit) {
    Base::push_back(unit);
    return *this;
  }

  operator std::u16string_view() const noexcept { return view(); }  // NOLINT(google-explicit-constructor)
  operator std::u16string() const { return str(); }                 // NOLINT(google-explicit-constructor)
  std::u16string_view view() const noexcept { return {Base::data(), Base::size()}; }
  std::u16string str() const { return std::u16string(view()); }
  std::size_t length() const noexcept { return Base::size(); }
  std::size_t find(std::u16string_view text, std::size_t from = 0) const noexcept { return view().find(text, from); }
  std::u16string substr(std::size_t position = 0, std::size_t count = npos) const {
    return std::u16string(view().substr(position, count));
  }
};

using WString = BasicWString<0>;
/// At most N code units. The same bytes as WString.
template <std::uint32_t N>
using BoundedWString = BasicWString<N>;
static_assert(sizeof(WString) == 8 && alignof(WString) == 4);

#define BATON_SFM_WSTRING_COMPARE(op)                                                                                  \
  template <std::uint32_t N, std::uint32_t M>                                                                          \
  bool operator op(const BasicWString<N>& a, const BasicWString<M>& b) noexcept {                                      \
    return a.view() op b.view();                                                                                       \
  }                                                                                                                    \
  template <std::uint32_t N, class S>                                                                                  \
  std::enable_if_t<std::is_convertible_v<const S&, std::u16string_view>, bool> operator op(const BasicWString<N>& a,   \
                                                                                           const S& b) {               \
    return a.view() op std::u16string_view(b);                                                                         \
  }                                                                                                                    \
  template <std::uint32_t N, class S>                                                                                  \
  std::enable_if_t<std::is_convertible_v<const S&, std::u16string_view>, bool> operator op(const S& a,                 \
                                                                                           const BasicWString<N>& b) { \
    return std::u16string_view(a) op b.view();                                                                         \
  }
BATON_SFM_WSTRING_COMPARE(==)
BATON_SFM_WSTRING_COMPARE(!=)
BATON_SFM_WSTRING_COMPARE(<)
BATON_SFM_WSTRING_COMPARE(>)
#undef BATON_SFM_WSTRING_COMPARE

/// Converts to UTF-8; an unpaired surrogate becomes U+FFFD.
std::string to_utf8(std::u16string_view text);
/// Converts to UTF-16; malformed UTF-8 becomes U+FFFD.
std::u16string to_utf16(std::string_view text);

template <class Traits, std::uint32_t N>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& os, const BasicWString<N>& s) {
  return os << to_utf8(s.view());
}

}  // namespace baton::sfm

template <std::uint32_t N>
struct std::hash<baton::sfm::BasicWString<N>> {
  std::size_t operator()(const baton::sfm::BasicWString<N>& s) const noexcept {
    return std::hash<std::u16string_view>()(s.view());
  }
};
