// SPDX-License-Identifier: Apache-2.0
// shared_ptr, weak_ptr and unique_ptr of a process: they lie in its private memory and point to objects in a shared
// heap. They hold plain addresses, so following, copying and moving them costs as much as in std. Members of shared
// objects and elements of containers are stored<shared_ptr<T>> and so on (stored.hpp), which count from their own
// address; queues convert automatically. The compiler refuses a pointer of the wrong kind.
//
// Death: the holds of a dead process are dropped. Objects that only this process held are destroyed once, by a process
// that knows the type (its program names shared_ptr<T> or unique_ptr<T>). block.hpp says how.
// Semantics: as in std ([util.smartptr.shared] and so on) without deleters, arrays, void and aliasing of foreign
// objects. There is no enable_shared_from_this: an object that needs a pointer to itself stores a stored<weak_ptr<T>>
// after its construction. unique_ptr has no release(): no process would free an object without an owner when a process
// dies. unique_ptrs point to objects, not to their bases: from its one word the object's block is computed.
// An object that becomes due while its thread ends another object ends after that one, not within its destructor.
// use_count() is exact for this process and counts other processes' holds as 1 each.
// Thread rules: as in std: one thread at a time uses one pointer; any threads use different pointers to one object. In
// a forked child the parent's pointers are inert: they end without effect and must not be followed.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "baton/objects/block.hpp"
#include "baton/objects/pointer_compare.hpp"
#include "baton/objects/shareable.hpp"

namespace baton::objects {

namespace detail {

template <class T>
struct TypeOf {
  static constexpr const char* name() noexcept { return __PRETTY_FUNCTION__; }
  static void destroy(void* object) noexcept { static_cast<T*>(object)->~T(); }
  /// A hash of the name, size and alignment: two programs that define a type differently get different ids.
  static constexpr std::uint64_t id() noexcept {
    return (hash_name(name()) ^ sizeof(T) * 0x9e3779b97f4a7c15ULL ^ alignof(T) * 0xc2b2ae3d27d4eb4fULL) | 1;
  }
  static const TypeInfo& info() noexcept {
    static const TypeInfo info{id(), name(), &destroy, is_recoverable<T>::value};
    return info;
  }
  /// Registered before main(), in every program that has pointers to T.
  static inline const bool registered = (register_type(info()), true);
};
template <class T>
inline void know_type() noexcept {
  (void)TypeOf<std::remove_cv_t<T>>::registered;
}

template <class From, class To>
using if_converts = std::enable_if_t<std::is_convertible_v<From*, To*>>;

/// Converts pointers to and from Held for stored<> and the makers. The receiver takes over the count.
struct PointerAccess {
  template <class P>
  static Held get(const P& p) noexcept {
    return p.held();
  }
  template <class P>
  static Held give(P& p) noexcept {
    return p.give();
  }
  template <class P>
  static P make(Held held) noexcept {
    return P(held);
  }
};

}  // namespace detail

template <class T>
class shared_ptr {
  static_assert(!std::is_void_v<T>, "a shared_ptr of this library knows its object's type; alias a member instead");

 public:
  using element_type = T;
  using weak_type = weak_ptr<T>;

