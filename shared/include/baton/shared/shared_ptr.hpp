// SPDX-License-Identifier: Apache-2.0
// shared_ptr, weak_ptr and unique_ptr to objects in a shared heap, made by make_shared() and make_unique(). They may lie in private memory or in
// the heap itself, as members of shared objects and elements of queues; the place says which, and they may be copied and moved
// between the two. All in one heap: a pointer in heap A to an object in heap B is refused (baton::Exception).
//
// Cost: copying and destroying a pointer in private memory is one addition, as std::shared_ptr's; the first one of a process, and each one in the
// heap, lock the object's block (block.hpp).
// Death: the holds of a dead process are dropped and objects that only it held are destroyed once, by a process that knows
// the type (that is: whose program names shared_ptr<T> or unique_ptr<T>). block.hpp says how.
// Semantics: those of the std namesakes ([util.smartptr.shared] and so on) without deleters, arrays and aliasing of foreign objects. A copy
// may throw baton::Exception (two heaps); use_count() is exact for this process and counts other processes' holds as 1 each.
// Thread rules: as the std namesakes: one pointer is used by one thread (or process) at a time, different pointers to one object freely. In a forked child
// pointers of the parent are inert: they end without effect and must not be followed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <type_traits>
#include <utility>

#include "baton/memory/arena.hpp"
#include "baton/shared/block.hpp"
#include "baton/shared/heap.hpp"
#include "baton/shared/shareable.hpp"

namespace baton::shared {

template <class T>
class shared_ptr;
template <class T>
class weak_ptr;
template <class T>
class unique_ptr;

namespace detail {

template <class T>
struct TypeOf {
  static constexpr const char* name() noexcept { return __PRETTY_FUNCTION__; }
  static void destroy(void* object) noexcept { static_cast<T*>(object)->~T(); }
  static const TypeInfo& info() noexcept {
    static const TypeInfo info{hash_name(name()), name(), &destroy, is_recoverable<T>::value};
    return info;
  }
  /// Registered before main(), in every program that has pointers to T.
  static inline const bool registered = (register_type(info()), true);
};

/// What the three have in common: the two words, and the ways between private memory and heap.
template <class T, Strength S>
class Pointer {
 protected:
  Pointer() noexcept = default;
  Pointer(const Pointer& other) { take_copy(other.words_); }
  ~Pointer() {
    (void)TypeOf<std::remove_cv_t<T>>::registered;
    drop();
  }

  T* address() const noexcept { return reinterpret_cast<T*>(words_.address()); }
  /// Where this pointer lies. Most are local variables: those are told by their distance from the stack's top, without a look at the window.
  bool is_private() const noexcept {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    return reinterpret_cast<std::uintptr_t>(this) - here + kNearBytes < 2 * kNearBytes || !memory::in_window(this);
  }
  static constexpr std::uintptr_t kNearBytes =
      4096;  // of the frame: no heap is that near to a stack (it begins with private memory)

  // The three below: *this is null.
  void take_copy(const PointerWords& from) {
    if (!from.stored() && is_private()) {
      if (from.block == 0) return;
      words_ = from;
      count_up(count());
    } else {
      copy_pointer(&words_, &from, S);
    }
  }
  void take(PointerWords& from) {
    if (!from.stored() && is_private()) {
      words_ = from;
      from = PointerWords{};
    } else {
      move_pointer(&words_, &from, S);
    }
  }
  /// Move assignment. What *this had ends last: `from` may lie in it.
  void assign(Pointer& from) {
    if (__builtin_expect(!from.words_.stored() && !words_.stored() && is_private(), 1)) {
      if (this == &from) return;
      Pointer before;
      before.words_ = words_;
      words_ = from.words_;
      from.words_ = PointerWords{};
      return;
    }
    if (this == &from) return;
    Pointer moved;
    moved.take(from.words_);
    drop_to_null();
    take(moved.words_);
  }
  void drop() noexcept {
    if (words_.block == 0) return;
    if (words_.stored()) {
      clear_stored(&words_, S);
    } else if (count_down(count())) {
      drop_hold(words_.local(), S);
    }
  }
  void drop_to_null() noexcept {
    drop();
    words_ = PointerWords{};
  }
  std::atomic<std::uint32_t>& count() const noexcept {
    return S == Strength::kStrong ? words_.local()->strong : words_.local()->weak;
  }
  /// The pointee seen as a U.
  template <class U>
  void retarget(U* now) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(now);
    words_.pointer = words_.stored() ? words_.distance_to(address) : address;
  }

  PointerWords words_;

  template <class, Strength>
  friend class Pointer;
  template <class>
  friend class shared::shared_ptr;
  template <class>
  friend class shared::weak_ptr;
  template <class>
  friend class shared::unique_ptr;
  friend struct PointerAccess;
};

struct PointerAccess {
  template <class P>
  static PointerWords& words(P& pointer) noexcept {
    return pointer.words_;
  }
};

template <class From, class To>
using if_converts = std::enable_if_t<std::is_convertible_v<From*, To*>>;

}  // namespace detail

