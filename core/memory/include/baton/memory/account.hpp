// SPDX-License-Identifier: Apache-2.0
// How much memory this process has backed for messages, over all publishers, and its limits.
// Thread rules: all functions are thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "baton/os/result.hpp"

namespace baton::memory {

/// The name of the memfd of each data segment, in /proc/PID/maps too.
inline constexpr char kDataSegmentName[] = "baton-data";

/// Bytes of RAM behind the data segments of this process.
std::size_t process_backed_bytes() noexcept;
/// BATON_PROCESS_MEMORY_LIMIT (bytes, with K, M, G or T), read once. SIZE_MAX if the variable is not set, or if its
/// value is no size: in the second case no pool can be made.
std::size_t process_limit_bytes() noexcept;
/// The limit that environment variable `name` sets; SIZE_MAX if it is not set, invalid_argument if its value is no
/// size.
Result<std::size_t> limit_from_environment(const char* name);

/// `watch` is called with every change of the account: before the account grows by `bytes` > 0 (an error refuses the
/// growth), and after it shrank by `-bytes` (the result is ignored). The account changes only when memory is taken from
/// or given back to the system, never in the steady state. Any thread may call `watch`, also with a publisher's lock
/// held, so `watch` must not use a publisher. The watch ends when the returned token is destroyed.
std::shared_ptr<void> watch_account(std::function<Result<void>(std::ptrdiff_t bytes)> watch);

}  // namespace baton::memory