  shared_ptr() noexcept = default;
  shared_ptr(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
  shared_ptr(const shared_ptr& other) noexcept : object_(other.object_), local_(other.local_) {
    if (local_ != nullptr) detail::count_up(local_->strong);
  }
  shared_ptr(shared_ptr&& other) noexcept : object_(other.object_), local_(other.local_) {
    other.object_ = nullptr;
    other.local_ = nullptr;
  }
  template <class U, class = detail::if_converts<U, T>>
  shared_ptr(const shared_ptr<U>& other) noexcept  // NOLINT(google-explicit-constructor)
      : shared_ptr(other, static_cast<T*>(other.get())) {}
  template <class U, class = detail::if_converts<U, T>>
  shared_ptr(shared_ptr<U>&& other) noexcept  // NOLINT(google-explicit-constructor)
      : object_(other.object_), local_(other.local_) {
    other.object_ = nullptr;
    other.local_ = nullptr;
  }
  /// Shares ownership with `other`, and points to a part of its object, or to anything that lives as long. A pointer to
  /// memory outside the heap cannot be stored in the heap.
  template <class U>
  shared_ptr(const shared_ptr<U>& other, T* part) noexcept : object_(part), local_(other.local_) {
    if (local_ != nullptr) detail::count_up(local_->strong);
  }
  template <class U>
  shared_ptr(shared_ptr<U>&& other, T* part) noexcept : object_(part), local_(std::exchange(other.local_, nullptr)) {
    other.object_ = nullptr;
  }
  /// Throws std::bad_weak_ptr if the object has ended.
  template <class U, class = detail::if_converts<U, T>>
  explicit shared_ptr(const weak_ptr<U>& weak) : shared_ptr(weak.lock()) {
    if (local_ == nullptr) throw std::bad_weak_ptr();
  }
  template <class U, class = detail::if_converts<U, T>>
  shared_ptr(unique_ptr<U>&& other) noexcept  // NOLINT(google-explicit-constructor)
      : object_(other.get()), local_(detail::PointerAccess::give(other).local) {}
  ~shared_ptr() {
    detail::know_type<T>();
    if (local_ != nullptr && detail::count_down(local_->strong)) {
      detail::drop_hold(local_, detail::Strength::kStrong);
    }
  }

  shared_ptr& operator=(const shared_ptr& other) noexcept {
    shared_ptr(other).swap(*this);
    return *this;
  }
  shared_ptr& operator=(shared_ptr&& other) noexcept {
    shared_ptr(std::move(other)).swap(*this);
    return *this;
  }

  void reset() noexcept { shared_ptr().swap(*this); }
  void swap(shared_ptr& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(local_, other.local_);
  }
  T* get() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  /// Pointers of this process in private memory, and one for each other process and each pointer in the heap.
  long use_count() const noexcept { return static_cast<long>(detail::use_count(local_)); }
  /// Compares by owner, as std's.
  template <class U>
  bool owner_before(const shared_ptr<U>& other) const noexcept {
    return std::less<const detail::LocalCount*>()(local_, detail::PointerAccess::get(other).local);
  }
  template <class U>
  bool owner_before(const weak_ptr<U>& other) const noexcept {
    return std::less<const detail::LocalCount*>()(local_, detail::PointerAccess::get(other).local);
  }

 private:
  explicit shared_ptr(detail::Held held) noexcept : object_(static_cast<T*>(held.object)), local_(held.local) {}
  detail::Held held() const noexcept { return {const_cast<std::remove_cv_t<T>*>(object_), local_}; }
  detail::Held give() noexcept {
    const detail::Held out = held();
    object_ = nullptr;
    local_ = nullptr;
    return out;
  }

  T* object_ = nullptr;
  detail::LocalCount* local_ = nullptr;

  template <class>
  friend class shared_ptr;
  friend struct detail::PointerAccess;
};

template <class T>
class weak_ptr {
 public:
  using element_type = T;

  weak_ptr() noexcept = default;
  weak_ptr(const shared_ptr<T>& strong)  // NOLINT(google-explicit-constructor)
      : weak_ptr(detail::hold_weakly(detail::PointerAccess::get(strong))) {}
  template <class U, class = detail::if_converts<U, T>>
  weak_ptr(const shared_ptr<U>& strong)  // NOLINT(google-explicit-constructor)
      : object_(strong.get()), local_(detail::hold_weakly(detail::PointerAccess::get(strong)).local) {}
  weak_ptr(const weak_ptr& other) noexcept : object_(other.object_), local_(other.local_) {
    if (local_ != nullptr) detail::count_up(local_->weak);
  }
  weak_ptr(weak_ptr&& other) noexcept : weak_ptr(other.give()) {}
  template <class U, class = detail::if_converts<U, T>>
  weak_ptr(const weak_ptr<U>& other) noexcept  // NOLINT(google-explicit-constructor)
      : object_(other.object_), local_(other.local_) {
    if (local_ != nullptr) detail::count_up(local_->weak);
  }
  ~weak_ptr() {
    detail::know_type<T>();
    if (local_ != nullptr && detail::count_down(local_->weak)) detail::drop_hold(local_, detail::Strength::kWeak);
  }
  weak_ptr& operator=(const weak_ptr& other) noexcept {
    weak_ptr(other).swap(*this);
    return *this;
  }
  weak_ptr& operator=(weak_ptr&& other) noexcept {
    weak_ptr(std::move(other)).swap(*this);
    return *this;
  }
  void reset() noexcept { weak_ptr().swap(*this); }
  void swap(weak_ptr& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(local_, other.local_);
  }
  /// Null if the object has ended.
  shared_ptr<T> lock() const { return detail::PointerAccess::make<shared_ptr<T>>(detail::lock_weak(held())); }
  bool expired() const noexcept { return detail::is_expired(held()); }
  template <class U>
  bool owner_before(const weak_ptr<U>& other) const noexcept {
    return std::less<const detail::LocalCount*>()(local_, detail::PointerAccess::get(other).local);
  }
  template <class U>
  bool owner_before(const shared_ptr<U>& other) const noexcept {
    return std::less<const detail::LocalCount*>()(local_, detail::PointerAccess::get(other).local);
  }
  /// The use_count() of the object's shared_ptrs. 0 if the object has ended.
  long use_count() const noexcept { return static_cast<long>(detail::use_count(local_)); }

