// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), by which definitions of types are named (docs/format/type-hash.md). Own code, since Humble's rcutils has none and no
// other library is in every process of ROS 2. Names are its only use: nothing is kept secret by it.
// Thread rules: pure.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace baton::rosidl {

std::array<std::uint8_t, 32> sha256(std::string_view text);

}  // namespace baton::rosidl
