// SPDX-License-Identifier: Apache-2.0
// The header in front of every message in shared memory. Only the publisher writes it, before hand-over. A reader
// treats every byte as untrusted and fetches each word once. Byte table: docs/format/chunk.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace baton::memory {

// The bytes 00 01 'B' 'T' in either byte order: so a chunk can be sent as RTPS data as it lies, whose first four bytes are an encoding
// (00 01 is CDR_LE) and options.
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
inline constexpr std::uint32_t kChunkMagic = 0x00014254;
#else
inline constexpr std::uint32_t kChunkMagic = 0x54420100;
#endif
inline constexpr std::uint16_t kChunkVersion = 1;

enum class ByteOrder : std::uint8_t { kLittle = 1, kBig = 2 };
inline constexpr ByteOrder kNativeByteOrder =
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ByteOrder::kLittle : ByteOrder::kBig;

/// How the publisher made the message: ATSA's selection condition, sent with the message. For a reader it is a hint; a
/// reader treats an unknown value as kInPlace.
enum class Selection : std::uint8_t {
  kInPlace = 0,  ///< written in its final place; nothing was converted
  kLow = 1,      ///< low-layer serialization: converted to a native struct, from which a lower layer made the message
  kHigh =
      2,  ///< high-layer serialization: the language's layer wrote it in one walk over an object, or handed bytes down
};

/// 128 bytes; the message's skeleton begins right behind it, so it is aligned to 64.
struct alignas(64) ChunkHeader {
  std::uint32_t magic;                  //   0
  std::uint16_t version;                //   4
  ByteOrder byte_order;                 //   6
  Selection selection;                  //   7
  std::uint32_t size_bytes;             //   8  skeleton + contents, without this header; <= 2 GiB
  std::uint32_t skeleton_bytes;         //  12
  std::uint64_t sequence;               //  16  per publisher, from 1
  std::int64_t source_time_ns;          //  24  CLOCK_REALTIME at publish
  std::int64_t source_monotonic_ns;     //  32  CLOCK_MONOTONIC at publish (lifespan, latency on one machine)
  std::uint8_t publisher_id[16];        //  40
  std::uint8_t type_hash[8];            //  56  first 8 bytes of the TypeHash
  std::uint8_t correlation_client[16];  //  64  services: the client's id, else zero
  std::uint64_t correlation_sequence;   //  80  services: the request's number, else zero
  std::uint8_t attachment[24];          //  88  words of a layer above, which their first 8 bytes name; else zero
  std::uint8_t reserved1[16];           // 112
};
static_assert(sizeof(ChunkHeader) == 128 && std::is_trivially_copyable_v<ChunkHeader> &&
              std::is_standard_layout_v<ChunkHeader>);

inline constexpr std::size_t kMaxMessageBytes = std::size_t{1} << 31;  // architecture: a message is at most 2 GiB

}  // namespace baton::memory
