// SPDX-License-Identifier: Apache-2.0
// A snapshot for both directions of the side towards ROS 2: the endpoints of the Baton domain and of the DDS at one moment. And the comparison
// of an endpoint of Baton with one of DDS.
// Thread rules: one thread.
#pragma once

#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "baton/transport/transport.hpp"
#include "ros2/dds.hpp"
#include "ros2/names.hpp"
#include "ros2/ros_types.hpp"

namespace baton::link::ros2 {

using Clock = std::chrono::steady_clock;

/// How long a message waits for the readers of a new writer, or the subscriptions of a new publisher.
inline constexpr std::chrono::milliseconds kMatch{1000};
/// So many first bytes are the same in all ids of one participant of the DDS, and in all ids of one process of rmw_baton_cpp.
inline constexpr std::size_t kContextBytes = 12;
inline const std::string kOwnNode = "link";

using Prefix = std::array<std::uint8_t, kContextBytes>;
inline Prefix prefix_of(const Gid& gid) {
  Prefix prefix{};
  std::memcpy(prefix.data(), gid.data(), prefix.size());
  return prefix;
}

inline const std::string kHashKey = "typehash", kPublisherKey = "baton", kHostKey = "baton_host", kRosKey = "enclave";

inline std::string value(const std::string& user_data, const std::string& key) {
  const std::map<std::string, std::string> all = parse_user_data(user_data);
  const auto found = all.find(key);
  return found == all.end() ? std::string() : found->second;
}

/// Endpoints of one topic and definition that match the same endpoints.
struct MatchGroup {
  std::string topic, type;
  std::array<std::uint8_t, 16> hash{};
  Reliability reliability = Reliability::kReliable;
  Durability durability = Durability::kVolatile;
  bool operator<(const MatchGroup& other) const {
    return std::tie(topic, type, hash, reliability, durability) <
           std::tie(other.topic, other.type, other.hash, other.reliability, other.durability);
  }
};

/// The endpoints that exist now.
struct DomainView {
  std::vector<transport::EndpointInfo> here;
  std::set<Gid> known;               ///< ids of `here`
  std::set<Prefix> contexts;         ///< of rmw_baton_cpp processes in the domain
  std::set<std::int32_t> processes;  ///< their numbers
  std::set<Prefix> linked;           ///< DDS participants of hosts that the link is connected to
  std::set<Gid> abroad;  ///< publishers of linked hosts whose own side towards ROS 2 is in the same DDS domain
  Clock::time_point now;
  const std::vector<DdsEndpoint>& endpoints;              ///< of the DDS
  const std::set<Gid>& relayed;                           ///< proxies: publishers in Baton for DDS writers
  const std::function<std::string(const Gid&)>& node_of;  ///< of an endpoint of the DDS
  std::set<std::string>& complaints;                      ///< steps add to these
};

inline MatchGroup group_of(const std::string& topic, const RosType& type, const QoS& qos) {
  return {topic, type.info.name, type.info.hash, qos.reliability, qos.durability};
}

/// Why a type and an endpoint do not match; empty: they match.
inline std::string difference(const RosType& type, const DdsEndpoint& endpoint) {
  if (endpoint.type != dds_type(type.info.name)) return type.info.name + ", the other " + type_of(endpoint.type);
  const std::string hash = value(endpoint.user_data, kHashKey);
  if (type.matches(hash)) return {};
  return type.info.name + " in another definition (" + type.hash + ", the other " + hash +
         "); build both from the same .msg files";
}

}  // namespace baton::link::ros2
