// SPDX-License-Identifier: Apache-2.0
// Memory of containers under a guard (guarded.hpp), and what lies in memory whose owner died before he could end it.
#include "baton/os/crash_point.hpp"
#include "baton/shared/guarded.hpp"
#include "heap_state.hpp"

namespace baton::shared::detail {

HeapState::Allocation HeapState::allocation_at(const void* address) noexcept {
  HeapHeader& h = header();
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - base_);
  auto span = static_cast<std::uint32_t>(offset / kSpanBytes);
  if (offset >= h.limit || span < h.first_span) return {};
  std::uint32_t word = h.words()[span].load(std::memory_order_acquire);  // pairs with settle()
  if (kind_of(word) == SpanKind::kSmall) {
    const std::size_t c = word & 0xff;
    const std::size_t within = offset % kSpanBytes;
    if (within < first_object(c)) return {};
    const std::size_t index = object_at(within, c);
    if (index >= objects_of(c)) return {};
    const std::uint32_t seen = slot_words(span)[index].load(std::memory_order_acquire);  // as above
    return {base_ + std::size_t{span} * kSpanBytes + first_object(c) + index * kClasses[c], kClasses[c],
            seen == kSlotBlock || seen == kSlotPinned,
            (seen & kSlotPending) == 0 && (seen & kSlotOwned) != 0 ? seen & ~kSlotOwned : 0,
            (seen & kSlotPending) != 0 ? seen & kProcessMask : 0};
  }
  if (kind_of(word) == SpanKind::kRest) {
    span = word & kPayload;
    if (span >= h.spans) return {};
    word = h.words()[span].load(std::memory_order_acquire);
  }
  if (kind_of(word) == SpanKind::kFree) return {};
  std::uint32_t end = span + 1;
  while (end < h.spans && h.words()[end].load(std::memory_order_relaxed) == span_word(SpanKind::kRest, span)) ++end;
  return {base_ + std::size_t{span} * kSpanBytes, std::size_t{end - span} * kSpanBytes,
          kind_of(word) == SpanKind::kLargeBlock, kind_of(word) == SpanKind::kLargeOwned ? word & kPayload : 0,
          kind_of(word) == SpanKind::kPending ? word & kPayload : 0};
}

// A stored pointer is told by its two distances: from its very place one leads to the beginning of a living block, the other into
// the heap. Whatever else lies here, does not do that. It was counted when it was stored; one that was cleared is 0.
void HeapState::clear_pointers_in(std::byte* memory, std::size_t bytes) noexcept {
  for (std::size_t at = 0; at + sizeof(StoredWords) <= bytes; at += alignof(StoredWords)) {
    auto* const words = reinterpret_cast<StoredWords*>(memory + at);
    const std::uintptr_t marks = words->block & StoredWords::kMarks;
    if (marks != StoredWords::kInHeap && marks != (StoredWords::kInHeap | StoredWords::kWeakInHeap)) continue;
    Block* const block = words->at();
    const Allocation found = allocation_at(block);
    if (!found.block || found.memory != reinterpret_cast<std::byte*>(block)) continue;
    if (block->place != offset_of(block) / 64) continue;
    if (words->address() != nullptr && offset_of(words->address()) >= header().limit) continue;
    clear_stored(words, marks == StoredWords::kInHeap ? Strength::kStrong : Strength::kWeak);
  }
}

void HeapState::free_owned_if(const std::function<bool(std::uint32_t guard)>& which) noexcept {
  HeapHeader& h = header();
  for (std::uint32_t span = h.first_span; span < h.spans; ++span) {
    const std::uint32_t word = h.words()[span].load(std::memory_order_acquire);  // pairs with settle()
    std::byte* const first = base_ + std::size_t{span} * kSpanBytes;
    if (kind_of(word) == SpanKind::kSmall) {
      const std::size_t c = word & 0xff;
      for (std::uint32_t i = 0; i < objects_of(c); ++i) {
        const std::uint32_t seen = slot_words(span)[i].load(std::memory_order_acquire);
        if ((seen & kSlotPending) != 0 || (seen & kSlotOwned) == 0 || !which(seen & ~kSlotOwned)) continue;
        std::byte* const memory = first + first_object(c) + std::size_t{i} * kClasses[c];
        clear_pointers_in(memory, kClasses[c]);
        BATON_CRASH_POINT("shared.guarded.freeing");
        release(memory);
      }
    } else if (kind_of(word) == SpanKind::kLargeOwned && which(word & kPayload)) {
      std::uint32_t end = span + 1;
      while (end < h.spans && h.words()[end].load(std::memory_order_relaxed) == span_word(SpanKind::kRest, span)) ++end;
      clear_pointers_in(first, std::size_t{end - span} * kSpanBytes);
      release(first);
    }
  }
}

void HeapState::free_owned_of(const std::function<bool(ProcessWord)>& whose) noexcept {
  free_owned_if([&](std::uint32_t guard) {
    const ProcessWord pending = allocation_at(base_ + std::size_t{guard} * 64).pending;
    return pending != 0 && whose(pending);
  });
}

std::uint32_t guard_of(std::byte* heap_base, const void* allocator, std::uint32_t guard, bool given) noexcept {
  HeapState& state = *private_of(heap_base).state;
  const HeapState::Allocation here = state.allocation_at(allocator);
  if (here.memory == nullptr) return given ? guard : 0;  // in private memory
  if (here.guard != 0) return here.guard;
  const std::byte* const place = heap_base + std::size_t{guard} * 64;
  return place >= here.memory && place < here.memory + here.bytes ? guard : 0;
}

void* allocate_at(std::byte* heap_base, std::size_t bytes, std::size_t alignment, std::uint32_t guard) {
  HeapState& state = *private_of(heap_base).state;
  void* const memory = state.allocate(bytes == 0 ? 1 : bytes, alignment).or_throw();
  BATON_CRASH_POINT("shared.guarded.allocated");
  if (guard == 0) {
    state.settle(memory, HeapState::Kind::kRaw);
  } else {
    // The count first: it may be too high, which costs a look for nothing, but not too low.
    reinterpret_cast<GuardWords*>(heap_base + std::size_t{guard} * 64)->buffers.fetch_add(1, std::memory_order_relaxed);
    BATON_CRASH_POINT("shared.guarded.counted");
    state.settle(memory, HeapState::Kind::kOwned, guard);
  }
  BATON_CRASH_POINT("shared.guarded.owned");
  return memory;
}

void deallocate_at(std::byte* heap_base, void* memory) noexcept {
  if (memory == nullptr) return;
  HeapState& state = *private_of(heap_base).state;
  const std::uint32_t guard = state.allocation_at(memory).guard;
  state.release(memory);
  BATON_CRASH_POINT("shared.guarded.released");
  if (guard != 0) {
    reinterpret_cast<GuardWords*>(heap_base + std::size_t{guard} * 64)->buffers.fetch_sub(1, std::memory_order_relaxed);
  }
}

void discard_content(std::byte* heap_base, std::uint32_t guard, void* content, std::size_t bytes) noexcept {
  HeapState& state = *private_of(heap_base).state;
  state.clear_pointers_in(static_cast<std::byte*>(content), bytes);
  auto& words = *reinterpret_cast<GuardWords*>(heap_base + std::size_t{guard} * 64);
  if (words.buffers.load(std::memory_order_relaxed) == 0) return;
  state.free_owned(guard);
  words.buffers.store(0, std::memory_order_relaxed);  // nobody else uses them
}

}  // namespace baton::shared::detail
