// SPDX-License-Identifier: Apache-2.0
// The account's functions for pools. Thread-safe.
#pragma once

#include <cstddef>

#include "baton/os/result.hpp"

namespace baton::memory {

/// Adds `bytes` to the process's account, or returns the limit that forbids it (limit_reached).
Result<void> account_grow(std::size_t bytes);
void account_shrink(std::size_t bytes) noexcept;
/// The value of process_limit_bytes(), or the reason why no pool can be made.
const Result<std::size_t>& process_limit();

}  // namespace baton::memory
