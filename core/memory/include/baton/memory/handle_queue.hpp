// SPDX-License-Identifier: Apache-2.0
// The queue of handles between one publisher and one subscription, with safe overflow: when it is full the publisher
// drops the oldest unread message. It lies in memory that the caller supplies:
//   * the ring (head, slots): written by the publisher only, mapped read-only by the subscriber;
//   * the cursor: one word in the connection segment, advanced by compare-and-swap from both sides.
// Position p (from 0) names the p-th message ever pushed; it lies in slot p & (capacity - 1). head = positions pushed,
// cursor = positions taken or evicted. Both only grow and never wrap (2^64), so there is no ABA.
// The entry token in a slot names the position of the slot's message (entry_token.hpp), and is the last word of the slot that is written. So
// the consumer finds a message by the slot alone, and need not wait for the cache line of head as well. Head is there to count messages and
// to find the newest one.
//
// Thread rules: a QueueProducer is externally synchronised (the transport's per-publisher mutex). Any number of threads
// may use one QueueConsumer at the same time. Producer calls are wait-free, consumer calls lock-free with a bounded
// number of attempts; none blocks, allocates (after construction) or makes a system call.
//
// Invariants:
//  (1) head <= cursor + depth, depth <= capacity, cursor <= head + 1. The consumer may take a message before the producer stores head: then
//      cursor = head + 1, and so it stays if the producer dies there.
//  (2) Each position leaves the queue exactly once: the side that moves cursor from p to p + 1 owns p. The consumer
//      then holds the message, or the producer releases it (on_evict). A message that was taken is never evicted.
//  (3) Slot p is overwritten (by position p + capacity) only after cursor > p, so a successful try_take read no torn
//      slot.
//  (4) The producer never reads the ring: on_evict gets a position, and its owner keeps the handle that belongs to it
//      (release_table.hpp). A cursor outside [last seen, messages pushed] is reported as corrupted, and from then on the producer touches the
//      connection no more.
//  (5) The consumer trusts neither head nor slots: it reports a slot of an impossible position, and the caller must check the other
//      contents.
//  (6) A process may die between any two instructions: the other side sees either the old or the new cursor, and a message entirely or not
//      at all.
//
// Why the orderings suffice (each is also necessary: tests/model has a mutant for each, and finds it):
//  [T] slot.entry: release store by append, acquire load by peek: the consumer sees the slot's other words, the release entry and the
//      whole message.
//  [C] cursor: release on every successful CAS, acquire on every load. (a) The consumer's slot reads happen before the
//      producer's overwriting of that slot: they precede the consumer's CAS, and the producer overwrites only after it
//      has loaded a cursor from that CAS or a later one (all writes are RMWs: one release sequence). (b) A thread that
//      loads a cursor then sees, in each slot, at least the last message before that cursor: the CAS comes from a thread that acquired
//      the message, or from the producer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "baton/memory/entry_token.hpp"
#include "baton/memory/platform.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/os/hot_path.hpp"

namespace baton::memory {

enum class QueueStatus : std::uint8_t {
  kOk,
  kEmpty,      ///< consumer: nothing to take
  kContended,  ///< consumer: other takers or evictions won every attempt; nothing was taken, call again
  kCorrupted,  ///< the other side broke the protocol: end this connection
};

/// One message's entry in the ring: 32 bytes, every word a relaxed atomic because a consumer may read it while the
/// producer overwrites it (the read is then discarded, see invariant 3).
template <class Platform>
struct RingSlot {
  typename Platform::template atomic<std::uint64_t> handle;  //  0  where the chunk is (pool.hpp, Handle)
  typename Platform::template atomic<std::uint64_t> entry;   //  8  token: which position, and how to release it
  typename Platform::template atomic<std::int64_t> source_monotonic_ns;  // 16  CLOCK_MONOTONIC at publish
  typename Platform::template atomic<std::uint64_t> sequence;            // 24  per publisher, from 1
};
static_assert(sizeof(RingSlot<StdPlatform>) == 32);

/// Smallest legal ring capacity for a queue of `depth` (>= 1, <= 2^31): the next power of two.
constexpr std::uint32_t ring_capacity(std::uint32_t depth) noexcept {
  std::uint32_t capacity = 1;
  while (capacity < depth) capacity *= 2;
  return capacity;
}

/// The places of the ring's words: head in a cache line of its own, then the slots. A plain view; owns nothing.
template <class Platform>
struct RingLayout {
  using Word = typename Platform::template atomic<std::uint64_t>;
  using Slot = RingSlot<Platform>;
  static constexpr std::size_t kSlotsOffset = sizeof(Word) > kCacheLineBytes ? 2 * sizeof(Word) : kCacheLineBytes;

