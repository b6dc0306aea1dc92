// SPDX-License-Identifier: Apache-2.0
// How much memory this process has backed for messages, over all publishers, and what it may.
// Thread rules: all functions are thread-safe.
#pragma once

#include <cstddef>
#include <functional>

#include "baton/os/result.hpp"

namespace baton::memory {

/// Bytes of RAM behind the data segments of this process.
std::size_t process_backed_bytes() noexcept;
/// BATON_PROCESS_MEMORY_LIMIT (bytes, with K, M, G or T), read once; SIZE_MAX without it or if it is no size.
std::size_t process_limit_bytes() noexcept;

/// Asked before the account grows by `bytes`, on the slow path only; an error refuses. The transport checks the domain's limit
/// here. Replaces the previous check; empty removes it.
void set_growth_check(std::function<Result<void>(std::size_t bytes)> check);

}  // namespace baton::memory
