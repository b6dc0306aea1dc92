// SPDX-License-Identifier: Apache-2.0
#include "plan.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

namespace baton::link {
namespace {

/// "baton/1/rt/", and the digits of a hash: the topic's name follows.
constexpr std::size_t kChannelPrefix = 11 + 16;
/// What each process of this host keeps of a publisher besides its names (core/transport/src/graph.hpp).
constexpr std::size_t kPublisherBytes = 768;
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

namespace {

/// The entries that have room, when the hosts take turns: the first of each, then the second of each. `cost` of an entry counts towards `most`.
template <class Entry>
std::vector<Entry> in_turns(const std::map<Gid, std::vector<Entry>>& of_hosts, std::size_t most,
                            const std::function<std::size_t(const Entry&)>& cost) {
  std::vector<Entry> out;
  std::size_t used = 0;
  for (std::size_t turn = 0, some = 1; some != 0; ++turn) {
    some = 0;
    for (const auto& [host, entries] : of_hosts) {
      if (turn >= entries.size()) continue;
      ++some;
      const std::size_t size = cost(entries[turn]);
      if (used + size > most) continue;
      used += size;
      out.push_back(entries[turn]);
    }
  }
  return out;
}

std::string left_out_words(std::size_t count, const char* what, const std::string& topic, std::size_t most) {
  return std::to_string(count) + " " + what + " of other hosts are left out on '" + topic + "': the link has at most " +
         std::to_string(most) + " there";
}

void limit_receiving(Plan& plan) {
  const auto one = [](const Gid&) { return std::size_t{1}; };
  std::map<std::string, std::map<Gid, std::vector<Gid>>> by_topic;
  std::map<std::string, std::size_t> of_topic;
  for (const auto& [gid, wanted] : plan.receiving) {
    by_topic[wanted.publisher.topic][wanted.host].push_back(gid);
    ++of_topic[wanted.publisher.topic];
  }
  std::map<Gid, std::vector<Gid>> rest;
  std::size_t count = 0;
  const auto cost = [&](const Gid& gid) { return announced_bytes_of(plan.receiving.at(gid)); };
  for (const auto& [topic, of_hosts] : by_topic) {
    std::map<Gid, std::vector<Gid>> kept;
    if (of_topic[topic] > kMostPublishersOfTopic) {
      for (const Gid& gid : in_turns<Gid>(of_hosts, kMostPublishersOfTopic, one))
        kept[plan.receiving.at(gid).host].push_back(gid);
      plan.complaints.insert(
          left_out_words(of_topic[topic] - kMostPublishersOfTopic, "publishers", topic, kMostPublishersOfTopic));
    }
    for (const auto& [host, gids] : kept.empty() ? of_hosts : kept) {
      rest[host].insert(rest[host].end(), gids.begin(), gids.end());
      count += gids.size();
    }
  }
  plan.order = in_turns<Gid>(rest, kMostPublisherBytes, cost);
  plan.order.resize(std::min(plan.order.size(), kMostPublishers));
  const std::set<Gid> kept(plan.order.begin(), plan.order.end());
  if (kept.size() < count) {
    plan.complaints.insert(std::to_string(count - kept.size()) +
                           " publishers of other hosts are left out: the link has room for " +
                           std::to_string(kept.size()) + " of them in all");
  }
  for (auto at = plan.receiving.begin(); at != plan.receiving.end();) {
    if (kept.count(at->first) != 0) {
      ++at;
    } else {
      plan.left_out.insert(at->first);
      at = plan.receiving.erase(at);
    }
  }
}

void limit_sending(Plan& plan) {
  using Key = std::pair<Gid, std::string>;
  const auto one = [](const Key&) { return std::size_t{1}; };
  std::map<std::string, std::map<Gid, std::vector<Key>>> by_topic;
  std::map<std::string, std::size_t> of_topic;
  for (const auto& [key, sending] : plan.sending) {
    by_topic[sending.topic][key.first].push_back(key);
    ++of_topic[sending.topic];
  }
  std::map<Gid, std::vector<Key>> rest;
  std::size_t count = 0;
  for (const auto& [topic, of_hosts] : by_topic) {
    std::vector<Key> kept = in_turns<Key>(of_hosts, kMostSubscriptionsOfTopic, one);
    if (kept.size() < of_topic[topic]) {
      plan.complaints.insert(
          left_out_words(of_topic[topic] - kept.size(), "subscriptions", topic, kMostSubscriptionsOfTopic));
    }
    count += kept.size();
    for (Key& key : kept) rest[key.first].push_back(std::move(key));
  }
  std::set<Key> kept;
  for (Key& key : in_turns<Key>(rest, kMostSubscriptions, one)) kept.insert(std::move(key));
  if (kept.size() < count) {
    plan.complaints.insert(std::to_string(count - kept.size()) +
                           " subscriptions of other hosts are left out: the link has at most " +
                           std::to_string(kMostSubscriptions) + " in all");
  }
  for (auto at = plan.sending.begin(); at != plan.sending.end();)
    at = kept.count(at->first) != 0 ? std::next(at) : plan.sending.erase(at);
}

}  // namespace

std::size_t announced_bytes_of(const Receiving& wanted) {
  return wanted.publisher.topic.size() + wanted.publisher.type_name.size() + wanted.publisher.node.size() +
         wanted.host_name.size() + kPublisherBytes;
}

namespace {

/// Of which of the other hosts each process is, by the first bytes of its endpoints' ids.
std::map<IdPrefix, Gid> owners_of(const std::vector<End>& here, const std::vector<Words>& others,
                                  const std::map<IdPrefix, Gid>& before) {
  std::map<IdPrefix, Gid> out;
  std::set<IdPrefix> own;
  for (const End& end : here) own.insert(prefix_of(end.gid));
  // Who came first: any process of this host may announce any id but those of other processes here.
  for (const Words& host : others) {
    for (const End& end : host.ends) {
      const IdPrefix prefix = prefix_of(end.gid);
      const auto owner = before.find(prefix);
      if (owner != before.end() && owner->second == host.host) out.emplace(prefix, host.host);
    }
  }
  for (const Words& host : others) {
    for (const End& end : host.ends) {
      const IdPrefix prefix = prefix_of(end.gid);
      if (own.count(prefix) == 0) out.emplace(prefix, host.host);
    }
  }
  return out;
}

/// Publishers of a host that are left out, because their ids are those of processes elsewhere.
class Claims {
 public:
  explicit Claims(const std::vector<Words>& others) {
    for (const Words& host : others) names_.emplace(host.host, host.host_name);
  }
  void add(const Gid* owner) { ++counts_[owner == nullptr ? std::string() : names_.at(*owner)]; }
  /// `host`: that has said them.
  std::vector<std::string> words(const std::string& host) {
    std::vector<std::string> out;
    for (const auto& [owner, count] : counts_) {
      if (owner == host) continue;  // a link that was started again has the name of the one before
      out.push_back(std::to_string(count) + " publishers of host " + host +
                    " are left out, because their ids are those of processes of " +
                    (owner.empty() ? "this host: it is not what it says"
                                   : "host " + owner + ": one of them is not what it says"));
    }
    counts_.clear();
    return out;
  }

