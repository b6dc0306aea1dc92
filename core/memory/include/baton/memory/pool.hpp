// SPDX-License-Identifier: Apache-2.0
// A publisher's memory: sealed sparse segments divided into slots, with all bookkeeping in private memory.
// Thread rules: a Pool is externally synchronised (the transport's per-publisher mutex); the content of different loans
// may be written by different threads at the same time.
// Invariants: (1) a slot is Free, Loaned, or Published with references > 0 or waiting for lazy release; (2) no policy
// ever takes a slot with a reference that eviction cannot drop (a sample being read); (3) backed bytes <=
// memory_limit_bytes;
// (4) free slots are reused last-in first-out, so their pages are warm; (5) steady state: no system call, no heap
//     allocation.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "baton/memory/backed_ranges.hpp"
#include "baton/memory/chunk_header.hpp"
#include "baton/memory/handle.hpp"
#include "baton/memory/window_share.hpp"
#include "baton/os/hot_memory.hpp"
#include "baton/os/result.hpp"

namespace baton::memory {

/// What loan() does when memory is short: the policies of TZC III-E, or none. No policy blocks.
enum class Policy : std::uint8_t {
  kBestEffort,    ///< evict and reclaim old messages, oldest first, until the new one fits or nothing is left
  kMediumEffort,  ///< the same, at most `attempts` times (default)
  kWorstEffort,   ///< only up to the first message being read: if that is the oldest, the new one is refused
  kNone,          ///< takes nothing back: refuses the new message, for callers that have a fallback
};

/// The default of PoolOptions::slot_count.
inline constexpr std::uint32_t kDefaultSlots = 4096;

struct PoolOptions {
  std::size_t max_message_bytes =
      0;  ///< virtual slot size of unsized loans; 0 = default of this window (256 MiB on 47 bits)
  std::size_t memory_limit_bytes = 0;  ///< bytes of RAM this publisher may ever back; 0 = 1 GiB
  /// Page-exclusive slots: unsized loans and messages above 64 KiB alive at the same time; 0 = 4096. The pool begins
  /// with room for 16 and adds more when needed; memory_limit_bytes limits their number.
  std::uint32_t slot_count = kDefaultSlots;
  Policy policy = Policy::kMediumEffort;
  std::uint32_t attempts = 8;  ///< kMediumEffort: N >= 1
  bool prefault =
      false;  ///< back and map whole slots at creation, as many as memory_limit_bytes pays for, at most `slot_count`
};

/// A chunk in this process's writable mapping. A plain value; the Pool's functions below define its ownership.
struct Chunk {
  ChunkHeader* header = nullptr;
  Handle handle = 0;
  std::size_t capacity_bytes = 0;  ///< message bytes the slot can hold (virtual)
  void* message() const noexcept { return header + 1; }
};

/// The pool calls it when memory is short (policies): drop the oldest unread queued message from every queue that holds
/// it. Returns true if the dropped references were released via Pool::release.
using Evict = std::function<bool(Handle oldest)>;

class Pool : public os::Hot {
 public:
  /// `on_segment(index, fd, size)` is called once per new data segment, inside loan(), before a chunk of the segment is
  /// returned. The fd stays owned by the pool. The first loan creates the first segment; with `prefault`, create()
  /// does. In either case create() reserves the first segment's addresses. Errors: window_exhausted, invalid_argument,
  /// message_too_large.
  static Result<std::unique_ptr<Pool>> create(
      const PoolOptions& options, Evict evict,
      std::function<void(std::uint32_t index, int fd, std::uint64_t size)> on_segment);
  virtual ~Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// How many messages a pool with these options can keep alive at the same time: of `message_bytes` each, or of
  /// unknown sizes if `message_bytes` is 0.
  static std::uint64_t capacity(const PoolOptions& options, std::size_t message_bytes) noexcept;

