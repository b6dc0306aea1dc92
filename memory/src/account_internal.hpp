// SPDX-License-Identifier: Apache-2.0
// The account's other side, for pools. Thread-safe.
#pragma once

#include <cstddef>

#include "baton/os/result.hpp"

namespace baton::memory {

/// Enters `bytes` into the process's account, or says which limit forbids it (limit_reached).
Result<void> account_grow(std::size_t bytes);
void account_shrink(std::size_t bytes) noexcept;
/// What process_limit_bytes() is, or why there can be no pool.
const Result<std::size_t>& process_limit();

}  // namespace baton::memory
