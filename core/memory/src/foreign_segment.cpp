// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>

#include "baton/memory/pool.hpp"
#include "baton/memory/window.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/hot_path.hpp"
#include "baton/os/lock.hpp"
#include "baton/os/memory_file.hpp"
#include "baton/os/private_mapping.hpp"
#include "baton/os/real_time.hpp"
#include "baton/os/sparse_memory.hpp"
#include "baton/os/unique_fd.hpp"

namespace baton::memory {
namespace {

Error holes_at(std::uint64_t offset) {
  return {Errc::protocol_violation,
          "the message at offset " + std::to_string(offset) +
              " has holes: a publisher must back every page that it publishes (docs/format/chunk.md)"};
}

}  // namespace

struct ForeignSegment::Mapping {
  SegmentRecord record;
  std::uint32_t generation = os::fork_generation();
  os::UniqueFd fd;
  os::MemoryFile file;
  std::shared_ptr<WindowShare> share;
  std::size_t copied_bytes = 0;  // of a copied message
  // Guards the making of mappings and backed_. A child that was forked meanwhile makes no mapping (private_copy), so it
  // never waits for this mutex.
  os::Mutex mutex;
  std::array<SegmentRecord, kLanes> copies{};
  // Release after the copy is complete; acquire by every user without the mutex.
  std::array<std::atomic<std::byte*>, kLanes> copy_bases{};
};

Result<std::byte*> ForeignSegment::private_copy(unsigned lane) {
  Mapping& mapping = *mapping_;
  // acquire: pairs with the release below.
  if (std::byte* base = mapping.copy_bases[lane].load(std::memory_order_acquire)) return base;
  if (mapping.generation != os::fork_generation())
    return Error{Errc::forked, "a forked child makes no copies of its parent's mappings"};
  if (!mapping.fd) return Error{Errc::unsupported, "the message was copied, its segment is not mapped"};
  const os::Lock lock(mapping.mutex);
  if (std::byte* base = mapping.copy_bases[lane].load(std::memory_order_relaxed)) return base;
  Window& window = *Window::instance().value();
  Result<std::byte*> base = allocate_shared(size_);
  if (!base.ok()) return base.error();
  if (Result<void> mapped = os::map_private_copy(mapping.fd.get(), size_, *base); !mapped.ok()) {
    window.free(*base, size_);
    if (mapping.share) mapping.share->give_back(size_);
    return mapped.error();
  }
  mapping.copies[lane].base = *base;
  mapping.copies[lane].size = size_;
  window.publish(&mapping.copies[lane]);
  mapping.copy_bases[lane].store(*base, std::memory_order_release);  // pairs with the acquire above
  return *base;
}

/// Allocates addresses that count in the share of the segment's publisher.
Result<std::byte*> ForeignSegment::allocate_shared(std::size_t bytes) const {
  WindowShare* const share = mapping_->share.get();
  if (share != nullptr) {
    if (Result<void> taken = share->take(bytes); !taken.ok()) return taken.error();
  }
  Result<std::byte*> base = Window::instance().value()->allocate(bytes);
  if (!base.ok() && share != nullptr) share->give_back(bytes);
  return base;
}

Result<std::shared_ptr<ForeignSegment>> ForeignSegment::open(int fd, std::uint64_t announced_size,
                                                             std::shared_ptr<WindowShare> share) {
  os::UniqueFd owned(fd);
  Result<Window*> window = Window::instance();
  if (!window.ok()) return window.error();
  if (announced_size < os::page_bytes())
    return Error{Errc::protocol_violation, "a data segment of " + std::to_string(announced_size) + " bytes"};
  const Result<os::MemoryFile> checked = os::check_sparse(owned.get(), announced_size);
  if (!checked.ok()) return checked.error();
  std::shared_ptr<ForeignSegment> segment(new ForeignSegment());
  segment->size_ = announced_size;
  segment->mapping_ = std::make_unique<Mapping>();
  segment->mapping_->file = *checked;
  segment->mapping_->share = std::move(share);
  segment->mapping_->fd = os::move_high(std::move(owned));
  return segment;
}

Result<void> ForeignSegment::map() {
  Mapping& mapping = *mapping_;
  const os::Lock lock(mapping.mutex);
  if (mapped()) return {};
  Window& window = *Window::instance().value();
  if (size_ > window.size())
    return Error{Errc::window_exhausted,
                 "a data segment of " + std::to_string(size_) + " bytes does not fit this process's window of " +
                     std::to_string(window.size()) +
                     " bytes; raise BATON_WINDOW here, or lower max_message_bytes at the publisher"};
  Result<std::byte*> base = allocate_shared(size_);
  if (!base.ok()) return base.error();
  if (Result<void> done = os::map_sparse(mapping.fd.get(), size_, *base); !done.ok()) {
    window.free(*base, size_);
    if (mapping.share) mapping.share->give_back(size_);
    return done.error();
  }
  if (os::memory_is_locked()) {
    constexpr std::size_t kMostExtents = 8;
    locked_ = os::backed_extents(mapping.fd.get(), size_, kMostExtents);
    for (auto& [begin, end] : locked_) begin >>= page_shift_, end >>= page_shift_;
  }
  publish(*base, size_);
  return {};
}

void ForeignSegment::publish(std::byte* base, std::size_t bytes) {
  mapping_->record.base = base;
  mapping_->record.size = bytes;
  mapping_->record.foreign = this;
  Window::instance().value()->publish(&mapping_->record);
  base_.store(base, std::memory_order_release);  // pairs with the acquire in base()
}

Result<std::shared_ptr<ForeignSegment>> ForeignSegment::map(int fd, std::uint64_t announced_size,
                                                            std::shared_ptr<WindowShare> share) {
  Result<std::shared_ptr<ForeignSegment>> segment = open(fd, announced_size, std::move(share));
  if (!segment.ok()) return segment.error();
  if (Result<void> mapped = (*segment)->map(); !mapped.ok()) return mapped.error();
  return segment;
}

ForeignSegment::ForeignSegment() : page_shift_(static_cast<unsigned>(__builtin_ctzll(os::page_bytes()))) {}

ForeignSegment::~ForeignSegment() { release(); }

/// Frees everything that the segment has of this process. Unmapping and closing may free gigabytes of a dead publisher.
void ForeignSegment::release() noexcept {
  // A forked child keeps reading what it inherited; its copies of these objects are destroyed in any order.
  if (!mapping_ || mapping_->generation != os::fork_generation()) return;
  Window& window = *Window::instance().value();
  WindowShare* const share = mapping_->share.get();
  const auto unmap = [&](const SegmentRecord& record) {
    if (record.base == nullptr) return;
    window.free(record.base, record.size);
    if (share == nullptr) return;
    if (copied_) {
      share->give_back_copy(mapping_->copied_bytes);
    } else {
      share->give_back(record.size);
    }
  };
  for (const SegmentRecord& copy : mapping_->copies) unmap(copy);
  unmap(mapping_->record);
  mapping_->fd.reset();
}

Result<std::shared_ptr<ForeignSegment>> ForeignSegment::copy_of(std::uint64_t offset) const {
  if (mapped() || copied_) return Error{Errc::unsupported, "a segment that is mapped is not copied from"};
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
  // Before the limits: a size that is only claimed costs the publisher nothing.
  const Result<bool> backed =
      os::is_backed(mapping_->fd.get(), mapping_->file, nullptr, offset, sizeof(header) + header.size_bytes);
  if (!backed.ok()) return backed.error();
  if (!*backed) return holes_at(offset);
  const std::size_t page = os::page_bytes();
  const std::size_t bytes = (sizeof(header) + header.size_bytes + page - 1) / page * page;
  const std::shared_ptr<WindowShare>& share = mapping_->share;
  if (share) {
    if (Result<void> taken = share->take_copy(bytes); !taken.ok()) return taken.error();
  }
  Result<std::byte*> base = Window::instance().value()->allocate(bytes);
  if (!base.ok()) {
    if (share) share->give_back_copy(bytes);
    return base.error();
  }
  std::shared_ptr<ForeignSegment> copy(new ForeignSegment());
  copy->size_ = bytes;
  copy->copied_ = true;
  copy->mapping_ = std::make_unique<Mapping>();
  copy->mapping_->share = share;
  copy->mapping_->copied_bytes = bytes;
  copy->publish(*base, bytes);  // from now on `copy` frees them
  if (Result<void> usable = os::use_reservation(*base, bytes); !usable.ok()) return usable.error();
  std::memcpy(*base, &header, sizeof(header));  // the header is not read again: the checked value is the used value
  if (Result<void> read =
          os::copy_out(mapping_->fd.get(), offset + sizeof(header), *base + sizeof(header), header.size_bytes);
      !read.ok())
    return read.error();
  return copy;
}

/// How many pages from `page` on were locked when the segment was mapped; 0 in a process without locked memory.
BATON_HOT_SELDOM std::uint64_t ForeignSegment::locked_from(std::uint64_t page) const noexcept {
  for (const auto& [first, last] : locked_)
    if (page >= first && page < last) return last - page;
  return 0;
}

/// Asks the kernel whether [page, page + count) is backed, and remembers it.
Result<bool> ForeignSegment::look_up(std::uint64_t page, std::uint32_t count) const {
  if (locked_from(page) >= count) return true;
  const std::uint32_t known = backed_.known(page);  // a message that has grown has new pages
  if (known >= count) return true;
  const auto ask = [&](std::uint32_t from, std::uint32_t to) {
    return os::is_backed(mapping_->fd.get(), mapping_->file, base(), (page + from) << page_shift_,
                         std::size_t{to - from} << page_shift_);
  };
  Result<bool> backed = ask(known, count);
  if (!backed.ok() || !*backed) return backed;
  // A publisher backs more than a message needs. So ask for twice as much: the next message then needs no query, unless
  // it is more than twice as large.
  const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(
      {2 * std::uint64_t{count}, kMaxMessageBytes >> page_shift_, (size_ >> page_shift_) - page}));
  if (most > count) {
    if (const Result<bool> further = ask(count, most); further.ok() && *further) count = most;
  }
  const os::HotRoom room(this);
  const os::Lock lock(mapping_->mutex);
  backed_.remember(page, count);
  return true;
}

