// SPDX-License-Identifier: Apache-2.0
// Which topics travel: a pure function of what this host has and what the other hosts say. A topic travels while a subscription abroad
// wants it.
// Thread rules: values, pure functions.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine.hpp"
#include "words.hpp"

namespace baton::link {

/// The publishers of one topic, definition, reliability and durability travel on one channel.
std::string channel_of(const End& publisher);
ChannelQos qos_of(const End& publisher);

/// Topics of services and those that only Baton's own parts use are not carried.
bool is_carried(const std::string& topic);

struct Sending {
  std::string topic;
  std::set<Gid> publishers;  ///< of this host
  QoS request;               ///< of the link's subscription
  ChannelQos qos;
  std::size_t hosts = 0;  ///< that want it
};
struct Receiving {
  End publisher;
  std::string host_name;
  std::shared_ptr<const transport::TypeInfo> type;  ///< as the other host says it; null: not yet
  bool fits = false;                                ///< a subscription of this host has its type and definition
  Gid subscription{};                               ///< such a one
};
struct Plan {
  std::map<std::string, Sending> sending;      ///< by channel
  std::map<Gid, Receiving> receiving;          ///< publishers of other hosts, by their ids
  std::map<std::string, ChannelQos> channels;  ///< of those that fit
  std::set<std::string> complaints;            ///< for people: what does not fit, and what is not carried
};

/// `here`: the endpoints of this host, without the link's own.
Plan plan(const std::vector<End>& here, const std::vector<Words>& others);

}  // namespace baton::link
