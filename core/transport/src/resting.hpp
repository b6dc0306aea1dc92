// SPDX-License-Identifier: Apache-2.0
// The readers that match a writer of seldom messages (WriterOptions::seldom) and have no connection: they rest. The writer calls them when
// it publishes, and keeps what it publishes until they have attached. The rules without sockets, clocks or locks: the writer drives them,
// and resting_test.cpp explores their interleavings. Normative: docs/format/connection.md, "Resting".
//
// Thread rules: those of the writer's mutex.
//
// Invariants
// 1. `from` of a reader is the number of the first message that it has not been given. So a reader that attaches is given each message
//    once, however often it rested before.
// 2. A reader is called once until it attaches. CALL follows the reader's last REST on the same link, so the reader knows that it rests.
// 3. While a reader is called, the messages from its `from` on are kept, as far as the writer's depth goes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "baton/transport/transport.hpp"
#include "budgets.hpp"
#include "hub.hpp"

namespace baton::transport {

/// `Paid`: what an entry costs the account of the reader's process. The model, whose worlds are copied, has none.
template <class Paid>
class BasicRestingReaders {
 public:
  struct Entry {
    std::uint64_t from = 0;
    std::uint32_t held = 0;  ///< its requested QoS::held
    bool reliable = false;
    bool called = false;
    bool refused = false;  ///< it was called, and its connection was refused; it tries again
    Paid paid{};
  };
  using Key = std::pair<PeerId, Gid>;

  /// A reader matches, or its connection ends because nothing is published. The entry that it has; no effect if it rests.
  Entry& add(PeerId peer, const Gid& reader, Entry entry) {
    return entries_.try_emplace({peer, reader}, std::move(entry)).first->second;
  }
  /// There are messages: send(peer, reader) sends CALL to each reader that is not called and has not had number `last`. If it returns false,
  /// the reader is called with the next message.
  template <class Send>
  void call_all(std::uint64_t last, Send&& send) {
    if (called_ == entries_.size()) return;
    for (auto& [key, entry] : entries_) {
      if (entry.called || entry.from > last || !send(key.first, key.second)) continue;
      entry.called = true;
      ++called_;
    }
  }
  /// The reader attaches, or is gone. Nothing: it did not rest.
  std::optional<Entry> remove(PeerId peer, const Gid& reader) noexcept {
    const auto found = entries_.find({peer, reader});
    if (found == entries_.end()) return std::nullopt;
    return erase(found);
  }
  /// The peer is disconnected. True if a reader of it rested.
  bool remove_all(PeerId peer) noexcept {
    bool any = false;
    for (auto at = entries_.lower_bound({peer, Gid{}}); at != entries_.end() && at->first.first == peer; any = true)
      erase(at++);
    return any;
  }
  void clear() noexcept {
    entries_.clear();
    called_ = refused_ = 0;
  }
  /// Its connection was refused. False: it had been refused before, or does not rest.
  bool refuse(PeerId peer, const Gid& reader) noexcept {
    const auto found = entries_.find({peer, reader});
    if (found == entries_.end() || std::exchange(found->second.refused, true)) return false;
    ++refused_;
    return true;
  }
  const Entry* find(PeerId peer, const Gid& reader) const noexcept {
    const auto found = entries_.find({peer, reader});
    return found == entries_.end() ? nullptr : &found->second;
  }
  /// Whether published messages are kept for a reader that is called.
  bool awaited() const noexcept { return called_ != 0; }
  /// The readers that count as matched.
  std::uint32_t matched() const noexcept { return static_cast<std::uint32_t>(entries_.size() - refused_); }
  bool empty() const noexcept { return entries_.empty(); }
  const std::map<Key, Entry>& entries() const noexcept { return entries_; }

 private:
  std::optional<Entry> erase(typename std::map<Key, Entry>::iterator at) noexcept {
    std::optional<Entry> entry(std::move(at->second));
    called_ -= entry->called ? 1 : 0;
    refused_ -= entry->refused ? 1 : 0;
    entries_.erase(at);
    return entry;
  }

  std::map<Key, Entry> entries_;
  std::size_t called_ = 0, refused_ = 0;
};

using RestingReaders = BasicRestingReaders<Charge>;

}  // namespace baton::transport