  Word* head = nullptr;
  Slot* slot_table = nullptr;
  std::uint32_t capacity = 0;  ///< slots, a power of two

  /// Bytes that a ring of `capacity` slots needs.
  static constexpr std::size_t bytes(std::uint32_t capacity) noexcept { return kSlotsOffset + capacity * sizeof(Slot); }
  /// The ring at `memory`: zeroed or used as a ring before, aligned to kCacheLineBytes, bytes(capacity) long, valid
  /// while the view is used. The consumer passes its read-only mapping (it never writes through the view).
  static RingLayout at(const void* memory, std::uint32_t capacity) noexcept {
    auto* bytes = const_cast<std::byte*>(static_cast<const std::byte*>(memory));
    return {reinterpret_cast<Word*>(bytes), slots_behind(bytes), capacity};
  }
  static Slot* slots_behind(void* head) noexcept {
    return reinterpret_cast<Slot*>(static_cast<std::byte*>(head) + kSlotsOffset);
  }
};

/// The publisher's side of one connection's queue.
template <class Platform>
class QueueProducer {
 public:
  using Cursor = typename Platform::template atomic<std::uint64_t>;

  /// Both views stay valid while the object lives. 1 <= depth <= ring.capacity. Starts at position 0 (fresh, zeroed
  /// memory). `ring` is one of RingLayout::at().
  QueueProducer(const RingLayout<Platform>& ring, Cursor* cursor, std::uint32_t depth) noexcept
      : ring_head_(ring.head), cursor_(cursor), depth_(depth), mask_(ring.capacity - 1) {}

  /// The position that the next append() gets = messages pushed so far.
  std::uint64_t head() const noexcept { return head_; }
  /// Positions known to be taken or evicted (as of the last call that looked at the cursor).
  std::uint64_t consumed() const noexcept { return last_seen_; }
  std::uint64_t unread() const noexcept { return head_ - last_seen_; }
  Cursor* cursor() const noexcept { return cursor_; }
  bool corrupted() const noexcept { return depth_ == 0; }

  /// Reads the cursor, so that consumed() and unread() are fresh.
  QueueStatus refresh() noexcept {
    if (corrupted()) return QueueStatus::kCorrupted;
    // acquire: [C] pairs with the consumer's CAS in try_take.
    return accept(cursor_->load(std::memory_order_acquire));
  }

  /// True if a push now would have to evict (KEEP_ALL checks this before it publishes). Only the producer adds
  /// messages, so false stays false until the next append().
  bool full() noexcept {
    if (has_room()) return false;  // the cursor can only have grown since: no need to look
    return refresh() != QueueStatus::kOk || unread() >= depth_;
  }

  /// make_room() without a look at the cursor. False: make_room() has to look, and maybe to evict.
  bool has_room() const noexcept { return unread() < depth_; }

  /// Evicts the oldest unread messages until one more fits (at most one in practice, by invariant 1). Calls
  /// on_evict(position) for each.
  template <class OnEvict>
  QueueStatus make_room(OnEvict&& on_evict) {
    if (has_room()) return QueueStatus::kOk;  // as in full(): avoids a cache miss
    if (refresh() != QueueStatus::kOk) return QueueStatus::kCorrupted;
    // Wait-free: head_ is fixed, and each round either evicts or reads a newer cursor of the consumer.
    while (unread() >= depth_) {
      if (evict_oldest(on_evict) == QueueStatus::kCorrupted) return QueueStatus::kCorrupted;
    }
    return QueueStatus::kOk;
  }

  /// Adds a message. REQUIRES: make_room() returned kOk since the last append; `entry` is a token of position head().
  void append(std::uint64_t handle, std::uint64_t entry, std::int64_t source_monotonic_ns,
              std::uint64_t sequence) noexcept {
    RingSlot<Platform>& slot = RingLayout<Platform>::slots_behind(ring_head_)[head_ & mask_];
    // relaxed: published by the release store of the token below; a consumer that still reads the slot's former message has
    // lost its position already (invariant 3).
    slot.handle.store(handle, std::memory_order_relaxed);
    slot.source_monotonic_ns.store(source_monotonic_ns, std::memory_order_relaxed);
    slot.sequence.store(sequence, std::memory_order_relaxed);
    ++head_;
    BATON_CRASH_POINT("queue.push.slot_written");
    // release: [T] pairs with the acquire load in QueueConsumer::peek.
    slot.entry.store(entry, std::memory_order_release);
    BATON_CRASH_POINT("queue.push.handed_over");
    // release: pairs with the acquire load in Reader::Impl::last_arrival_ns, which then finds the newest slot written. The queue itself
    // needs no order here.
    ring_head_->store(head_, std::memory_order_release);
    BATON_CRASH_POINT("queue.push.done");
  }

