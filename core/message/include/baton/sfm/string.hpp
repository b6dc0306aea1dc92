// SPDX-License-Identifier: Apache-2.0
// sfm::String and sfm::BoundedString<N>: std::string's interface over the 8 SFM bytes, in whatever memory they lie
// (cell.hpp).
//
// In a chunk: {u32 padded length, i32 offset}. The content is the characters, a zero, and zeros up to a multiple of 4.
// The last byte holds the number of bytes after the terminator (0..3; 0: the last byte is the terminator itself). So
// size() is O(1), embedded zeros are possible, and c_str() is always terminated. Elsewhere: PrivateBlock::size
// characters and a terminator.
//
// Thread rules and validity of pointers: as std::string. Errors and moving: as sfm::Vector (vector.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "baton/os/hot_path.hpp"
#include "baton/sfm/cell.hpp"
#include "baton/sfm/span.hpp"

namespace baton::sfm {

namespace detail {

/// Padded bytes of a string of `size` characters; 0 for the empty string.
constexpr std::size_t padded_string_bytes(std::size_t size) noexcept {
  return size == 0 ? 0 : (size + 4) & ~std::size_t{3};
}

/// Characters of a padded content of `length` bytes. REQUIRES a valid content.
inline std::size_t string_size(const std::byte* content, std::uint32_t length) noexcept {
  return length == 0 ? 0 : length - 1 - std::to_integer<std::uint32_t>(content[length - 1]);
}

/// The operations shared by strings of every bound; also used by code that works from the type model.
class StringCell : public Cell {
 public:
  std::size_t size() const noexcept {
    if (in_chunk()) return string_size(content(), chunk_length());
    const PrivateBlock* b = block();
    return b != nullptr ? b->size : 0;
  }
  /// Terminated by a zero; never null.
  const char* c_str() const noexcept {
    const std::byte* c = in_chunk() && chunk_length() == 0 ? nullptr : content();
    return c != nullptr ? reinterpret_cast<const char*>(c) : "";
  }
  std::string_view view() const noexcept { return {c_str(), size()}; }
  /// Characters that fit without growing.
  std::size_t capacity() const noexcept {
    const std::size_t bytes = capacity_bytes();
    return bytes == 0 ? 0 : (in_chunk() ? (bytes & ~std::size_t{3}) : bytes) - 1;
  }
  /// Makes room for `count` characters and keeps the present ones. The content is not null afterwards. Strong
  /// guarantee.
  char* reserve(std::size_t count, bool append);
  /// REQUIRES capacity() >= count (count 0: always). Writes terminator and padding.
  void set_size(std::size_t count) noexcept;
  /// `text` may lie in this string.
  BATON_NO_PLT void assign(std::string_view text, std::size_t bound);
  void append(std::string_view text, std::size_t bound);
  /// Replaces [position, position + count) by `text`, which may lie in this string. REQUIRES position + count <=
  /// size().
  void replace(std::size_t position, std::size_t count, std::string_view text, std::size_t bound);
  void resize(std::size_t count, char fill, std::size_t bound);

 private:
  void assign_again(std::string_view text);
};
static_assert(sizeof(StringCell) == 8);

}  // namespace detail

/// `Bound` 0: unbounded. Use the aliases String and BoundedString.
template <std::uint32_t Bound>
class BasicString {
  // Anything that converts to a view, except our own strings (they have overloads) and C strings (they would convert
  // twice).
  template <class S>
  using RequireView = std::enable_if_t<std::is_convertible_v<const S&, std::string_view>>;
  // Our iterators are pointers, and a literal 0 converts to a pointer as well as to a position. This keeps `erase(0)`
  // unambiguous.
  template <class It>
  using RequireIterator = std::enable_if_t<std::is_same_v<It, char*> || std::is_same_v<It, const char*>>;

 public:
  using value_type = char;
  using traits_type = std::char_traits<char>;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = char&;
  using const_reference = const char&;
  using pointer = char*;
  using const_pointer = const char*;
  using iterator = char*;
  using const_iterator = const char*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  static constexpr size_type npos = static_cast<size_type>(-1);
  /// The bound in characters, or 0.
  static constexpr std::uint32_t kBound = Bound;

