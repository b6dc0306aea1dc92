// SPDX-License-Identifier: Apache-2.0
// A heap's memory, word by word, and what one process keeps beside it.
//
// The memfd: HeapHeader, the span words, then spans of 64 KiB.
// A span word, bits 29..31 kind, 0..28 payload:
//   kFree; kPending (ProcessWord): a process makes or unmakes it, or it is the process's; kSmall (size class): objects of one size; kLargeRaw,
//   kLargeBlock, kLargeOwned (guard): first span of a large allocation; kRest (index of the first span)
// Changes of span words are made under HeapHeader::span_lock. A run is made and unmade with its first word kPending, so what a dead process left is
// found by its name: the words kRest behind it, then itself, become kFree.
// A small span begins with one word per object: 0 free; kSlotPending | ProcessWord: being made, or that process's; kSlotRaw,
// kSlotBlock (pinned or not), kSlotOwned | guard: living. A guard is the place of a guarded<> in units of 64 bytes: what its containers allocate. Claimed by CAS from 0, freed by a store of 0. So each allocation of a dead process that nobody else knows is
// found by its name; there is no free list that could be left broken.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "baton/memory/window.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/fork_listener.hpp"
#include "baton/shared/block.hpp"
#include "baton/shared/heap.hpp"
#include "baton/shared/process_lock.hpp"
#include "closing.hpp"

namespace baton::shared::detail {

inline constexpr std::uint64_t kMagic = 0x31'50'41'45'48'54'4f'4c;  // "LOTHEAP1"
inline constexpr std::uint32_t kVersion = 5;
inline constexpr std::size_t kSpanBytes = 65536;
inline constexpr std::size_t kRoots = 256;
inline constexpr std::size_t kRootNameBytes = 48;

enum class SpanKind : std::uint32_t { kFree, kPending, kSmall, kLargeRaw, kLargeBlock, kRest, kLargeOwned };
inline constexpr std::uint32_t kPayload = 0x1fff'ffff;
inline constexpr std::uint32_t span_word(SpanKind kind, std::uint32_t payload) noexcept {
  return static_cast<std::uint32_t>(kind) << 29 | payload;
}
inline constexpr SpanKind kind_of(std::uint32_t word) noexcept { return static_cast<SpanKind>(word >> 29); }

// Of a small span, beside its size class:
inline constexpr std::uint32_t kFull = 1U << 28;      // no free object was seen, and none was freed since
inline constexpr std::uint32_t kClosing = 1U << 27;   // trim() looks whether it can be given back: no claims
inline constexpr std::uint32_t kReserved = 1U << 26;  // never given back
inline constexpr std::size_t size_class_of(std::uint32_t word) noexcept { return word & 0xff; }

inline constexpr std::uint32_t kSlotPending = 1U << 31;
inline constexpr std::uint32_t kSlotOwned = 1U << 30;
inline constexpr std::uint32_t kSlotRaw = 1;
inline constexpr std::uint32_t kSlotBlock = 2;
inline constexpr std::uint32_t kSlotPinned = 3;       // a block that recover() looks at: freeing it waits for that
inline constexpr std::uint32_t kSlotPinnedFreed = 4;  // and is due then
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
/// Which object of a span of the class has the byte at this offset in the heap, behind first_object(). Without a division: exact below 64 KiB.
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

struct alignas(64) ProcessSlot {
  /// kRecovering: of a dead process, whose byte its recoverer has; so nobody takes it for alive.
  enum State : std::uint32_t { kNobody, kInUse, kRecovering };
  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> epoch;
  std::atomic<std::uint64_t> pid_namespace;
  std::atomic<std::int32_t> pid;
  std::atomic<std::uint32_t> spans[kClasses.size()][2];  // in which it claims small objects; see trim()
};

/// A name that processes find an object by.
struct Root {
  char name[kRootNameBytes];  // empty: free
  std::uint64_t type;
  StoredWords object;
};

struct HeapHeader {
  explicit HeapHeader(std::byte* base) : span_lock(base), root_lock(base), pin_lock(base) {}
  std::uint64_t magic = 0;  // stored last
  std::uint32_t version = kVersion;
  std::uint32_t layout_bytes = sizeof(HeapHeader);  // two builds that differ here cannot share
  std::uint64_t limit = 0;
  std::uint32_t spans = 0;
  std::uint32_t first_span = 0;            // those before hold the header and the words
  std::atomic<std::uint32_t> backed{0};    // spans [first_span, backed) have memory; under span_lock
  std::atomic<std::uint32_t> orphans{0};   // a hint: there may be some
  std::atomic<std::uint32_t> confined{0};  // a lock with priority inheritance was made: one PID namespace from then on
  std::atomic<std::uint32_t> unwatched{
      0};  // 1: a process may be here whose death is not heard by all; stays (waiter_table.hpp)
  ProcessLock span_lock;
  ProcessLock root_lock;
  ProcessLock pin_lock;
  std::atomic<std::uint64_t> pinned{0};  // offset of the one block that may be pinned; under pin_lock
  ProcessSlot slots[kMaxProcesses] = {};
  Root roots[kRoots] = {};
  std::atomic<std::uint32_t>* words() noexcept { return reinterpret_cast<std::atomic<std::uint32_t>*>(this + 1); }
};

/// Reaches into a Heap.
struct HeapAccess {
  static HeapState& state(Heap& heap) noexcept;
};

class Membership;  // hand_over.cpp: the name in the domain

Error no_room(std::size_t bytes, std::size_t limit);

class HeapState final : public std::enable_shared_from_this<HeapState>, os::ForkListener {
 public:
  static Result<std::shared_ptr<HeapState>> create(const HeapOptions& options);
  static Result<std::shared_ptr<HeapState>> attach(const os::UniqueFd& descriptor, const HeapOptions& options);
  ~HeapState();

