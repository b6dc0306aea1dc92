// SPDX-License-Identifier: Apache-2.0
#include "plan.hpp"

#include <algorithm>

namespace baton::link {
namespace {

constexpr char kDigits[] = "0123456789abcdef";
constexpr char kNumberMark = '#';  // in no name of a topic
const std::string kRequest = "/_request", kResponse = "/_response";

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
  const std::string differs = incompatibility(publisher.qos, subscription.qos);
  return differs.empty() ? differs : "has another quality of service: " + differs;
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

bool is_request(const std::string& topic) { return ends_with(topic, kRequest); }
bool is_response(const std::string& topic) { return ends_with(topic, kResponse); }
bool is_topic(const std::string& topic) { return topic.find("/_") == std::string::npos; }
bool is_carried(const std::string& topic) { return is_topic(topic) || is_request(topic) || is_response(topic); }

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

std::string numbered(const std::string& channel, std::uint64_t number) {
  return channel + kNumberMark + std::to_string(number);
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
    std::map<std::string, std::string> wants;  // channels, as they are and numbered
    for (const std::string& channel : host.wants) wants[channel.substr(0, channel.rfind(kNumberMark))] = channel;
    for (const auto& [base, channel] : wants) {
      for (const auto& [topic, ends] : publishers) {
        if (!is_carried(topic) || !ends_with(base, topic)) continue;
        for (const End* publisher : ends) {
          if (channel_of(*publisher) != base) continue;
          Sending& sending = out.sending[{host.host, channel}];
          if (sending.publishers.empty()) {
            sending.topic = topic;
            sending.request = QoS(1);
            sending.request.reliability = publisher->qos.reliability;
            sending.request.durability = publisher->qos.durability;
          }
          sending.publishers.insert(publisher->gid);
          if (publisher->qos.liveliness == Liveliness::kManualByTopic)
            sending.lease = std::min<std::chrono::nanoseconds>(sending.lease, publisher->qos.lease);
          // A transient_local publisher's history is kept in full for whoever comes late.
          if (kept(*publisher)) sending.request.depth = std::max(sending.request.depth, publisher->qos.depth);
        }
      }
    }
    for (const End& end : host.ends) {
      if (!is_carried(end.topic)) continue;
      if (!end.is_writer) {
        const auto found = publishers.find(end.topic);
        if (found == publishers.end()) continue;
        for (const End* publisher : found->second) {
          const std::string differs = difference(*publisher, end);
          const auto name = wants.find(channel_of(*publisher));
          const auto sending = name == wants.end() ? out.sending.end() : out.sending.find({host.host, name->second});
          if (differs.empty()) {
            if (sending == out.sending.end()) continue;
            raise(sending->second, end);
            if (is_response(end.topic)) sending->second.clients.insert(end.gid);
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
      const std::vector<const End*>& mine = subscriptions[end.topic];
      const auto fitting =
          std::find_if(mine.begin(), mine.end(), [&](const End* each) { return same_type(*each, end); });
      // Every node has services; most are never called from abroad.
      if (!is_topic(end.topic) && mine.empty()) continue;
      Receiving& receiving = out.receiving[end.gid];
      receiving.publisher = end;
      receiving.host_name = host.host_name;
      for (const auto& type : host.types)
        if (type->hash == end.hash && type->name == end.type_name) receiving.type = type;
      receiving.fits = fitting != mine.end();
      if (!receiving.fits) continue;
      receiving.subscription = (*fitting)->gid;
      out.channels.insert(channel_of(end));
    }
  }
  for (auto& [key, sending] : out.sending) {
    // KEEP_LAST is over all publishers of a subscription; here each publisher is to have its own history.
    // In powers of two, because another depth needs another subscription.
    std::size_t histories = 1;
    while (histories < sending.publishers.size()) histories *= 2;
    const std::size_t depth = sending.request.depth * histories;
    sending.request.depth = static_cast<std::uint32_t>(std::min<std::size_t>(depth, 65536));
  }
  return out;
}

}  // namespace baton::link
