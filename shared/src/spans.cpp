// SPDX-License-Identifier: Apache-2.0
// Spans of a heap: taken from the machine, made into runs, given back; the words are described in heap_state.hpp.
#include <cstring>
#include <optional>

#include "baton/memory/platform.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/os/sparse_memory.hpp"
#include "baton/shared/span_claim.hpp"
#include "heap_state.hpp"

namespace baton::shared::detail {

Error no_room(std::size_t bytes, std::size_t limit) {
  return {Errc::limit_reached, "the shared heap of " + std::to_string(limit) + " bytes has no room for " +
                                   std::to_string(bytes) + " more; free objects, or make it with a higher limit_bytes"};
}

void HeapState::lock_spans() noexcept {
  // A run that a dead owner had half done is named by him and freed by recover_slot().
  HeapHeader& h = header();
  if (h.span_lock.lock() != Locked::kOwnerDied) return;
  for (std::uint32_t span = h.first_span; span < h.spans; ++span) {  // trim() was cut short
    const std::uint32_t word = h.words()[span].load(std::memory_order_relaxed);
    if (kind_of(word) == SpanKind::kSmall && (word & kClosing) != 0)
      h.words()[span].fetch_and(~kClosing, std::memory_order_relaxed);
  }
  h.span_lock.make_consistent();
}

Result<void> HeapState::back(std::uint32_t end) {
  HeapHeader& h = header();
  const std::uint32_t from = h.backed.load(std::memory_order_relaxed);  // under span_lock
  if (end <= from) return {};
  const std::size_t offset = std::size_t{from} * kSpanBytes;
  Result<void> backed = os::back_sparse(share_.get(), offset, (end - from) * kSpanBytes, base_ + offset);
  if (backed) h.backed.store(end, std::memory_order_relaxed);
  return backed;
}

// The first free run of `count` spans, pending, backed, under span_lock.
Result<std::uint32_t> HeapState::take_run(std::uint32_t count) {
  std::optional<Result<std::uint32_t>> run = first_run(count);
  if (!run && trim() > 0) run = first_run(count);
  if (run) return *run;
  return no_room(std::size_t{count} * kSpanBytes, header().limit);
}

std::optional<Result<std::uint32_t>> HeapState::first_run(std::uint32_t count) {
  HeapHeader& h = header();
  std::atomic<std::uint32_t>* const words = h.words();
  std::uint32_t found = 0;
  for (std::uint32_t at = h.first_span; at < h.spans; ++at) {
    if (kind_of(words[at].load(std::memory_order_acquire)) !=
        SpanKind::kFree) {  // [W] pairs with the releases in this file
      found = 0;
    } else if (++found == count) {
      const std::uint32_t first = at + 1 - count;
      if (Result<void> backed = back(at + 1); !backed) return Result<std::uint32_t>(backed.error());
      words[first].store(span_word(SpanKind::kPending, me()), std::memory_order_release);  // [W]
      BATON_CRASH_POINT("shared.heap.run_begun");
      for (std::uint32_t i = first + 1; i <= at; ++i)
        words[i].store(span_word(SpanKind::kRest, first), std::memory_order_release);
      BATON_CRASH_POINT("shared.heap.run_taken");
      return Result<std::uint32_t>(first);
    }
  }
  return std::nullopt;
}

// Spans of small objects in which there is none, back to free, under span_lock; returns how many. Against claims: span_claim.hpp. Freeing needs
// nothing: what is freed was not free, so the span was not empty.
std::uint32_t HeapState::trim() noexcept {
  HeapHeader& h = header();
  std::uint32_t count = 0;
  const auto empty = [this](std::uint32_t span, std::size_t c) {
    const std::atomic<std::uint32_t>* const words = slot_words(span);
    for (std::uint32_t i = 0; i < objects_of(c); ++i) {
      if (words[i].load(std::memory_order_acquire) != 0) return false;  // pairs with release()
    }
    return true;
  };
  for (std::uint32_t span = h.first_span; span < h.spans; ++span) {
    std::atomic<std::uint32_t>& word = h.words()[span];
    const std::uint32_t seen = word.load(std::memory_order_acquire);  // [W]
    if (kind_of(seen) != SpanKind::kSmall || (seen & kReserved) != 0 || !empty(span, size_class_of(seen))) continue;
    close_span<memory::StdPlatform>(word, kClosing);
    BATON_CRASH_POINT("shared.heap.span_closing");
    bool used = false;
    for (const ProcessSlot& slot : h.slots) {
      if (slot.state.load(std::memory_order_acquire) == ProcessSlot::kNobody) continue;  // left, and collected
      used = used || claims_in(slot.spans[size_class_of(seen)], span);
    }
    if (used || !empty(span, size_class_of(seen))) {
      word.fetch_and(~kClosing, std::memory_order_relaxed);
      continue;
    }
    word.store(span_word(SpanKind::kPending, me()), std::memory_order_release);  // [W]
    free_run(span, me());
    ++count;
  }
  return count;
}

// Under span_lock. The first word is kPending already.
void HeapState::free_run(std::uint32_t first, ProcessWord) noexcept {
  HeapHeader& h = header();
  std::uint32_t end = first + 1;
  while (end < h.spans && h.words()[end].load(std::memory_order_acquire) == span_word(SpanKind::kRest, first)) ++end;
  // From behind, so that what is left of the run after a death is still found from its first span.
  while (--end > first) h.words()[end].store(span_word(SpanKind::kFree, 0), std::memory_order_release);  // [W]
  BATON_CRASH_POINT("shared.heap.run_half_freed");
  h.words()[first].store(span_word(SpanKind::kFree, 0), std::memory_order_release);
}

// A span of the class with a free object, or a new one.
Result<std::uint32_t> HeapState::small_span(std::size_t size_class) {
  HeapHeader& h = header();
  lock_spans();
  Result<std::uint32_t> run = take_run(1);
  if (run) {
    std::memset(static_cast<void*>(slot_words(*run)), 0, first_object(size_class));
    h.words()[*run].store(span_word(SpanKind::kSmall, static_cast<std::uint32_t>(size_class)),
                          std::memory_order_release);  // [W]
  }
  h.span_lock.unlock();
  return run;
}

}  // namespace baton::shared::detail
