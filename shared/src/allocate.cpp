// SPDX-License-Identifier: Apache-2.0
// Where memory of a heap comes from and goes to; the words are described in heap_state.hpp.
#include <algorithm>
#include <cstring>

#include "baton/memory/platform.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/os/sparse_memory.hpp"
#include "baton/shared/span_claim.hpp"
#include "heap_state.hpp"

namespace baton::shared::detail {
namespace {

std::size_t class_of(std::size_t bytes) noexcept {
  std::size_t c = 0;
  while (c < kClasses.size() && kClasses[c] < bytes) ++c;
  return c;
}
}  // namespace

void* HeapState::claim(std::uint32_t span, std::size_t size_class, std::uint32_t from) noexcept {
  std::atomic<std::uint32_t>* const words = slot_words(span);
  const std::uint32_t count = objects_of(size_class);
  for (std::uint32_t i = from; i < count; ++i) {
    std::uint32_t seen = words[i].load(std::memory_order_relaxed);  // a hint; the exchange decides
    // acquire: pairs with the release in release(): who had it before is done with it.
    if (seen == 0 && words[i].compare_exchange_strong(seen, kSlotPending | me(), std::memory_order_acquire,
                                                      std::memory_order_relaxed)) {
      BATON_CRASH_POINT("shared.heap.claimed");
      return base_ + std::size_t{span} * kSpanBytes + first_object(size_class) + std::size_t{i} * kClasses[size_class];
    }
  }
  return nullptr;
}

// Before this process claims objects of a span: it is the cursor's from now on, and trim() leaves it alone; so is the one before. False: it is no
// more of this class.
bool HeapState::publish(Cursor& cursor, std::uint32_t span, std::size_t size_class) noexcept {
  auto& published = header().slots[slot_].spans[size_class];
  const std::uint32_t before = published[1].load(std::memory_order_relaxed);
  if (before != 0 && before != span) {
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < cursor.freed_count; ++i) {
      if (span_of(cursor.freed[i]) != before) cursor.freed[kept++] = cursor.freed[i];
    }
    cursor.freed_count = kept;
  }
  publish_span<memory::StdPlatform>(published, cursor.span, span);
  const std::uint32_t word = header().words()[span].load(std::memory_order_acquire);  // [W]
  const bool good = kind_of(word) == SpanKind::kSmall && size_class_of(word) == size_class && (word & kClosing) == 0;
  if (!good) published[0].store(0, std::memory_order_relaxed);
  cursor.span = good ? span : 0;
  cursor.next = 0;
  return good;
}

// After an object of the span was freed, so that by now it may be something else: then its word differs.
void HeapState::not_full(std::atomic<std::uint32_t>& word, std::size_t size_class) noexcept {
  std::uint32_t seen = word.load(std::memory_order_relaxed);
  while (kind_of(seen) == SpanKind::kSmall && size_class_of(seen) == size_class && (seen & kFull) != 0 &&
         !word.compare_exchange_weak(seen, seen & ~kFull, std::memory_order_relaxed)) {
  }
}