  /// A chunk for a message of a known total size (skeleton + contents): packed size class, or a page-exclusive slot.
  Result<Chunk> loan_sized(std::size_t message_bytes, std::size_t skeleton_bytes);
  /// A chunk that may grow up to max_message_bytes: page-exclusive sparse slot. Backs at least the skeleton.
  Result<Chunk> loan_growing(std::size_t skeleton_bytes);
  /// The same for a message that is to have `expected_bytes` when it is complete: makes room for them as loan_sized() does, and backs the
  /// skeleton alone. For a message that arrives in parts. Error message_too_large also where they exceed max_message_bytes.
  Result<Chunk> loan_growing(std::size_t skeleton_bytes, std::size_t expected_bytes);
  /// Raises what PoolOptions says; a lower number changes nothing. Messages that are larger than the slots take slots of a new segment, as
  /// after retire_segment(); these slots are half as large again at least,
  /// and their first segment has as many as the memory limit pays for.
  void raise_limits(std::size_t max_message_bytes, std::size_t memory_limit_bytes,
                    std::function<void(std::uint32_t index)> on_retired);
  /// Gives an unpublished loan back. True: the message could not grow for want of memory.
  bool abandon(const Chunk& chunk) noexcept;
  /// Closes the loan: fixes header->size_bytes; content calls on it fail from now on. The message has as many references
  /// as the caller is going to hand out or keep, at least one. `plain_header`: the caller has written no word of the header
  /// but sequence and times; so the next loan of this memory need not write the others again. True: no message was as large before.
  bool publish(const Chunk& chunk, std::uint32_t references = 1, bool plain_header = false) noexcept;
  /// Who publishes, in the headers of all loans from now on: publisher_id and type_hash. REQUIRES: there was no loan before.
  void set_publisher(const std::uint8_t* id, const std::uint8_t* type_hash) noexcept;

  /// The header of one of the pool's own chunks; null if there is none at that handle.
  const ChunkHeader* header_of(Handle handle) const noexcept;

  void add_reference(Handle handle) noexcept;
  /// Drops a reference; at zero the slot is reusable (lazily: nothing else happens).
  void release(Handle handle) noexcept;
  /// `collect` is called by loan paths before they take a fresh slot; the transport collects released entries of all
  /// connections in it.
  void set_collect(std::function<void()> collect);
  /// `on_retired(index)` is called when a segment that the pool retired by itself is unmapped. Memory of free slots
  /// cannot be moved to a slot that needs more. So when free slots use up the limit and no message is alive, the pool
  /// starts anew. Without this hook it never starts anew, because readers would keep the old segment.
  void set_retired(std::function<void(std::uint32_t index)> on_retired);

  /// Starts a new segment; each old one is unmapped when its last chunk is released. `on_retired(index)` then.
  void retire_segment(std::function<void(std::uint32_t index)> on_retired);

  struct Account {
    std::size_t backed_bytes, limit_bytes, loaned_slots, published_slots, segments;
    std::size_t address_bytes;  ///< of the window, taken or reserved
  };
  Account account() const noexcept;
  /// Memory of the message, its reserve included; 0 if there is no message at that handle.
  std::size_t bytes_of(Handle handle) const noexcept;
  /// Memory of all published messages. O(messages).
  std::size_t published_bytes() const noexcept;
  /// How many more messages of `bytes` (header included) could be loaned now and grow to this size, if the system gives at most
  /// `left_bytes` more: in free slots, and in memory that was not taken yet. O(free slots).
  std::uint64_t room(std::size_t bytes, std::size_t left_bytes) const noexcept;
  /// Memory that a message of `bytes` (header excluded) takes in a slot of its own.
  static std::size_t slot_bytes(std::size_t bytes) noexcept;
  /// memory_limit_bytes, or its default.
  static std::size_t limit_bytes(const PoolOptions& options) noexcept;
  /// Segments alive now, for a subscriber that attaches later: calls `visit(index, fd, size)`.
  void visit_segments(const std::function<void(std::uint32_t, int, std::uint64_t)>& visit) const;