  /// make_room + append.
  template <class OnEvict>
  QueueStatus push(std::uint64_t handle, std::uint64_t entry, std::int64_t source_monotonic_ns, std::uint64_t sequence,
                   OnEvict&& on_evict) {
    const QueueStatus status = make_room(on_evict);
    if (status == QueueStatus::kOk) append(handle, entry, source_monotonic_ns, sequence);
    return status;
  }

  /// The connection has ended: from now on the queue counts as corrupted, so nothing is pushed, evicted or read.
  void end() noexcept { depth_ = 0; }

  /// For memory policies: evicts the oldest unread message if wanted(position) returns true. kEmpty: it does not, or nothing is
  /// unread, or the message was taken meanwhile. One attempt: losing the race means that the reader took it.
  template <class Wanted, class OnEvict>
  QueueStatus evict_oldest_if(Wanted&& wanted, OnEvict&& on_evict) {
    if (refresh() != QueueStatus::kOk) return QueueStatus::kCorrupted;
    if (unread() == 0 || !wanted(last_seen_)) return QueueStatus::kEmpty;
    return evict_oldest(on_evict);
  }

  /// The position of the oldest unread message. False: there is none, or the queue is corrupted.
  bool oldest(std::uint64_t* position) noexcept {
    if (refresh() != QueueStatus::kOk || unread() == 0) return false;
    *position = last_seen_;
    return true;
  }

  /// Evicts everything unread: the subscription ended in an orderly way. The release table keeps the samples that it
  /// still holds.
  template <class OnEvict>
  QueueStatus evict_all(OnEvict&& on_evict) {
    if (refresh() != QueueStatus::kOk) return QueueStatus::kCorrupted;
    while (unread() > 0) {
      if (evict_oldest(on_evict) == QueueStatus::kCorrupted) return QueueStatus::kCorrupted;
    }
    return QueueStatus::kOk;
  }

 private:
  QueueStatus accept(std::uint64_t cursor) noexcept {
    if (cursor < last_seen_ || cursor > head_) {  // moving backwards, or past what was ever pushed
      end();
      return QueueStatus::kCorrupted;
    }
    last_seen_ = cursor;
    return QueueStatus::kOk;
  }

  /// kOk: evicted; kEmpty: the consumer was faster, last_seen_ is fresh. Requires unread() > 0.
  template <class OnEvict>
  QueueStatus evict_oldest(OnEvict&& on_evict) {
    std::uint64_t expected = last_seen_;
    // release: [C](b) pairs with the acquire load of the cursor in QueueConsumer, which must then see our slots. Success
    // needs no acquire: the value was acquired when last_seen_ was loaded. acquire on failure: as in refresh().
    if (cursor_->compare_exchange_strong(expected, last_seen_ + 1, std::memory_order_release,
                                         std::memory_order_acquire)) {
      BATON_CRASH_POINT("queue.evict.claimed");
      on_evict(last_seen_++);
      return QueueStatus::kOk;
    }
    if (expected == last_seen_) end();  // cannot happen with a strong CAS
    if (corrupted() || accept(expected) != QueueStatus::kOk) return QueueStatus::kCorrupted;
    return QueueStatus::kEmpty;
  }

  std::uint64_t head_ = 0;       // private copy of *ring_head_
  std::uint64_t last_seen_ = 0;  // cursor as last loaded or set
  typename RingLayout<Platform>::Word* ring_head_;
  Cursor* cursor_;
  std::uint32_t depth_;  // 0: corrupted, so that nothing has room
  std::uint32_t mask_;
};

/// A message as peek() saw it. Only a successful try_take() proves that the values belong together and to this reader.
struct QueuedMessage {
  std::uint64_t position;  ///< in this queue, from 0
  std::uint64_t handle;    ///< untrusted: check against the known segments
  std::uint64_t entry;     ///< token for ReleaseWriter::release
  std::int64_t source_monotonic_ns;
  std::uint64_t sequence;
};

/// The subscriber's side of one connection's queue.
template <class Platform>
class QueueConsumer {
 public:
  using Cursor = typename Platform::template atomic<std::uint64_t>;
  static constexpr int kMaxAttempts = 64;

  /// Both views stay valid while the object lives.
  QueueConsumer(const RingLayout<Platform>& ring, Cursor* cursor) : ring_(ring), cursor_(cursor) {}

  /// Copies the oldest unread message into `*message` without taking it: kOk, kEmpty, kContended or kCorrupted.
  QueueStatus peek(QueuedMessage* message) const noexcept {
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      const QueueStatus status = peek_once(message);
      if (status != QueueStatus::kContended) return status;
    }
    return QueueStatus::kContended;
  }

