// SPDX-License-Identifier: Apache-2.0
#include "buffers.hpp"

#include <cstring>

#include "baton/memory/arena.hpp"
#include "words.hpp"

namespace baton::ros1 {
namespace {

struct Skeleton {  // docs/format/sfm.md, section 3
  std::uint32_t length;
  std::int32_t offset;
};
static_assert(sizeof(Skeleton) == 8);

}  // namespace

const transport::TypeInfo& serialized_type() {
  static const auto* const type = new transport::TypeInfo{
      kSerializedType,
      // The first 16 bytes of the definition's SHA-256 (docs/format/type-hash.md); ros1/tests checks them.
      {0x69, 0x96, 0xa5, 0xd0, 0x21, 0xf4, 0x13, 0xb1, 0xa1, 0xa9, 0x21, 0x45, 0x87, 0xa7, 0x68, 0xac},
      "message baton_ros1/Serialized\nuint8[] data\n",
      sizeof(Skeleton),
      false};
  return *type;
}

Buffers& Buffers::instance() {
  static auto* const buffers = new Buffers;  // never destroyed: programs free messages in static destructors
  return *buffers;
}

std::uint8_t* Buffers::make(const std::shared_ptr<transport::Writer>& writer, std::size_t bytes,
                            std::size_t shift) noexcept try {
  const std::size_t total = kDataOffset + shift + bytes;
  Result<memory::Chunk> chunk = writer->loan_sized(total);
  if (!chunk) return nullptr;
  try {
    auto* const skeleton = static_cast<Skeleton*>(chunk->message());
    auto* const content =
        static_cast<std::uint8_t*>(memory::content_allocate(skeleton, shift + bytes, kDataOffset)) + shift;
    skeleton->length = static_cast<std::uint32_t>(bytes);
    skeleton->offset = static_cast<std::int32_t>(content - reinterpret_cast<std::uint8_t*>(&skeleton->offset));
    const os::Lock lock(mutex_);
    buffers_.emplace(content, Buffer{writer, *chunk, false});
    return content;
  } catch (...) {
    writer->abandon(*chunk);
    return nullptr;
  }
} catch (...) {
  return nullptr;
}

std::optional<Buffers::HandedOver> Buffers::publish_to(const std::uint8_t* buffer, const transport::Writer& writer,
                                                       const transport::Gid& reader) {
  std::shared_ptr<transport::Writer> owner;
  memory::Chunk chunk;
  {
    const os::Lock lock(mutex_);
    const auto found = buffers_.find(buffer);
    // A message may be published on two topics (a relay of serialized messages); its chunk belongs to the first.
    if (found == buffers_.end() || found->second.writer.get() != &writer) return std::nullopt;
    if (!found->second.kept) {
      if (!found->second.writer->keep(found->second.chunk)) return std::nullopt;
      found->second.kept = true;
    }
    owner = found->second.writer;
    chunk = found->second.chunk;
  }
  const Result<std::uint64_t> connection = owner->publish_to(chunk, reader);
  if (!connection) return std::nullopt;
  return HandedOver{chunk.header->sequence, *connection};
}

bool Buffers::release(const void* buffer) noexcept {
  Buffer ended;
  {
    const os::Lock lock(mutex_);
    const auto found = buffers_.find(buffer);
    if (found == buffers_.end()) return false;
    ended = std::move(found->second);
    buffers_.erase(found);
  }
  if (ended.kept) {
    ended.writer->drop(ended.chunk);
  } else {
    ended.writer->abandon(ended.chunk);
  }
  return true;
}

}  // namespace baton::ros1
