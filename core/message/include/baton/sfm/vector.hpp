// SPDX-License-Identifier: Apache-2.0
// sfm::Vector<T> and sfm::BoundedVector<T, N>: std::vector's interface over the 8 SFM bytes, in whatever memory they
// lie (cell.hpp).
//
// Every access checks where the vector lies (one compare); in a hot loop take data(), span() or iterators once.
// Thread rules and validity of references: as std::vector. Growing a vector inside a loan never moves the message
// itself.
// Errors: std::bad_alloc, std::length_error (bound, 2 GiB) and, inside a loan, baton::Exception (message_too_large,
// limit_reached, out_of_memory; invalid_argument for a received, read-only message). A failed growth leaves the vector
// as it was.
// Invariants: (1) those of Cell; (2) T is either trivially copyable or made of sfm members with a noexcept move
// constructor;
// (3) elements beyond length() are never constructed, except that trivially copyable memory may hold leftovers.
// Moving from another place (chunk to heap, heap to chunk, chunk to chunk) copies and leaves the source unchanged. The
// move constructor is noexcept, because std::vector<Message> needs that: if such a copy finds no memory, it calls
// std::terminate. Copy instead where that matters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "baton/sfm/bool.hpp"
#include "baton/sfm/cell.hpp"
#include "baton/sfm/span.hpp"

