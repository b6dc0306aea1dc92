// SPDX-License-Identifier: Apache-2.0
// This process's knowledge of the domain: topics, endpoints (own and foreign alike), nodes. Compact, since every
// process knows every endpoint: a foreign endpoint costs about 150 bytes, and one on a topic of its own about 350.
// Names, types and QoS are stored once, however many endpoints share them.
// Thread rules: externally synchronised (Participant::Impl::mutex_).
// Invariants
// 1. An endpoint id occurs once. Every endpoint is in by_gid_, in its topic and in its peer's list, or in none of them.
//    A change that throws std::bad_alloc has changed nothing. Removals do not allocate.
// 2. leave() and forget_some() remove everything of a peer. From leave() on, every visit leaves the peer's endpoints
//    out.
// 3. A topic exists while it has an endpoint. A pointer to a Topic or an EndpointRecord is valid until that object is
//    removed.
// 4. No operation except the visits costs more than O(log n) in the number of endpoints, amortised. No table uses hashes,
//    since a peer that chooses ids and names could make them collide.
// 5. A peer's announcement is charged to the peer (budgets.hpp) before it is kept.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "budgets.hpp"
#include "frames.hpp"

namespace baton::transport {

/// The most endpoints, and the most nodes, that one peer may announce.
inline constexpr std::size_t kMaxAnnouncedPerPeer = 65536;
/// The most endpoints of one process on one topic: each may become a connection of each endpoint of the others there, and every
/// publish or take visits it. This process keeps to it as well: its next endpoint is an error of its own program, and not the end of its
/// connections to everybody else.
inline constexpr std::size_t kMaxAnnouncedPerTopic = 1024;
/// The charge for an endpoint or a node besides the bytes of its name: what it costs at most, where it shares nothing (its
/// record, topic, type, QoS and name, and their places in tables).
inline constexpr std::size_t kEndpointBytes = 768;
inline constexpr std::size_t kNodeBytes = 256;

struct TypeRecord {
  std::string name;
  TypeHash hash{};
  std::uint32_t skeleton_bytes = 0;
  RosTypeHash ros_hash{};

  bool operator<(const TypeRecord& other) const noexcept {
    if (hash != other.hash) return hash < other.hash;
    if (skeleton_bytes != other.skeleton_bytes) return skeleton_bytes < other.skeleton_bytes;
    if (!(ros_hash == other.ros_hash)) return ros_hash < other.ros_hash;
    return name < other.name;
  }
};

struct QosLess {
  bool operator()(const QoS& a, const QoS& b) const noexcept;
};

/// Values that many records share, each with the number of its users.
template <class Value, class Less = std::less<Value>>
class Interned {
 public:
  /// One user more. Strong guarantee.
  const Value* add(const Value& value) {
    const auto found = users_.try_emplace(value).first;
    ++found->second;
    return &found->first;
  }
  /// Null if nothing uses the value.
  const Value* find(const Value& value) const {
    const auto found = users_.find(value);
    return found == users_.end() ? nullptr : &found->first;
  }
  /// One user less.
  void remove(const Value& value) noexcept {
    const auto found = users_.find(value);
    if (--found->second == 0) users_.erase(found);
  }

 private:
  std::map<Value, std::size_t, Less> users_;
};

struct EndpointRecord;

/// An upper end for all serials.
inline constexpr std::uint64_t kAllSerials = UINT64_MAX;

/// The endpoints of a topic in the order of their serials. A removal leaves a gap; when half of the entries are gaps,
/// all gaps go.
class EndpointList {
 public:
  struct Entry {
    std::uint64_t serial = 0;
    EndpointRecord* record = nullptr;  ///< null: a gap
  };
  /// `serial` is greater than all before. Strong guarantee.
  void append(std::uint64_t serial, EndpointRecord* record) { entries_.push_back({serial, record}); }
  void remove(std::uint64_t serial) noexcept;
  std::size_t size() const noexcept { return entries_.size() - gaps_; }
  bool empty() const noexcept { return size() == 0; }
  /// The first entry with at least this serial.
  const Entry* at_least(std::uint64_t serial) const noexcept;
  const Entry* begin() const noexcept { return entries_.data(); }
  const Entry* end() const noexcept { return entries_.data() + entries_.size(); }

 private:
  std::vector<Entry> entries_;
  std::size_t gaps_ = 0;
};

struct Topic {
  const std::string* name = nullptr;
  EndpointList own, foreign;  ///< readers and writers alike
};

struct AnnouncingPeer;

struct EndpointRecord {
  Gid gid{};
  bool is_writer = false;
  bool banned = false;    ///< ended for breaking the protocol: not matched again
  bool attached = false;  ///< a reader to which an own writer is or was connected, or which rests for it
  bool seldom = false;    ///< a writer whose readers attach when they are called
  const TypeRecord* type = nullptr;
  const std::string* node = nullptr;
  const QoS* qos = nullptr;
  Topic* topic = nullptr;
  std::uint64_t serial = 0;  ///< ascending
  AnnouncingPeer* owner = nullptr;
  EndpointRecord *next = nullptr, *previous = nullptr;  ///< of the same peer

