// SPDX-License-Identifier: Apache-2.0
// How many bytes a message takes as one chunk.
#pragma once

#include <cstddef>

#include "baton/message/type.hpp"

namespace baton::sfm {

/// Exact bytes (skeleton and contents, alignment gaps included) of a copy of `message` in a fresh chunk, by the
/// placement rule of docs/format/sfm.md. `message` is an object of `type` in any memory: private, in a loan, received.
/// Cost O(control part); allocates nothing. The result may exceed the 2 GiB of a message: the loan then refuses.
std::size_t copy_size(const message::Type& type, const void* message) noexcept;

template <class T>
std::size_t copy_size(const T& message) noexcept {
  return copy_size(message::type_of<T>(), &message);
}

}  // namespace baton::sfm
