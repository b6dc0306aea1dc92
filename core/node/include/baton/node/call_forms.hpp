// SPDX-License-Identifier: Apache-2.0
// The forms in which calls take their arguments: a queue length or a QoS, a function or a member function, a callback that says
// its message. Thread rules: types and pure functions only.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "baton/message/type.hpp"
#include "baton/transport/qos.hpp"

namespace baton::detail {

/// False, once a template is used: for a static_assert that says what to write instead.
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

/// A type that the other arguments of a call decide.
template <class T>
using AsElsewhere = std::enable_if_t<true, T>;

template <class Depth>
inline constexpr bool kIsDepth = std::is_integral_v<Depth> || std::is_same_v<Depth, QoS>;

/// A queue length, or a whole QoS.
template <class Depth>
QoS qos_of(const Depth& depth) {
  if constexpr (std::is_integral_v<Depth>) {
    static_assert(!std::is_same_v<Depth, bool>, "the second argument is a queue length or a QoS");
    return QoS(static_cast<std::uint32_t>(depth));
  } else {
    return depth;
  }
}

/// A member function of `object` as a callable with exactly its parameters.
template <class C, class Object, class R, class... Args>
auto bound(R (C::*member)(Args...), Object* object) {
  return [member, object](Args... args) -> R { return (object->*member)(std::forward<Args>(args)...); };
}
template <class C, class Object, class R, class... Args>
auto bound(R (C::*member)(Args...) const, Object* object) {
  return [member, object](Args... args) -> R { return (object->*member)(std::forward<Args>(args)...); };
}

}  // namespace baton::detail
