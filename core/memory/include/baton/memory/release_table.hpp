// SPDX-License-Identifier: Apache-2.0
// How a subscriber gives messages back: one word per outstanding message, in the connection segment. Releases come from
// any thread in any order (a Python collector, a retained shared_ptr), so this is a table and not a ring.
//
// Only the subscriber writes word i, and only the publisher reads it. The publisher lends entry i together with a fresh
// token (entry_token.hpp). The subscriber gives the message back by storing that very token into word i. Until then the
// word keeps the token of the entry's former release (0 at first). Any other value comes from a broken or hostile
// subscriber: it is reported as corrupted, and releases nothing.
//
// Thread rules: a ReleaseTable is externally synchronised (the transport's per-publisher mutex). ReleaseWriter::release
// may be called from any thread, once per token: wait-free, one store, no system call.
//
// Invariants:
//  (1) every acquired entry is given back exactly once: by collect (the subscriber released it), by cancel (it was
//      evicted unread), or by drop_all (the connection ended); that is when the caller drops its reference on the
//      handle.
//  (2) the handle of an entry is private to the publisher: a subscriber can release only messages that were lent to it.
//  (3) the subscriber's reads of the message happen before collect() reports it: release store / acquire load on the
//      word.
//  (4) a message that was taken but not released (its holder may be dead) is pinned until drop_all.
#pragma once

#include <cstddef>
#include <cstdint>

#include "baton/memory/entry_token.hpp"
#include "baton/memory/platform.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/os/hot_memory.hpp"

namespace baton::memory {

/// The publisher's side.
template <class Platform>
class ReleaseTable {
 public:
  using Word = typename Platform::template atomic<std::uint64_t>;

  /// `words`: `entries` words of the connection segment, zero, valid while the object lives. entries <= kMaxEntries;
  /// depth + held entries suffice when make_room() precedes acquire(). Allocates private records; throws
  /// std::bad_alloc.
  ReleaseTable(const Word* words, std::uint32_t entries) : words_(words), memory_(entries), records_(memory_.data()) {
    for (std::uint32_t i = entries; i > 0; --i) push_free(i - 1);
  }
  ReleaseTable(const ReleaseTable&) = delete;
  ReleaseTable& operator=(const ReleaseTable&) = delete;

  /// How many of the first `lent` entries that acquire() returned were not given back.
  std::uint32_t outstanding(std::uint64_t lent) const noexcept {
    return static_cast<std::uint32_t>(lent - given_back_);
  }
  bool corrupted() const noexcept { return corrupted_; }
  /// Whether acquire() would return kNoEntry.
  bool all_lent() const noexcept { return free_ == kNone; }

  /// Lends an entry for `handle`, which is about to be appended at queue position `position` (larger than at the call
  /// before). Returns its token, or kNoEntry when all entries are lent: collect() first. If no entry is free then, the
  /// subscriber holds more than it may.
  std::uint64_t acquire(std::uint64_t handle, std::uint64_t position) noexcept {
    if (all_lent()) return kNoEntry;
    const std::uint32_t index = free_;  // last-in first-out: the word most likely still in the cache
    Record& record = records_[index];
    free_ = record.next;
    record.handle = handle;
    const std::uint64_t token = make_token(position, index);
    record.token = token;
    link_last(index);
    return token;
  }

  /// The handle of the unread message at `position`, which grows from call to call, as evictions do. REQUIRES: its entry is
  /// outstanding, and so are those of all later positions.
  std::uint64_t handle_at(std::uint64_t position) noexcept { return records_[find(position)].handle; }
  /// Takes back the entry of a message that was evicted unread, and returns its handle. REQUIRES: as handle_at().
  std::uint64_t cancel(std::uint64_t position) noexcept {
    const std::uint32_t index = find(position);
    give_back(index);
    return records_[index].handle;
  }

  /// Looks at the words of entries with position < `consumed` (QueueProducer::consumed(): an unread message cannot have
  /// been released) and calls on_released(handle) for each that the subscriber gave back. on_released must not call the
  /// table.
  /// Cost: one load per message that the subscriber holds or has just given back. False: corrupted.
  template <class OnReleased>
  bool collect(std::uint64_t consumed, OnReleased&& on_released) {
    std::uint32_t index = oldest_;
    while (!corrupted_ && index != kNone && position_of(records_[index]) < consumed) {
      Record& record = records_[index];
      const std::uint32_t next = record.next;
      // acquire: pairs with the release store in ReleaseWriter::release; the subscriber's reads of the message are
      // over.
      const std::uint64_t value = words_[index].load(std::memory_order_acquire);
      if (value == record.token) {
        record.last_value = value;
        give_back(index);
        BATON_CRASH_POINT("release.collect.found");
        on_released(record.handle);
      } else if (value != record.last_value) {
        corrupted_ = true;
      }
      index = next;
    }
    return !corrupted_;
  }