namespace baton::sfm {

namespace detail {

template <class It>
using RequireInput = std::enable_if_t<
    std::is_convertible_v<typename std::iterator_traits<It>::iterator_category, std::input_iterator_tag>>;

/// `p`, of which the compiler does not know where it comes from. Of a vector on the stack gcc 12 follows the branch for
/// vectors in the window, too, and warns of content behind the object (-Warray-bounds, -Wstringop-overflow).
template <class T>
T* untraced(T* p) noexcept {
  __asm__("" : "+r"(p));
  return p;
}

/// Constructs a T at `p`. Moving into a chunk may need a copy and so may fail, which the noexcept move constructor
/// could not report. In that case this function copies the element.
template <class T, class... Args>
T* construct(T* p, Args&&... args) {
  if constexpr (!std::is_trivially_copyable_v<T> && sizeof...(Args) == 1 &&
                (std::is_same_v<T, std::remove_reference_t<Args>> && ...)) {
    if (memory::in_window(p)) return ::new (static_cast<void*>(p)) T(std::as_const(args)...);
  }
  return ::new (static_cast<void*>(p)) T(std::forward<Args>(args)...);
}

#ifdef BATON_SFM_STD_ITERATORS
template <class T>
using Iterator = typename std::vector<T>::iterator;
template <class T>
using ConstIterator = typename std::vector<T>::const_iterator;
#else
template <class T>
using Iterator = T*;
template <class T>
using ConstIterator = const T*;
#endif

}  // namespace detail

// Recompiled programs of ROS 1 name the iterators of their fields as they did with std::vector (`std::vector<T>::iterator`). The class
// is then another one for the linker, since libraries are compiled without.
#ifdef BATON_SFM_STD_ITERATORS
inline namespace std_iterators {
#endif

/// `Bound` 0: unbounded. Use the aliases Vector and BoundedVector.
template <class T, std::uint32_t Bound>
class BasicVector {
  static constexpr bool kTrivial = std::is_trivially_copyable_v<T>;
  static_assert(!std::is_same_v<T, bool>, "use sfm::Bool");

 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using pointer = T*;
  using const_pointer = const T*;
  using iterator = detail::Iterator<T>;
  using const_iterator = detail::ConstIterator<T>;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  /// The bound, or 0.
  static constexpr std::uint32_t kBound = Bound;

  // --- construction, assignment -----------------------------------------------------------------------------------------
  BasicVector() noexcept = default;
  explicit BasicVector(size_type count) {
    build([&] { resize(count); });
  }
  BasicVector(size_type count, const T& value) {
    build([&] { assign(count, value); });
  }
  template <class It, class = detail::RequireInput<It>>
  BasicVector(It first, It last) {
    build([&] { assign(first, last); });
  }
  BasicVector(std::initializer_list<T> list) {
    build([&] { assign(list.begin(), list.end()); });
  }
  BasicVector(const BasicVector& other) {
    build([&] { assign_elements(other.data(), other.size()); });
  }
  BasicVector(BasicVector&& other) noexcept {
    if (!cell_.steal(other.cell_)) assign_elements(other.data(), other.size());
  }
  template <std::uint32_t M>
  BasicVector(const BasicVector<T, M>& other) {  // NOLINT(google-explicit-constructor)
    build([&] { assign_elements(other.data(), other.size()); });
  }
  template <class U, class A>
  BasicVector(const std::vector<U, A>& other) {  // NOLINT(google-explicit-constructor)
    build([&] { assign(other.begin(), other.end()); });
  }
  BasicVector(Span<const T> other) {  // NOLINT(google-explicit-constructor)
    build([&] { assign(other.begin(), other.end()); });
  }
  ~BasicVector() {
    destroy(data(), size());
    cell_.release();
  }

  BasicVector& operator=(const BasicVector& other) {
    if (this != &other) assign_elements(other.data(), other.size());
    return *this;
  }
  BasicVector& operator=(BasicVector&& other) {
    if (this == &other) return *this;
    if (!cell_.in_chunk() && !other.cell_.in_chunk()) {
      cell_.swap_private(other.cell_);
      BasicVector dead(std::move(other));  // our old elements are destroyed now, not when `other` is
      return *this;
    }
    if (adoptable(other)) {
      destroy(data(), size());
      cell_.release();
      if (cell_.steal(other.cell_)) return *this;
    }
    assign_elements(other.data(), other.size());
    return *this;
  }
  template <std::uint32_t M>
  BasicVector& operator=(const BasicVector<T, M>& other) {
    assign_elements(other.data(), other.size());
    return *this;
  }
  template <class U, class A>
  BasicVector& operator=(const std::vector<U, A>& other) {
    assign(other.begin(), other.end());
    return *this;
  }
  BasicVector& operator=(std::initializer_list<T> list) {
    assign(list.begin(), list.end());
    return *this;
  }

  void assign(size_type count, const T& value) {
    check_bound(count);
    if constexpr (kTrivial) {
      const T copy = *detail::untraced(&value);
      T* d = detail::untraced(room_for(0, count));
      std::fill_n(d, count, copy);
      set_size(count);
    } else if (owns(&value) || count > capacity()) {
      BasicVector fresh;  // private: nothing changes until every copy has been made
      fresh.reserve(count);
      for (size_type i = 0; i < count; ++i) fresh.emplace_back(value);
      *this = std::move(fresh);
    } else {
      const size_type old = size();
      std::fill_n(data(), std::min(old, count), value);
      if (count < old) truncate(count);
      while (size() < count) append_one(value);
    }
  }
  template <class It, class = detail::RequireInput<It>>
  void assign(It first, It last) {
    using Category = typename std::iterator_traits<It>::iterator_category;
    if constexpr (!std::is_convertible_v<Category, std::forward_iterator_tag>) {
      BasicVector fresh;
      for (; first != last; ++first) fresh.emplace_back(T(*first));
      *this = std::move(fresh);
    } else if constexpr (std::is_pointer_v<It> && std::is_same_v<std::remove_cv_t<std::remove_pointer_t<It>>, T>) {
      assign_elements(first, static_cast<size_type>(last - first));
    } else if constexpr (std::is_same_v<It, iterator> || std::is_same_v<It, const_iterator>) {
      assign_elements(first == last ? nullptr : std::addressof(*first), static_cast<size_type>(last - first));
    } else {
      assign_range(first, static_cast<size_type>(std::distance(first, last)));
    }
  }
  void assign(std::initializer_list<T> list) { assign(list.begin(), list.end()); }

  // --- conversion ---------------------------------------------------------------------------------------------------------
  template <class U, class A>
  operator std::vector<U, A>() const {  // NOLINT(google-explicit-constructor)
    return std::vector<U, A>(begin(), end());
  }
  auto to_std() const {
    using Element = std::conditional_t<std::is_same_v<T, Bool>, bool, T>;
    return std::vector<Element>(begin(), end());  // not braces: pointers convert to bool
  }
  Span<T> span() noexcept { return {data(), size()}; }
  Span<const T> span() const noexcept { return {data(), size()}; }

  // --- access -------------------------------------------------------------------------------------------------------------
  size_type size() const noexcept { return cell_.length(); }
  bool empty() const noexcept { return size() == 0; }
  /// Null while nothing was ever allocated.
  T* data() noexcept { return reinterpret_cast<T*>(cell_.content()); }
  const T* data() const noexcept { return reinterpret_cast<const T*>(cell_.content()); }
  iterator begin() noexcept { return iterator(data()); }
  const_iterator begin() const noexcept { return const_iterator(data()); }
  const_iterator cbegin() const noexcept { return const_iterator(data()); }
  iterator end() noexcept { return iterator(data() + size()); }
  const_iterator end() const noexcept { return const_iterator(data() + size()); }
  const_iterator cend() const noexcept { return const_iterator(data() + size()); }
  reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
  const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
  reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
  const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }
  const_reverse_iterator crbegin() const noexcept { return rbegin(); }
  const_reverse_iterator crend() const noexcept { return rend(); }
  /// REQUIRES i < size().
  T& operator[](size_type i) noexcept { return data()[i]; }
  const T& operator[](size_type i) const noexcept { return data()[i]; }
  /// Throws std::out_of_range.
  T& at(size_type i) { return data()[check_index(i)]; }
  const T& at(size_type i) const { return data()[check_index(i)]; }
  T& front() noexcept { return data()[0]; }
  const T& front() const noexcept { return data()[0]; }
  T& back() noexcept { return data()[size() - 1]; }
  const T& back() const noexcept { return data()[size() - 1]; }
  size_type max_size() const noexcept { return Bound != 0 ? Bound : detail::kMaxContentBytes / sizeof(T); }
  /// A received message has no spare capacity: its capacity is its size.
  size_type capacity() const noexcept { return std::max<size_type>(cell_.capacity_bytes() / sizeof(T), size()); }

  // --- size ---------------------------------------------------------------------------------------------------------------
  void reserve(size_type count) {
    if (count <= capacity()) return;
    if (count > max_size()) detail::throw_length_error("sfm::Vector::reserve", count, max_size());
    room_for(size(), count);
  }
  void shrink_to_fit() {
    if (empty()) {
      cell_.release();
    } else if (cell_.in_chunk()) {
      memory::content_resize_in_place(&cell_, cell_.content(), size() * sizeof(T));
    } else if (capacity() > size()) {
      BasicVector exact;
      exact.reserve(size());
      exact.append_relocating(*this);
      cell_.swap_private(exact.cell_);
    }
  }
  /// New elements are value-initialized (zero).
  void resize(size_type count) {
    const size_type old = size();
    if (count <= old) return truncate(count);
    check_bound(count);
    room_for(old, count);
    if constexpr (kTrivial) {
      std::uninitialized_value_construct_n(data() + old, count - old);
      set_size(count);
    } else {
      construct_tail(old, count, [](T* p) { ::new (static_cast<void*>(p)) T(); });
    }
  }
  void resize(size_type count, const T& value) {
    const size_type old = size();
    if (count <= old) return truncate(count);
    insert(end(), count - old, value);
  }
  /// A resize() for a program that writes all new elements next: they are not zeroed first, and hold the memory's former
  /// bytes until then. A large message is then written once instead of twice. Only for trivially copyable elements; for
  /// others the same as resize(). Named after C++20's make_unique_for_overwrite.
  void resize_for_overwrite(size_type count) {
    if constexpr (kTrivial) {
      const size_type old = size();
      if (count > old) {
        check_bound(count);
        room_for(old, count);
      }
      set_size(count);
    } else {
      resize(count);
    }
  }
  void clear() noexcept { truncate(0); }

  // --- elements -----------------------------------------------------------------------------------------------------------
  void push_back(const T& value) { append_one(value); }
  void push_back(T&& value) { append_one(std::move(value)); }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    return append_one(std::forward<Args>(args)...);
  }
  /// REQUIRES !empty().
  void pop_back() noexcept { truncate(size() - 1); }

