// SPDX-License-Identifier: Apache-2.0
// How smart pointers of this library compare: by the addresses of their objects in this process, as in std
// ([util.smartptr.shared.cmp]). Shared and unique pointers, private and stored ones, compare with one another. Weak
// pointers are ordered by owner_before(). Do not order a container in the heap by addresses: they differ between
// processes.
// Thread rules: pure functions.
#pragma once

#include <cstddef>
#include <functional>
#include <type_traits>

#include "baton/objects/shareable.hpp"

namespace baton::objects {

template <class P>
class stored;

namespace detail {

template <class P>
struct is_comparable : std::false_type {};
template <class T>
struct is_comparable<shared_ptr<T>> : std::true_type {};
template <class T>
struct is_comparable<unique_ptr<T>> : std::true_type {};
template <class P>
struct is_comparable<stored<P>> : is_comparable<P> {};
/// With nullptr.
template <class P>
struct is_nullable : is_comparable<P> {};
template <class P>
struct is_nullable<stored<P>> : std::true_type {};
template <class P>
using if_nullable = std::enable_if_t<is_nullable<P>::value, bool>;
template <class... P>
using if_comparable = std::enable_if_t<(is_comparable<P>::value && ...), bool>;

inline bool address_less(const volatile void* a, const volatile void* b) noexcept {
  return std::less<const volatile void*>()(a, b);
}

}  // namespace detail

template <class A, class B>
detail::if_comparable<A, B> operator==(const A& a, const B& b) noexcept {
  return a.get() == b.get();
}
template <class A, class B>
detail::if_comparable<A, B> operator!=(const A& a, const B& b) noexcept {
  return a.get() != b.get();
}
template <class A, class B>
detail::if_comparable<A, B> operator<(const A& a, const B& b) noexcept {
  return detail::address_less(a.get(), b.get());
}
template <class A, class B>
detail::if_comparable<A, B> operator>(const A& a, const B& b) noexcept {
  return detail::address_less(b.get(), a.get());
}
template <class A, class B>
detail::if_comparable<A, B> operator<=(const A& a, const B& b) noexcept {
  return !detail::address_less(b.get(), a.get());
}
template <class A, class B>
detail::if_comparable<A, B> operator>=(const A& a, const B& b) noexcept {
  return !detail::address_less(a.get(), b.get());
}
template <class A>
detail::if_nullable<A> operator==(const A& a, std::nullptr_t) noexcept {
  return !a;
}
template <class A>
detail::if_nullable<A> operator==(std::nullptr_t, const A& a) noexcept {
  return !a;
}
template <class A>
detail::if_nullable<A> operator!=(const A& a, std::nullptr_t) noexcept {
  return static_cast<bool>(a);
}
template <class A>
detail::if_nullable<A> operator!=(std::nullptr_t, const A& a) noexcept {
  return static_cast<bool>(a);
}

}  // namespace baton::objects

template <class T>
struct std::hash<baton::objects::shared_ptr<T>> {
  std::size_t operator()(const baton::objects::shared_ptr<T>& p) const noexcept { return std::hash<T*>()(p.get()); }
};
template <class T>
struct std::hash<baton::objects::unique_ptr<T>> {
  std::size_t operator()(const baton::objects::unique_ptr<T>& p) const noexcept { return std::hash<T*>()(p.get()); }
};
