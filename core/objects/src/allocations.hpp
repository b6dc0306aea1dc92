// SPDX-License-Identifier: Apache-2.0
// Allocations of a heap: small objects, of one size per span, and large ones, of whole spans. Each allocation has a
// word: a small one its slot word, a large one the word of its first span.
//
// A small span begins with one slot word per object: 0 free; kSlotPending | ProcessWord: that process allocated it and
// has not settled it; kSlotRaw, kSlotBlock (pinned or not), kSlotOwned | guard: settled. A guard is the place of a
// guarded<> in units of 64 bytes, and owns the buffers of its containers.
// Invariants:
//   1. A slot word is claimed by compare-and-swap from 0 and freed by a store of 0. There is no free list that a death
//      could break.
//   2. Until settle() the word names the process. So recovery finds each allocation that only a dead process knew by
//      that name.
//   3. A process publishes a span in `claims` before it claims objects in it, and trim() gives no published span back
//      (span_claim.hpp).
//   4. At most one block is pinned, under pin_lock. Its memory is not reused until unpin(), even if another process
//      frees the block.
// Thread rules: everything is thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>

#include "process_table.hpp"
#include "spans.hpp"

namespace baton::objects::detail {

// Of a small span, beside its size class:
inline constexpr std::uint32_t kFull = 1U << 28;      // no free object was found, and none was freed since
inline constexpr std::uint32_t kClosing = 1U << 27;   // trim() checks whether it can be given back: no claims
inline constexpr std::uint32_t kReserved = 1U << 26;  // never given back
inline constexpr std::size_t size_class_of(std::uint32_t word) noexcept { return word & 0xff; }

inline constexpr std::uint32_t kSlotPending = 1U << 31;
inline constexpr std::uint32_t kSlotOwned = 1U << 30;
inline constexpr std::uint32_t kSlotFree = 0;
inline constexpr std::uint32_t kSlotRaw = 1;
inline constexpr std::uint32_t kSlotBlock = 2;
inline constexpr std::uint32_t kSlotPinned = 3;       // a block under recovery: freeing it waits for unpin()
inline constexpr std::uint32_t kSlotPinnedFreed = 4;  // freed meanwhile
// The payload of kLargeBlock:
inline constexpr std::uint32_t kLargePinned = 1, kLargePinnedFreed = 2;

/// Object sizes; above the last one, whole spans.
inline constexpr std::array<std::uint32_t, 15> kClasses = {64,   128,  192,  256,  384,  512,  768,  1024,
                                                           1536, 2048, 3072, 4096, 6144, 8192, 16256};
struct ClassLayout {
  std::uint32_t objects, first, reciprocal;
};
inline constexpr std::array<ClassLayout, kClasses.size()> kLayouts = [] {
  std::array<ClassLayout, kClasses.size()> out{};
  for (std::size_t c = 0; c < out.size(); ++c) {
    const std::uint32_t size = kClasses[c];
    std::uint32_t count = static_cast<std::uint32_t>(kSpanBytes) / (size + 4);
    while ((count * 4 + 63) / 64 * 64 + count * size > kSpanBytes) --count;
    out[c] = {count, (count * 4 + 63) / 64 * 64, static_cast<std::uint32_t>((std::uint64_t{1} << 32) / size + 1)};
  }
  return out;
}();
inline constexpr std::uint32_t objects_of(std::size_t size_class) noexcept { return kLayouts[size_class].objects; }
inline constexpr std::uint32_t first_object(std::size_t size_class) noexcept { return kLayouts[size_class].first; }
/// The object of a span of this class that contains the byte at this offset in the heap, behind first_object(). Uses no
/// division: exact below 64 KiB.
inline constexpr std::uint32_t object_at(std::size_t offset, std::size_t size_class) noexcept {
  const std::uint64_t within = offset % kSpanBytes - first_object(size_class);
  return static_cast<std::uint32_t>(within * kLayouts[size_class].reciprocal >> 32);
}

static_assert([] {
  for (std::size_t c = 0; c < kClasses.size(); ++c) {
    for (std::uint32_t i = 0; i < objects_of(c); ++i) {
      const std::uint32_t at = first_object(c) + i * kClasses[c];
      if (object_at(at, c) != i || object_at(at + kClasses[c] - 1, c) != i) return false;
    }
  }
  return true;
}());

/// Per size class: the span in which a process claims objects, and the previous such span.
struct alignas(64) Claims {
  std::atomic<std::uint32_t> spans[kClasses.size()][2];
};
struct AllocationWords {
  explicit AllocationWords(std::byte* base) : pin_lock(base) {}
  ProcessLock pin_lock;
  std::atomic<std::uint64_t> pinned{0};  // offset of the block that may be pinned; under pin_lock
  Claims claims[kMaxProcesses] = {};     // by slot of a process
};

enum class Kind : std::uint8_t { kPending, kRaw, kBlock, kOwned };

/// An allocation as its word described it. Other processes may free it and reuse its memory, unless it is pinned.
struct Allocation {
  std::byte* memory = nullptr;  // null: none
  std::size_t bytes = 0;
  std::atomic<std::uint32_t>* word = nullptr;
  bool small = false;
  Kind kind = Kind::kRaw;
  std::uint32_t payload = 0;  // kPending: the ProcessWord; kOwned: the guard

