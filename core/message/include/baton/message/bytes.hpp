// SPDX-License-Identifier: Apache-2.0
// Borrowed byte ranges: the arguments of codecs and walkers. Values; valid for the call they are passed to.
#pragma once

#include <cstddef>

namespace baton::message {

/// Bytes that are only read. An SFM message given this way begins at `data` with its skeleton and has `size` bytes.
/// `data` is aligned to 8 (ChunkHeader keeps it aligned to 64).
struct Bytes {
  const std::byte* data = nullptr;
  std::size_t size = 0;

  Bytes() = default;
  Bytes(const void* begin, std::size_t bytes) noexcept : data(static_cast<const std::byte*>(begin)), size(bytes) {}
};

/// Bytes that are written.
struct MutableBytes {
  std::byte* data = nullptr;
  std::size_t size = 0;

  MutableBytes() = default;
  MutableBytes(void* begin, std::size_t bytes) noexcept : data(static_cast<std::byte*>(begin)), size(bytes) {}
};

}  // namespace baton::message
