// SPDX-License-Identifier: Apache-2.0
// What sentences of the compiler are made of: overloads for habits that mean something else here, or nothing, whose
// static_assert names what to write. Thread rules: types only.
#pragma once

#include <type_traits>
#include <utility>

#include "baton/message/type.hpp"

namespace baton::detail {

/// False, once a template is used.
template <class>
inline constexpr bool kNever = false;

template <class T, class = void>
struct IsMessage : std::false_type {};
template <class T>
struct IsMessage<T, std::void_t<decltype(message::TypeOf<T>::get())>> : std::true_type {};

/// The message that a callback's argument is, or refers to (a Sample, a smart pointer); void if it is neither.
template <class Argument, class = void>
struct MessageBehind {
  using type = void;
};
template <class Argument>
struct MessageBehind<Argument, std::enable_if_t<IsMessage<std::decay_t<Argument>>::value>> {
  using type = std::decay_t<Argument>;
};
template <class Argument>
struct MessageBehind<
    Argument,
    std::enable_if_t<IsMessage<std::decay_t<decltype(*std::declval<const std::decay_t<Argument>&>())>>::value>> {
  using type = std::decay_t<decltype(*std::declval<const std::decay_t<Argument>&>())>;
};

/// The message that a callback takes first; void if the callback does not say (a generic lambda, std::bind).
template <class F, class = void>
struct MessageOf {
  using type = void;
};
template <class R, class First, class... Rest>
struct MessageOf<R (*)(First, Rest...), void> : MessageBehind<First> {};
template <class C, class R, class First, class... Rest>
struct MessageOf<R (C::*)(First, Rest...), void> : MessageBehind<First> {};
template <class C, class R, class First, class... Rest>
struct MessageOf<R (C::*)(First, Rest...) const, void> : MessageBehind<First> {};
template <class C, class R, class First, class... Rest>
struct MessageOf<R (C::*)(First, Rest...) noexcept, void> : MessageBehind<First> {};
template <class C, class R, class First, class... Rest>
struct MessageOf<R (C::*)(First, Rest...) const noexcept, void> : MessageBehind<First> {};
template <class R, class First, class... Rest>
struct MessageOf<R (*)(First, Rest...) noexcept, void> : MessageBehind<First> {};
template <class F>
struct MessageOf<F, std::void_t<decltype(&F::operator())>> : MessageOf<decltype(&F::operator())> {};

}  // namespace baton::detail
