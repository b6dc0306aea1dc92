// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace baton::memory {

/// "512M" -> bytes (K, M, G, T are powers of 1024); nullopt if it is no size.
std::optional<std::size_t> parse_size(const std::string& text);

/// "64 MiB", "1.5 GiB", "100 bytes": for people.
std::string format_size(std::size_t bytes);

}  // namespace baton::memory
