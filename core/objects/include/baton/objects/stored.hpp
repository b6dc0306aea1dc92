// SPDX-License-Identifier: Apache-2.0
// stored<P>: a shared_ptr, weak_ptr or unique_ptr (P) that lies in the heap itself: a member of a shared object, or an
// element of a container. It counts from its own address, so every process may follow it. It converts to and from P,
// and counts as one more pointer.
//
// Cost: changing a stored pointer locks the object's block (block.hpp). In a loop, use a P.
// Death: a change that a dead process had begun is completed or undone by the next process that needs the object.
// In private memory, where containers and queues have a stored pointer for a moment, it is a P. A pointer to an object
// of another heap throws baton::Exception (invalid_argument), and both ends are unchanged.
// Therefore moves are not noexcept.  NOLINTBEGIN(performance-noexcept-move-constructor)
// Thread rules: as P: one thread of one process at a time, so protect a pointer that several threads use by a lock.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "baton/objects/pointers.hpp"

namespace baton::objects {

namespace detail {

template <class P>
struct StrengthOf {
  static constexpr Strength value = Strength::kStrong;
};
template <class T>
struct StrengthOf<weak_ptr<T>> {
  static constexpr Strength value = Strength::kWeak;
};

/// The common part of stored pointers, whether they may be copied or not.
template <class P>
class StoredPointer {
 public:
  using pointer = P;
  using element_type = typename P::element_type;

  void reset() noexcept { clear_stored(&words_, kStrength); }
  explicit operator bool() const noexcept { return words_.block != 0; }
  element_type* get() const noexcept {
    static_assert(kStrength == Strength::kStrong, "lock() a weak pointer");
    return static_cast<element_type*>(words_.address());
  }
  element_type& operator*() const noexcept { return *get(); }
  element_type* operator->() const noexcept { return get(); }

 protected:
  static constexpr Strength kStrength = StrengthOf<P>::value;

  StoredPointer() noexcept = default;
  StoredPointer(const StoredPointer&) = delete;
  StoredPointer& operator=(const StoredPointer&) = delete;
  ~StoredPointer() {
    know_type<element_type>();
    reset();
  }

  P take() { return PointerAccess::make<P>(take_out(&words_, kStrength)); }
  /// *this is null. `from` becomes null unless this throws.
  void put(P& from) {
    put_in(&words_, PointerAccess::get(from), kStrength);
    (void)PointerAccess::give(from);
  }
  /// The former target may end first, and `from` may lie in it. So a pointer of this process holds the new target
  /// meanwhile. A pointer that cannot be stored is refused before any change.
  void replace(P&& from) {
    check_storable(&words_, PointerAccess::get(from));
    P taken(std::move(from));
    reset();
    put(taken);
  }
  void replace(StoredPointer& from) {
    check_storable(&words_, from.words_);
    replace(from.take());
  }

  StoredWords words_;

  friend struct StoredAccess;
};

struct StoredAccess {
  template <class S>
  static StoredWords& words(S& stored) noexcept {
    return stored.words_;
  }
};

}  // namespace detail

template <class P>
class stored : public detail::StoredPointer<P> {
  using Base = detail::StoredPointer<P>;
  using Base::words_;

 public:
  stored() noexcept = default;
  stored(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
  stored(const P& from) {             // NOLINT(google-explicit-constructor)
    detail::store(&words_, detail::PointerAccess::get(from), Base::kStrength);
  }
  stored(P&& from) { this->put(from); }  // NOLINT(google-explicit-constructor)
  stored(const stored& from) : Base() { detail::store(&words_, from.words_, Base::kStrength); }
  stored(stored&& from) : Base() { detail::move_stored(&words_, &from.words_, Base::kStrength); }
  ~stored() = default;

  stored& operator=(const P& from) {
    this->replace(P(from));
    return *this;
  }
  stored& operator=(P&& from) {
    this->replace(std::move(from));
    return *this;
  }
  stored& operator=(const stored& from) {
    if (this != &from) this->replace(P(from));
    return *this;
  }
  stored& operator=(stored&& from) {
    if (this != &from) this->replace(static_cast<detail::StoredPointer<P>&>(from));
    return *this;
  }
  stored& operator=(std::nullptr_t) noexcept {
    this->reset();
    return *this;
  }

  /// A pointer of this process.
  operator P() const& {  // NOLINT(google-explicit-constructor)
    return detail::PointerAccess::make<P>(detail::hold(words_, Base::kStrength));
  }
  /// The same, after which *this is null.
  operator P() && { return this->take(); }  // NOLINT(google-explicit-constructor)

  /// See shared_ptr.
  long use_count() const noexcept { return static_cast<long>(detail::use_count(words_)); }
  /// For weak ones: null if the object has ended.
  shared_ptr<typename P::element_type> lock() const {
    static_assert(Base::kStrength == detail::Strength::kWeak, "only a weak pointer is locked");
    return detail::PointerAccess::make<shared_ptr<typename P::element_type>>(detail::lock_weak(words_));
  }
  bool expired() const noexcept { return detail::is_expired(words_); }
};

template <class T>
class stored<unique_ptr<T>> : public detail::StoredPointer<unique_ptr<T>> {
  using P = unique_ptr<T>;
  using Base = detail::StoredPointer<P>;

 public:
  stored() noexcept = default;
  stored(std::nullptr_t) noexcept {}     // NOLINT(google-explicit-constructor)
  stored(P&& from) { this->put(from); }  // NOLINT(google-explicit-constructor)
  stored(const stored&) = delete;
  stored(stored&& from) : Base() { detail::move_stored(&this->words_, &from.words_, Base::kStrength); }
  ~stored() = default;
  stored& operator=(P&& from) {
    this->replace(std::move(from));
    return *this;
  }
  stored& operator=(const stored&) = delete;
  stored& operator=(stored&& from) {
    if (this != &from) this->replace(static_cast<detail::StoredPointer<P>&>(from));
    return *this;
  }
  stored& operator=(std::nullptr_t) noexcept {
    this->reset();
    return *this;
  }
  /// The object belongs to this process now.
  operator P() && { return this->take(); }  // NOLINT(google-explicit-constructor)
};

// NOLINTEND(performance-noexcept-move-constructor)
template <class P>
struct declared_shareable<stored<P>> : recoverable {};

// Queues of a process's pointers store them.
template <class T>
struct stored_form<shared_ptr<T>> {
  using type = stored<shared_ptr<T>>;
};
template <class T>
struct stored_form<weak_ptr<T>> {
  using type = stored<weak_ptr<T>>;
};
template <class T>
struct stored_form<unique_ptr<T>> {
  using type = stored<unique_ptr<T>>;
};

}  // namespace baton::objects