Result<void*> HeapState::allocate(std::size_t bytes, std::size_t alignment) {
  if (forked()) return Error{Errc::forked, "a shared heap of the parent; open it anew in the child"};
  HeapHeader& h = header();
  if (alignment > kSpanBytes || bytes > h.limit) return no_room(bytes, h.limit);
  const std::size_t size_class = alignment > 64 ? kClasses.size() : class_of(bytes);
  if (size_class == kClasses.size()) {
    const auto count = static_cast<std::uint32_t>((bytes + kSpanBytes - 1) / kSpanBytes);
    for (int attempt = 0;; ++attempt) {
      lock_spans();
      Result<std::uint32_t> run = take_run(std::max(count, 1U));
      h.span_lock.unlock();
      if (run) return static_cast<void*>(base_ + std::size_t{*run} * kSpanBytes);
      if (attempt > 0 || !recover_memory()) return run.error();
    }
  }
  Cursor& cursor = cursors_[size_class];
  std::unique_lock<std::mutex> lock(cursor.mutex);
  while (cursor.freed_count > 0) {
    void* const memory = cursor.freed[--cursor.freed_count];
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(memory) - base_);
    const auto span = static_cast<std::uint32_t>(offset / kSpanBytes);
    const std::uint32_t index = object_at(offset, size_class);
    std::uint32_t free = 0;
    if (slot_words(span)[index].compare_exchange_strong(free, kSlotPending | me(), std::memory_order_acquire,
                                                        std::memory_order_relaxed)) {  // as in claim()
      BATON_CRASH_POINT("shared.heap.claimed");
      return memory;
    }
  }
  const auto look = [&](std::uint32_t span, std::uint32_t from) -> void* {
    if (span != cursor.span && !publish(cursor, span, size_class)) return nullptr;
    void* const memory = claim(span, size_class, from);
    if (memory == nullptr) return nullptr;
    cursor.next = object_at(static_cast<std::size_t>(offset_of(memory)), size_class) + 1;
    return memory;
  };
  if (cursor.span != 0) {
    if (void* const memory = look(cursor.span, cursor.next)) return memory;
  }
  for (int attempt = 0;; ++attempt) {
    // Spans of this class that may have room; in the last attempt, every one.
    for (std::uint32_t span = h.first_span; span < h.spans; ++span) {
      std::uint32_t word = h.words()[span].load(std::memory_order_acquire);  // [W]
      if (kind_of(word) != SpanKind::kSmall || size_class_of(word) != size_class || (word & kClosing) != 0 ||
          ((word & kFull) != 0 && attempt == 0))
        continue;
      if (void* const memory = look(span, 0)) return memory;
      if (span == cursor.span)
        h.words()[span].fetch_or(kFull, std::memory_order_relaxed);  // it is published, so still small
    }
    Result<std::uint32_t> fresh = small_span(size_class);
    if (fresh) {
      if (void* const memory = look(*fresh, 0)) return memory;
      continue;  // others were quicker
    }
    if (attempt > 1) return fresh.error();
    lock.unlock();
    recover_memory();
    lock.lock();
  }
}

void HeapState::settle(void* memory, Kind kind, std::uint32_t guard) noexcept {
  const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(memory) - base_);
  const auto span = static_cast<std::uint32_t>(offset / kSpanBytes);
  std::atomic<std::uint32_t>& word = header().words()[span];
  const std::uint32_t seen = word.load(std::memory_order_acquire);  // [W]
  if (kind_of(seen) == SpanKind::kSmall) {
    const std::size_t c = size_class_of(seen);
    const std::uint32_t index = object_at(offset, c);
    // release: pairs with the acquire in walk(): a block's header is whole.
    slot_words(span)[index].store(kind == Kind::kBlock   ? kSlotBlock
                                  : kind == Kind::kOwned ? kSlotOwned | guard
                                                         : kSlotRaw,
                                  std::memory_order_release);
    return;
  }
  const SpanKind large = kind == Kind::kBlock   ? SpanKind::kLargeBlock
                         : kind == Kind::kOwned ? SpanKind::kLargeOwned
                                                : SpanKind::kLargeRaw;
  word.store(span_word(large, guard), std::memory_order_release);  // [W]
}

bool HeapState::free_block_word(const Found& found, std::uint32_t free) noexcept {
  for (;;) {
    std::uint32_t seen = found.living();
    // release: pairs with the acquire in claim(), or in unpin().
    if (found.word->compare_exchange_strong(seen, free, std::memory_order_release, std::memory_order_relaxed))
      return true;
    seen = found.pinned();
    if (found.word->compare_exchange_strong(seen, found.pinned_freed(), std::memory_order_release,
                                            std::memory_order_relaxed)) {
      return false;
    }
  }
}