  /// One attempt of peek(): kContended if others moved the cursor meanwhile.
  QueueStatus peek_once(QueuedMessage* message) const noexcept {
    // acquire: [C](b) pairs with every successful CAS on the cursor (try_take of another thread, eviction): the slot
    // loaded next is not older than this cursor allows. The order of the two loads matters.
    const std::uint64_t cursor = cursor_->load(std::memory_order_acquire);
    const RingSlot<Platform>& slot = slot_of(cursor);
    // acquire: [T] pairs with the release store in QueueProducer::append.
    const std::uint64_t entry = slot.entry.load(std::memory_order_acquire);
    if (unlikely(messages_up_to(entry) != cursor + 1)) {
      if (waits_for(cursor, entry)) return QueueStatus::kEmpty;
      // Either our cursor is old (other threads took, or the producer evicted, and the slot has a later message), or the publisher lies.
      // An honest producer loaded or made a newer cursor before it wrote such a slot, which we acquired: so a fresh load decides.
      return cursor_->load(std::memory_order_relaxed) != cursor ? QueueStatus::kContended : QueueStatus::kCorrupted;
    }
    // relaxed: [T] orders these reads after the writes, [C](a) orders them before a later overwrite. Otherwise the
    // values may be torn, and try_take fails.
    message->position = cursor;
    message->handle = slot.handle.load(std::memory_order_relaxed);
    message->entry = entry;
    message->source_monotonic_ns = slot.source_monotonic_ns.load(std::memory_order_relaxed);
    message->sequence = slot.sequence.load(std::memory_order_relaxed);
    return QueueStatus::kOk;
  }

  /// Takes the message that peek() of this thread copied. False: another taker or an eviction was faster; peek again.
  bool try_take(const QueuedMessage& message) noexcept {
    std::uint64_t expected = message.position;
    BATON_CRASH_POINT("queue.take.peeked");
    // release: [C](a) our reads of the slot come before the producer's overwriting it, (b) other threads of this reader
    // that see the new cursor also see this slot. Needs no acquire: the message was acquired through the slot. relaxed on
    // failure: the value is not used.
    if (!cursor_->compare_exchange_strong(expected, message.position + 1, std::memory_order_release,
                                          std::memory_order_relaxed)) {
      return false;
    }
    BATON_CRASH_POINT("queue.take.done");
    return true;
  }

  /// peek + try_take until one succeeds, the queue is empty or kMaxAttempts were lost (kContended).
  QueueStatus take(QueuedMessage* message) noexcept {
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      const QueueStatus status = peek(message);
      if (status != QueueStatus::kOk || try_take(*message)) return status;
    }
    return QueueStatus::kContended;
  }

  /// True if peek() would not return kEmpty. Errors count as ready, so that a waiter wakes up and gets the error.
  bool ready() const noexcept {
    const std::uint64_t cursor = cursor_->load(std::memory_order_acquire);             // as in peek
    return !waits_for(cursor, slot_of(cursor).entry.load(std::memory_order_acquire));  // as in peek
  }

  /// Unread messages now, at most the capacity; at least 1 if peek() would find one. The newest may be missing from the count as long as the
  /// producer has not stored head.
  std::uint64_t size() const noexcept {
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      const std::uint64_t cursor = cursor_->load(std::memory_order_acquire);  // as in peek
      // relaxed: a count. By [C](b) head is at least cursor - 1, since the producer stores head before the next slot.
      const std::uint64_t count = ring_.head->load(std::memory_order_relaxed) - cursor;
      if (count - 1 < ring_.capacity) return count;
      // The queue is empty, or only the message is there that head does not count yet, or head is implausible, or our cursor is old.
      const std::uint64_t entry = slot_of(cursor).entry.load(std::memory_order_acquire);  // as in peek
      if (messages_up_to(entry) == cursor + 1) return 1;
      if (waits_for(cursor, entry)) return 0;
    }
    return 0;
  }

 private:
  const RingSlot<Platform>& slot_of(std::uint64_t position) const noexcept {
    return ring_.slot_table[position & (ring_.capacity - 1)];
  }
  /// True if `entry`, the token in the slot of position `cursor`, says that nothing was pushed at this position yet: it is the token of the
  /// round before, or in the first round none.
  bool waits_for(std::uint64_t cursor, std::uint64_t entry) const noexcept {
    const std::uint64_t former = messages_up_to(entry);
    return former == 0 ? cursor < ring_.capacity : former + ring_.capacity == cursor + 1;
  }

  RingLayout<Platform> ring_;
  Cursor* cursor_;
};

}  // namespace baton::memory
