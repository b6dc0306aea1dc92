// SPDX-License-Identifier: Apache-2.0
// The heap in spans of 64 KiB, and a word per span. Runs of spans are taken from the machine or from free spans, and
// given back.
//
// A span word, bits 29..31 kind, 0..28 payload:
//   kFree; kPending (ProcessWord): that process makes or frees it, or allocated it and has not settled it; kSmall (size
//   class): objects of one size; kLargeRaw, kLargeBlock, kLargeOwned (guard): first span of a large allocation; kRest
//   (index of the first span)
// Invariants:
//   1. A run is made and freed under `lock`, with its first word kPending. So the recovery finds a run that a dead
//      process left half made by that process's name: the words kRest behind the first one, then the first one, become
//      kFree.
//   2. Between take() and free() the first word of a run belongs to allocations.cpp.
// Thread rules: take() and free() under lock(); everything else is thread-safe.
// [W]: a release store of a span word pairs with the acquire loads of the word: the reader sees the run, or the object
// in it, complete.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "baton/objects/process_lock.hpp"
#include "mapping.hpp"

namespace baton::objects::detail {

enum class SpanKind : std::uint32_t { kFree, kPending, kSmall, kLargeRaw, kLargeBlock, kRest, kLargeOwned };
inline constexpr std::uint32_t kPayload = 0x1fff'ffff;
inline constexpr std::uint32_t span_word(SpanKind kind, std::uint32_t payload) noexcept {
  return static_cast<std::uint32_t>(kind) << 29 | payload;
}
inline constexpr SpanKind kind_of(std::uint32_t word) noexcept { return static_cast<SpanKind>(word >> 29); }

struct SpanWords {
  explicit SpanWords(std::byte* base) : lock(base) {}
  std::uint32_t count = 0;               // of spans; the words, one per span, lie behind the header
  std::uint32_t first = 0;               // the spans before it hold the header and the words
  std::atomic<std::uint32_t> backed{0};  // spans [first, backed) have memory; under `lock`
  std::uint32_t reserved = 0;
  ProcessLock lock;
};

Error no_room(std::size_t bytes, std::size_t limit);

class Spans {
 public:
  Spans(Mapping& mapping, SpanWords& words, std::atomic<std::uint32_t>* table) noexcept
      : mapping_(mapping), base_(mapping.base()), words_(words), table_(table) {}

  std::uint32_t first() const noexcept { return words_.first; }
  std::uint32_t count() const noexcept { return words_.count; }
  std::size_t backed_bytes() const noexcept { return words_.backed.load(std::memory_order_relaxed) * kSpanBytes; }
  std::atomic<std::uint32_t>& word(std::uint32_t span) const noexcept { return table_[span]; }
  std::uint32_t load(std::uint32_t span) const noexcept { return table_[span].load(std::memory_order_acquire); }  // [W]
  std::uint64_t offset_of(const void* memory) const noexcept {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(memory) - base_);
  }
  std::uint32_t span_of(const void* memory) const noexcept {
    return static_cast<std::uint32_t>(offset_of(memory) / kSpanBytes);
  }
  std::byte* memory(std::uint32_t span) const noexcept { return base_ + std::size_t{span} * kSpanBytes; }
  /// Spans of the run that begins with this one.
  std::uint32_t run_of(std::uint32_t first) const noexcept;

  Locked lock() noexcept { return words_.lock.lock(); }
  void make_consistent() noexcept { words_.lock.make_consistent(); }
  void unlock() noexcept { words_.lock.unlock(); }
  /// The first free run of `count` spans, kPending, backed; empty if no run is free. Error: out_of_memory.
  std::optional<Result<std::uint32_t>> take(std::uint32_t count);
  /// Frees the run, whose first word is kPending.
  void free(std::uint32_t first) noexcept;

 private:
  Result<void> back(std::uint32_t end);

  Mapping& mapping_;
  std::byte* const base_;
  SpanWords& words_;
  std::atomic<std::uint32_t>* const table_;
};

}  // namespace baton::objects::detail
