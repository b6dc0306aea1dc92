// SPDX-License-Identifier: Apache-2.0
// How many bytes a message takes as one chunk.
#pragma once

#include <cstddef>

#include "baton/message/type.hpp"

namespace baton::sfm {

/// Exact bytes (skeleton and contents, alignment gaps included) that a copy of `message` in a fresh chunk occupies, by the
/// placement rule of docs/format/sfm.md. `message` is an object of `type` anywhere: private, in a loan, received.
/// Cost O(control part); allocates nothing. May exceed the 2 GiB of a message: the loan then refuses.
std::size_t copy_size(const message::Type& type, const void* message) noexcept;

template <class T>
std::size_t copy_size(const T& message) noexcept {
  return copy_size(message::type_of<T>(), &message);
}

}  // namespace baton::sfm
