// SPDX-License-Identifier: Apache-2.0
#include "allocations.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "baton/memory/platform.hpp"
#include "baton/objects/span_claim.hpp"
#include "baton/os/crash_point.hpp"

namespace baton::objects::detail {
namespace {

std::size_t class_of(std::size_t bytes) noexcept {
  std::size_t c = 0;
  while (c < kClasses.size() && kClasses[c] < bytes) ++c;
  return c;
}

}  // namespace

// --- Looking ---

Allocation Allocations::small(std::uint32_t span, std::size_t size_class, std::uint32_t index) const noexcept {
  std::atomic<std::uint32_t>& word = slot_words(span)[index];
  const std::uint32_t seen = word.load(std::memory_order_acquire);  // pairs with settle()
  if (seen == kSlotFree) return {};
  Allocation out{spans_.memory(span) + first_object(size_class) + std::size_t{index} * kClasses[size_class],
                 kClasses[size_class],
                 &word,
                 true,
                 Kind::kRaw,
                 0};
  if ((seen & kSlotPending) != 0) {
    out.kind = Kind::kPending;
    out.payload = seen & kProcessMask;
  } else if ((seen & kSlotOwned) != 0) {
    out.kind = Kind::kOwned;
    out.payload = seen & ~kSlotOwned;
  } else if (seen == kSlotBlock || seen == kSlotPinned) {
    out.kind = Kind::kBlock;
  }
  return out;
}

Allocation Allocations::large(std::uint32_t span, std::uint32_t word) const noexcept {
  const SpanKind kind = kind_of(word);
  return {spans_.memory(span),
          std::size_t{spans_.run_of(span)} * kSpanBytes,
          &spans_.word(span),
          false,
          kind == SpanKind::kPending      ? Kind::kPending
          : kind == SpanKind::kLargeBlock ? Kind::kBlock
          : kind == SpanKind::kLargeOwned ? Kind::kOwned
                                          : Kind::kRaw,
          word & kPayload};
}

Allocation Allocations::at(const void* address) const noexcept {
  const std::uint64_t offset = spans_.offset_of(address);
  std::uint32_t span = spans_.span_of(address);
  if (offset >= mapping_.limit() || span < spans_.first()) return {};
  std::uint32_t word = spans_.load(span);
  if (kind_of(word) == SpanKind::kSmall) {
    const std::size_t c = size_class_of(word);
    if (offset % kSpanBytes < first_object(c)) return {};
    const std::uint32_t index = object_at(offset, c);
    return index < objects_of(c) ? small(span, c, index) : Allocation{};
  }
  if (kind_of(word) == SpanKind::kRest) {
    span = word & kPayload;
    if (span >= spans_.count()) return {};
    word = spans_.load(span);
  }
  return kind_of(word) == SpanKind::kFree ? Allocation{} : large(span, word);
}

// --- Spans for objects ---

void Allocations::lock_spans() noexcept {
  // A run that a dead owner left half made names that owner; the owner's recovery frees the run.
  if (spans_.lock() != Locked::kOwnerDied) return;
  for (std::uint32_t span = spans_.first(); span < spans_.count(); ++span) {  // the owner died in trim()
    const std::uint32_t word = spans_.word(span).load(std::memory_order_relaxed);
    if (kind_of(word) == SpanKind::kSmall && (word & kClosing) != 0)
      spans_.word(span).fetch_and(~kClosing, std::memory_order_relaxed);
  }
  spans_.make_consistent();
}

// Takes a pending, backed run; the spans must be locked.
Result<std::uint32_t> Allocations::take_run(std::uint32_t count) {
  std::optional<Result<std::uint32_t>> run = spans_.take(count);
  if (!run && trim() > 0) run = spans_.take(count);
  if (run) return *run;
  return no_room(std::size_t{count} * kSpanBytes, mapping_.limit());
}

Result<std::uint32_t> Allocations::new_small_span(std::size_t size_class) {
  lock_spans();
  Result<std::uint32_t> run = take_run(1);
  if (run) {
    std::memset(static_cast<void*>(slot_words(*run)), 0, first_object(size_class));
    spans_.word(*run).store(span_word(SpanKind::kSmall, static_cast<std::uint32_t>(size_class)),
                            std::memory_order_release);  // [W]
  }
  spans_.unlock();
  return run;
}

bool Allocations::is_empty(std::uint32_t span, std::size_t size_class) const noexcept {
  const std::atomic<std::uint32_t>* const words = slot_words(span);
  for (std::uint32_t i = 0; i < objects_of(size_class); ++i) {
    if (words[i].load(std::memory_order_acquire) != kSlotFree) return false;  // pairs with release()
  }
  return true;
}

// Frees small spans without objects, with the spans locked; returns how many. Against claims: span_claim.hpp. Freeing
// an object needs no such protocol: a span with an object is not empty.
std::uint32_t Allocations::trim() noexcept {
  std::uint32_t count = 0;
  for (std::uint32_t span = spans_.first(); span < spans_.count(); ++span) {
    std::atomic<std::uint32_t>& word = spans_.word(span);
    const std::uint32_t seen = spans_.load(span);
    const std::size_t size_class = size_class_of(seen);
    if (kind_of(seen) != SpanKind::kSmall || (seen & kReserved) != 0 || !is_empty(span, size_class)) continue;
    close_span<memory::StdPlatform>(word, kClosing);
    BATON_CRASH_POINT("shared.heap.span_closing");
    bool used = false;
    for (std::size_t slot = 0; slot < kMaxProcesses; ++slot) {
      used = used || (processes_.is_taken(slot) && claims_in(words_.claims[slot].spans[size_class], span));
    }
    if (used || !is_empty(span, size_class)) {
      word.fetch_and(~kClosing, std::memory_order_relaxed);
      continue;
    }
    word.store(span_word(SpanKind::kPending, me_), std::memory_order_release);  // [W]
    spans_.free(span);
    ++count;
  }
  return count;
}

void Allocations::begin() noexcept {
  me_ = mapping_.me();
  claims_ = &words_.claims[slot_of(me_)];
  for (auto& spans : claims_->spans) {  // the claims of the slot's last process; relaxed: trim() may still read them
    for (std::atomic<std::uint32_t>& span : spans) span.store(0, std::memory_order_relaxed);
  }
}

// Call before this process claims objects of a span: from now on trim() leaves this span and the cursor's former span
// alone. False: the span is no longer of this class.
bool Allocations::publish(Cursor& cursor, std::uint32_t span, std::size_t size_class) noexcept {
  auto& published = claims_->spans[size_class];
  const std::uint32_t before = published[1].load(std::memory_order_relaxed);
  if (before != 0 && before != span) {
    const auto end = cursor.freed.begin() + cursor.freed_count;
    const auto kept =
        std::remove_if(cursor.freed.begin(), end, [&](void* memory) { return spans_.span_of(memory) == before; });
    cursor.freed_count = static_cast<std::uint32_t>(kept - cursor.freed.begin());
  }
  publish_span<memory::StdPlatform>(published, cursor.span, span);
  const std::uint32_t word = spans_.load(span);
  const bool good = kind_of(word) == SpanKind::kSmall && size_class_of(word) == size_class && (word & kClosing) == 0;
  if (!good) published[0].store(0, std::memory_order_relaxed);
  cursor.span = good ? span : 0;
  cursor.next = 0;
  return good;
}

// Called after an object of the span was freed. If the span has another use since, its word differs.
void Allocations::not_full(std::uint32_t span, std::size_t size_class) noexcept {
  std::atomic<std::uint32_t>& word = spans_.word(span);
  std::uint32_t seen = word.load(std::memory_order_relaxed);
  while (kind_of(seen) == SpanKind::kSmall && size_class_of(seen) == size_class && (seen & kFull) != 0 &&
         !word.compare_exchange_weak(seen, seen & ~kFull, std::memory_order_relaxed)) {
  }
}

// --- Allocating ---

void* Allocations::claim_slot(std::uint32_t span, std::size_t size_class, std::uint32_t index) noexcept {
  std::uint32_t free = 0;
  // acquire: pairs with the release in release(): the former user has finished with the slot.
  if (!slot_words(span)[index].compare_exchange_strong(free, kSlotPending | me_, std::memory_order_acquire,
                                                       std::memory_order_relaxed)) {
    return nullptr;
  }
  BATON_CRASH_POINT("shared.heap.claimed");
  return spans_.memory(span) + first_object(size_class) + std::size_t{index} * kClasses[size_class];
}

void* Allocations::claim(std::uint32_t span, std::size_t size_class, std::uint32_t from) noexcept {
  const std::atomic<std::uint32_t>* const words = slot_words(span);
  const std::uint32_t count = objects_of(size_class);
  for (std::uint32_t i = from; i < count; ++i) {
    if (words[i].load(std::memory_order_relaxed) != kSlotFree) continue;  // a hint; the exchange decides
    if (void* const memory = claim_slot(span, size_class, i)) return memory;
  }
  return nullptr;
}

Result<void*> Allocations::allocate(std::size_t bytes, std::size_t alignment) {
  if (mapping_.forked()) return Error{Errc::forked, "a shared heap of the parent; open it anew in the child"};
  if (alignment > kSpanBytes || bytes > mapping_.limit()) return no_room(bytes, mapping_.limit());
  const std::size_t size_class = alignment > 64 ? kClasses.size() : class_of(bytes);
  return size_class == kClasses.size() ? allocate_large(bytes) : allocate_small(size_class);
}

Result<void*> Allocations::allocate_large(std::size_t bytes) {
  const auto count = static_cast<std::uint32_t>((bytes + kSpanBytes - 1) / kSpanBytes);
  for (int attempt = 0;; ++attempt) {
    lock_spans();
    Result<std::uint32_t> run = take_run(std::max(count, 1U));
    spans_.unlock();
    if (run) return static_cast<void*>(spans_.memory(*run));
    if (attempt > 0 || !reclaim_()) return run.error();
  }
}

Result<void*> Allocations::allocate_small(std::size_t size_class) {
  Cursor& cursor = cursors_[size_class];
  std::unique_lock<std::mutex> lock(cursor.mutex);
  while (cursor.freed_count > 0) {
    void* const memory = cursor.freed[--cursor.freed_count];
    if (claim_slot(spans_.span_of(memory), size_class, object_at(spans_.offset_of(memory), size_class)) != nullptr)
      return memory;
  }
  const auto look = [&](std::uint32_t span, std::uint32_t from) -> void* {
    if (span != cursor.span && !publish(cursor, span, size_class)) return nullptr;
    void* const memory = claim(span, size_class, from);
    if (memory != nullptr) cursor.next = object_at(spans_.offset_of(memory), size_class) + 1;
    return memory;
  };
  if (cursor.span != 0) {
    if (void* const memory = look(cursor.span, cursor.next)) return memory;
  }
  for (int attempt = 0;; ++attempt) {
    // Spans of this class that may have room; from the second attempt on, every one.
    for (std::uint32_t span = spans_.first(); span < spans_.count(); ++span) {
      const std::uint32_t word = spans_.load(span);
      if (kind_of(word) != SpanKind::kSmall || size_class_of(word) != size_class || (word & kClosing) != 0 ||
          ((word & kFull) != 0 && attempt == 0))
        continue;
      if (void* const memory = look(span, 0)) return memory;
      if (span == cursor.span)
        spans_.word(span).fetch_or(kFull, std::memory_order_relaxed);  // it is published, so still small
    }
    Result<std::uint32_t> fresh = new_small_span(size_class);
    if (fresh) {
      if (void* const memory = look(*fresh, 0)) return memory;
      continue;  // other processes took the free objects first
    }
    if (attempt > 1) return fresh.error();
    lock.unlock();
    reclaim_();
    lock.lock();
  }
}

void Allocations::settle(void* memory, Kind kind, std::uint32_t guard) noexcept {
  const std::uint32_t span = spans_.span_of(memory);
  const std::uint32_t word = spans_.load(span);
  if (kind_of(word) == SpanKind::kSmall) {
    // release: pairs with the acquire in small(): a block's header is whole.
    slot_words(span)[object_at(spans_.offset_of(memory), size_class_of(word))].store(kind == Kind::kBlock ? kSlotBlock
                                                                                     : kind == Kind::kOwned
                                                                                         ? kSlotOwned | guard
                                                                                         : kSlotRaw,
                                                                                     std::memory_order_release);
    return;
  }
  const SpanKind large = kind == Kind::kBlock   ? SpanKind::kLargeBlock
                         : kind == Kind::kOwned ? SpanKind::kLargeOwned
                                                : SpanKind::kLargeRaw;
  spans_.word(span).store(span_word(large, guard), std::memory_order_release);  // [W]
}

// --- Freeing ---

bool Allocations::free_block_word(const Allocation& block, std::uint32_t free) noexcept {
  for (;;) {
    std::uint32_t seen = block.living();
    // release: pairs with the acquire in claim_slot(), or in unpin_word().
    if (block.word->compare_exchange_strong(seen, free, std::memory_order_release, std::memory_order_relaxed))
      return true;
    seen = block.pinned();
    if (block.word->compare_exchange_strong(seen, block.pinned_freed(), std::memory_order_release,
                                            std::memory_order_relaxed)) {
      return false;
    }
  }
}

void Allocations::release(void* memory) noexcept {
  const std::uint32_t span = spans_.span_of(memory);
  std::atomic<std::uint32_t>& word = spans_.word(span);
  const std::uint32_t seen = spans_.load(span);
  if (kind_of(seen) == SpanKind::kSmall) {
    const std::size_t c = size_class_of(seen);
    std::atomic<std::uint32_t>& object = slot_words(span)[object_at(spans_.offset_of(memory), c)];
    const std::uint32_t before = object.load(std::memory_order_relaxed);  // only the caller changes it, except for the
                                                                          // pin
    if (before == kSlotBlock || before == kSlotPinned) {
      if (!free_block_word({nullptr, 0, &object, true, Kind::kBlock, 0}, kSlotFree)) return;
    } else {
      object.store(kSlotFree, std::memory_order_release);  // pairs with the acquire in claim_slot()
    }
    not_full(span, c);
    Cursor& cursor = cursors_[c];
    const std::unique_lock<std::mutex> lock(cursor.mutex, std::try_to_lock);
    if (!lock || cursor.freed_count == cursor.freed.size()) return;
    if (cursor.span == span || claims_->spans[c][1].load(std::memory_order_relaxed) == span)
      cursor.freed[cursor.freed_count++] = memory;
    return;
  }
  lock_spans();
  const std::uint32_t pending = span_word(SpanKind::kPending, me_);
  if (kind_of(seen) != SpanKind::kLargeBlock) {
    word.store(pending, std::memory_order_release);  // [W]
  } else if (!free_block_word({nullptr, 0, &word, false, Kind::kBlock, 0}, pending)) {
    return spans_.unlock();
  }
  BATON_CRASH_POINT("shared.heap.run_freeing");
  spans_.free(span);
  spans_.unlock();
}

void Allocations::release_pending(const Allocation& allocation) noexcept {
  const std::uint32_t span = spans_.span_of(allocation.memory);
  if (allocation.small) {
    std::uint32_t seen = kSlotPending | allocation.payload;
    const std::size_t size_class = size_class_of(spans_.load(span));
    if (allocation.word->compare_exchange_strong(seen, kSlotFree, std::memory_order_release, std::memory_order_relaxed))
      not_full(span, size_class);  // as release()
    return;
  }
  lock_spans();
  if (spans_.load(span) == span_word(SpanKind::kPending, allocation.payload)) spans_.free(span);
  spans_.unlock();
}

Result<void> Allocations::reserve(std::size_t bytes, std::size_t count) {
  if (mapping_.forked()) return Error{Errc::forked, "a shared heap of the parent; open it anew in the child"};
  std::vector<void*> taken;
  Result<void> result;
  for (std::size_t i = 0; i < count; ++i) {
    Result<void*> memory = allocate(bytes, 64);
    if (!memory) {
      result = memory.error();
      break;
    }
    taken.push_back(*memory);
  }
  for (void* const memory : taken) {  // for this size from now on, see trim()
    std::atomic<std::uint32_t>& word = spans_.word(spans_.span_of(memory));
    if (kind_of(word.load(std::memory_order_relaxed)) == SpanKind::kSmall)
      word.fetch_or(kReserved, std::memory_order_relaxed);
  }
  for (auto it = taken.rbegin(); it != taken.rend(); ++it) release(*it);
  return result;
}

// --- Pins ---

void Allocations::lock_pins() noexcept {
  if (words_.pin_lock.lock() != Locked::kOwnerDied) return;
  // A pinned word was pinned by the dead owner.
  const std::uint64_t offset = words_.pinned.load(std::memory_order_acquire);  // pairs with the releases of the owner
  if (offset != 0) {
    std::byte* const memory = mapping_.base() + offset;
    const Allocation found = at(memory);
    // The block may have been freed before it was pinned, and its memory may have another use now.
    if (found.memory == memory) unpin_word(found);
    words_.pinned.store(0, std::memory_order_release);
  }
  words_.pin_lock.make_consistent();
}

void Allocations::unpin_left() noexcept {
  lock_pins();
  words_.pin_lock.unlock();
}

bool Allocations::pin(const Allocation& block) noexcept {
  lock_pins();
  words_.pinned.store(spans_.offset_of(block.memory), std::memory_order_release);
  BATON_CRASH_POINT("shared.heap.pinning");
  std::uint32_t seen = block.living();
  // acquire: pairs with settle(): the block's header is whole.
  if (block.word->compare_exchange_strong(seen, block.pinned(), std::memory_order_acquire, std::memory_order_relaxed)) {
    BATON_CRASH_POINT("shared.heap.pinned");
    return true;
  }
  words_.pinned.store(0, std::memory_order_release);
  words_.pin_lock.unlock();
  return false;
}

void Allocations::unpin_word(const Allocation& block) noexcept {
  std::uint32_t seen = block.pinned();
  // acquire: pairs with the release in free_block_word().
  if (block.word->compare_exchange_strong(seen, block.living(), std::memory_order_acq_rel, std::memory_order_acquire) ||
      seen != block.pinned_freed()) {
    return;
  }
  const std::uint32_t span = spans_.span_of(block.memory);
  if (block.small) {
    block.word->store(kSlotFree, std::memory_order_release);  // as release()
    not_full(span, size_class_of(spans_.word(span).load(std::memory_order_relaxed)));
    return;
  }
  lock_spans();
  block.word->store(span_word(SpanKind::kPending, me_), std::memory_order_release);  // [W]
  spans_.free(span);
  spans_.unlock();
}

void Allocations::unpin(const Allocation& block) noexcept {
  unpin_word(block);
  BATON_CRASH_POINT("shared.heap.unpinned");
  words_.pinned.store(0, std::memory_order_release);
  words_.pin_lock.unlock();
}

}  // namespace baton::objects::detail