Result<const ChunkHeader*> ForeignSegment::chunk(std::uint64_t offset, std::uint32_t* size_bytes) const {
  const auto refused = [](const std::string& text) { return Error{Errc::protocol_violation, text}; };
  if (offset % 64 != 0 || size_ < sizeof(ChunkHeader) || offset > size_ - sizeof(ChunkHeader)) {
    return refused("a handle names offset " + std::to_string(offset) + " in a segment of " + std::to_string(size_) +
                   " bytes");
  }
  // Reading a hole would allocate a page at this process's cost: so ask the kernel first, once for each range.
  const std::uint64_t page = offset >> page_shift_;
  const std::uint64_t end =
      offset - (page << page_shift_) + sizeof(ChunkHeader);  // of the header, in that page and those behind it
  const std::uint64_t known = copied_ ? UINT64_MAX : std::uint64_t{backed_.known(page)} << page_shift_;
  const auto check_backed = [&](std::uint64_t bytes) -> Result<void> {
    const Result<bool> backed =
        look_up(page, static_cast<std::uint32_t>((bytes + (std::uint64_t{1} << page_shift_) - 1) >> page_shift_));
    if (!backed.ok()) return backed.error();
    if (*backed) return {};
    return holes_at(offset);
  };
  if (known < end) {
    if (const Result<void> backed = check_backed(end); !backed.ok()) return backed.error();
  }
  const auto* header = reinterpret_cast<const ChunkHeader*>(base() + offset);
  // Fetch each word once: the checked value is the used value.
  const std::uint32_t magic = *static_cast<const volatile std::uint32_t*>(&header->magic);
  const std::uint16_t version = *static_cast<const volatile std::uint16_t*>(&header->version);
  const std::uint32_t size = *static_cast<const volatile std::uint32_t*>(&header->size_bytes);
  if (magic != kChunkMagic || version != kChunkVersion) {
    return refused("no message at offset " + std::to_string(offset) + ": magic " + std::to_string(magic) +
                   ", version " + std::to_string(version));
  }
  if (size > kMaxMessageBytes || size > size_ - sizeof(ChunkHeader) - offset) {
    return refused("a message at offset " + std::to_string(offset) + " claims " + std::to_string(size) +
                   " bytes, beyond its segment of " + std::to_string(size_) + " bytes");
  }
  if (known < end + size) {
    if (const Result<void> backed = check_backed(end + size); !backed.ok()) return backed.error();
  }
  *size_bytes = size;
  return header;
}

}  // namespace baton::memory