  // --- construction, assignment -----------------------------------------------------------------------------------------
  BasicString() noexcept = default;
  BasicString(const BasicString& other) { cell_.assign(other.view(), Bound); }
  BasicString(BasicString&& other) noexcept {
    if (!cell_.steal(other.cell_)) cell_.assign(other.view(), Bound);
  }
  /// From std::string, std::string_view, C strings, strings of another bound.
  template <class S, class = RequireView<S>>
  BasicString(const S& text) {  // NOLINT(google-explicit-constructor)
    cell_.assign(std::string_view(text), Bound);
  }
  BasicString(const char* text, size_type count) { cell_.assign({text, count}, Bound); }
  BasicString(size_type count, char c) { cell_.resize(count, c, Bound); }
  BasicString(std::initializer_list<char> list) { cell_.assign({list.begin(), list.size()}, Bound); }
  template <class It, class = typename std::iterator_traits<It>::iterator_category>
  BasicString(It first, It last) {
    assign(first, last);
  }
  BasicString(std::nullptr_t) = delete;
  ~BasicString() { cell_.release(); }

  BasicString& operator=(const BasicString& other) { return assign(other.view()); }
  BasicString& operator=(BasicString&& other) {
    if (!cell_.in_chunk() && !other.cell_.in_chunk()) {
      cell_.swap_private(other.cell_);
      return *this;
    }
    return assign(other.view());
  }
  template <class S, class = RequireView<S>>
  BasicString& operator=(const S& text) {
    return assign(std::string_view(text));
  }
  BasicString& operator=(char c) { return assign({&c, 1}); }
  BasicString& operator=(std::initializer_list<char> list) { return assign({list.begin(), list.size()}); }

  BasicString& assign(std::string_view text) {
    cell_.assign(text, Bound);
    return *this;
  }
  BasicString& assign(const char* text, size_type count) { return assign(std::string_view(text, count)); }
  BasicString& assign(size_type count, char c) {
    clear();
    cell_.resize(count, c, Bound);
    return *this;
  }
  template <class It, class = typename std::iterator_traits<It>::iterator_category>
  BasicString& assign(It first, It last) {
    if constexpr (std::is_pointer_v<It> && sizeof(*first) == 1) {
      return assign(std::string_view(reinterpret_cast<const char*>(first), static_cast<size_type>(last - first)));
    } else {
      return assign(std::string_view(std::string(first, last)));
    }
  }

  // --- conversion ---------------------------------------------------------------------------------------------------------
  operator std::string_view() const noexcept { return view(); }  // NOLINT(google-explicit-constructor)
  operator std::string() const { return str(); }                 // NOLINT(google-explicit-constructor)
  std::string_view view() const noexcept { return cell_.view(); }
  std::string str() const { return std::string(view()); }
  const char* c_str() const noexcept { return cell_.c_str(); }
  Span<const char> span() const noexcept { return {c_str(), size()}; }

  // --- access -------------------------------------------------------------------------------------------------------------
  size_type size() const noexcept { return cell_.size(); }
  size_type length() const noexcept { return cell_.size(); }
  bool empty() const noexcept { return cell_.length() == 0; }
  const char* data() const noexcept { return cell_.c_str(); }
  /// Must not be written through if the string is empty.
  char* data() noexcept { return const_cast<char*>(cell_.c_str()); }
  iterator begin() noexcept { return data(); }
  const_iterator begin() const noexcept { return data(); }
  const_iterator cbegin() const noexcept { return data(); }
  iterator end() noexcept { return data() + size(); }
  const_iterator end() const noexcept { return data() + size(); }
  const_iterator cend() const noexcept { return data() + size(); }
  reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
  const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
  reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
  const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }
  const_reverse_iterator crbegin() const noexcept { return rbegin(); }
  const_reverse_iterator crend() const noexcept { return rend(); }
  /// REQUIRES i <= size() to read, i < size() to write.
  char& operator[](size_type i) noexcept { return data()[i]; }
  const char& operator[](size_type i) const noexcept { return data()[i]; }
  /// Throws std::out_of_range.
  char& at(size_type i) { return data()[check_index(i)]; }
  const char& at(size_type i) const { return data()[check_index(i)]; }
  char& front() noexcept { return data()[0]; }
  const char& front() const noexcept { return data()[0]; }
  char& back() noexcept { return data()[size() - 1]; }
  const char& back() const noexcept { return data()[size() - 1]; }