  std::byte* base() const noexcept { return base_; }
  HeapHeader& header() const noexcept { return *reinterpret_cast<HeapHeader*>(base_); }
  const os::UniqueFd& descriptor() const noexcept { return share_; }
  bool forked() const noexcept { return generation_ != os::fork_generation(); }
  ProcessWord me() const noexcept { return private_of(base_).me.load(std::memory_order_relaxed); }

  // --- allocate.cpp ---
  /// Pending: this process's, and freed when it ends, until settle().
  Result<void*> allocate(std::size_t bytes, std::size_t alignment);
  enum class Kind : std::uint8_t { kRaw, kBlock, kOwned };
  void settle(void* memory, Kind kind, std::uint32_t guard = 0) noexcept;  ///< it is that now
  void release(void* memory) noexcept;
  Result<void> reserve(std::size_t bytes, std::size_t count);
  void prefault() noexcept;
  HeapStats stats();
  /// A block and the word that says so. Other processes may free it, and use its memory for something else, unless it is pinned.
  struct Found {
    Block* block;
    std::atomic<std::uint32_t>* word;
    bool small;
    std::uint32_t living() const noexcept { return small ? kSlotBlock : span_word(SpanKind::kLargeBlock, 0); }
    std::uint32_t pinned() const noexcept {
      return small ? kSlotPinned : span_word(SpanKind::kLargeBlock, kLargePinned);
    }
    std::uint32_t pinned_freed() const noexcept {
      return small ? kSlotPinnedFreed : span_word(SpanKind::kLargeBlock, kLargePinnedFreed);
    }
    bool is_freed() const noexcept { return word->load(std::memory_order_acquire) == pinned_freed(); }
  };
  /// Frees what the dead process of `slot` (kMaxProcesses: none) had in the making, and shows every block to `visit`.
  void walk(std::size_t slot, const std::function<void(const Found&)>& visit);
  /// False: it is gone. One at a time in the heap; unpin() follows soon, and what was freed meanwhile is free then.
  bool pin(const Found& found) noexcept;
  void unpin(const Found& found) noexcept;
  /// Before leaving: what this process allocated and did not keep().
  void free_mine() noexcept;
  /// Memory is short: true if dead processes' was given back, by us or by who is at it.
  bool recover_memory();
  void note_raw() noexcept { has_raw_.store(true, std::memory_order_relaxed); }