template <class T>
class shared_ptr : detail::Pointer<T, detail::Strength::kStrong> {
  using Base = detail::Pointer<T, detail::Strength::kStrong>;
  using Base::words_;

 public:
  using element_type = T;
  using weak_type = weak_ptr<T>;

  shared_ptr() noexcept = default;
  shared_ptr(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
  shared_ptr(const shared_ptr& other) : Base(other) {}
  shared_ptr(shared_ptr&& other) { this->take(other.words_); }
  template <class U, class = detail::if_converts<U, T>>
  shared_ptr(const shared_ptr<U>& other)
      : shared_ptr(other, static_cast<T*>(other.get())) {}  // NOLINT(google-explicit-constructor)
  /// Shares with `other`, points to a part of its object (or another type of it).
  template <class U>
  shared_ptr(const shared_ptr<U>& other, T* part) {
    this->take_copy(other.words_);
    if (words_.block != 0) this->retarget(part);
  }
  shared_ptr(unique_ptr<T>&& other) { this->take(other.words_); }  // NOLINT(google-explicit-constructor)
  ~shared_ptr() = default;

  shared_ptr& operator=(const shared_ptr& other) {
    if (this == &other) return *this;
    shared_ptr copy;
    copy.assign_from(other);
    this->drop_to_null();
    this->take(copy.words_);
    return *this;
  }
  shared_ptr& operator=(shared_ptr&& other) {
    this->assign(other);
    return *this;
  }
  shared_ptr& operator=(std::nullptr_t) noexcept {
    this->drop_to_null();
    return *this;
  }

  void reset() noexcept { this->drop_to_null(); }
  void swap(shared_ptr& other) {
    shared_ptr mine(std::move(*this));
    *this = std::move(other);
    other = std::move(mine);
  }
  T* get() const noexcept { return this->address(); }
  T& operator*() const noexcept { return *get(); }
  T* operator->() const noexcept { return get(); }
  explicit operator bool() const noexcept { return words_.block != 0; }
  /// Pointers of this process in private memory, and one for each other process and each pointer in the heap.
  long use_count() const noexcept { return static_cast<long>(detail::use_count(&words_)); }

 private:
  void assign_from(const shared_ptr& other) { this->take_copy(other.words_); }

  template <class>
  friend class shared_ptr;
  template <class>
  friend class weak_ptr;
  friend struct detail::PointerAccess;
};

template <class T, class U>
bool operator==(const shared_ptr<T>& a, const shared_ptr<U>& b) noexcept {
  return a.get() == b.get();
}
template <class T, class U>
bool operator!=(const shared_ptr<T>& a, const shared_ptr<U>& b) noexcept {
  return a.get() != b.get();
}
template <class T>
bool operator==(const shared_ptr<T>& a, std::nullptr_t) noexcept {
  return !a;
}
template <class T>
bool operator!=(const shared_ptr<T>& a, std::nullptr_t) noexcept {
  return static_cast<bool>(a);
}
template <class T, class U>
shared_ptr<T> static_pointer_cast(const shared_ptr<U>& other) {
  return shared_ptr<T>(other, static_cast<T*>(other.get()));
}

template <class T>
class weak_ptr : detail::Pointer<T, detail::Strength::kWeak> {
  using Base = detail::Pointer<T, detail::Strength::kWeak>;
  using Base::words_;

 public:
  using element_type = T;

  weak_ptr() noexcept = default;
  weak_ptr(const shared_ptr<T>& strong) {  // NOLINT(google-explicit-constructor)
    detail::copy_pointer(&words_, &strong.words_, detail::Strength::kWeak);
  }
  weak_ptr(const weak_ptr& other) : Base(other) {}
  weak_ptr(weak_ptr&& other) { this->take(other.words_); }
  ~weak_ptr() = default;
  weak_ptr& operator=(const weak_ptr& other) {
    if (this == &other) return *this;
    weak_ptr copy(other);
    this->drop_to_null();
    this->take(copy.words_);
    return *this;
  }
  weak_ptr& operator=(weak_ptr&& other) {
    this->assign(other);
    return *this;
  }
  void reset() noexcept { this->drop_to_null(); }
  /// Null if the object has ended.
  shared_ptr<T> lock() const {
    shared_ptr<T> strong;
    detail::lock_weak(&strong.words_, &words_);
    return strong;
  }
  bool expired() const { return !lock(); }

 private:
  friend struct detail::PointerAccess;
};

/// One owner: a process (which may die), or the shared object that it lies in.
template <class T>
class unique_ptr : detail::Pointer<T, detail::Strength::kStrong> {
  using Base = detail::Pointer<T, detail::Strength::kStrong>;
  using Base::words_;

