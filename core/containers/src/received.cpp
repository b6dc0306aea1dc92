// SPDX-License-Identifier: Apache-2.0
#include "baton/containers/received.hpp"
#include "baton/os/hot_path.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "baton/containers/heap.hpp"
#include "baton/memory/window.hpp"
#include "baton/os/private_mapping.hpp"
#include "baton/os/sparse_memory.hpp"
#include "registry.hpp"

namespace baton::containers {

Result<Received> Received::begin(transport::TakenSample& sample) { return begin(sample, nullptr); }

BATON_HOT Result<Received> Received::begin(transport::TakenSample& sample, const Quota& quota) {
  return begin(sample, &quota);
}

BATON_HOT Result<Received> Received::begin(transport::TakenSample& sample, const Quota* quota) {
  if (!active()) return Error{Errc::unsupported, reason()};
  const auto* header = reinterpret_cast<const std::byte*>(&sample.header());
  const memory::SegmentRecord* record = memory::Window::find(header);
  if (record == nullptr || record->foreign == nullptr)
    return Error{Errc::unsupported, "the message lies in no received segment"};
  const std::size_t page = os::page_bytes();
  const std::size_t bytes = sizeof(memory::ChunkHeader) + sample.size_bytes();
  const auto offset = static_cast<std::size_t>(header - record->base);
  // Slots are powers of two from 256 bytes on, each aligned to itself, or whole pages. So a slot of more than half a
  // page shares its pages with no other slot (docs/format/chunk.md).
  if (bytes <= page / 2 || offset % page != 0)
    return Error{Errc::unsupported,
                 "a message of " + std::to_string(sample.size_bytes()) + " bytes shares its page with others"};
  Registry& registry = Registry::instance();
  try {
    Received made(registry.make());
    if (quota != nullptr) {
      made.entry_->quota = quota->now_;  // given back with the entry
      if (quota->now_->fetch_add(1, std::memory_order_relaxed) >= quota->most_)
        return Error{Errc::limit_reached,
                     "the program keeps " + std::to_string(quota->most_) + " messages of this subscription"};
    }
    for (unsigned lane = 0; lane < memory::ForeignSegment::kLanes; ++lane) {
      Result<std::byte*> base = record->foreign->private_copy(lane);
      if (!base) return base.error();
      if (!registry.occupy(*base + offset)) continue;
      made.entry_->sample = std::move(sample);
      made.entry_->copy = *base + offset;
      made.entry_->copy_bytes = (bytes + page - 1) / page * page;
      // mlockall(2) copies every page of a private mapping, also pages of messages to come. A page copied that way
      // keeps the header of an older message, or of none.
      if (std::memcmp(made.entry_->copy, header, sizeof(memory::ChunkHeader)) != 0)
        os::discard_private_changes(made.entry_->copy, made.entry_->copy_bytes);
      return made;
    }
  } catch (const std::bad_alloc&) {
    return Error{Errc::out_of_memory, "no memory for the records of an aliased message"};
  }
  return Error{Errc::limit_reached, "this message is held by " + std::to_string(memory::ForeignSegment::kLanes) +
                                        " subscriptions of this process without a copy already"};
}

BATON_HOT Received::Received(Received&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}

Received& Received::operator=(Received&& other) noexcept {
  std::swap(entry_, other.entry_);
  return *this;
}

BATON_HOT Received::~Received() {
  if (entry_ != nullptr) Registry::instance().drop(entry_);
}

const std::byte* Received::message() const noexcept { return static_cast<const std::byte*>(entry_->sample.message()); }
BATON_HOT std::uint32_t Received::size_bytes() const noexcept { return entry_->sample.size_bytes(); }

BATON_HOT void* Received::alias(const void* content, std::size_t bytes, std::size_t alignment) noexcept {
  const auto place = reinterpret_cast<std::uintptr_t>(content) - reinterpret_cast<std::uintptr_t>(message());
  if (bytes == 0 || place > size_bytes() || bytes > size_bytes() - place) return nullptr;
  std::byte* address = entry_->copy + sizeof(memory::ChunkHeader) + place;
  if (reinterpret_cast<std::uintptr_t>(address) % alignment != 0) return nullptr;
  try {
    return Registry::instance().add(entry_, address, bytes) ? address : nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace baton::containers
