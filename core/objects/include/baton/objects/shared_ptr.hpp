// SPDX-License-Identifier: Apache-2.0
// Smart pointers to objects in a shared heap: those of a process (pointers.hpp) and those that lie in the heap
// (stored.hpp). This header makes objects: make_shared(), make_unique(), and names by which processes find objects.
// Thread rules: every function is thread-safe.
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "baton/objects/heap.hpp"
#include "baton/objects/pointers.hpp"
#include "baton/objects/stored.hpp"

namespace baton::objects {

namespace detail {

template <class T, class P, class... Args>
P make(Heap& heap, Args&&... args) {
  static_assert(check_shareable<T>());
  static_assert(alignof(T) <= 64, "objects of smart pointers are aligned to 64 bytes at most");
  know_type<T>();
  Block* const block = make_block(heap, sizeof(T), std::is_trivially_destructible_v<T> ? nullptr : &TypeOf<T>::info());
  try {
    ::new (block->object()) T(std::forward<Args>(args)...);
  } catch (...) {
    abandon_block(block);
    throw;
  }
  return PointerAccess::make<P>(finish_block(block));
}

}  // namespace detail

/// Throws baton::Exception with the errors of Heap::allocate(), and the constructor's exceptions.
template <class T, class... Args>
shared_ptr<T> make_shared(Heap& heap, Args&&... args) {
  return detail::make<T, shared_ptr<T>>(heap, std::forward<Args>(args)...);
}
template <class T, class... Args>
unique_ptr<T> make_unique(Heap& heap, Args&&... args) {
  return detail::make<T, unique_ptr<T>>(heap, std::forward<Args>(args)...);
}

/// The object named `name` (at most 47 bytes); the first caller makes it, and all callers get the same object. If
/// several call at once, each may construct an object; the first finished object gets the name, and the others are
/// destroyed. So no caller waits for another's constructor, and a constructor may use other names. The name keeps its
/// object alive until forget(). Throws baton::Exception: type_mismatch (the object has another type), limit_reached
/// (256 names), and as make_shared().
template <class T, class... Args>
shared_ptr<T> find_or_make(Heap& heap, const char* name, Args&&... args);
/// Null if no object has this name.
template <class T>
shared_ptr<T> find(Heap& heap, const char* name);
/// The name no longer keeps its object; false if there was none.
bool forget(Heap& heap, const char* name);

namespace detail {

/// The table of names, locked while it lives.
class Names {
 public:
  explicit Names(Heap& heap);
  ~Names();
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;
  /// The place of `name`, or null. With `type` not 0: throws type_mismatch if the name has another type.
  StoredWords* find(const char* name, std::uint64_t type);
  void add(const char* name, std::uint64_t type, const Held& object);
  bool remove(const char* name);

 private:
  NameWords& words_;
  // Objects of names that are removed, and of one that a dead process left half made: they end after the table is
  // unlocked.
  Held dropped_, left_;
};

}  // namespace detail

template <class T>
shared_ptr<T> find(Heap& heap, const char* name) {
  detail::Names names(heap);
  const detail::StoredWords* const words = names.find(name, detail::TypeOf<T>::id());
  if (words == nullptr) return {};
  return detail::PointerAccess::make<shared_ptr<T>>(detail::hold(*words, detail::Strength::kStrong));
}
template <class T, class... Args>
shared_ptr<T> find_or_make(Heap& heap, const char* name, Args&&... args) {
  if (shared_ptr<T> found = find<T>(heap, name)) return found;
  shared_ptr<T> made = make_shared<T>(heap, std::forward<Args>(args)...);  // not with the table locked
  const std::uint64_t type = detail::TypeOf<T>::id();
  detail::Names names(heap);  // unlocked before `made` ends
  if (const detail::StoredWords* const words = names.find(name, type))
    return detail::PointerAccess::make<shared_ptr<T>>(detail::hold(*words, detail::Strength::kStrong));
  names.add(name, type, detail::PointerAccess::get(made));
  return made;
}

}  // namespace baton::objects
