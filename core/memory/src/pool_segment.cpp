// SPDX-License-Identifier: Apache-2.0
#include "pool_segment.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "account_internal.hpp"
#include "baton/memory/account.hpp"
#include "baton/memory/window.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/sparse_memory.hpp"
#include "parse_size.hpp"

namespace baton::memory {
namespace {

constexpr std::size_t round_up(std::size_t value, std::size_t unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

Result<void> Budget::grow(std::size_t bytes) {
  const std::size_t now = backed.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (const std::size_t most = limit.load(std::memory_order_relaxed); now > most) {
    backed.fetch_sub(bytes, std::memory_order_relaxed);
    return Error{Errc::limit_reached, "publisher memory limit of " + format_size(most) + " reached (" +
                                          format_size(now) +
                                          " needed); raise memory_limit_bytes, release samples sooner, or trim()"};
  }
  Result<void> allowed = account_grow(bytes);
  if (!allowed.ok()) backed.fetch_sub(bytes, std::memory_order_relaxed);
  return allowed;
}

void Budget::shrink(std::size_t bytes) noexcept {
  backed.fetch_sub(bytes, std::memory_order_relaxed);
  account_shrink(bytes);
}

Result<std::unique_ptr<PoolSegment>> PoolSegment::create(std::uint32_t index, const SegmentShape& shape, Budget* budget,
                                                         std::byte* base) {
  auto segment = std::make_unique<PoolSegment>();
  segment->index = static_cast<std::uint16_t>(index);
  segment->budget = budget;
  segment->generation = os::fork_generation();
  segment->packed_bytes = shape.packed_bytes;
  segment->slot_bytes = shape.slot_bytes;
  segment->slots = static_cast<std::uint32_t>(shape.slots);
  segment->run_count = shape.packed_bytes / kRunBytes;
  // calloc: zero pages cost no memory until a run is carved.
  segment->runs = {static_cast<std::atomic<Run*>*>(std::calloc(segment->run_count + 1, sizeof(std::atomic<Run*>))),
                   std::free};
  if (!segment->runs) return Error{Errc::out_of_memory, "no memory for a segment's table"};
  segment->large.resize(shape.slots);
  segment->first_large = segment->large.data();
  for (std::size_t i = 0; i < segment->large.size(); ++i) {
    Slot& slot = segment->large[i];
    slot.segment = segment.get();
    slot.handle = segment->handle_at(shape.packed_bytes + i * shape.slot_bytes);
    slot.size_class = kLargeClass;
  }
  Result<os::UniqueFd> fd = os::create_sparse(kDataSegmentName, shape.bytes(), base);
  if (!fd.ok()) return fd.error();
  segment->record = {base, shape.bytes(), segment.get()};
  segment->fd = std::move(*fd);
  Window::instance().value()->publish(&segment->record);
  return segment;
}

PoolSegment::~PoolSegment() {
  if (runs)
    for (std::size_t i = 0; i < runs_used; ++i) delete runs[i].load(std::memory_order_relaxed);
  if (!record.base) return;
  std::size_t backed = runs_used * kRunBytes;
  for (const Slot& slot : large) backed += slot.backed;
  budget->shrink(backed);
  // Readers keep their own mappings. This mapping ends; the last mapping and descriptor free the memory.
  Window::instance().value()->free(record.base, record.size);
}

Slot* PoolSegment::find_packed(std::uint64_t offset) const noexcept {
  Run* run = runs[offset / kRunBytes].load(std::memory_order_acquire);  // pairs with the release in carve_run()
  return run ? &run->slots[offset % kRunBytes / class_bytes(run->size_class)] : nullptr;
}

Result<Run*> PoolSegment::carve_run(unsigned size_class) {
  if (runs_used == run_count) return static_cast<Run*>(nullptr);
  if (Result<void> allowed = budget->grow(kRunBytes); !allowed.ok()) return allowed.error();
  const std::size_t offset = runs_used * kRunBytes;
  if (Result<void> backed = os::back_sparse(fd.get(), offset, kRunBytes, base() + offset); !backed.ok()) {
    budget->shrink(kRunBytes);
    return backed.error();
  }
  const os::HotRoom room(this);
  auto run = std::make_unique<Run>();
  run->size_class = size_class;
  run->slots.resize(kRunBytes / class_bytes(size_class));
  for (std::size_t i = 0; i < run->slots.size(); ++i) {
    Slot& slot = run->slots[i];
    slot.segment = this;
    slot.handle = handle_at(offset + i * class_bytes(size_class));
    slot.backed = class_bytes(size_class);
    slot.size_class = static_cast<std::uint8_t>(size_class);
  }
  Run* made = run.release();
  runs[runs_used++].store(made, std::memory_order_release);  // pairs with the acquire in find_packed()
  return made;
}

Result<void> PoolSegment::back_more(Slot& slot, std::size_t bytes) {
  // Small steps for small messages. Larger steps for large ones, so that push_back does not call the kernel once per
  // page.
  const std::size_t unit = bytes > kRunBytes ? kRunBytes : os::page_bytes();
  const std::size_t target = std::min(round_up(std::max(bytes, slot.backed + slot.backed / 8), unit), slot.bytes());
  std::size_t more = target - slot.backed;
  Result<void> allowed = budget->grow(more);
  if (!allowed.ok()) {
    // The exact size may still fit, without the reserve.
    more = round_up(bytes, os::page_bytes()) - slot.backed;
    if (Result<void> exact = budget->grow(more); !exact.ok()) return exact;
  }
  const std::size_t at = slot.offset() + slot.backed;
  if (Result<void> backed = os::back_sparse(fd.get(), at, more, base() + at); !backed.ok()) {
    budget->shrink(more);
    return backed;
  }
  slot.backed += more;
  BATON_CRASH_POINT("loan.grown");
  return {};
}

}  // namespace baton::memory
