// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "baton/memory/pool.hpp"
#include "baton/memory/window.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/sparse_memory.hpp"
#include "baton/os/unique_fd.hpp"

namespace baton::memory {

struct ForeignSegment::Mapping {
  SegmentRecord record;
  std::uint32_t generation;
};

Result<std::shared_ptr<ForeignSegment>> ForeignSegment::map(int fd, std::uint64_t announced_size) {
  const os::UniqueFd owned(fd);
  Result<Window*> window = Window::instance();
  if (!window.ok()) return window.error();
  if (announced_size < os::page_bytes() || announced_size > (*window)->size())
    return Error{announced_size < os::page_bytes() ? Errc::protocol_violation : Errc::window_exhausted,
                 "a data segment of " + std::to_string(announced_size) +
                     " bytes does not fit this process's window of " + std::to_string((*window)->size()) +
                     " bytes; raise BATON_WINDOW here, or lower max_message_bytes at the publisher"};
  Result<std::byte*> base = (*window)->allocate(announced_size);
  if (!base.ok()) return base.error();
  if (Result<void> mapped = os::map_sparse(owned.get(), announced_size, *base); !mapped.ok()) {
    (*window)->free(*base, announced_size);
    return mapped.error();
  }
  std::shared_ptr<ForeignSegment> segment(new ForeignSegment());
  segment->base_ = *base;
  segment->size_ = announced_size;
  segment->mapping_.reset(new Mapping{{*base, announced_size, nullptr}, os::fork_generation()});
  (*window)->publish(&segment->mapping_->record);
  return segment;
}

ForeignSegment::ForeignSegment() = default;

ForeignSegment::~ForeignSegment() {
  // A forked child keeps reading what it inherited; its copies of the objects that say so end in any order.
  if (mapping_ && mapping_->generation == os::fork_generation())
    Window::instance().value()->free(mapping_->record.base, mapping_->record.size);
}

Result<const ChunkHeader*> ForeignSegment::chunk(std::uint64_t offset, std::uint32_t* size_bytes) const {
  const auto refused = [](auto&& text) { return out_of_line([&] { return Error{Errc::protocol_violation, text()}; }); };
  if (offset % 64 != 0 || size_ < sizeof(ChunkHeader) || offset > size_ - sizeof(ChunkHeader)) {
    return refused([&] {
      return "a handle names offset " + std::to_string(offset) + " in a segment of " + std::to_string(size_) + " bytes";
    });
  }
  const auto* header = reinterpret_cast<const ChunkHeader*>(base_ + offset);
  // Each word is fetched once: what was checked is what is used.
  const std::uint32_t magic = *static_cast<const volatile std::uint32_t*>(&header->magic);
  const std::uint16_t version = *static_cast<const volatile std::uint16_t*>(&header->version);
  const std::uint32_t size = *static_cast<const volatile std::uint32_t*>(&header->size_bytes);
  if (magic != kChunkMagic || version != kChunkVersion) {
    return refused([&] {
      return "no message at offset " + std::to_string(offset) + ": magic " + std::to_string(magic) + ", version " +
             std::to_string(version);
    });
  }
  if (size > kMaxMessageBytes || size > size_ - sizeof(ChunkHeader) - offset) {
    return refused([&] {
      return "a message at offset " + std::to_string(offset) + " claims " + std::to_string(size) +
             " bytes, beyond its segment of " + std::to_string(size_) + " bytes";
    });
  }
  *size_bytes = size;
  return header;
}

}  // namespace baton::memory
