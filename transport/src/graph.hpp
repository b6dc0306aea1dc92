// SPDX-License-Identifier: Apache-2.0
// What this process knows of the domain: topics, endpoints (own and foreign alike), nodes. Compact, since every process knows
// every endpoint: names and types are stored once however many endpoints share them.
// Thread rules: externally synchronised (ParticipantImpl::mutex_).
// Invariants: (1) an endpoint id occurs once; (2) everything of a peer goes with remove_peer; (3) a topic exists while it has
// an endpoint; pointers to a Topic or EndpointRecord are valid until the next change.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frames.hpp"

namespace baton::transport {

class WriterImpl;
class ReaderImpl;

/// The process itself where a PeerId is expected (the hub never gives out 0).
inline constexpr PeerId kSelf = 0;
/// Endpoints and nodes that one peer may announce.
inline constexpr std::size_t kMaxAnnouncedPerPeer = 65536;

struct GidHash {
  std::size_t operator()(const Gid& gid) const noexcept {
    std::uint64_t low = 0, high = 0;
    std::memcpy(&low, gid.data(), 8);
    std::memcpy(&high, gid.data() + 8, 8);
    return static_cast<std::size_t>(low ^ (high * 0x9E3779B97F4A7C15U));  // gids are random or counters: mixing suffices
  }
};

struct TypeRecord {
  std::string name;
  TypeHash hash{};
  std::uint32_t skeleton_bytes = 0;
};

struct EndpointRecord {
  Gid gid{};
  PeerId peer = kSelf;
  bool is_writer = false;
  bool banned = false;  ///< ended for breaking the protocol: not matched again
  std::shared_ptr<const TypeRecord> type;
  std::shared_ptr<const std::string> node;
  QoS qos;
};

struct Topic {
  std::string name;
  std::vector<EndpointRecord> endpoints;  ///< of all processes, this one included
};

class Graph {
 public:
  /// Null if the id is known already or the peer announced too much.
  Topic* add_endpoint(PeerId peer, const AnnounceFrame& frame);
  /// The topic and record of `gid`, or nulls.
  std::pair<Topic*, EndpointRecord*> find(const Gid& gid);
  /// False if unknown or of another peer.
  bool remove_endpoint(PeerId peer, const Gid& gid);
  Topic* topic(const std::string& name);

  bool add_node(PeerId peer, const std::string& name);
  void remove_node(PeerId peer, const std::string& name);

  /// Forgets everything of `peer`; returns the ids of its writers and readers.
  std::vector<std::pair<Gid, bool>> remove_peer(PeerId peer);

  void for_each_endpoint(const std::function<void(const Topic&, const EndpointRecord&)>& visit) const;
  void for_each_node(const std::function<void(PeerId, const std::string&)>& visit) const;

 private:
  struct Announced {
    std::size_t endpoints = 0;
    std::vector<std::shared_ptr<const std::string>> nodes;
  };

  std::shared_ptr<const std::string> intern(const std::string& name);
  std::shared_ptr<const TypeRecord> intern(const AnnounceFrame& frame);
  void forget(EndpointRecord&& record);
  void erase_from(Topic& topic, std::size_t at);

  std::unordered_map<std::string, std::unique_ptr<Topic>> topics_;
  std::unordered_map<Gid, Topic*, GidHash> by_gid_;
  std::unordered_map<PeerId, Announced> peers_;
  std::unordered_map<std::string, std::shared_ptr<const std::string>> names_;
  std::unordered_map<std::string, std::vector<std::shared_ptr<const TypeRecord>>> types_;
};

}  // namespace baton::transport
