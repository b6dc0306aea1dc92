// SPDX-License-Identifier: Apache-2.0
#include "contents.hpp"

#include "baton/objects/guarded.hpp"
#include "baton/os/crash_point.hpp"

namespace baton::objects::detail {

// A stored pointer is recognised by its two distances: counted from its own place, one leads to the beginning of a
// living block, the other into the heap. No other content does both. A stored pointer that is not null is counted; a
// cleared one is 0.
void Contents::clear_pointers_in(std::byte* memory, std::size_t bytes) noexcept {
  for (std::size_t at = 0; at + sizeof(StoredWords) <= bytes; at += alignof(StoredWords)) {
    auto* const words = reinterpret_cast<StoredWords*>(memory + at);
    const std::uintptr_t marks = words->block & StoredWords::kMarks;
    if (marks != StoredWords::kInHeap && marks != (StoredWords::kInHeap | StoredWords::kWeakInHeap)) continue;
    Block* const block = words->at();
    const Allocation found = allocations_.at(block);
    if (found.kind != Kind::kBlock || found.memory != reinterpret_cast<std::byte*>(block)) continue;
    if (block->place != mapping_.offset_of(block) / 64) continue;
    if (words->address() != nullptr && mapping_.offset_of(words->address()) >= mapping_.limit()) continue;
    clear_stored(words, marks == StoredWords::kInHeap ? Strength::kStrong : Strength::kWeak);
  }
}

void Contents::free_buffer(const Allocation& buffer) noexcept {
  clear_pointers_in(buffer.memory, buffer.bytes);
  BATON_CRASH_POINT("shared.guarded.freeing");
  allocations_.release(buffer.memory);
}

namespace {
GuardWords& guard_words(std::byte* heap_base, std::uint32_t guard) noexcept {
  return *reinterpret_cast<GuardWords*>(heap_base + std::size_t{guard} * 64);
}
Allocations& allocations_of(std::byte* heap_base) noexcept { return private_of(heap_base).contents->allocations(); }
}  // namespace

std::uint32_t guard_of(std::byte* heap_base, const void* allocator, std::uint32_t guard, bool given) noexcept {
  const Allocation around = allocations_of(heap_base).at(allocator);
  if (around.memory == nullptr) return given ? guard : 0;  // in private memory
  if (around.guard() != 0) return around.guard();
  const std::byte* const place = heap_base + std::size_t{guard} * 64;
  return place >= around.memory && place < around.memory + around.bytes ? guard : 0;
}

void* allocate_at(std::byte* heap_base, std::size_t bytes, std::size_t alignment, std::uint32_t guard) {
  Allocations& allocations = allocations_of(heap_base);
  void* const memory = allocations.allocate(bytes == 0 ? 1 : bytes, alignment).or_throw();
  BATON_CRASH_POINT("shared.guarded.allocated");
  if (guard == 0) {
    allocations.settle(memory, Kind::kRaw);
  } else {
    // The count first: a count too high costs a useless search, a count too low loses a buffer. relaxed: changed under
    // the guard's lock.
    guard_words(heap_base, guard).buffers.fetch_add(1, std::memory_order_relaxed);
    BATON_CRASH_POINT("shared.guarded.counted");
    allocations.settle(memory, Kind::kOwned, guard);
  }
  BATON_CRASH_POINT("shared.guarded.owned");
  return memory;
}

void deallocate_at(std::byte* heap_base, void* memory) noexcept {
  if (memory == nullptr) return;
  Allocations& allocations = allocations_of(heap_base);
  const std::uint32_t guard = allocations.at(memory).guard();
  allocations.release(memory);
  BATON_CRASH_POINT("shared.guarded.released");
  if (guard != 0) guard_words(heap_base, guard).buffers.fetch_sub(1, std::memory_order_relaxed);  // as in allocate_at()
}

void discard_content(std::byte* heap_base, std::uint32_t guard, void* content, std::size_t bytes) noexcept {
  Contents& contents = *private_of(heap_base).contents;
  contents.clear_pointers_in(static_cast<std::byte*>(content), bytes);
  std::atomic<std::uint32_t>& buffers = guard_words(heap_base, guard).buffers;
  if (buffers.load(std::memory_order_relaxed) == 0) return;  // under the guard's lock
  contents.free_buffers(guard);
  buffers.store(0, std::memory_order_relaxed);  // as above
}

}  // namespace baton::objects::detail