 private:
  struct State;  // the pool itself
  Pool() = default;
};

/// A foreign data segment. It is checked when it is announced, and mapped read-only inside the window when its first
/// message is taken. The descriptor is kept, because chunk() asks the kernel about its pages.
class ForeignSegment : public os::Hot {
 public:
  /// open() and map().
  static Result<std::shared_ptr<ForeignSegment>> map(int fd, std::uint64_t announced_size,
                                                     std::shared_ptr<WindowShare> share = nullptr);
  /// Checks the segment (os/memory_file.hpp; docs/format/chunk.md, section 1). Closes `fd` on success and failure.
  /// `share` counts the addresses that the segment takes of the window; null: not counted (this process's own segment).
  /// Errors: protocol_violation, window_exhausted (no window at all).
  static Result<std::shared_ptr<ForeignSegment>> open(int fd, std::uint64_t announced_size,
                                                      std::shared_ptr<WindowShare> share = nullptr);
  /// Any thread; no effect once mapped. Errors: window_exhausted, out_of_memory, system. A later call may succeed.
  Result<void> map();
  bool mapped() const noexcept { return base() != nullptr; }
  /// Reads the chunk at `offset` through the descriptor and returns it as a segment of its own, at offset 0: for a
  /// segment that cannot be mapped. chunk() of the copy tells whether it is a valid chunk. REQUIRES: the publisher does
  /// not reuse the chunk. Errors: protocol_violation, those of map(), limit_reached (too much is copied already),
  /// unsupported (the segment is mapped).
  Result<std::shared_ptr<ForeignSegment>> copy_of(std::uint64_t offset) const;
  ~ForeignSegment();
  ForeignSegment(const ForeignSegment&) = delete;
  ForeignSegment& operator=(const ForeignSegment&) = delete;
  /// The chunk at `offset` if header and size_bytes lie inside the segment, all its pages are backed, and magic and
  /// version are right; else protocol_violation. size_bytes is fetched once and returned in `size_bytes`. O(1) and no
  /// system call for a range seen before; for a new range it asks the kernel. Other errors: system. REQUIRES: mapped().
  Result<const ChunkHeader*> chunk(std::uint64_t offset, std::uint32_t* size_bytes) const;
  /// chunk() of a message that can be checked with what is known already, as most can: short code for the hot path. Null: ask chunk().
  const ChunkHeader* known_chunk(std::uint64_t offset, std::uint32_t* size_bytes) const noexcept {
    const std::uint64_t page = offset >> page_shift_;
    const std::uint64_t from = page << page_shift_;
    std::uint64_t known = backed_.known(page);
    if (unlikely(known == 0)) known = locked_from(page);
    const std::uint64_t room = std::min(known << page_shift_, size_ - from);
    const std::uint64_t end = offset - from + sizeof(ChunkHeader);
    if (offset % 64 != 0 || end > room) return nullptr;
    const auto* const header = reinterpret_cast<const ChunkHeader*>(base() + offset);
    // Fetch each word once: the checked value is the used value.
    const std::uint32_t magic = *static_cast<const volatile std::uint32_t*>(&header->magic);
    const std::uint16_t version = *static_cast<const volatile std::uint16_t*>(&header->version);
    const std::uint32_t size = *static_cast<const volatile std::uint32_t*>(&header->size_bytes);
    if (magic != kChunkMagic || version != kChunkVersion || size > kMaxMessageBytes || size > room - end)
      return nullptr;
    *size_bytes = size;
    return header;
  }
  /// Prefetches the first lines of the header and the message at `offset`: those that take() and the check of the message read. A hint:
  /// never faults, whatever the offset.
  void prefetch(std::uint64_t offset) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(base()) + offset;
    for (const std::uintptr_t line : {0U, 2U, 3U}) __builtin_prefetch(reinterpret_cast<const void*>(at + 64 * line));
  }
  const std::byte* base() const noexcept {
    return base_.load(std::memory_order_acquire);
  }  // pairs with the release in map()
  std::uint64_t size() const noexcept { return size_; }

  /// Independent private copies of one segment.
  static constexpr unsigned kLanes = 8;
  /// The base of a private, writable mapping of the whole segment in the window (os/private_mapping.hpp). Made at first
  /// use, kept until the segment ends. A page that was written there shows the publisher's later messages only after
  /// os::discard_private_changes(). Any thread. Errors: unsupported (this is a copy of one message; locked memory),
  /// window_exhausted, out_of_memory, system. REQUIRES: lane < kLanes.
  Result<std::byte*> private_copy(unsigned lane);

 private:
  struct Mapping;
  ForeignSegment();
  void publish(std::byte* base, std::size_t bytes);
  void release() noexcept;
  Result<std::byte*> allocate_shared(std::size_t bytes) const;
  std::uint64_t locked_from(std::uint64_t page) const noexcept;
  Result<bool> look_up(std::uint64_t page, std::uint32_t count) const;
  std::atomic<const std::byte*> base_{nullptr};  // set once; null: not mapped
  std::uint64_t size_ = 0;
  unsigned page_shift_ = 0;
  bool copied_ = false;  ///< private memory of this process: no hole, no descriptor
  mutable BackedRanges backed_;
  // In a process with locked memory: pages [first, last) that were backed and locked when the segment was mapped. Set
  // before base_.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> locked_;
  std::unique_ptr<Mapping> mapping_;
};

}  // namespace baton::memory
