// SPDX-License-Identifier: Apache-2.0
// Serialized messages that lie in chunks. roscpp makes them with `new uint8_t[n]` and shares them as
// boost::shared_array: to roscpp and to the program's own code they are ordinary buffers.
//
// Thread rules: any thread; a buffer is used only while its owner keeps it from release().
// Invariant: a chunk is Loaned until its first hand-over, then Kept; release() ends either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

#include "baton/os/lock.hpp"
#include "baton/transport/transport.hpp"

namespace baton::ros1 {

/// Where the bytes begin in a message of the type `baton_ros1/Serialized` (docs/format/tcpros.md).
inline constexpr std::size_t kDataOffset = 64;

/// The type of the chunks: one array of bytes.
const transport::TypeInfo& serialized_type();

class Buffers {
 public:
  static Buffers& instance();

  /// `bytes` in a chunk of `writer`, `shift` < 64 behind a multiple of 64; null if the writer has no memory for them.
  std::uint8_t* make(const std::shared_ptr<transport::Writer>& writer, std::size_t bytes, std::size_t shift) noexcept;

  struct HandedOver {
    std::uint64_t number;      ///< the message's, in its chunk header
    std::uint64_t connection;  ///< Writer::publish_to()
  };
  /// Gives the buffer to one reader of its writer. Empty: it has to go as bytes (the reader is not connected, or has as many
  /// as it may).
  std::optional<HandedOver> publish_to(const std::uint8_t* buffer, const transport::Writer& writer,
                                       const transport::Gid& reader);

  /// False if no buffer begins there.
  bool release(const void* buffer) noexcept;

 private:
  struct Buffer {
    std::shared_ptr<transport::Writer> writer;
    memory::Chunk chunk;
    bool kept = false;
  };
  os::Mutex mutex_;
  std::unordered_map<const void*, Buffer> buffers_ BATON_GUARDED_BY(mutex_);
};

}  // namespace baton::ros1