  // --- owned.cpp ---
  /// Frees what the containers of a guard have, with the smart pointers in it. Nobody uses them.
  void free_owned(std::uint32_t guard) noexcept {
    free_owned_if([guard](std::uint32_t of) { return of == guard; });
  }
  void free_owned_if(const std::function<bool(std::uint32_t guard)>& which) noexcept;
  /// The same for guards in memory that is such a process's until settle(), before it is freed.
  void free_owned_of(const std::function<bool(ProcessWord)>& whose) noexcept;
  /// Smart pointers stored in this memory, which nobody uses, become null.
  void clear_pointers_in(std::byte* memory, std::size_t bytes) noexcept;
  /// What lies around an address; `memory` is null if nothing does.
  struct Allocation {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
    bool block = false;
    std::uint32_t guard = 0;  // whose it is; 0: of none
    ProcessWord pending = 0;  // whose until settle(); 0: nobody's
  };
  Allocation allocation_at(const void* address) noexcept;

  // --- recovery.cpp ---
  bool lives(ProcessWord process) noexcept;
  std::size_t collect();
  Result<void> join();
  void leave() noexcept;
  /// Calls on_event, with no lock but that of calls to it; from within a recovery, when that is done.
  void tell(const HeapEvent& event) noexcept;
  /// No calls from now on.
  void tell_nobody() noexcept;

  // --- block.cpp ---
  Block* block_of(const LocalCount* local) const noexcept {
    return reinterpret_cast<Block*>(base_ + (local - locals_) * 64);
  }
  std::uint64_t offset_of(const void* p) const noexcept {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(p) - base_);
  }
  /// What a dead owner had half done is undone or completed then.
  void lock_block(Block& block) noexcept;
  void after_dead_owner(Block& block) noexcept;
  void unlock_block(Block& block) noexcept { block.lock.unlock_consistent(); }  // every owner has made it so
  /// For the owner of the lock, which is given up: ends the object if nothing refers to it, and its memory when it can.
  void unlock_and_settle(Block& block) noexcept {
    if (block.state.load(std::memory_order_relaxed) == BlockState::kAlive && (block.count != 0 || block.holds != 0)) {
      unlock_block(block);
    } else {
      unlock_and_end(block);
    }
  }
  void unlock_and_end(Block& block) noexcept;
  void recover(const Found& found, std::size_t slot) noexcept;
  /// For recover(), of a pinned block: the lock, unless the block is freed meanwhile or `of_interest` no more.
  bool lock_pinned(const Found& found, const std::function<bool()>& of_interest) noexcept;
  /// Of a block that is kDue, or kEnding, with this process as its worker, unlocked; or later, if this thread ends another one.
  void end_object(Block& block) noexcept;
  void end_one(Block& block) noexcept;
  void end_memory(Block& block) noexcept;

  /// Smart pointers in this process's private memory keep the heap open; closing.hpp. They are counted from the end of its Heap object on.
  void begin_closing() noexcept;
  /// With Closing's lock: false if something may be held.
  bool nothing_held() noexcept;
  /// Before the hold's bit is set.
  void held() noexcept {
    if (!closing_.load(std::memory_order_relaxed)) return;
    gains_.fetch_add(1, std::memory_order_acq_rel);  // with holds_, see nothing_held()
    holds_.fetch_add(1, std::memory_order_acq_rel);
  }
  /// After it is cleared. Inside.
  void let_go() noexcept {
    // acquire: pairs with the release in begin_closing().
    if (closing_.load(std::memory_order_acquire) && holds_.fetch_sub(1, std::memory_order_acq_rel) <= 1) Inside::want();
  }
  void set_membership(std::unique_ptr<Membership> membership);
  void stop_membership() noexcept;  ///< its thread; the sockets stay
  void end_membership() noexcept;

