// SPDX-License-Identifier: Apache-2.0
// How much memory this process has backed for messages, over all publishers, and what it may.
// Thread rules: all functions are thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "baton/os/result.hpp"

namespace baton::memory {

/// Bytes of RAM behind the data segments of this process.
std::size_t process_backed_bytes() noexcept;
/// BATON_PROCESS_MEMORY_LIMIT (bytes, with K, M, G or T), read once; SIZE_MAX without it, and if it is no size: then no pool can be
/// made.
std::size_t process_limit_bytes() noexcept;
/// The limit that environment variable `name` sets; SIZE_MAX without it, invalid_argument if it is no size.
Result<std::size_t> limit_from_environment(const char* name);

/// Called with every change of the account: before it grows by `bytes` > 0 (an error refuses), after it shrank by `-bytes`
/// (the result is ignored). Only where memory is taken from or given to the system, never in the steady state. Any thread; a
/// publisher's lock may be held, so `watch` must not use a publisher. The watch ends when the returned token dies.
std::shared_ptr<void> watch_account(std::function<Result<void>(std::ptrdiff_t bytes)> watch);

}  // namespace baton::memory
