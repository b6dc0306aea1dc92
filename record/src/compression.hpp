// SPDX-License-Identifier: Apache-2.0
// The compressions of MCAP's chunks, by the libraries with which this was built.
// Thread rules: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "baton/message/gathered.hpp"
#include "baton/os/result.hpp"

namespace baton::record {

enum class Compression : std::uint8_t { kNone, kZstd, kLz4 };

/// The name of a compression in MCAP; empty: none.
const char* compression_name(Compression compression) noexcept;
/// The compression named "none", "zstd" or "lz4". Errors: invalid_argument; unsupported: this was built without the library.
Result<Compression> compression_of(const std::string& name);
/// All bytes as one compressed frame. Errors: unsupported; out_of_memory.
Result<std::vector<std::byte>> compressed(Compression compression, const message::Gathered& bytes);

}  // namespace baton::record