  template <class... Args>
  iterator emplace(const_iterator position, Args&&... args) {
    const size_type index = static_cast<size_type>(position - cbegin());
    if (index == size()) return iterator(&append_one(std::forward<Args>(args)...));
    T value(std::forward<Args>(args)...);  // args may refer to our own elements, which move now
    return insert_with(index, 1, [&](T* gap, auto) { detail::construct(gap, std::move(value)); });
  }
  iterator insert(const_iterator position, const T& value) { return insert(position, size_type{1}, value); }
  iterator insert(const_iterator position, T&& value) {
    const size_type index = static_cast<size_type>(position - cbegin());
    const size_type own = index_of(&value);
    return insert_with(
        index, 1, [&](T* gap, auto where) { detail::construct(gap, std::move(own == kNotOwn ? value : *where(own))); });
  }
  iterator insert(const_iterator position, size_type count, const T& value) {
    const size_type index = static_cast<size_type>(position - cbegin());
    if constexpr (kTrivial) {
      const T copy = value;
      return insert_bulk(index, count, [&](T* gap) { std::uninitialized_fill_n(gap, count, copy); });
    } else {
      const size_type own = index_of(&value);
      return insert_with(index, count, [&](T* gap, auto where) {
        detail::construct(gap, own == kNotOwn ? value : std::as_const(*where(own)));
      });
    }
  }
  template <class It, class = detail::RequireInput<It>>
  iterator insert(const_iterator position, It first, It last) {
    const size_type index = static_cast<size_type>(position - cbegin());
    using Category = typename std::iterator_traits<It>::iterator_category;
    bool own_range = false;
    if constexpr (std::is_pointer_v<It> || std::is_same_v<It, iterator> || std::is_same_v<It, const_iterator>) {
      own_range = first != last && index_of(reinterpret_cast<const T*>(std::addressof(*first))) != kNotOwn;
    }
    if (!std::is_convertible_v<Category, std::forward_iterator_tag> || own_range) {
      BasicVector copy(first, last);
      return insert(cbegin() + index, std::make_move_iterator(copy.begin()), std::make_move_iterator(copy.end()));
    }
    const size_type count = static_cast<size_type>(std::distance(first, last));
    if constexpr (kTrivial) {
      return insert_bulk(index, count, [&](T* gap) { std::uninitialized_copy_n(first, count, gap); });
    } else {
      return insert_with(index, count, [&](T* gap, auto) { detail::construct(gap, *first), ++first; });
    }
  }
  iterator insert(const_iterator position, std::initializer_list<T> list) {
    return insert(position, list.begin(), list.end());
  }
  iterator erase(const_iterator position) { return erase(position, position + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    const size_type from = static_cast<size_type>(first - cbegin());
    const size_type count = static_cast<size_type>(last - first);
    if (count != 0) {
      T* d = data();
      const size_type old = size();
      destroy(d + from, count);
      relocate(d + from + count, d + from, old - from - count);
      set_size(old - count);
    }
    return begin() + from;
  }
  /// Between any two places; without copying when both are private.
  void swap(BasicVector& other) {
    if (this == &other) return;
    if (!cell_.in_chunk() && !other.cell_.in_chunk()) {
      cell_.swap_private(other.cell_);
      return;
    }
    BasicVector mine(static_cast<const BasicVector&>(*this));
    *this = std::move(other);
    other = std::move(mine);
  }
  friend void swap(BasicVector& a, BasicVector& b) { a.swap(b); }

  /// The 8 bytes themselves, for code that works from the type model.
  detail::Cell& cell() noexcept { return cell_; }
  const detail::Cell& cell() const noexcept { return cell_; }

 private:
  static constexpr size_type kNotOwn = static_cast<size_type>(-1);

  // A constructor that throws gets no destructor call for cell_'s content.
  template <class F>
  void build(F&& fill) {
    if constexpr (kTrivial) {
      fill();  // allocates at most once, and before anything that may throw
    } else {
      try {
        fill();
      } catch (...) {
        destroy(data(), size());
        cell_.release();
        throw;
      }
    }
  }

  void set_size(size_type count) noexcept { cell_.set_length(static_cast<std::uint32_t>(count)); }
  size_type check_index(size_type i) const {
    if (i >= size()) detail::throw_out_of_range("sfm::Vector::at", i, size());
    return i;
  }
  static void check_bound(size_type count) {
    constexpr size_type limit = Bound != 0 ? Bound : detail::kMaxContentBytes / sizeof(T);
    if (count > limit) {
      detail::throw_length_error(Bound != 0 ? "sfm::BoundedVector: elements" : "sfm::Vector: elements", count, limit);
    }
  }
  size_type index_of(const T* p) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(data());
    return at < size() * sizeof(T) ? at / sizeof(T) : kNotOwn;
  }
  bool owns(const T* p) const noexcept { return index_of(p) != kNotOwn; }
  bool adoptable(const BasicVector& other) const noexcept {
    if (!cell_.in_chunk() || other.cell_.in_chunk()) return false;
    const PrivateBlock* b = other.cell_.block();
    if (b == nullptr || b->owner == nullptr) return false;
    const auto address = reinterpret_cast<std::uintptr_t>(this);
    return address >= reinterpret_cast<std::uintptr_t>(b->owner->begin) &&
           address < reinterpret_cast<std::uintptr_t>(b->owner->end);
  }