  // --- waiters.cpp, for the background thread ---
  /// D6, unless somebody cannot be heard.
  void watch_deaths() noexcept;
  /// D2 to D4.
  void notify_waiters() noexcept;
  std::mutex& notify_mutex() noexcept { return notify_mutex_; }
  bool unwatched() const noexcept {
    return header().unwatched.load(std::memory_order_acquire) != 0;
  }  // pairs with set_unwatched()
  /// From now on there may be a process whose death not all hear of. The background thread tells the others when it comes round.
  void set_unwatched() noexcept { header().unwatched.store(1, std::memory_order_release); }
  /// The same from any thread, before the heap is given to somebody who has no sockets.
  void before_attaching() noexcept;
  /// For the background thread: the heap that it is of. What it closes itself, in a recovery, it takes afterwards and ends.
  static const HeapState*& background() noexcept;
  void park(std::shared_ptr<HeapState> self) noexcept;
  std::shared_ptr<HeapState> take_parked() noexcept;

 private:
  HeapState() = default;
  std::uint64_t count_holds();
  Result<void> map(std::size_t limit);
  Result<std::uint32_t> take_run(std::uint32_t count);
  std::optional<Result<std::uint32_t>> first_run(std::uint32_t count);
  std::uint32_t trim() noexcept;
  Result<void> back(std::uint32_t end);
  Result<std::uint32_t> small_span(std::size_t size_class);
  struct Cursor;
  /// A block's word: becomes `free`, or unpin() will see to that (then false).
  static bool free_block_word(const Found& found, std::uint32_t free) noexcept;
  void unpin_left() noexcept;
  void unpin_word(const Found& found) noexcept;
  bool publish(Cursor& cursor, std::uint32_t span, std::size_t size_class) noexcept;
  static void not_full(std::atomic<std::uint32_t>& word, std::size_t size_class) noexcept;
  std::uint32_t span_of(const void* memory) const noexcept {
    return static_cast<std::uint32_t>(offset_of(memory) / kSpanBytes);
  }
  void* claim(std::uint32_t span, std::size_t size_class, std::uint32_t from) noexcept;
  std::atomic<std::uint32_t>* slot_words(std::uint32_t span) const noexcept {
    return reinterpret_cast<std::atomic<std::uint32_t>*>(base_ + std::size_t{span} * kSpanBytes);
  }
  void lock_spans() noexcept;
  void free_run(std::uint32_t first, ProcessWord owner) noexcept;
  void recover_slot(std::size_t slot);
  class Recovery;
  bool recovers() const noexcept;  ///< this thread

  void before_fork() override;
  void after_fork_in_parent() override;
  void after_fork_in_child() override;

  std::uint32_t generation_ = 0;
  std::byte* window_base_ = nullptr;  // of the private part and the heap behind it
  std::size_t window_bytes_ = 0;
  std::byte* base_ = nullptr;
  LocalCount* locals_ = nullptr;
  os::UniqueFd share_;  // the description that others get: holds no locks
  os::UniqueFd live_;   // this process's own: holds the byte of its slot
  memory::SegmentRecord record_;
  std::size_t slot_ = 0;
  std::recursive_mutex event_mutex_;                                 // calls to on_event, which may end the Heap object
  std::shared_ptr<std::function<void(const HeapEvent&)>> on_event_;  // under event_mutex_; may be null
  std::mutex recovery_mutex_;                                        // byte locks are of the process, not of a thread
  std::atomic<bool> has_raw_{false};  // this process has used allocate() since it opened the heap
  bool published_ = false;
  bool listening_ = false;

  struct Cursor {
    std::mutex mutex;
    std::uint32_t span = 0;  // 0: none (spans before first_span are never small)
    std::uint32_t next = 0;
    std::uint32_t freed_count = 0;
    std::array<void*, 64> freed;  // most recent ones of this process: hints, claimed by CAS like all others
  };
  std::array<Cursor, kClasses.size()> cursors_;
  std::mutex notify_mutex_;  // notify_all() of this process's WaiterTable
  std::mutex membership_mutex_;
  std::unique_ptr<Membership, void (*)(Membership*)> membership_{nullptr, nullptr};
  std::atomic<bool> closing_{false};
  std::atomic<std::int64_t> holds_{0};  // what is held while it is closing; may be too low
  std::atomic<std::uint64_t> gains_{0};
  std::shared_ptr<HeapState> parked_;
};

}  // namespace baton::shared::detail