  // --- size ---------------------------------------------------------------------------------------------------------------
  size_type max_size() const noexcept { return Bound != 0 ? Bound : detail::kMaxContentBytes - 8; }
  size_type capacity() const noexcept { return cell_.capacity() > size() ? cell_.capacity() : size(); }
  void reserve(size_type count) {
    if (count > max_size()) detail::throw_length_error("sfm::String::reserve", count, max_size());
    if (count > capacity()) cell_.reserve(count, false);
  }
  void resize(size_type count, char fill = '\0') { cell_.resize(count, fill, Bound); }
  void clear() noexcept { cell_.set_size(0); }
  void shrink_to_fit() {
    if (empty()) cell_.release();
  }

  // --- change -------------------------------------------------------------------------------------------------------------
  BasicString& append(std::string_view text) {
    cell_.append(text, Bound);
    return *this;
  }
  BasicString& append(const char* text, size_type count) { return append(std::string_view(text, count)); }
  BasicString& append(size_type count, char c) {
    cell_.resize(count > max_size() ? count : size() + count, c, Bound);  // the sum might wrap
    return *this;
  }
  template <class It, class = typename std::iterator_traits<It>::iterator_category>
  BasicString& append(It first, It last) {
    return append(std::string_view(std::string(first, last)));
  }
  BasicString& operator+=(std::string_view text) { return append(text); }
  BasicString& operator+=(char c) { return append({&c, 1}); }
  void push_back(char c) { append({&c, 1}); }
  /// REQUIRES !empty().
  void pop_back() noexcept { cell_.set_size(size() - 1); }
  BasicString& insert(size_type position, std::string_view text) {
    cell_.replace(check_position(position), 0, text, Bound);
    return *this;
  }
  BasicString& insert(size_type position, size_type count, char c) { return insert(position, std::string(count, c)); }
  template <class It, class = RequireIterator<It>>
  iterator insert(It position, char c) {
    const size_type index = index_of(position);
    cell_.replace(index, 0, {&c, 1}, Bound);
    return begin() + index;
  }
  BasicString& erase(size_type position = 0, size_type count = npos) { return replace(position, count, {}); }
  template <class It, class = RequireIterator<It>>
  iterator erase(It position) {
    return erase(position, position + 1);
  }
  template <class It, class = RequireIterator<It>>
  iterator erase(It first, It last) {
    const size_type index = index_of(first);
    cell_.replace(index, static_cast<size_type>(last - first), {}, Bound);
    return begin() + index;
  }
  BasicString& replace(size_type position, size_type count, std::string_view text) {
    check_position(position);
    cell_.replace(position, count < size() - position ? count : size() - position, text, Bound);
    return *this;
  }
  void swap(BasicString& other) {
    if (this == &other) return;
    if (!cell_.in_chunk() && !other.cell_.in_chunk()) {
      cell_.swap_private(other.cell_);
      return;
    }
    BasicString mine(static_cast<const BasicString&>(*this));
    *this = std::move(other);
    other = std::move(mine);
  }
  friend void swap(BasicString& a, BasicString& b) { a.swap(b); }

  // --- search -------------------------------------------------------------------------------------------------------------
  std::string substr(size_type position = 0, size_type count = npos) const {
    return std::string(view().substr(position, count));
  }
  size_type copy(char* to, size_type count, size_type position = 0) const { return view().copy(to, count, position); }
  int compare(std::string_view other) const noexcept { return view().compare(other); }
  /// Throws std::out_of_range.
  int compare(size_type position, size_type count, std::string_view other) const {
    return view().compare(position, count, other);
  }
  size_type find(std::string_view text, size_type from = 0) const noexcept { return view().find(text, from); }
  size_type find(char c, size_type from = 0) const noexcept { return view().find(c, from); }
  size_type rfind(std::string_view text, size_type from = npos) const noexcept { return view().rfind(text, from); }
  size_type rfind(char c, size_type from = npos) const noexcept { return view().rfind(c, from); }
  size_type find_first_of(std::string_view set, size_type from = 0) const noexcept {
    return view().find_first_of(set, from);
  }
  size_type find_last_of(std::string_view set, size_type from = npos) const noexcept {
    return view().find_last_of(set, from);
  }
  size_type find_first_not_of(std::string_view set, size_type from = 0) const noexcept {
    return view().find_first_not_of(set, from);
  }
  size_type find_last_not_of(std::string_view set, size_type from = npos) const noexcept {
    return view().find_last_not_of(set, from);
  }