  PeerId peer() const noexcept;
};

struct AnnouncingPeer {
  PeerId id = kSelf;
  std::size_t endpoints = 0, nodes = 0;
  EndpointRecord* first = nullptr;
  std::map<const NodeName*, std::size_t> names;  ///< nodes of each name
  /// Endpoints of each topic. Null until the peer has so many endpoints that one topic could have too many.
  std::unique_ptr<std::map<const Topic*, std::size_t>> per_topic;
  Charge charge;  ///< for all endpoints and names of nodes
  bool leaving = false;
};

inline PeerId EndpointRecord::peer() const noexcept { return owner->id; }

class Graph {
 public:
  explicit Graph(Budgets* budgets = nullptr) : budgets_(budgets) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// already_exists if the id is known; limit_reached, with the numbers, if the peer has announced too much.
  Result<EndpointRecord*> add_endpoint(PeerId peer, const AnnounceFrame& frame);
  /// Null if the id is unknown, or belongs to a peer that left.
  EndpointRecord* find(const Gid& gid);
  /// Whether an endpoint has the id, also one of a peer that left.
  bool is_taken(const Gid& gid) const;
  void remove_endpoint(EndpointRecord& record) noexcept;
  Topic* topic(const std::string& name);

  Result<void> add_node(PeerId peer, const NodeName& node);
  void remove_node(PeerId peer, const NodeName& node) noexcept;

  /// Everything of `peer` counts as removed; forget_some() does the work.
  void leave(PeerId peer) noexcept;
  /// Removes up to `most` endpoints and nodes of peers that left. Calls `gone(record)` before it removes an endpoint;
  /// if that throws, the endpoint stays for the next call. True if more are left.
  template <class Gone>
  bool forget_some(std::size_t most, Gone&& gone) BATON_UNCHECKED_LOCKS {  // `gone` needs locks of the caller
    while (AnnouncingPeer* peer = next_leaving()) {
      for (; peer->first != nullptr; --most, remove_endpoint(*peer->first)) {
        if (most == 0) return true;
        gone(*peer->first);
      }
      for (; !peer->names.empty(); --most) {
        if (most == 0) return true;
        drop_name(*peer, peer->names.begin());
      }
      erase_left(peer);
    }
    return false;
  }
  /// The record of a peer that left, if it still has an endpoint with this id: for a process that comes back before all
  /// of it is removed.
  EndpointRecord* find_left(const Gid& gid);

  /// Looks at up to `most` entries whose serial in `list` is at least `from` and below `end`, and calls visit(record)
  /// for each writer or each reader among them. Returns where to continue: `end` or more if nothing is left. `visit`
  /// must not change the graph.
  template <class Visit>
  std::uint64_t visit(const EndpointList& list, bool writers, std::uint64_t from, std::uint64_t end, std::size_t most,
                      Visit&& visit) const BATON_UNCHECKED_LOCKS {  // `visit` needs locks of the caller
    for (const EndpointList::Entry* at = list.at_least(from); at != list.end() && at->serial < end; ++at) {
      if (most-- == 0) return at->serial;
      ++visits_;
      if (at->record == nullptr || at->record->is_writer != writers || at->record->owner->leaving) continue;
      visit(*at->record);
    }
    return end;
  }
  /// The serial of the next endpoint.
  std::uint64_t next_serial() const noexcept { return next_serial_; }

  /// Visits up to `most` endpoints after `after` (empty: from the first on), in the order of their ids; `after` becomes
  /// the last one visited. False if nothing is left.
  bool visit_endpoints(std::optional<Gid>& after, std::size_t most,
                       const std::function<void(const EndpointRecord&)>& visit) const;
  /// Visits up to `most` names of nodes after `after`: the last peer and name that were visited. False if nothing is
  /// left.
  using NodePosition = std::pair<PeerId, const NodeName*>;
  bool visit_nodes(NodePosition& after, std::size_t most,
                   const std::function<void(PeerId, const NodeName&)>& visit) const;

  /// Visits the names of one peer's nodes.
  void visit_nodes_of(PeerId peer, const std::function<void(const NodeName&)>& visit) const;

  /// How many ids all calls so far have compared to find one; tests count these instead of time.
  std::uint64_t comparisons() const noexcept { return comparisons_; }
  /// The number of records that all calls so far have visited; tests count these instead of time.
  std::uint64_t visits() const noexcept { return visits_; }

 private:
  struct Slot {
    mutable EndpointRecord record;  ///< the order depends on its id only, which never changes
  };
  struct ById {
    using is_transparent = void;
    static const Gid& id(const Slot& slot) noexcept { return slot.record.gid; }
    static const Gid& id(const Gid& gid) noexcept { return gid; }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const noexcept {
      ++*comparisons;
      return id(a) < id(b);
    }
    std::uint64_t* comparisons;
  };
  using Slots = std::set<Slot, ById>;
  using Peers = std::map<PeerId, AnnouncingPeer>;
  using Topics = std::map<std::string, Topic>;

  /// Where the endpoint with this id is, or the one before which it would stand. A process announces its endpoints in the order of their ids, and
  /// each is looked for several times: so the last place is tried first.
  Slots::iterator place_of(const Gid& gid) const noexcept;
  AnnouncingPeer* next_leaving() noexcept;
  void erase_left(const AnnouncingPeer* peer) noexcept;
  void drop_name(AnnouncingPeer& peer, std::map<const NodeName*, std::size_t>::iterator at) noexcept;
  void drop_if_empty(Peers::iterator peer) noexcept;
  void drop_if_empty(Topics::iterator topic) noexcept;
  std::size_t* share_of(AnnouncingPeer& peer, const Topic& topic);

  Budgets* const budgets_;
  Topics topics_;
  mutable std::uint64_t comparisons_ = 0;
  Slots by_gid_{ById{&comparisons_}};
  mutable Slots::iterator last_place_ = by_gid_.end();
  Peers peers_;
  Interned<std::string> names_;  ///< of endpoints' nodes
  Interned<NodeName> nodes_;
  Interned<TypeRecord> types_;
  Interned<QoS, QosLess> qos_;
  std::size_t leaving_ = 0;
  std::uint64_t next_serial_ = 1;
  mutable std::uint64_t visits_ = 0;
};

}  // namespace baton::transport
