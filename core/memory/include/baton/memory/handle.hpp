// SPDX-License-Identifier: Apache-2.0
// The name of a chunk between processes (docs/format/chunk.md). Thread rules: a number.
#pragma once

#include <cstdint>

namespace baton::memory {

/// Names a chunk to readers: segment index (upper 16 bits) and byte offset of its ChunkHeader (lower 48).
using Handle = std::uint64_t;
constexpr std::uint32_t handle_segment(Handle h) noexcept { return static_cast<std::uint32_t>(h >> 48); }
constexpr std::uint64_t handle_offset(Handle h) noexcept { return h & ((std::uint64_t{1} << 48) - 1); }

}  // namespace baton::memory
