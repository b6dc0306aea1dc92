// SPDX-License-Identifier: Apache-2.0
// The id of an endpoint, and whose it is.
// Thread rules: pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace baton::transport {

using Gid = std::array<std::uint8_t, 16>;

/// With these bytes of its process's id begins the id of an endpoint (docs/format/connection.md, "Whose an id is"). Of the processes that are
/// connected no two have the same.
using IdPrefix = std::array<std::uint8_t, 12>;
inline IdPrefix prefix_of(const Gid& id) noexcept {
  IdPrefix prefix{};
  std::copy_n(id.begin(), prefix.size(), prefix.begin());
  return prefix;
}

}  // namespace baton::transport
