// SPDX-License-Identifier: Apache-2.0
// The two ends of one publisher/subscription connection: a handle queue and a release table, and the layout of the
// connection segment. transport/ uses one per connection; handle_queue.hpp and release_table.hpp have the rules.
//
// Writers: only the publisher writes the ring (control segment). In the connection segment both write the cursor; only
// the subscriber writes the sleeping and release words.
// Thread rules: ChannelWriter externally synchronised, ChannelReader any thread.
// A reader keeps its held limit by a count of its own. It increments the count after a take. It decrements the count
// (release) after giving a message back, and reads the count (acquire) before the next take. So a publisher that sees
// the take also sees the word that was given back, and depth + held entries suffice. With a relaxed count a message can
// be refused without need (tests/model, "held limit").
// Invariant: every handle that push() accepted comes back through `on_released` exactly once: evicted unread, given
// back by the subscriber, or dropped by end().
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "baton/memory/handle_queue.hpp"
#include "baton/memory/release_table.hpp"
#include "baton/memory/wake.hpp"
#include "baton/os/hot_path.hpp"

namespace baton::memory {

/// The places of the words in a connection segment: cursor at 0, sleeping at 64, release words from 128. A plain view.
template <class Platform>
struct ConnectionLayout {
  using Word = typename Platform::template atomic<std::uint64_t>;
  static constexpr std::size_t kStride = sizeof(Word) > kCacheLineBytes ? sizeof(Word) : kCacheLineBytes;

  Word* cursor = nullptr;
  WakeWord<Platform>* sleeping = nullptr;
  Word* release_words = nullptr;
  std::uint32_t entries = 0;

  /// The number of release words that depth + held need; 0 if it would exceed kMaxEntries.
  static constexpr std::uint32_t entries_for(std::uint32_t depth, std::uint32_t held) noexcept {
    const std::uint64_t entries = std::uint64_t{depth} + held;
    return entries <= kMaxEntries ? static_cast<std::uint32_t>(entries) : 0;
  }
  static constexpr std::size_t bytes(std::uint32_t entries) noexcept { return 2 * kStride + entries * sizeof(Word); }
  /// The segment at `memory`: zero at first, aligned to kCacheLineBytes, bytes(entries) long.
  static ConnectionLayout at(void* memory, std::uint32_t entries) noexcept {
    auto* bytes = static_cast<std::byte*>(memory);
    return {reinterpret_cast<Word*>(bytes), sleeping_behind(bytes), reinterpret_cast<Word*>(bytes + 2 * kStride),
            entries};
  }
  static WakeWord<Platform>* sleeping_behind(void* cursor) noexcept {
    return reinterpret_cast<WakeWord<Platform>*>(static_cast<std::byte*>(cursor) + kStride);
  }
};

enum class PushStatus : std::uint8_t {
  kPushed,
  kRefused,    ///< the subscriber holds more than it may: this message is lost for this connection only
  kCorrupted,  ///< end() the connection
};

/// The publisher's end. `on_released(handle)` drops one reference on the handle; it must not call back into this
/// object.
template <class Platform>
class ChannelWriter {
 public:
  /// Views valid while the object lives; depth <= ring.capacity; connection.entries >= depth + held. Throws
  /// std::bad_alloc.
  ChannelWriter(const RingLayout<Platform>& ring, const ConnectionLayout<Platform>& connection, std::uint32_t depth)
      : table_(connection.release_words, connection.entries), queue_(ring, connection.cursor, depth) {}

  /// Hands `handle` over. The caller has added a reference for this connection; on kRefused and kCorrupted the caller
  /// still owns that reference. Evicts the oldest unread message if the queue is full.
  template <class OnReleased>
  PushStatus push(std::uint64_t handle, std::int64_t source_monotonic_ns, std::uint64_t sequence,
                  OnReleased on_released) {
    if (!queue_.has_room() || table_.all_lent())
      return push_full(handle, source_monotonic_ns, sequence, std::move(on_released));
    queue_.append(handle, table_.acquire(handle, queue_.head()), source_monotonic_ns, sequence);
    return PushStatus::kPushed;
  }

  /// Calls on_released for each handle that the subscriber has given back since the last call. False: corrupted, end()
  /// the connection.
  template <class OnReleased>
  bool collect(OnReleased&& on_released) {
    return queue_.refresh() == QueueStatus::kOk && table_.collect(queue_.consumed(), on_released);
  }

