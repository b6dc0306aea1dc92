// SPDX-License-Identifier: Apache-2.0
// This process's knowledge of the domain: topics, endpoints (own and foreign alike), nodes. Compact, since every
// process knows every endpoint: names and types are stored once, however many endpoints share them.
// Thread rules: externally synchronised (Participant::Impl::mutex_).
// Invariants
// 1. An endpoint id occurs once. Every endpoint is in by_gid_, in its topic and in its peer's list, or in none of them.
//    A change that throws std::bad_alloc has changed nothing. Removals do not allocate.
// 2. leave() and forget_some() remove everything of a peer. From leave() on, every visit leaves the peer's endpoints
//    out.
// 3. A topic exists while it has an endpoint. A pointer to a Topic or an EndpointRecord is valid until that object is
//    removed.
// 4. No operation except the visits costs more than O(log n) in the number of endpoints. No table uses hashes, since a
//    peer that chooses ids and names could make them collide.
// 5. A peer's announcement is charged to the peer (budgets.hpp) before it is kept.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "budgets.hpp"
#include "frames.hpp"

namespace baton::transport {

/// The most endpoints, and the most nodes, that one peer may announce.
inline constexpr std::size_t kMaxAnnouncedPerPeer = 65536;
/// The most endpoints of one peer on one topic: each may become a connection of each own endpoint there, and every
/// publish or take visits it.
inline constexpr std::size_t kMaxAnnouncedPerTopic = 1024;
/// The charge for an endpoint or a node besides the bytes of its name: its records, links and shares of tables.
inline constexpr std::size_t kEndpointBytes = 512;
inline constexpr std::size_t kNodeBytes = 256;

struct TypeRecord {
  std::string name;
  TypeHash hash{};
  std::uint32_t skeleton_bytes = 0;

  bool operator<(const TypeRecord& other) const noexcept {
    if (hash != other.hash) return hash < other.hash;
    if (skeleton_bytes != other.skeleton_bytes) return skeleton_bytes < other.skeleton_bytes;
    return name < other.name;
  }
};

struct EndpointRecord;

struct Topic {
  using Endpoints = std::map<std::uint64_t, EndpointRecord*>;  ///< by serial: in the order of their announcements
  const std::string* name = nullptr;
  Endpoints own[2], foreign[2];  ///< readers and writers: [is_writer]
  std::map<PeerId, std::size_t> per_peer;
};

struct AnnouncingPeer;

struct EndpointRecord {
  Gid gid{};
  PeerId peer = kSelf;
  bool is_writer = false;
  bool banned = false;    ///< ended for breaking the protocol: not matched again
  bool attached = false;  ///< a reader to which an own writer is or was connected
  const TypeRecord* type = nullptr;
  const std::string* node = nullptr;
  QoS qos;
  Topic* topic = nullptr;
  std::uint64_t serial = 0;  ///< ascending
  Charge charge;
  AnnouncingPeer* owner = nullptr;
  EndpointRecord *next = nullptr, *previous = nullptr;  ///< of the same peer
};

struct AnnouncingPeer {
  std::size_t endpoints = 0, nodes = 0;
  EndpointRecord* first = nullptr;
  struct Nodes {
    std::size_t count = 0;
    Charge charge;  ///< charge of one of them
  };
  using Names = std::map<const std::string*, Nodes, std::less<>>;
  Names names;
  bool leaving = false;
};

class Graph {
 public:
  explicit Graph(Budgets* budgets = nullptr) : budgets_(budgets) {}

  /// already_exists if the id is known; limit_reached, with the numbers, if the peer has announced too much.
  Result<EndpointRecord*> add_endpoint(PeerId peer, const AnnounceFrame& frame);
  /// Null if the id is unknown, or belongs to a peer that left.
  EndpointRecord* find(const Gid& gid);
  void remove_endpoint(EndpointRecord& record) noexcept;
  Topic* topic(const std::string& name);

  Result<void> add_node(PeerId peer, const std::string& name);
  void remove_node(PeerId peer, const std::string& name) noexcept;

  /// Everything of `peer` counts as removed; forget_some() does the work.
  void leave(PeerId peer) noexcept;
  /// Removes up to `most` endpoints and nodes of peers that left. Calls `gone(record)` before it removes an endpoint;
  /// if that throws, the endpoint stays for the next call. True if more are left.
  template <class Gone>
  bool forget_some(std::size_t most, Gone&& gone) {
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

  /// Calls visit(record) for up to `most` endpoints whose serial in `list` is at least `from` and below `end`. Returns
  /// where to continue: `end` or more if nothing is left. `visit` must not change the graph.
  template <class Visit>
  std::uint64_t visit(const Topic::Endpoints& list, std::uint64_t from, std::uint64_t end, std::size_t most,
                      Visit&& visit) const {
    for (auto at = list.lower_bound(from); at != list.end() && at->first < end; ++at) {
      if (most-- == 0) return at->first;
      ++visits_;
      if (!at->second->owner->leaving) visit(*at->second);
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
  using NodePosition = std::pair<PeerId, const std::string*>;
  bool visit_nodes(NodePosition& after, std::size_t most,
                   const std::function<void(PeerId, const std::string&)>& visit) const;

  /// The number of records that all calls so far have visited; tests count these instead of time.
  std::uint64_t visits() const noexcept { return visits_; }

 private:
  using Names = std::map<std::string, std::size_t>;  // users of each
  using Types = std::map<TypeRecord, std::size_t>;
  using PeerMap = std::map<PeerId, AnnouncingPeer>;

  AnnouncingPeer* next_leaving() noexcept;
  void erase_left(const AnnouncingPeer* peer) noexcept;
  void drop_name(AnnouncingPeer& peer, AnnouncingPeer::Names::iterator at) noexcept;
  void release_name(const std::string& name) noexcept;
  void drop_unused(Names::iterator name) noexcept;
  void drop_if_empty(PeerMap::iterator peer) noexcept;

  Budgets* const budgets_;
  std::map<std::string, Topic> topics_;
  std::map<Gid, EndpointRecord> by_gid_;
  PeerMap peers_;
  Names names_;
  Types types_;
  std::size_t leaving_ = 0;
  std::uint64_t next_serial_ = 1;
  mutable std::uint64_t visits_ = 0;
};

}  // namespace baton::transport
