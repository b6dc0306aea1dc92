// SPDX-License-Identifier: Apache-2.0
#include "plan.hpp"

#include <algorithm>

namespace baton::link {
namespace {

constexpr char kDigits[] = "0123456789abcdef";
const std::string kRequest = "/_request";

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}
bool reliable(const End& end) { return end.qos.reliability == Reliability::kReliable; }
bool kept(const End& end) { return end.qos.durability == Durability::kTransientLocal; }
bool same_type(const End& a, const End& b) { return a.hash == b.hash && a.type_name == b.type_name; }

/// Why a publisher of this host and a subscription of another do not meet; empty: they do.
std::string difference(const End& publisher, const End& subscription) {
  if (publisher.type_name != subscription.type_name) {
    return "has type " + publisher.type_name + ", the subscription " + subscription.type_name +
           "; rename the topic of one of them";
  }
  if (publisher.hash != subscription.hash) {
    return "and the subscription define " + publisher.type_name + " differently; build both from the same .msg files";
  }
  return incompatibility(publisher.qos, subscription.qos);
}

/// What the link asks of the publishers of a channel: what they offer, and as much history as the farthest reader wants.
void raise(Sending& sending, const End& subscription) {
  QoS& request = sending.request;
  request.depth = std::max(request.depth, subscription.qos.depth);
  if (subscription.qos.history == History::kKeepAll && request.reliability == Reliability::kReliable &&
      subscription.qos.reliability == Reliability::kReliable) {
    request.history = History::kKeepAll;
  }
}

}  // namespace

bool is_carried(const std::string& topic) { return topic.find("/_") == std::string::npos; }

std::string channel_of(const End& publisher) {
  std::string name = "baton/1/";
  name += reliable(publisher) ? 'r' : 'b';
  name += kept(publisher) ? 't' : 'v';
  name += '/';
  for (std::size_t i = 0; i < 8; ++i) {
    name += kDigits[publisher.hash[i] >> 4];
    name += kDigits[publisher.hash[i] & 15];
  }
  return name + publisher.topic;
}

ChannelQos qos_of(const End& publisher) {
  ChannelQos qos;
  qos.reliable = reliable(publisher);
  qos.transient_local = kept(publisher);
  return qos;
}

Plan plan(const std::vector<End>& here, const std::vector<Words>& others) {
  Plan out;
  std::map<std::string, std::vector<const End*>> publishers, subscriptions;
  std::set<Gid> known;
  for (const End& end : here) {
    (end.is_writer ? publishers : subscriptions)[end.topic].push_back(&end);
    known.insert(end.gid);
  }
  for (const Words& host : others) {
    const std::set<std::string> wants(host.wants.begin(), host.wants.end());
    std::set<std::string> counted;
    for (const std::string& channel : wants) {
      for (const auto& [topic, ends] : publishers) {
        if (!is_carried(topic) || !ends_with(channel, topic)) continue;
        for (const End* publisher : ends) {
          if (channel_of(*publisher) != channel) continue;
          Sending& sending = out.sending[channel];
          if (sending.publishers.empty()) {
            sending.topic = topic;
            sending.request = QoS(1);
            sending.request.reliability = publisher->qos.reliability;
            sending.request.durability = publisher->qos.durability;
            sending.qos = qos_of(*publisher);
          }
          sending.publishers.insert(publisher->gid);
          // A transient_local publisher's history is kept in full for whoever comes late.
          if (kept(*publisher)) sending.request.depth = std::max(sending.request.depth, publisher->qos.depth);
          if (counted.insert(channel).second) ++sending.hosts;
        }
      }
    }
    for (const End& end : host.ends) {
      const std::string service =
          ends_with(end.topic, kRequest) ? end.topic.substr(0, end.topic.size() - kRequest.size()) : std::string();
      if (!service.empty() && !end.is_writer && publishers.count(end.topic) != 0 &&
          subscriptions.count(end.topic) == 0) {
        out.complaints.insert("service '" + service + "' of host " + host.host_name +
                              " has a client here: the link does not carry services yet");
      }
      if (!is_carried(end.topic)) continue;
      if (!end.is_writer) {
        const auto found = publishers.find(end.topic);
        if (found == publishers.end()) continue;
        for (const End* publisher : found->second) {
          const std::string differs = difference(*publisher, end);
          const auto sending = out.sending.find(channel_of(*publisher));
          if (differs.empty()) {
            if (sending != out.sending.end()) raise(sending->second, end);
            continue;
          }
          out.complaints.insert("publisher of '" + end.topic + "' (node '" + publisher->node +
                                "') is not connected to the subscription of node '" + end.node + "' of host " +
                                host.host_name + ": the publisher " + differs);
        }
        continue;
      }
      // An id that is known here came back by another way: it is this host's own.
      if (known.count(end.gid) != 0) continue;
      Receiving& receiving = out.receiving[end.gid];
      receiving.publisher = end;
      receiving.host_name = host.host_name;
      for (const auto& type : host.types)
        if (type->hash == end.hash && type->name == end.type_name) receiving.type = type;
      const std::vector<const End*>& mine = subscriptions[end.topic];
      const auto fitting =
          std::find_if(mine.begin(), mine.end(), [&](const End* each) { return same_type(*each, end); });
      receiving.fits = fitting != mine.end();
      if (!receiving.fits) continue;
      receiving.subscription = (*fitting)->gid;
      out.channels[channel_of(end)] = qos_of(end);
    }
  }
  for (auto& [channel, sending] : out.sending) {
    // KEEP_LAST is over all publishers of a subscription; here each publisher is to have its own history.
    const std::size_t depth = sending.request.depth;
    sending.qos.depth = static_cast<std::uint32_t>(depth);
    sending.qos.keep_all = sending.request.history == History::kKeepAll;
    sending.request.depth = static_cast<std::uint32_t>(std::min<std::size_t>(depth * sending.publishers.size(), 65536));
  }
  return out;
}

}  // namespace baton::link