  static void destroy(T* first, size_type count) noexcept {
    // Backwards: their contents were made forwards, and the last block of a chunk is the cheapest to free.
    if constexpr (!std::is_trivially_destructible_v<T>) {
      while (count > 0) first[--count].~T();
    }
  }
  void truncate(size_type count) noexcept {
    const size_type old = size();
    if (old == count) return;
    destroy(data() + count, old - count);
    set_size(count);
  }

  // Moves `count` elements within this vector's memory; `from` becomes raw memory. Ranges may overlap.
  void relocate(T* from, T* to, size_type count) noexcept {
    static_assert(kTrivial || std::is_nothrow_move_constructible_v<T>);
    if (count == 0 || from == to) return;
    if constexpr (kTrivial) {
      std::memmove(static_cast<void*>(to), static_cast<const void*>(from), count * sizeof(T));
    } else {
      const detail::RelocationScope scope(from, to, count * sizeof(T));
      if (to < from) {
        for (size_type i = 0; i < count; ++i) move_one(from + i, to + i);
      } else {
        for (size_type i = count; i-- > 0;) move_one(from + i, to + i);
      }
    }
  }
  static void move_one(T* from, T* to) noexcept {
    ::new (static_cast<void*>(to)) T(std::move(*from));
    from->~T();
  }