 private:
  explicit weak_ptr(detail::Held held) noexcept : object_(static_cast<T*>(held.object)), local_(held.local) {}
  detail::Held held() const noexcept { return {const_cast<std::remove_cv_t<T>*>(object_), local_}; }
  detail::Held give() noexcept {
    const detail::Held out = held();
    object_ = nullptr;
    local_ = nullptr;
    return out;
  }

  T* object_ = nullptr;
  detail::LocalCount* local_ = nullptr;

  template <class>
  friend class weak_ptr;
  friend struct detail::PointerAccess;
};

/// One owner: a process, which may die. One word, like std::unique_ptr.
template <class T>
class unique_ptr {
 public:
  using element_type = T;

  unique_ptr() noexcept = default;
  unique_ptr(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
  unique_ptr(const unique_ptr&) = delete;
  unique_ptr& operator=(const unique_ptr&) = delete;
  unique_ptr(unique_ptr&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
  /// To a const object of the same type.
  template <class U, class = std::enable_if_t<std::is_same_v<const U, T> && !std::is_same_v<U, T>>>
  unique_ptr(unique_ptr<U>&& other) noexcept  // NOLINT(google-explicit-constructor)
      : object_(std::exchange(other.object_, nullptr)) {}
  ~unique_ptr() {
    detail::know_type<T>();
    if (object_ != nullptr) detail::end_unique(plain());
  }
  unique_ptr& operator=(unique_ptr&& other) noexcept {  // NOLINT(bugprone-unhandled-self-assignment): see `before`
    T* const taken = other.object_;
    other.object_ = nullptr;
    T* const before = object_;  // after the line above: null if this is `other`
    object_ = taken;
    if (before != nullptr) detail::end_unique(const_cast<std::remove_cv_t<T>*>(before));
    return *this;
  }
  void reset() noexcept { unique_ptr().swap(*this); }
  void swap(unique_ptr& other) noexcept { std::swap(object_, other.object_); }
  T* get() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  explicit unique_ptr(detail::Held held) noexcept : object_(static_cast<T*>(held.object)) {}
  void* plain() const noexcept { return const_cast<std::remove_cv_t<T>*>(object_); }
  detail::Held held() const noexcept { return detail::held_of_unique(plain()); }
  detail::Held give() noexcept {
    const detail::Held out = held();
    object_ = nullptr;
    return out;
  }

  T* object_ = nullptr;

  template <class>
  friend class unique_ptr;
  friend struct detail::PointerAccess;
};

template <class T>
void swap(shared_ptr<T>& a, shared_ptr<T>& b) noexcept {
  a.swap(b);
}
template <class T>
void swap(weak_ptr<T>& a, weak_ptr<T>& b) noexcept {
  a.swap(b);
}
template <class T>
void swap(unique_ptr<T>& a, unique_ptr<T>& b) noexcept {
  a.swap(b);
}
// No dynamic_pointer_cast, because shared objects have no virtual functions.
template <class T, class U>
shared_ptr<T> static_pointer_cast(const shared_ptr<U>& other) noexcept {
  return shared_ptr<T>(other, static_cast<T*>(other.get()));
}
template <class T, class U>
shared_ptr<T> const_pointer_cast(const shared_ptr<U>& other) noexcept {
  return shared_ptr<T>(other, const_cast<T*>(other.get()));
}
template <class T, class U>
shared_ptr<T> reinterpret_pointer_cast(const shared_ptr<U>& other) noexcept {
  return shared_ptr<T>(other, reinterpret_cast<T*>(other.get()));
}

}  // namespace baton::objects