  /// Calls visit(handle) for each message that was taken (position < `consumed`) and not collected, oldest first.
  template <class Visit>
  void for_each_taken(std::uint64_t consumed, Visit&& visit) const {
    for (std::uint32_t index = oldest_; index != kNone; index = records_[index].next) {
      if (position_of(records_[index]) >= consumed) return;
      visit(records_[index].handle);
    }
  }

  /// The connection has ended (the subscriber is gone or was expelled): takes back every outstanding entry, read or
  /// not, and calls on_released(handle) for each. Reads no shared memory. The table must not lend again.
  template <class OnReleased>
  void drop_all(OnReleased&& on_released) {
    while (oldest_ != kNone) {
      const std::uint32_t index = oldest_;
      give_back(index);
      on_released(records_[index].handle);
    }
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Record {  // half a cache line
    std::uint64_t handle;
    std::uint64_t token;       // lent now, or the last token lent
    std::uint64_t last_value;  // the value of the word until the subscriber releases
    std::uint32_t next;        // outstanding: doubly linked, oldest first, kNone at both ends; free: stack
    std::uint32_t previous;
  };
  static std::uint64_t position_of(const Record& record) noexcept { return messages_up_to(record.token) - 1; }

  void push_free(std::uint32_t index) noexcept {
    records_[index].next = free_;
    free_ = index;
  }
  void link_last(std::uint32_t index) noexcept {
    records_[index].previous = newest_;
    records_[index].next = kNone;
    (newest_ == kNone ? oldest_ : records_[newest_].next) = index;
    newest_ = index;
  }
  std::uint32_t find(std::uint64_t position) noexcept {
    if (unread_ == kNone) unread_ = oldest_;
    while (position_of(records_[unread_]) < position) unread_ = records_[unread_].next;
    return unread_;
  }
  void give_back(std::uint32_t index) noexcept {
    Record& record = records_[index];
    // Of the last one find() goes on at its neighbour: all before it were taken, and may be many.
    if (unread_ == index) unread_ = record.next != kNone ? record.next : record.previous;
    (record.previous == kNone ? oldest_ : records_[record.previous].next) = record.next;
    (record.next == kNone ? newest_ : records_[record.next].previous) = record.previous;
    ++given_back_;
    push_free(index);
  }

  const Word* words_;
  std::uint64_t given_back_ = 0;
  std::uint32_t oldest_ = kNone;
  std::uint32_t unread_ = kNone;  // where find() goes on
  bool corrupted_ = false;
  os::HotVector<Record> memory_;

  // What every push touches, side by side, and beside the queue (ChannelWriter).
  Record* records_;  // of memory_
  std::uint32_t free_ = kNone;
  std::uint32_t newest_ = kNone;
};

/// The subscriber's side. A plain view on `entries` words; copyable; valid while the connection segment is mapped.
template <class Platform>
class ReleaseWriter {
 public:
  using Word = typename Platform::template atomic<std::uint64_t>;
  ReleaseWriter() = default;
  ReleaseWriter(Word* words, std::uint32_t entries) noexcept : words_(words), entries_(entries) {}

  /// False for a token that no honest publisher sends: check after the take, and end the connection.
  bool valid(std::uint64_t token) const noexcept { return token != kNoEntry && entry_index(token) < entries_; }

  /// Gives back the message of `token` (QueuedMessage::entry of a successful take). Call once per taken message, after
  /// the last access to the message; any thread. Requires valid(token).
  void release(std::uint64_t token) const noexcept {
    BATON_CRASH_POINT("release.give_back.begin");
    // release: pairs with the acquire load in ReleaseTable::collect: our reads come before the publisher's reuse.
    words_[entry_index(token)].store(token, std::memory_order_release);
    BATON_CRASH_POINT("release.give_back.done");
  }

 private:
  Word* words_ = nullptr;
  std::uint32_t entries_ = 0;
};

}  // namespace baton::memory