  // Room for `count` elements, keeping the first `used`. Strong guarantee.
  T* room_for(size_type used, size_type count, bool append = false) {
    if (count <= cell_.capacity_bytes() / sizeof(T)) return data();
    if constexpr (kTrivial) {
      return reinterpret_cast<T*>(cell_.reserve_trivial(used * sizeof(T), count * sizeof(T), alignof(T), append));
    } else {
      const detail::Cell::Room room = cell_.make_room(count * sizeof(T), alignof(T), append);
      if (room.moved) relocate(data(), reinterpret_cast<T*>(room.content), used);
      cell_.commit(room);
      return data();
    }
  }

  template <class... Args>
  T& append_one(Args&&... args) {
    const size_type old = size();
    if (old < cell_.capacity_bytes() / sizeof(T) && (Bound == 0 || old < Bound)) {
      T* p = detail::construct(data() + old, std::forward<Args>(args)...);
      set_size(old + 1);
      return *p;
    }
    check_bound(old + 1);
    if constexpr (kTrivial) {
      const T value(std::forward<Args>(args)...);
      T* d = room_for(old, old + 1, true);
      set_size(old + 1);
      return *::new (static_cast<void*>(d + old)) T(value);
    } else {
      // Construct the new element first: args may refer to elements that are about to move.
      const detail::Cell::Room room = cell_.make_room((old + 1) * sizeof(T), alignof(T), true);
      T* d = reinterpret_cast<T*>(room.content);
      try {
        detail::construct(d + old, std::forward<Args>(args)...);
      } catch (...) {
        cell_.cancel(room);
        throw;
      }
      if (room.moved) relocate(data(), d, old);
      cell_.commit(room);
      set_size(old + 1);
      return data()[old];
    }
  }
  void append_relocating(BasicVector& other) noexcept {  // both private; REQUIRES capacity
    const size_type count = other.size();
    relocate(other.data(), data(), count);
    other.set_size(0);
    set_size(count);
  }

  // Constructs elements [old, count); on an exception destroys those already constructed.
  template <class F>
  void construct_tail(size_type old, size_type count, F&& make) {
    size_type i = old;
    try {
      for (; i < count; ++i) make(data() + i);
    } catch (...) {
      destroy(data() + old, i - old);
      throw;
    }
    set_size(count);
  }

  // Opens a gap of `count` at `index` and constructs its elements with fill(T* raw, where); where(i) is the present
  // place of the former element i. On an exception the vector is unchanged.
  template <class F>
  iterator insert_with(size_type index, size_type count, F&& fill) {
    const size_type old = size();
    if (count == 0) return begin() + index;
    check_bound(count > max_size() ? count : old + count);  // the sum might wrap
    T* d = room_for(old, old + count, true);
    relocate(d + index, d + index + count, old - index);
    size_type done = 0;
    try {
      const auto where = [&](size_type i) { return d + (i < index ? i : i + count); };
      for (; done < count; ++done) fill(d + index + done, where);
    } catch (...) {
      destroy(d + index, done);
      relocate(d + index + count, d + index, old - index);
      throw;
    }
    set_size(old + count);
    return iterator(d + index);
  }