  /// For memory policies: releases `handle` if it is the oldest unread message of this connection. True if it was
  /// released.
  template <class OnReleased>
  bool evict_oldest_if(std::uint64_t handle, OnReleased&& on_released) {
    return queue_.evict_oldest_if([&](std::uint64_t position) { return table_.handle_at(position) == handle; },
                                  [&](std::uint64_t position) { on_released(table_.cancel(position)); }) ==
           QueueStatus::kOk;
  }

  /// The subscription ended in an orderly way: releases everything unread. The samples that the subscription still
  /// holds come back through collect(); outstanding() is 0 when all have come back.
  template <class OnReleased>
  bool end_unread(OnReleased&& on_released) {
    return queue_.evict_all([&](std::uint64_t position) { on_released(table_.cancel(position)); }) == QueueStatus::kOk;
  }

  /// The subscriber is dead or expelled: releases everything and reads no shared memory. From now on the channel counts
  /// as corrupted: what it had is not released once more, whatever is called.
  template <class OnReleased>
  void end(OnReleased&& on_released) {
    queue_.end();
    table_.drop_all(on_released);
  }

  /// KEEP_ALL: true if a push would evict.
  bool full() noexcept { return queue_.full(); }
  /// Messages not taken yet (fresh look).
  std::uint64_t unread() noexcept { return queue_.refresh() == QueueStatus::kOk ? queue_.unread() : 0; }
  /// Calls visit(handle) for each message that the subscriber held at the last collect(), oldest first.
  template <class Visit>
  void for_each_held(Visit&& visit) const {
    table_.for_each_taken(queue_.consumed(), visit);
  }
  /// Messages that the subscriber had taken and not given back at the last collect(), if the cursor was not read since.
  /// Never more than the subscriber may hold, if it keeps its count by the rule above.
  std::uint64_t held() const noexcept { return outstanding() - queue_.unread(); }
  /// The oldest unread message (fresh look). False: there is none.
  bool oldest_unread(std::uint64_t* handle) noexcept {
    std::uint64_t position = 0;
    if (!queue_.oldest(&position)) return false;
    *handle = table_.handle_at(position);
    return true;
  }
  /// Messages unread, held, or given back but not collected.
  std::uint32_t outstanding() const noexcept { return table_.outstanding(queue_.head()); }
  bool corrupted() const noexcept { return queue_.corrupted() || table_.corrupted(); }
  /// Messages pushed so far.
  std::uint64_t pushed() const noexcept { return queue_.head(); }
  /// The word of the connection segment that says whether the subscriber sleeps.
  WakeWord<Platform>& sleeping() const noexcept {
    return *ConnectionLayout<Platform>::sleeping_behind(queue_.cursor());
  }

 private:
  /// push() when there may be no room; apart, since most messages find room.
  template <class OnReleased>
  BATON_COLD PushStatus push_full(std::uint64_t handle, std::int64_t source_monotonic_ns, std::uint64_t sequence,
                                  OnReleased on_released) {
    const auto on_evict = [&](std::uint64_t position) { on_released(table_.cancel(position)); };
    if (queue_.make_room(on_evict) != QueueStatus::kOk) return PushStatus::kCorrupted;
    std::uint64_t entry = table_.acquire(handle, queue_.head());
    if (entry == kNoEntry) {
      if (!table_.collect(queue_.consumed(), on_released)) return PushStatus::kCorrupted;
      entry = table_.acquire(handle, queue_.head());
      if (entry == kNoEntry) return PushStatus::kRefused;
    }
    queue_.append(handle, entry, source_monotonic_ns, sequence);
    return PushStatus::kPushed;
  }

  // What every push touches is the end of the table and the queue.
  ReleaseTable<Platform> table_;
  QueueProducer<Platform> queue_;
};

/// The subscriber's end.
template <class Platform>
class ChannelReader {
 public:
  /// Views valid while the object lives.
  ChannelReader(const RingLayout<Platform>& ring, const ConnectionLayout<Platform>& connection)
      : queue_(ring, connection.cursor), releases_(connection.release_words, connection.entries) {}

  /// The queue: peek, try_take, take, ready, size.
  QueueConsumer<Platform>& queue() noexcept { return queue_; }
  const QueueConsumer<Platform>& queue() const noexcept { return queue_; }
  /// Call valid(entry) after a take (false: end the connection), release(entry) when done.
  const ReleaseWriter<Platform>& releases() const noexcept { return releases_; }

 private:
  QueueConsumer<Platform> queue_;
  ReleaseWriter<Platform> releases_;
};

}  // namespace baton::memory