void HeapState::release(void* memory) noexcept {
  const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(memory) - base_);
  const auto span = static_cast<std::uint32_t>(offset / kSpanBytes);
  std::atomic<std::uint32_t>& word = header().words()[span];
  const std::uint32_t seen = word.load(std::memory_order_acquire);  // [W]
  if (kind_of(seen) == SpanKind::kSmall) {
    const std::size_t c = size_class_of(seen);
    const std::uint32_t index = object_at(offset, c);
    std::atomic<std::uint32_t>& object = slot_words(span)[index];
    const std::uint32_t before = object.load(std::memory_order_relaxed);
    if (before == kSlotBlock || before == kSlotPinned) {
      if (!free_block_word({static_cast<Block*>(memory), &object, true}, 0)) return;
    } else {
      object.store(0, std::memory_order_release);  // pairs with the acquire in claim()
    }
    not_full(word, c);
    Cursor& cursor = cursors_[c];
    const std::unique_lock<std::mutex> lock(cursor.mutex, std::try_to_lock);
    if (!lock || cursor.freed_count == cursor.freed.size()) return;
    const auto& published = header().slots[slot_].spans[c];
    if (cursor.span == span || published[1].load(std::memory_order_relaxed) == span)
      cursor.freed[cursor.freed_count++] = memory;
    return;
  }
  lock_spans();
  const std::uint32_t pending = span_word(SpanKind::kPending, me());
  if (kind_of(seen) == SpanKind::kLargeBlock) {
    if (!free_block_word({static_cast<Block*>(memory), &word, false}, pending)) {
      header().span_lock.unlock();
      return;
    }
  } else {
    word.store(pending, std::memory_order_release);  // [W]
  }
  BATON_CRASH_POINT("shared.heap.run_freeing");
  free_run(span, me());
  header().span_lock.unlock();
}

Result<void> HeapState::reserve(std::size_t bytes, std::size_t count) {
  if (forked()) return Error{Errc::forked, "a shared heap of the parent; open it anew in the child"};
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
    std::atomic<std::uint32_t>& word = header().words()[span_of(memory)];
    if (kind_of(word.load(std::memory_order_relaxed)) == SpanKind::kSmall)
      word.fetch_or(kReserved, std::memory_order_relaxed);
  }
  for (auto it = taken.rbegin(); it != taken.rend(); ++it) release(*it);
  return result;
}

void HeapState::prefault() noexcept {
  const Inside inside;  // makes this thread's mark, which its first way out would take memory for
  const std::size_t bytes = header().backed.load(std::memory_order_acquire) * kSpanBytes;
  os::populate(base_, bytes);
  os::populate(reinterpret_cast<std::byte*>(locals_), bytes / 64 * sizeof(LocalCount));
}

void HeapState::walk(std::size_t slot, const std::function<void(const Found&)>& visit) {
  HeapHeader& h = header();
  const auto of_dead = [&](std::uint32_t word) {
    const ProcessWord process = word & kProcessMask;
    return slot_of(process) == slot && process != me();
  };
  if (slot < kMaxProcesses) free_owned_of(of_dead);
  for (std::uint32_t span = h.first_span; span < h.spans; ++span) {
    const std::uint32_t word = h.words()[span].load(std::memory_order_acquire);  // [W]
    std::byte* const first = base_ + std::size_t{span} * kSpanBytes;
    if (kind_of(word) == SpanKind::kPending && of_dead(word)) {
      clear_pointers_in(first, allocation_at(first).bytes);  // of construct()
      lock_spans();
      free_run(span, word & kProcessMask);
      h.span_lock.unlock();
    } else if (kind_of(word) == SpanKind::kSmall) {
      const std::size_t c = size_class_of(word);
      for (std::uint32_t i = 0; i < objects_of(c); ++i) {
        std::atomic<std::uint32_t>& object = slot_words(span)[i];
        const std::uint32_t seen = object.load(std::memory_order_acquire);  // pairs with settle()
        if (seen == kSlotBlock || seen == kSlotPinned) {
          visit({reinterpret_cast<Block*>(first + first_object(c) + std::size_t{i} * kClasses[c]), &object, true});
        } else if ((seen & kSlotPending) != 0 && of_dead(seen)) {
          clear_pointers_in(first + first_object(c) + std::size_t{i} * kClasses[c], kClasses[c]);
          object.store(0, std::memory_order_release);  // as release()
          not_full(h.words()[span], c);
        }
      }
    } else if (kind_of(word) == SpanKind::kLargeBlock) {
      visit({reinterpret_cast<Block*>(first), &h.words()[span], false});
    }
  }
}