  /// The 8 bytes themselves, for code that works from the type model.
  detail::StringCell& cell() noexcept { return cell_; }
  const detail::StringCell& cell() const noexcept { return cell_; }

 private:
  size_type check_index(size_type i) const {
    if (i >= size()) detail::throw_out_of_range("sfm::String::at", i, size());
    return i;
  }
  size_type index_of(const_iterator position) const noexcept { return static_cast<size_type>(position - cbegin()); }
  size_type check_position(size_type i) const {
    if (i > size()) detail::throw_out_of_range("sfm::String", i, size());
    return i;
  }

  detail::StringCell cell_;
};

using String = BasicString<0>;
/// A string of at most N characters; more throw std::length_error. The same bytes as String.
template <std::uint32_t N>
using BoundedString = BasicString<N>;

// --- comparison with each other and with everything that converts to std::string_view --------------------------------------
#define BATON_SFM_STRING_COMPARE(op)                                                                               \
  template <std::uint32_t N, std::uint32_t M>                                                                      \
  bool operator op(const BasicString<N>& a, const BasicString<M>& b) noexcept {                                    \
    return a.view() op b.view();                                                                                   \
  }                                                                                                                \
  template <std::uint32_t N, class S>                                                                              \
  std::enable_if_t<std::is_convertible_v<const S&, std::string_view>, bool> operator op(const BasicString<N>& a,   \
                                                                                        const S& b) {              \
    return a.view() op std::string_view(b);                                                                        \
  }                                                                                                                \
  template <std::uint32_t N, class S>                                                                              \
  std::enable_if_t<std::is_convertible_v<const S&, std::string_view>, bool> operator op(const S& a,                \
                                                                                        const BasicString<N>& b) { \
    return std::string_view(a) op b.view();                                                                        \
  }
BATON_SFM_STRING_COMPARE(==)
BATON_SFM_STRING_COMPARE(!=)
BATON_SFM_STRING_COMPARE(<)
BATON_SFM_STRING_COMPARE(>)
BATON_SFM_STRING_COMPARE(<=)
BATON_SFM_STRING_COMPARE(>=)
#undef BATON_SFM_STRING_COMPARE

template <std::uint32_t N>
std::string operator+(const BasicString<N>& a, std::string_view b) {
  return a.str().append(b);
}
template <std::uint32_t N>
std::string operator+(std::string_view a, const BasicString<N>& b) {
  return std::string(a).append(b.view());
}
template <std::uint32_t N, std::uint32_t M>
std::string operator+(const BasicString<N>& a, const BasicString<M>& b) {
  return a.str().append(b.view());
}

template <std::uint32_t N>
std::string operator+(const BasicString<N>& a, char b) {
  return a.str().append(1, b);
}
template <std::uint32_t N>
std::string operator+(char a, const BasicString<N>& b) {
  return std::string(1, a).append(b.view());
}

template <class Traits, std::uint32_t N>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& os, const BasicString<N>& s) {
  return os << s.view();
}
/// Reads a word, or with getline a line, as for std::string.
template <class Traits, std::uint32_t N>
std::basic_istream<char, Traits>& operator>>(std::basic_istream<char, Traits>& is, BasicString<N>& s) {
  std::string word;
  if (is >> word) s = word;
  return is;
}
template <class Traits, std::uint32_t N>
std::basic_istream<char, Traits>& getline(std::basic_istream<char, Traits>& is, BasicString<N>& s, char end = '\n') {
  std::string line;
  if (std::getline(is, line, end)) s = line;
  return is;
}

}  // namespace baton::sfm

/// The same value as for the std::string of the same characters.
template <std::uint32_t N>
struct std::hash<baton::sfm::BasicString<N>> {
  std::size_t operator()(const baton::sfm::BasicString<N>& s) const noexcept {
    return std::hash<std::string_view>()(s.view());
  }
};
