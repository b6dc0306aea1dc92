// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string>

#include "baton/memory/pool.hpp"
#include "baton/memory/window.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/private_mapping.hpp"
#include "baton/os/sparse_memory.hpp"
#include "baton/os/unique_fd.hpp"

namespace baton::memory {
namespace {

std::atomic<bool> g_keep_descriptors{false};  // a switch that orders nothing: relaxed

}  // namespace

struct ForeignSegment::Mapping {
  SegmentRecord record;
  std::uint32_t generation;
  os::UniqueFd fd;  // empty unless descriptors are kept
  // Guards the making of copies. A child forked meanwhile makes none (private_copy), so it never waits for it.
  std::mutex mutex;
  std::array<SegmentRecord, kLanes> copies{};
  // Release after the copy is whole, acquire by whoever uses it without the mutex.
  std::array<std::atomic<std::byte*>, kLanes> copy_bases{};
};

void ForeignSegment::keep_descriptors(bool keep) noexcept { g_keep_descriptors.store(keep, std::memory_order_relaxed); }

[[gnu::hot]] Result<std::byte*> ForeignSegment::private_copy(unsigned lane) {
  Mapping& mapping = *mapping_;
  // acquire: pairs with the release below.
  if (std::byte* base = mapping.copy_bases[lane].load(std::memory_order_acquire)) return base;
  if (mapping.generation != os::fork_generation())
    return Error{Errc::forked, "a forked child makes no copies of its parent's mappings"};
  if (!mapping.fd) return Error{Errc::unsupported, "this segment was mapped before descriptors were kept"};
  const std::lock_guard<std::mutex> lock(mapping.mutex);
  if (std::byte* base = mapping.copy_bases[lane].load(std::memory_order_relaxed)) return base;
  Window& window = *Window::instance().value();
  Result<std::byte*> base = window.allocate(size_);
  if (!base.ok()) return base.error();
  if (Result<void> mapped = os::map_private_copy(mapping.fd.get(), size_, *base); !mapped.ok()) {
    window.free(*base, size_);
    return mapped.error();
  }
  mapping.copies[lane].base = *base;
  mapping.copies[lane].size = size_;
  window.publish(&mapping.copies[lane]);
  mapping.copy_bases[lane].store(*base, std::memory_order_release);  // pairs with the acquire above
  return *base;
}

Result<std::shared_ptr<ForeignSegment>> ForeignSegment::open(int fd, std::uint64_t announced_size) {
  os::UniqueFd owned(fd);
  Result<Window*> window = Window::instance();
  if (!window.ok()) return window.error();
  if (announced_size < os::page_bytes())
    return Error{Errc::protocol_violation, "a data segment of " + std::to_string(announced_size) + " bytes"};
  if (Result<void> checked = os::check_sparse(owned.get(), announced_size); !checked.ok()) return checked.error();
  std::shared_ptr<ForeignSegment> segment(new ForeignSegment());
  segment->size_ = announced_size;
  segment->mapping_ = std::make_unique<Mapping>();
  segment->mapping_->generation = os::fork_generation();
  segment->mapping_->fd = std::move(owned);
  return segment;
}

Result<void> ForeignSegment::map() {
  Mapping& mapping = *mapping_;
  const std::lock_guard<std::mutex> lock(mapping.mutex);
  if (mapped()) return {};
  Window& window = *Window::instance().value();
  if (size_ > window.size())
    return Error{Errc::window_exhausted,
                 "a data segment of " + std::to_string(size_) + " bytes does not fit this process's window of " +
                     std::to_string(window.size()) +
                     " bytes; raise BATON_WINDOW here, or lower max_message_bytes at the publisher"};
  Result<std::byte*> base = window.allocate(size_);
  if (!base.ok()) return base.error();
  if (Result<void> done = os::map_sparse(mapping.fd.get(), size_, *base); !done.ok()) {
    window.free(*base, size_);
    return done.error();
  }
  publish(*base, size_);
  if (!g_keep_descriptors.load(std::memory_order_relaxed)) mapping.fd.reset();
  return {};
}

void ForeignSegment::publish(std::byte* base, std::size_t bytes) {
  mapping_->record.base = base;
  mapping_->record.size = bytes;
  mapping_->record.foreign = this;
  Window::instance().value()->publish(&mapping_->record);
  base_.store(base, std::memory_order_release);  // pairs with the acquire in base()
}

Result<std::shared_ptr<ForeignSegment>> ForeignSegment::map(int fd, std::uint64_t announced_size) {
  Result<std::shared_ptr<ForeignSegment>> segment = open(fd, announced_size);
  if (!segment.ok()) return segment.error();
  if (Result<void> mapped = (*segment)->map(); !mapped.ok()) return mapped.error();
  return segment;
}

ForeignSegment::ForeignSegment() = default;

ForeignSegment::~ForeignSegment() {
  // A forked child keeps reading what it inherited; its copies of the objects that say so end in any order.
  if (!mapping_ || mapping_->generation != os::fork_generation()) return;
  Window& window = *Window::instance().value();
  for (const SegmentRecord& copy : mapping_->copies)
    if (copy.base) window.free(copy.base, copy.size);
  if (mapped()) window.free(mapping_->record.base, mapping_->record.size);
}

Result<std::shared_ptr<ForeignSegment>> ForeignSegment::copy_of(std::uint64_t offset) const {
  const std::lock_guard<std::mutex> lock(mapping_->mutex);  // map() takes the descriptor away
  if (!mapping_->fd) return Error{Errc::unsupported, "a segment that is mapped is not copied from"};
  ChunkHeader header;
  if (offset > size_ || size_ - offset < sizeof(header))
    return Error{Errc::protocol_violation, "a handle names offset " + std::to_string(offset) + " in a segment of " +
                                               std::to_string(size_) + " bytes"};
  if (Result<void> read = os::copy_out(mapping_->fd.get(), offset, &header, sizeof(header)); !read.ok())
    return read.error();
  if (header.size_bytes > kMaxMessageBytes || header.size_bytes > size_ - sizeof(header) - offset)
    return Error{Errc::protocol_violation, "a message at offset " + std::to_string(offset) + " claims " +
                                               std::to_string(header.size_bytes) + " bytes, beyond its segment of " +
                                               std::to_string(size_) + " bytes"};
  const std::size_t page = os::page_bytes();
  const std::size_t bytes = (sizeof(header) + header.size_bytes + page - 1) / page * page;
  Result<std::byte*> base = Window::instance().value()->allocate(bytes);
  if (!base.ok()) return base.error();
  std::shared_ptr<ForeignSegment> copy(new ForeignSegment());
  copy->size_ = bytes;
  copy->mapping_ = std::make_unique<Mapping>();
  copy->mapping_->generation = os::fork_generation();
  copy->publish(*base, bytes);  // from here on it frees them
  if (Result<void> usable = os::use_reservation(*base, bytes); !usable.ok()) return usable.error();
  std::memcpy(*base, &header, sizeof(header));  // not read again: what was checked is what is used
  if (Result<void> read =
          os::copy_out(mapping_->fd.get(), offset + sizeof(header), *base + sizeof(header), header.size_bytes);
      !read.ok())
    return read.error();
  return copy;
}

[[gnu::hot]] Result<const ChunkHeader*> ForeignSegment::chunk(std::uint64_t offset, std::uint32_t* size_bytes) const {
  const auto refused = [](auto&& text) { return out_of_line([&] { return Error{Errc::protocol_violation, text()}; }); };
  if (offset % 64 != 0 || size_ < sizeof(ChunkHeader) || offset > size_ - sizeof(ChunkHeader)) {
    return refused([&] {
      return "a handle names offset " + std::to_string(offset) + " in a segment of " + std::to_string(size_) + " bytes";
    });
  }
  const auto* header = reinterpret_cast<const ChunkHeader*>(base() + offset);
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
