// SPDX-License-Identifier: Apache-2.0
// The check that an object of this room is not empty: default-made, moved from, or published. The branch costs nothing
// beside what follows it, and an exception with words is better than SIGSEGV.
#pragma once

#include "baton/os/result.hpp"

namespace baton::detail {

/// invalid_argument; `what` is the kind of object.
Error empty_error(const char* what);
[[noreturn]] void throw_empty(const char* what);

/// *pointer. Throws invalid_argument if it is null.
template <class Pointer>
decltype(auto) not_empty(const Pointer& pointer, const char* what) {
  if (unlikely(pointer == nullptr)) throw_empty(what);
  return *pointer;
}

}  // namespace baton::detail