 private:
  std::map<Gid, std::string> names_;
  std::map<std::string, std::size_t> counts_;
};

}  // namespace

Plan plan(const std::vector<End>& here, const std::vector<Words>& others, const std::map<IdPrefix, Gid>& owners) {
  Plan out;
  out.owners = owners_of(here, others, owners);
  Claims claims(others);
  std::map<std::string, std::vector<const End*>> publishers, subscriptions;
  std::set<Gid> known;
  for (const End& end : here) {
    (end.is_writer ? publishers : subscriptions)[end.topic].push_back(&end);
    known.insert(end.gid);
  }
  for (const Words& host : others) {
    std::map<std::string, std::string> wants;  // channels, as they are and numbered
    for (const std::string& channel : host.wants) wants[channel.substr(0, channel.rfind(kNumberMark))] = channel;
    std::size_t complaints = 0;
    const auto complain = [&](const std::string& text) {
      if (complaints < kMostComplaintsOfHost && out.complaints.insert(text).second) ++complaints;
    };
    for (const auto& [base, channel] : wants) {
      const auto found = base.size() < kChannelPrefix ? publishers.end() : publishers.find(base.substr(kChannelPrefix));
      if (found != publishers.end() && is_carried(found->first)) {
        const std::string& topic = found->first;
        for (const End* publisher : found->second) {
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
          if (complaints == kMostComplaintsOfHost && !same_type(*publisher, end)) continue;  // its words are not said
          const std::string differs = difference(*publisher, end);
          const auto name = wants.find(channel_of(*publisher));
          const auto sending = name == wants.end() ? out.sending.end() : out.sending.find({host.host, name->second});
          if (differs.empty()) {
            if (sending == out.sending.end()) continue;
            raise(sending->second, end);
            if (is_response(end.topic)) sending->second.clients.insert(end.gid);
            continue;
          }
          complain("publisher of '" + end.topic + "' (node '" + publisher->node +
                   "') is not connected to the subscription of node '" + end.node + "' of host " + host.host_name +
                   ": the publisher " + differs);
        }
        continue;
      }
      // An id that is known here came back by another way: it is this host's own.
      if (known.count(end.gid) != 0) continue;
      const auto owner = out.owners.find(prefix_of(end.gid));
      if (owner == out.owners.end() || owner->second != host.host) {
        claims.add(owner == out.owners.end() ? nullptr : &owner->second);
        continue;
      }
      const std::vector<const End*>& mine = subscriptions[end.topic];
      const auto fitting =
          std::find_if(mine.begin(), mine.end(), [&](const End* each) { return same_type(*each, end); });
      // Every node has services; most are never called from abroad.
      if (!is_topic(end.topic) && mine.empty()) continue;
      Receiving& receiving = out.receiving[end.gid];
      receiving.host = host.host;
      receiving.publisher = end;
      receiving.host_name = host.host_name;
      for (const auto& type : host.types)
        if (type->hash == end.hash && type->name == end.type_name) receiving.type = type;
      receiving.fits = fitting != mine.end();
      if (!receiving.fits) continue;
      receiving.subscription = (*fitting)->gid;
      out.channels.insert(channel_of(end));
    }
    for (const std::string& text : claims.words(host.host_name)) out.complaints.insert(text);
  }
  limit_receiving(out);
  limit_sending(out);
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