 public:
  using element_type = T;

  unique_ptr() noexcept = default;
  unique_ptr(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
  unique_ptr(const unique_ptr&) = delete;
  unique_ptr& operator=(const unique_ptr&) = delete;
  unique_ptr(unique_ptr&& other) { this->take(other.words_); }
  ~unique_ptr() = default;
  unique_ptr& operator=(unique_ptr&& other) {
    this->assign(other);
    return *this;
  }
  void reset() noexcept { this->drop_to_null(); }
  void swap(unique_ptr& other) {
    unique_ptr mine(std::move(*this));
    *this = std::move(other);
    other = std::move(mine);
  }
  T* get() const noexcept { return this->address(); }
  T& operator*() const noexcept { return *get(); }
  T* operator->() const noexcept { return get(); }
  explicit operator bool() const noexcept { return words_.block != 0; }

 private:
  template <class>
  friend class shared_ptr;
  friend struct detail::PointerAccess;
};

template <class T>
struct declared_shareable<shared_ptr<T>> : recoverable {};
template <class T>
struct declared_shareable<weak_ptr<T>> : recoverable {};
template <class T>
struct declared_shareable<unique_ptr<T>> : recoverable {};

namespace detail {

template <class T, class P, class... Args>
P make(Heap& heap, Args&&... args) {
  static_assert(check_shareable<T>());
  static_assert(alignof(T) <= 64, "objects of smart pointers are aligned to 64 bytes at most");
  (void)TypeOf<T>::registered;
  Block* const block = make_block(heap, sizeof(T), std::is_trivially_destructible_v<T> ? nullptr : &TypeOf<T>::info());
  try {
    ::new (block->object()) T(std::forward<Args>(args)...);
  } catch (...) {
    abandon_block(block);
    throw;
  }
  P out;
  finish_block(block, &PointerAccess::words(out));
  return out;
}

}  // namespace detail

/// Throws baton::Exception as Heap::allocate() fails, and what the constructor throws.
template <class T, class... Args>
shared_ptr<T> make_shared(Heap& heap, Args&&... args) {
  return detail::make<T, shared_ptr<T>>(heap, std::forward<Args>(args)...);
}
template <class T, class... Args>
unique_ptr<T> make_unique(Heap& heap, Args&&... args) {
  return detail::make<T, unique_ptr<T>>(heap, std::forward<Args>(args)...);
}

/// The object that processes know as `name` (at most 47 bytes), made by the first who asks: one, however many ask. The name keeps it
/// alive until forget(). Throws baton::Exception: type_mismatch (it is of another type), limit_reached (256 names), and as make_shared().
template <class T, class... Args>
shared_ptr<T> find_or_make(Heap& heap, const char* name, Args&&... args);
/// Null if there is none.
template <class T>
shared_ptr<T> find(Heap& heap, const char* name);
/// The name no longer keeps its object; false if there was none.
bool forget(Heap& heap, const char* name);

namespace detail {

/// The table of names, locked while it lives.
class Roots {
 public:
  explicit Roots(Heap& heap);
  ~Roots();
  Roots(const Roots&) = delete;
  Roots& operator=(const Roots&) = delete;
  /// The place of `name`, or null. With `type` not 0: throws type_mismatch if it was given another.
  PointerWords* find(const char* name, std::uint64_t type);
  void add(const char* name, std::uint64_t type, PointerWords* object);
  bool remove(const char* name);

 private:
  HeapState& state_;
  PointerWords dropped_;  // the object of a removed name ends after the table is unlocked
};

}  // namespace detail

template <class T>
shared_ptr<T> find(Heap& heap, const char* name) {
  shared_ptr<T> out;
  detail::Roots roots(heap);
  if (detail::PointerWords* const words = roots.find(name, detail::hash_name(detail::TypeOf<T>::name()))) {
    detail::copy_pointer(&detail::PointerAccess::words(out), words, detail::Strength::kStrong);
  }
  return out;
}
template <class T, class... Args>
shared_ptr<T> find_or_make(Heap& heap, const char* name, Args&&... args) {
  shared_ptr<T> out;
  detail::Roots roots(heap);
  const std::uint64_t type = detail::hash_name(detail::TypeOf<T>::name());
  if (detail::PointerWords* const words = roots.find(name, type)) {
    detail::copy_pointer(&detail::PointerAccess::words(out), words, detail::Strength::kStrong);
  } else {
    out = make_shared<T>(heap, std::forward<Args>(args)...);
    roots.add(name, type, &detail::PointerAccess::words(out));
  }
  return out;
}

}  // namespace baton::shared

template <class T>
struct std::hash<baton::shared::shared_ptr<T>> {
  std::size_t operator()(const baton::shared::shared_ptr<T>& p) const noexcept { return std::hash<T*>()(p.get()); }
};