void HeapState::free_mine() noexcept {
  if (!has_raw_.load(std::memory_order_relaxed)) return;
  HeapHeader& h = header();
  free_owned_of([this](ProcessWord process) { return process == me(); });
  for (std::uint32_t span = h.first_span; span < h.spans; ++span) {
    const std::uint32_t word = h.words()[span].load(std::memory_order_acquire);  // [W]
    std::byte* const first = base_ + std::size_t{span} * kSpanBytes;
    if (word == span_word(SpanKind::kPending, me())) {
      clear_pointers_in(first, allocation_at(first).bytes);  // of construct()
      lock_spans();
      free_run(span, me());
      h.span_lock.unlock();
    } else if (kind_of(word) == SpanKind::kSmall) {
      const std::size_t c = size_class_of(word);
      for (std::uint32_t i = 0; i < objects_of(c); ++i) {
        std::uint32_t mine = kSlotPending | me();
        if (slot_words(span)[i].load(std::memory_order_relaxed) != mine) continue;
        clear_pointers_in(first + first_object(c) + std::size_t{i} * kClasses[c], kClasses[c]);
        if (slot_words(span)[i].compare_exchange_strong(mine, 0, std::memory_order_release, std::memory_order_relaxed))
          not_full(h.words()[span], c);
      }
    }
  }
}

HeapStats HeapState::stats() {
  HeapHeader& h = header();
  HeapStats out;
  out.limit_bytes = static_cast<std::size_t>(h.limit);
  out.backed_bytes = h.backed.load(std::memory_order_relaxed) * kSpanBytes;
  const auto block = [&out](const Block& b) {
    ++out.objects;
    if (b.state.load(std::memory_order_relaxed) == BlockState::kOrphan) ++out.orphans;
  };
  for (std::uint32_t span = h.first_span; span < h.spans; ++span) {
    const std::uint32_t word = h.words()[span].load(std::memory_order_acquire);
    const SpanKind kind = kind_of(word);
    std::byte* const first = base_ + std::size_t{span} * kSpanBytes;
    if (kind == SpanKind::kSmall) {
      const std::size_t c = size_class_of(word);
      for (std::uint32_t i = 0; i < objects_of(c); ++i) {
        const std::uint32_t seen = slot_words(span)[i].load(std::memory_order_acquire);
        if (seen == 0) continue;
        ++out.allocations;
        out.used_bytes += kClasses[c];
        if (seen == kSlotBlock || seen == kSlotPinned)
          block(*reinterpret_cast<Block*>(first + first_object(c) + std::size_t{i} * kClasses[c]));
      }
    } else if (kind != SpanKind::kFree) {
      out.used_bytes += kSpanBytes;
      if (kind != SpanKind::kRest) ++out.allocations;
      if (kind == SpanKind::kLargeBlock) block(*reinterpret_cast<Block*>(first));
    }
  }
  for (std::size_t i = 0; i < kMaxProcesses; ++i) {
    ProcessSlot& slot = h.slots[i];
    if (slot.state.load(std::memory_order_acquire) == ProcessSlot::kInUse &&
        lives(process_word(i, slot.epoch.load(std::memory_order_relaxed))))
      ++out.processes;
  }
  return out;
}

}  // namespace baton::shared::detail
