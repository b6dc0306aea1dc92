// SPDX-License-Identifier: Apache-2.0
// One data segment of a pool and the private bookkeeping of its slots.
// Thread rules: externally synchronised like Pool, with two exceptions: find_slot() reads only fields that never change
// after a slot was first loaned, and a loaned slot's own fields belong to the loan's thread.
// Layout, private to the pool (docs/format/chunk.md): [packed area: runs of 64 KiB, one size class each][large area:
// slots of slot_bytes].
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "baton/memory/chunk_header.hpp"
#include "baton/memory/handle.hpp"
#include "baton/memory/segment_record.hpp"
#include "baton/os/hot_memory.hpp"
#include "baton/os/result.hpp"
#include "baton/os/unique_fd.hpp"
#include "content_book.hpp"

namespace baton::memory {

inline constexpr std::size_t kRunBytes = std::size_t{64} << 10;
inline constexpr unsigned kClasses = 9;  // 256 B, 512 B, ... 64 KiB, header included
inline constexpr unsigned kLargeClass = kClasses;
constexpr std::size_t class_bytes(unsigned size_class) noexcept { return std::size_t{256} << size_class; }

struct PoolSegment;

struct Slot {
  enum class State : std::uint8_t { kFree, kLoaned, kPublished };
  PoolSegment* segment = nullptr;
  Handle handle = 0;             ///< of its chunk
  std::size_t backed = 0;        ///< bytes from the slot's start that have memory
  std::uint32_t references = 0;  ///< kPublished only
  State state = State::kFree;
  std::uint8_t size_class = 0;
  bool plain_header = false;  ///< the header has what is the same in all messages of the pool, and no PublishInfo
  bool starved = false;       ///< kLoaned: the message could not grow
  std::uint64_t age = 0;      ///< kPublished: counts publications
  Slot* older = nullptr;      ///< kPublished: the neighbour in age; kFree: the next slot in the list
  Slot* newer = nullptr;
  /// kLoaned: lent by the pool. kPublished: null, or of the OwnCopy of the program that published the message.
  ContentBook* book = nullptr;

  inline std::size_t bytes() const noexcept;                               ///< virtual size, header included
  std::uint64_t offset() const noexcept { return handle_offset(handle); }  ///< of the ChunkHeader in the segment
  inline ChunkHeader* header() const noexcept;
  std::byte* message() const noexcept { return reinterpret_cast<std::byte*>(header() + 1); }
};
static_assert(sizeof(Slot) <= 64, "one cache line");

/// A run of one size class.
struct Run : os::Hot {
  unsigned size_class;
  os::HotVector<Slot> slots;
};

/// The layout of a segment; pool.cpp chooses it.
struct SegmentShape {
  std::size_t packed_bytes = 0, slot_bytes = 0;
  std::size_t slots = 0;
  std::size_t bytes() const noexcept { return packed_bytes + slot_bytes * slots; }
};

/// Shared by the pool and its loans, which grow outside the pool's lock.
struct Budget {
  std::atomic<std::size_t> missed{
      0};  // the size to which a loan last failed to grow, for the next loan's choice of a slot: relaxed
  std::atomic<std::size_t> backed{0};  // a sum that orders nothing else: relaxed
  std::atomic<std::size_t> limit{0};  // Pool::raise_limits() changes it beside loans that grow; orders nothing: relaxed

  Result<void> grow(std::size_t bytes);
  void shrink(std::size_t bytes) noexcept;
  std::size_t left() const noexcept {
    const std::size_t now = backed.load(std::memory_order_relaxed), most = limit.load(std::memory_order_relaxed);
    return now < most ? most - now : 0;
  }
};

struct PoolSegment : os::Hot {
  // What every message touches, in one line with the first three members of `record`.
  std::uint16_t index = 0;
  bool retired = false;
  std::uint32_t generation = 0;  ///< os::fork_generation() of its process
  std::uint64_t packed_bytes = 0, slot_bytes = 0;
  std::uint32_t slots = 0;  ///< large ones
  std::uint32_t live = 0;   ///< loaned and published slots
  Slot* first_large = nullptr;
  SegmentRecord record;

  os::HotVector<Slot> large;
  std::size_t large_used = 0;
  os::UniqueFd fd;
  Budget* budget = nullptr;
  std::unique_ptr<std::atomic<Run*>[], void (*)(void*)> runs { nullptr, nullptr };  ///< release/acquire: made once
  std::size_t runs_used = 0, run_count = 0;
  std::function<void(std::uint32_t)> on_retired;

  /// Makes a segment at `base`, which must be addresses of the window for shape.bytes(). The segment owns them from
  /// then on; after an error the caller does.
  static Result<std::unique_ptr<PoolSegment>> create(std::uint32_t index, const SegmentShape& shape, Budget* budget,
                                                     std::byte* base);
  ~PoolSegment();

  std::byte* base() const noexcept { return record.base; }
  Handle handle_at(std::uint64_t offset) const noexcept { return Handle{index} << 48 | offset; }
  /// The slot that holds `offset`, or null.
  Slot* find_slot(std::uint64_t offset) const noexcept {
    return offset < packed_bytes ? find_packed(offset) : find_large(offset);
  }
  Slot* find_packed(std::uint64_t offset) const noexcept;
  /// REQUIRES: offset >= packed_bytes.
  Slot* find_large(std::uint64_t offset) const noexcept {
    const std::uint64_t number = (offset - packed_bytes) / slot_bytes;
    return number < slots ? first_large + number : nullptr;
  }
  /// A run for `size_class`, backed; null if the packed area is used up.
  Result<Run*> carve_run(unsigned size_class);
  /// Backs `slot` up to `bytes` from its start.
  Result<void> back(Slot& slot, std::size_t bytes) {
    return bytes <= slot.backed ? Result<void>() : back_more(slot, bytes);
  }
  /// The slow path of back().
  Result<void> back_more(Slot& slot, std::size_t bytes);
};

inline std::size_t Slot::bytes() const noexcept {
  return size_class == kLargeClass ? segment->slot_bytes : class_bytes(size_class);
}
inline ChunkHeader* Slot::header() const noexcept { return reinterpret_cast<ChunkHeader*>(segment->base() + offset()); }

}  // namespace baton::memory