  ProcessWord pending() const noexcept { return kind == Kind::kPending ? payload : 0; }  ///< 0: it is settled
  std::uint32_t guard() const noexcept { return kind == Kind::kOwned ? payload : 0; }    ///< 0: no guard owns it
  Block& block() const noexcept { return *reinterpret_cast<Block*>(memory); }            ///< of kBlock
  // The word of a block:
  std::uint32_t living() const noexcept { return small ? kSlotBlock : span_word(SpanKind::kLargeBlock, 0); }
  std::uint32_t pinned() const noexcept { return small ? kSlotPinned : span_word(SpanKind::kLargeBlock, kLargePinned); }
  std::uint32_t pinned_freed() const noexcept {
    return small ? kSlotPinnedFreed : span_word(SpanKind::kLargeBlock, kLargePinnedFreed);
  }
  bool is_freed() const noexcept { return word->load(std::memory_order_acquire) == pinned_freed(); }
};

class Allocations {
 public:
  /// `reclaim` is called when memory is short, without locks: true if some memory may be free now.
  Allocations(Mapping& mapping, ProcessTable& processes, const Spans& spans, AllocationWords& words,
              std::function<bool()> reclaim)
      : mapping_(mapping), processes_(processes), spans_(spans), words_(words), reclaim_(std::move(reclaim)) {}

  /// After ProcessTable::join(), before any other function.
  void begin() noexcept;
  const Spans& spans() const noexcept { return spans_; }
  /// The allocation is pending until settle(): it belongs to this process, and is freed when the process ends.
  Result<void*> allocate(std::size_t bytes, std::size_t alignment);
  void settle(void* memory, Kind kind, std::uint32_t guard = 0) noexcept;
  void release(void* memory) noexcept;
  /// The same for a pending allocation that its process does not use, unless its word has changed.
  void release_pending(const Allocation& allocation) noexcept;
  Result<void> reserve(std::size_t bytes, std::size_t count);

  /// The allocation around an address; `memory` is null if there is none.
  Allocation at(const void* address) const noexcept;
  /// Calls visit(allocation) for each allocation that exists when its turn comes.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::uint32_t span = spans_.first(); span < spans_.count(); ++span) {
      const std::uint32_t word = spans_.load(span);
      const SpanKind kind = kind_of(word);
      if (kind == SpanKind::kSmall) {
        const std::size_t size_class = size_class_of(word);
        for (std::uint32_t i = 0; i < objects_of(size_class); ++i) {
          if (const Allocation found = small(span, size_class, i); found.memory != nullptr) visit(found);
        }
      } else if (kind != SpanKind::kFree && kind != SpanKind::kRest) {
        visit(large(span, word));
      }
    }
  }

  /// False: the block is gone. unpin() follows soon.
  bool pin(const Allocation& block) noexcept;
  /// If the block was freed meanwhile, it becomes free now.
  void unpin(const Allocation& block) noexcept;
  /// Unpins the block that a dead process left pinned.
  void unpin_left() noexcept;

 private:
  struct Cursor {
    std::mutex mutex;
    std::uint32_t span = 0;  // 0: none (span 0 is never small)
    std::uint32_t next = 0;
    std::uint32_t freed_count = 0;
    std::array<void*, 64> freed;  // the most recent ones of this process: hints, claimed by CAS like all others
  };

  std::atomic<std::uint32_t>* slot_words(std::uint32_t span) const noexcept {
    return reinterpret_cast<std::atomic<std::uint32_t>*>(spans_.memory(span));
  }
  Allocation small(std::uint32_t span, std::size_t size_class, std::uint32_t index) const noexcept;
  Allocation large(std::uint32_t span, std::uint32_t word) const noexcept;
  void lock_spans() noexcept;
  Result<std::uint32_t> take_run(std::uint32_t count);
  Result<std::uint32_t> new_small_span(std::size_t size_class);
  bool is_empty(std::uint32_t span, std::size_t size_class) const noexcept;
  std::uint32_t trim() noexcept;
  bool publish(Cursor& cursor, std::uint32_t span, std::size_t size_class) noexcept;
  void* claim_slot(std::uint32_t span, std::size_t size_class, std::uint32_t index) noexcept;
  void* claim(std::uint32_t span, std::size_t size_class, std::uint32_t from) noexcept;
  Result<void*> allocate_large(std::size_t bytes);
  Result<void*> allocate_small(std::size_t size_class);
  void not_full(std::uint32_t span, std::size_t size_class) noexcept;
  /// A block's word becomes `free`; or, if it is pinned, unpin() will do that (then false).
  static bool free_block_word(const Allocation& block, std::uint32_t free) noexcept;
  void lock_pins() noexcept;
  void unpin_word(const Allocation& block) noexcept;

  Mapping& mapping_;
  ProcessTable& processes_;
  Spans spans_;
  AllocationWords& words_;
  ProcessWord me_ = 0;        // of this process
  Claims* claims_ = nullptr;  // of this process
  const std::function<bool()> reclaim_;
  std::array<Cursor, kClasses.size()> cursors_;
};

}  // namespace baton::objects::detail