  // The same for trivially copyable elements, in one call (so that the compiler sees a memcpy).
  template <class F>
  iterator insert_bulk(size_type index, size_type count, F&& fill) {
    const size_type old = size();
    if (count == 0) return begin() + index;
    check_bound(count > max_size() ? count : old + count);  // the sum might wrap
    T* d = room_for(old, old + count, true);
    relocate(d + index, d + index + count, old - index);
    try {
      fill(d + index);
    } catch (...) {
      relocate(d + index + count, d + index, old - index);
      throw;
    }
    set_size(old + count);
    return iterator(d + index);
  }

  // From contiguous T, possibly our own.
  void assign_elements(const T* first, size_type count) {
    if (count != 0 && owns(first)) {
      const size_type from = static_cast<size_type>(first - data());
      truncate(from + count);
      erase(cbegin(), cbegin() + from);
      return;
    }
    if constexpr (kTrivial) {
      check_bound(count);
      T* d = room_for(0, count);
      if (count != 0) std::memcpy(static_cast<void*>(d), static_cast<const void*>(first), count * sizeof(T));
      set_size(count);
    } else {
      assign_range(first, count);
    }
  }
  template <class It>
  void assign_range(It first, size_type count) {
    check_bound(count);
    if constexpr (kTrivial) {
      std::uninitialized_copy_n(first, count, room_for(0, count));
      set_size(count);
    } else if (count > cell_.capacity_bytes() / sizeof(T)) {
      // Construct all new elements first, so that a failure changes nothing.
      const detail::Cell::Room room = cell_.make_room(count * sizeof(T), alignof(T), false);
      if (!room.moved) return assign_in_place(first, count);
      T* d = reinterpret_cast<T*>(room.content);
      size_type i = 0;
      try {
        for (; i < count; ++i, ++first) detail::construct(d + i, *first);
      } catch (...) {
        destroy(d, i);
        cell_.cancel(room);
        throw;
      }
      destroy(data(), size());
      cell_.commit(room);
      set_size(count);
    } else {
      assign_in_place(first, count);
    }
  }
  template <class It>
  void assign_in_place(It first, size_type count) {
    const size_type old = size();
    T* d = data();
    size_type i = 0;
    for (; i < std::min(old, count); ++i, ++first) d[i] = *first;
    if (count < old) return truncate(count);
    for (; i < count; ++i, ++first) {
      detail::construct(d + i, *first);
      set_size(i + 1);
    }
  }

  detail::Cell cell_;
};

#ifdef BATON_SFM_STD_ITERATORS
}  // namespace std_iterators
#endif

/// A variable-length sequence.
template <class T>
using Vector = BasicVector<T, 0>;
/// A sequence of at most N elements; more throw std::length_error. The same bytes as Vector<T>.
template <class T, std::uint32_t N>
using BoundedVector = BasicVector<T, N>;

// --- contents provided by other code (TZC's allocate)
// ---------------------------------------------------------------------
/// Makes the ordinary (not in a chunk) vector `v` empty and lets it keep its elements at `content`, with room for
/// `capacity_elements`, until it outgrows that room. REQUIRES `content` aligned for T and valid until owner->release or
/// handed_over. Moving `v` into a vector in [owner->begin, owner->end) hands the content over without a copy.
template <class T, std::uint32_t N>
void adopt_content(BasicVector<T, N>& v, void* content, std::uint32_t capacity_elements, ContentOwner* owner) {
  static_assert(std::is_trivially_copyable_v<T>, "only the data part (arrays of fixed-length types) can be adopted");
  v.cell().adopt(content, std::size_t{capacity_elements} * sizeof(T), owner);
}

/// The owner of `v`'s content if that content was adopted and is still in use, else null.
template <class T, std::uint32_t N>
ContentOwner* adopted_owner(const BasicVector<T, N>& v) noexcept {
  if (v.cell().in_chunk() || v.cell().block() == nullptr) return nullptr;
  return v.cell().block()->owner;
}

}  // namespace baton::sfm

#include "baton/sfm/vector_operators.hpp"  // IWYU pragma: export
