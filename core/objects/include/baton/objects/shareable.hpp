// SPDX-License-Identifier: Apache-2.0
// Which types may lie in memory that several processes map at different addresses, and why others may not. Members of
// plain structs are checked (members.hpp), members of classes with constructors are not. Thread rules: none (compile
// time).
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <type_traits>

#include "baton/objects/members.hpp"

namespace baton::objects {

template <class T>
class shared_ptr;
template <class T>
class weak_ptr;
template <class T>
class unique_ptr;

/// Specialise as std::true_type for a type whose destructor works in shared memory: everything that it owns lies in the
/// heap, too (smart pointers of this library, containers with its allocator). Derive from recoverable instead if the
/// destructor may also run on an object that is all zero bytes, constructed in part or destroyed in part. Destructors
/// of structs of our smart pointers and plain data may. Then nothing is lost when a process dies in the constructor or
/// destructor.
template <class T>
struct declared_shareable : std::false_type {};
/// See declared_shareable.
struct recoverable : std::true_type {
  static constexpr bool kRecoverable = true;
};

/// How a queue stores an element of type T: as T itself, or for a process's smart pointers as stored<T>. Specialise it
/// for a struct of yours with such pointers: `type` is the same struct with stored pointers; it is assigned from a T,
/// and converts to a T when moved from.
template <class T>
struct stored_form {
  using type = T;
};

namespace detail {

/// The smart pointers of a process.
template <class T>
struct is_process_held : std::false_type {};
template <class T>
struct is_process_held<shared_ptr<T>> : std::true_type {};
template <class T>
struct is_process_held<weak_ptr<T>> : std::true_type {};
template <class T>
struct is_process_held<unique_ptr<T>> : std::true_type {};

/// Locks of one process.
template <class T>
struct is_private_lock
    : std::disjunction<std::is_same<T, std::mutex>, std::is_same<T, std::recursive_mutex>,
                       std::is_same<T, std::timed_mutex>, std::is_same<T, std::recursive_timed_mutex>,
                       std::is_same<T, std::shared_mutex>, std::is_same<T, std::shared_timed_mutex>,
                       std::is_same<T, std::once_flag>, std::is_same<T, std::condition_variable>> {};
/// An atomic for which the library uses a lock of its own, one in each process.
template <class T>
struct is_locked_atomic : std::false_type {};
template <class T>
struct is_locked_atomic<std::atomic<T>> : std::bool_constant<!std::atomic<T>::is_always_lock_free> {};
struct LockedAtomicProbe {
  template <class T, class = std::enable_if_t<!std::atomic<T>::is_always_lock_free>>
  operator std::atomic<T>() const noexcept;  // NOLINT(google-explicit-constructor)
};
/// Classes that hold plain addresses.
template <class T>
struct is_hidden_address : std::false_type {};
template <class T>
struct is_hidden_address<std::atomic<T*>> : std::true_type {};
template <class C, class Traits>
struct is_hidden_address<std::basic_string_view<C, Traits>> : std::true_type {};
template <class T>
struct is_hidden_address<std::reference_wrapper<T>> : std::true_type {};
/// Converts to some of the types above only.
struct HiddenProbe {
  template <class T>
  operator std::atomic<T*>() const noexcept;  // NOLINT(google-explicit-constructor)
  template <class C, class Traits>
  operator std::basic_string_view<C, Traits>() const noexcept;  // NOLINT(google-explicit-constructor)
};
struct LockProbe {
  operator std::mutex() const noexcept;  // NOLINT(google-explicit-constructor)
};

/// A container of private memory.
template <class T, class = void>
struct has_private_memory : std::false_type {};
template <class T>
struct has_private_memory<T, std::void_t<typename T::allocator_type>>
    : std::is_same<typename T::allocator_type, std::allocator<typename T::value_type>> {};

/// Converts to those pointers only.
struct HeldProbe {
  template <class T>
  operator shared_ptr<T>() const noexcept;  // NOLINT(google-explicit-constructor)
  template <class T>
  operator weak_ptr<T>() const noexcept;  // NOLINT(google-explicit-constructor)
  template <class T>
  operator unique_ptr<T>() const noexcept;  // NOLINT(google-explicit-constructor)
};

template <class T, class = void>
struct is_recoverable : std::is_trivially_destructible<T> {};
template <class T>
struct is_recoverable<T, std::enable_if_t<declared_shareable<T>::kRecoverable>> : std::true_type {};

template <class T>
constexpr bool check_shareable() {
  using E = std::remove_all_extents_t<T>;
  static_assert(!std::is_reference_v<E>, "a reference is an address, and addresses differ between processes");
  static_assert(
      !std::is_pointer_v<E> && !std::is_member_pointer_v<E> && !std::is_null_pointer_v<E>,
      "a pointer is an address, and addresses differ between processes: use baton::memory::OffsetPtr or an index");
  static_assert(!is_process_held<E>::value,
                "this pointer holds addresses and counts of one process: in shared memory it is stored<shared_ptr<T>>, "
                "stored<weak_ptr<T>> or stored<unique_ptr<T>>");
  static_assert(!has_member<E, PointerProbe>(),
                "a member is a pointer, which is an address, and addresses differ between processes: use "
                "baton::memory::OffsetPtr or an index");
  static_assert(!has_member<E, HeldProbe>(),
                "a member is a smart pointer of one process: in shared memory it is stored<shared_ptr<T>>, "
                "stored<weak_ptr<T>> or stored<unique_ptr<T>>");
  static_assert(
      !is_hidden_address<E>::value && !has_member<E, HiddenProbe>(),
      "this holds an address (std::atomic<T*>, std::string_view, std::reference_wrapper), and addresses differ "
      "between processes: use an offset, an index or an array of characters");
  static_assert(!is_private_lock<E>::value && !has_member<E, LockProbe>(),
                "a lock of std works in one process only, and is lost with its owner: use that of baton::objects");
  static_assert(!is_locked_atomic<E>::value && !has_member<E, LockedAtomicProbe>(),
                "std::atomic of a type that the processor has no instruction for takes a lock that is one process's: "
                "use a mutex of "
                "baton::objects");
  static_assert(!std::is_function_v<E>, "a function lies at another address in another process");
  static_assert(!std::is_polymorphic_v<E>,
                "a type with virtual functions holds a pointer to a table that lies elsewhere in another process");
  static_assert(
      std::is_trivially_destructible_v<E> || declared_shareable<E>::value,
      "a destructor says that the type owns something, usually private memory, as std::string and std's containers do: "
      "hold those of Boost.Container with baton::objects::allocator in a guarded<>; if all that it owns lies in the "
      "heap, "
      "specialise baton::objects::declared_shareable for it");
  return true;
}

/// Types that the allocator of a shared heap accepts: elements and nodes of containers. Their destructors do not show
/// whether they can be shared.
template <class T>
constexpr bool check_allocated() {
  static_assert(
      !std::is_pointer_v<T> && !std::is_member_pointer_v<T>,
      "a pointer is an address, and addresses differ between processes: use stored<>, offset_ptr or an index");
  static_assert(!is_process_held<T>::value,
                "this pointer holds addresses and counts of one process: in shared memory it is stored<shared_ptr<T>>, "
                "stored<weak_ptr<T>> or stored<unique_ptr<T>>");
  static_assert(
      !is_hidden_address<T>::value,
      "this holds an address (std::atomic<T*>, std::string_view, std::reference_wrapper), and addresses differ "
      "between processes: use an offset, an index or an array of characters");
  static_assert(!is_private_lock<T>::value,
                "a lock of std works in one process only, and is lost with its owner: use that of baton::objects");
  static_assert(!is_locked_atomic<T>::value,
                "std::atomic of a type that the processor has no instruction for takes a lock that is one process's: "
                "use a mutex of "
                "baton::objects");
  static_assert(!std::is_polymorphic_v<T>,
                "a type with virtual functions holds a pointer to a table that lies elsewhere in another process");
  static_assert(!has_private_memory<T>::value,
                "this container's memory is private to one process: use one of Boost.Container with baton's allocator");
  return true;
}

/// For objects that are moved as bytes, so that a process killed in the middle leaves each of them entirely in or out.
template <class T>
constexpr bool check_copied_as_bytes() {
  static_assert(std::is_trivially_copyable_v<T>,
                "elements are copied as bytes, so that a process killed in the middle leaves each entirely in or out");
  static_assert(std::is_default_constructible_v<T>, "a copy is made in an object of the reader");
  return true;
}

}  // namespace detail

}  // namespace baton::objects
