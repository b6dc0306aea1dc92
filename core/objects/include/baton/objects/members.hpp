// SPDX-License-Identifier: Apache-2.0
// Finds members of plain structs that must not lie in shared memory. C++17 cannot list members, but it can tell whether
// a struct may be initialised from `{}, {}, probe`, where the probe converts to the forbidden kind only. This tests the
// third member, or its first part if it is an array or a struct. Not found: members behind the 16th, members behind one
// that {} does not initialise, and members of classes with constructors, bases or private members. Thread rules: none
// (compile time).
#pragma once

#include <type_traits>
#include <utility>

namespace baton::objects::detail {

/// Converts to plain pointers only.
struct PointerProbe {
  template <class T>
  operator T*() const noexcept;  // NOLINT(google-explicit-constructor)
  template <class C, class T>
  operator T C::*() const noexcept;  // NOLINT(google-explicit-constructor)
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#define BATON_MEMBER(index, ...)                                                                     \
  template <class T, class Probe, class = void>                                                      \
  struct Member##index : std::false_type {};                                                         \
  template <class T, class Probe>                                                                    \
  struct Member##index<T, Probe, std::void_t<decltype(T{__VA_ARGS__ std::declval<const Probe&>()})>> \
      : std::true_type {};
#define BATON_COMMA_1 {},
#define BATON_COMMA_2 BATON_COMMA_1{},
#define BATON_COMMA_3 BATON_COMMA_2{},
#define BATON_COMMA_4 BATON_COMMA_3{},
#define BATON_COMMA_5 BATON_COMMA_4{},
#define BATON_COMMA_6 BATON_COMMA_5{},
#define BATON_COMMA_7 BATON_COMMA_6{},
#define BATON_COMMA_8 BATON_COMMA_7{},
#define BATON_COMMA_9 BATON_COMMA_8{},
#define BATON_COMMA_10 BATON_COMMA_9{},
#define BATON_COMMA_11 BATON_COMMA_10{},
#define BATON_COMMA_12 BATON_COMMA_11{},
#define BATON_COMMA_13 BATON_COMMA_12{},
#define BATON_COMMA_14 BATON_COMMA_13{},
#define BATON_COMMA_15 BATON_COMMA_14{},
BATON_MEMBER(0, )
BATON_MEMBER(1, BATON_COMMA_1)
BATON_MEMBER(2, BATON_COMMA_2)
BATON_MEMBER(3, BATON_COMMA_3)
BATON_MEMBER(4, BATON_COMMA_4)
BATON_MEMBER(5, BATON_COMMA_5)
BATON_MEMBER(6, BATON_COMMA_6)
BATON_MEMBER(7, BATON_COMMA_7)
BATON_MEMBER(8, BATON_COMMA_8)
BATON_MEMBER(9, BATON_COMMA_9)
BATON_MEMBER(10, BATON_COMMA_10)
BATON_MEMBER(11, BATON_COMMA_11)
BATON_MEMBER(12, BATON_COMMA_12)
BATON_MEMBER(13, BATON_COMMA_13)
BATON_MEMBER(14, BATON_COMMA_14)
BATON_MEMBER(15, BATON_COMMA_15)
#undef BATON_MEMBER
#undef BATON_COMMA_1
#undef BATON_COMMA_2
#undef BATON_COMMA_3
#undef BATON_COMMA_4
#undef BATON_COMMA_5
#undef BATON_COMMA_6
#undef BATON_COMMA_7
#undef BATON_COMMA_8
#undef BATON_COMMA_9
#undef BATON_COMMA_10
#undef BATON_COMMA_11
#undef BATON_COMMA_12
#undef BATON_COMMA_13
#undef BATON_COMMA_14
#undef BATON_COMMA_15
#pragma GCC diagnostic pop

/// True if the tested member can be initialised from a Probe.
template <class T, class Probe>
constexpr bool has_member() {
  if constexpr (std::is_aggregate_v<T> && !std::is_array_v<T> && !std::is_union_v<T>) {
    return std::disjunction_v<Member0<T, Probe>, Member1<T, Probe>, Member2<T, Probe>, Member3<T, Probe>,
                              Member4<T, Probe>, Member5<T, Probe>, Member6<T, Probe>, Member7<T, Probe>,
                              Member8<T, Probe>, Member9<T, Probe>, Member10<T, Probe>, Member11<T, Probe>,
                              Member12<T, Probe>, Member13<T, Probe>, Member14<T, Probe>, Member15<T, Probe>>;
  } else {
    return false;
  }
}

}  // namespace baton::objects::detail
