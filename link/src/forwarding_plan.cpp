// SPDX-License-Identifier: Apache-2.0
#include "forwarding_plan.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "baton/os/hexadecimal.hpp"

namespace baton::link {
namespace {

/// "baton/1/rt/", and the digits of a hash: the topic's name follows.
constexpr std::size_t kChannelPrefix = 11 + 16;
/// What each process of this host keeps of a publisher besides its names (core/transport/src/graph.hpp).
constexpr std::size_t kPublisherBytes = 768;
constexpr char kNumberMark = '#';  // in no name of a topic
const std::string kRequest = "/_request", kResponse = "/_response", kAction = "/_action/";

bool ends_with(const std::string& text, const std::string& suffix) {
  return text.size() >= suffix.size() && text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}
bool reliable(const HostEndpoint& endpoint) { return endpoint.qos.reliability == Reliability::kReliable; }
bool kept(const HostEndpoint& endpoint) { return endpoint.qos.durability == Durability::kTransientLocal; }
bool same_type(const HostEndpoint& a, const HostEndpoint& b) { return a.hash == b.hash && a.type_name == b.type_name; }

/// Why a publisher of this host and a subscription of another do not match; empty: they match.
std::string difference(const HostEndpoint& publisher, const HostEndpoint& subscription) {
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

/// The link's subscription to a channel requests what the publishers offer, and as much history as the deepest subscription wants, within bounds.
void raise(PlannedFlow& sending, const HostEndpoint& subscription) {
  QoS& request = sending.request;
  request.depth = std::max(request.depth, std::min(subscription.qos.depth, kMostDepth));
  if (subscription.qos.history == History::kKeepAll && request.reliability == Reliability::kReliable &&
      subscription.qos.reliability == Reliability::kReliable) {
    request.history = History::kKeepAll;
  }
}

}  // namespace

bool is_request(const std::string& topic) { return ends_with(topic, kRequest); }
bool is_response(const std::string& topic) { return ends_with(topic, kResponse); }
bool is_topic(const std::string& topic) {
  for (std::size_t at = topic.find("/_"); at != std::string::npos; at = topic.find("/_", at + 1))
    if (topic.compare(at, kAction.size(), kAction) != 0) return false;
  return true;
}
bool is_forwarded(const std::string& topic) { return is_topic(topic) || is_request(topic) || is_response(topic); }

std::string channel_of(const HostEndpoint& publisher) {
  std::string name = "baton/1/";
  name += reliable(publisher) ? 'r' : 'b';
  name += kept(publisher) ? 't' : 'v';
  name += '/';
  name += os::hexadecimal(publisher.hash.data(), 8);
  return name + publisher.topic;
}

std::string numbered(const std::string& channel, std::uint64_t number) {
  return channel + kNumberMark + std::to_string(number);
}

namespace {

/// Something that another host makes this link have: a publisher, or a subscription.
struct Wish {
  Gid host{};
  const std::string* host_name = nullptr;
  const std::string* topic = nullptr;     ///< dangles when it is left out
  Gid publisher{};                        ///< of plan.receiving
  std::pair<Gid, std::string> channel{};  ///< of plan.sending; no name: a publisher
  bool left_out = false;
  std::size_t equals = 1;     ///< wishes of this host and kind on the topic
  std::size_t processes = 0;  ///< of this host, that have connections for it

  bool is_publisher() const noexcept { return channel.second.empty(); }
};
struct WishCost {
  Wish* wish = nullptr;
  std::uint64_t cost = 0;
  bool immodest = false;        ///< see kMostModest
  std::size_t connections = 0;  ///< with one process
  std::size_t turn = 0;         ///< of its process
};
/// A process of this host. A process chooses the ids of its endpoints, so the ids of one process may begin differently.
using Process = std::pair<std::uint64_t, IdPrefix>;
Process process_of(const HostEndpoint& endpoint) {
  return endpoint.process != 0 ? Process(endpoint.process, {}) : Process(0, prefix_of(endpoint.gid));
}
struct ProcessConnections {
  transport::ConnectionCost cost;
  std::size_t count = 0;
  std::size_t ordinary = 0;  ///< as many of ordinary depth cost as much

  void add(const QoS& requested) {
    const transport::ConnectionCost one = transport::connection_cost(requested);
    cost.bytes += one.bytes;
    cost.areas += one.areas;
    ++count;
    ordinary += (one.bytes + ordinary_bytes() - 1) / ordinary_bytes();
  }
  static std::size_t ordinary_bytes() { return transport::connection_cost(QoS(10)).bytes; }
};

/// Orders publishers so that the processes take turns.
std::vector<Gid> by_processes(const std::vector<Gid>& gids) {
  std::map<IdPrefix, std::size_t> turns;
  std::vector<std::pair<std::size_t, Gid>> order;
  for (const Gid& gid : gids) order.emplace_back(turns[prefix_of(gid)]++, gid);
  std::sort(order.begin(), order.end());
  std::vector<Gid> out;
  for (const auto& [turn, gid] : order) out.push_back(gid);
  return out;
}

/// Leaves out wishes for which there is no room, and reports them for each host and reason.
class FairShares {
 public:
  explicit FairShares(ForwardingPlan& plan, std::map<Gid, std::size_t>& complaints)
      : plan_(plan), complaints_(complaints) {}

  /// Each host has the same share of `most`, or all that it wishes if that is less. The processes of a host take turns with their publishers, and of one
  /// process the cheapest have room first. If `own_loss` is not null, immodest parts that have no room go there, and the wish is kept as
  /// long as another process has connections for it.
  void share(std::vector<WishCost> wishes, std::uint64_t most, const std::string& why,
             std::vector<WishCost>* own_loss = nullptr) {
    wishes.erase(std::remove_if(wishes.begin(), wishes.end(), [](const WishCost& part) { return part.wish->left_out; }),
                 wishes.end());
    std::uint64_t all = 0;
    for (const WishCost& part : wishes) all += part.cost;
    if (all <= most) return;
    std::stable_sort(wishes.begin(), wishes.end(),
                     [](const WishCost& a, const WishCost& b) { return a.cost < b.cost; });
    std::map<std::pair<Gid, IdPrefix>, std::size_t> turns;
    for (WishCost& part : wishes) part.turn = turns[{part.wish->host, prefix_of(part.wish->publisher)}]++;
    std::stable_sort(wishes.begin(), wishes.end(),
                     [](const WishCost& a, const WishCost& b) { return a.turn < b.turn; });
    std::map<Gid, std::vector<WishCost>> of_hosts;
    for (const WishCost& part : wishes) of_hosts[part.wish->host].push_back(part);
    // For each host the cost including its next wish, and the index of that wish. The next wish is taken from the host with the least cost.
    using NextChunk = std::tuple<std::uint64_t, std::size_t, Gid>;
    std::priority_queue<NextChunk, std::vector<NextChunk>, std::greater<NextChunk>> queue;
    for (const auto& [host, parts] : of_hosts) queue.emplace(parts[0].cost, 0, host);
    for (all = 0; !queue.empty();) {
      const auto [with_it, index, host] = queue.top();
      queue.pop();
      const std::vector<WishCost>& parts = of_hosts[host];
      const bool has_room = parts[index].cost <= most - all;
      if (has_room) {
        all += parts[index].cost;
      } else if (own_loss != nullptr && parts[index].immodest && parts[index].wish->processes > 1) {
        --parts[index].wish->processes;
        own_loss->push_back(parts[index]);
        note(*parts[index].wish, " for one process alone" + why);
      } else {
        leave_out(*parts[index].wish, why);
      }
      if (index + 1 < parts.size())
        queue.emplace(with_it - (has_room ? 0 : parts[index].cost) + parts[index + 1].cost, index + 1, host);
    }
  }

  void complain() {
    for (const auto& [of, count] : counts_) {
      const auto& [host, what, why] = of;
      if (complaints_[host]++ >= kMostComplaintsOfHost) continue;
      plan_.complaints.insert(std::to_string(count) + what + names_.at(host) + " are left out" + why);
    }
  }

 private:
  void note(const Wish& wish, const std::string& why) {
    names_.emplace(wish.host, *wish.host_name);
    ++counts_[{wish.host, wish.is_publisher() ? " publishers of host " : " subscriptions of host ", why}];
  }

  void leave_out(Wish& wish, const std::string& why) {
    wish.left_out = true;
    note(wish, why);
    if (wish.is_publisher()) {
      plan_.left_out.emplace(wish.host, wish.publisher);
      plan_.receiving.erase(wish.publisher);
    } else {
      plan_.sending.erase(wish.channel);
    }
  }

  ForwardingPlan& plan_;
  std::map<Gid, std::size_t>& complaints_;  // of hosts
  std::map<Gid, std::string> names_;
  std::map<std::tuple<Gid, std::string, std::string>, std::size_t> counts_;
};

/// The limits on wishes: on a topic, with each process of this host, with all processes, and in all.
class Limits {
 public:
  Limits(ForwardingPlan& plan, const std::vector<HostEndpoint>& here, const std::vector<HostAdvertisement>& others,
         const transport::ConnectionBudget& budget, std::map<Gid, std::size_t>& complaints)
      : plan_(plan), here_(here), budget_(budget), shares_(plan, complaints) {
    std::map<Gid, const std::string*> names;
    for (const HostAdvertisement& host : others) names[host.host] = &host.host_name;
    for (const auto& [key, sending] : plan.sending)
      wishes_.push_back({key.first, names.at(key.first), &sending.topic, {}, key});
    for (const auto& [gid, wanted] : plan.receiving)
      wishes_.push_back({wanted.host, names.at(wanted.host), &wanted.publisher.topic, gid, {}});
  }

  void apply() {
    of_topics();
    of_connections();
    std::vector<WishCost> publishers, subscriptions, names;
    for (Wish& wish : wishes_) {
      (wish.is_publisher() ? publishers : subscriptions).push_back({&wish, 1});
      if (wish.is_publisher() && !wish.left_out)
        names.push_back({&wish, announced_bytes_of(plan_.receiving.at(wish.publisher))});
    }
    const auto at_most = [](std::size_t most) { return ": the link has at most " + std::to_string(most) + " in all"; };
    shares_.share(std::move(publishers), kMostPublishers, at_most(kMostPublishers));
    shares_.share(std::move(subscriptions), kMostSubscriptions, at_most(kMostSubscriptions));
    shares_.share(std::move(names), kMostPublisherBytes, ": the names of those of all hosts take too many bytes");
    shares_.complain();
    // The hosts take turns, and so do the processes of each.
    std::map<Gid, std::vector<Gid>> of_hosts;
    for (const auto& [gid, wanted] : plan_.receiving) of_hosts[wanted.host].push_back(gid);
    for (auto& [host, gids] : of_hosts) gids = by_processes(gids);
    for (std::size_t turn = 0; plan_.order.size() < plan_.receiving.size(); ++turn)
      for (const auto& [host, gids] : of_hosts)
        if (turn < gids.size()) plan_.order.push_back(gids[turn]);
  }

 private:
  void of_topics() {
    std::map<std::pair<std::string, bool>, std::vector<WishCost>> of_topics;
    for (Wish& wish : wishes_) of_topics[{*wish.topic, wish.is_publisher()}].push_back({&wish, 1});
    for (const auto& [of, wishes] : of_topics) {
      const std::size_t most = of.second ? kMostPublishersOfTopic : kMostSubscriptionsOfTopic;
      if (wishes.size() <= most) continue;
      shares_.share(wishes, most, " on '" + of.first + "': the link has at most " + std::to_string(most) + " there");
    }
  }

  void of_connections() {
    std::map<std::string, std::vector<const HostEndpoint*>> subscriptions;
    std::map<Gid, Process> processes;
    std::map<Process, const HostEndpoint*> examples;
    for (const HostEndpoint& endpoint : here_) {
      const Process process = process_of(endpoint);
      examples.emplace(process, &endpoint);
      if (endpoint.is_writer) {
        processes.emplace(endpoint.gid, process);
      } else {
        subscriptions[endpoint.topic].push_back(&endpoint);
      }
    }
    std::map<std::tuple<Gid, std::string, bool>, std::size_t> equals;
    for (const Wish& wish : wishes_)
      if (!wish.left_out) ++equals[{wish.host, *wish.topic, wish.is_publisher()}];
    std::map<Process, std::vector<WishCost>> of_processes;
    std::vector<WishCost> of_all;
    for (Wish& wish : wishes_) {
      if (wish.left_out) continue;
      std::map<Process, ProcessConnections> of_wish;
      if (wish.is_publisher()) {
        const HostEndpoint& publisher = plan_.receiving.at(wish.publisher).publisher;
        for (const HostEndpoint* each : subscriptions[publisher.topic])
          if (same_type(*each, publisher) && incompatibility(publisher.qos, each->qos).empty())
            of_wish[process_of(*each)].add(each->qos);
      } else {
        const PlannedFlow& sending = plan_.sending.at(wish.channel);
        for (const Gid& gid : sending.publishers) of_wish[processes.at(gid)].add(sending.request);
      }
      wish.equals = equals.at({wish.host, *wish.topic, wish.is_publisher()});
      wish.processes = of_wish.size();
      transport::ConnectionCost sum;
      if (wish.is_publisher()) sum.descriptors = 1;
      for (auto& [process, with_it] : of_wish) {
        transport::ConnectionCost& cost = with_it.cost;
        cost.descriptors = sum.descriptors;
        // The depth of the link's own subscription is the other host's choice.
        const std::size_t weight = wish.is_publisher() ? with_it.ordinary : with_it.count;
        const bool immodest = weight > kMostModest && weight >= wish.equals;
        of_processes[process].push_back({&wish, part_of(cost, budget_.of_process), immodest, with_it.count});
        // The rest of what an immodest process takes is bounded by the limit of that process.
        const std::size_t of = immodest && of_wish.size() > 1 ? weight : 1, counted = of == 1 ? 1 : kMostModest;
        sum.bytes += cost.bytes / of * counted;
        sum.areas += cost.areas / of * counted;
      }
      if (!of_wish.empty()) of_all.push_back({&wish, part_of(sum, budget_.of_user)});
    }
    for (auto& [process, wishes] : of_processes) {
      std::vector<WishCost> own_loss;
      shares_.share(std::move(wishes), kWhole,
                    ": connections with the process of node '" + examples.at(process)->node +
                        "' here would take more of its memory, of its memory areas (vm.max_map_count) or of its "
                        "descriptors (RLIMIT_NOFILE), than those of one process may",
                    &own_loss);
      for (const WishCost& part : own_loss) make_shallower(part, own_loss.size());
    }
    shares_.share(std::move(of_all), kWhole,
                  ": connections with all processes here would take more of the link's memory, of its memory areas "
                  "(vm.max_map_count) or of its descriptors (RLIMIT_NOFILE), than those of one user may");
  }

  /// The link's subscription is also connected to publishers of that process, as far as the budget of the process goes. All such subscriptions
  /// together must need only the quarter that is left. Else they would take from the connections that have room.
  void make_shallower(const WishCost& part, std::size_t count) {
    const auto sending = plan_.sending.find(part.wish->channel);
    if (sending == plan_.sending.end()) return;  // a publisher, or left out
    QoS& request = sending->second.request;
    const std::size_t most = budget_.of_process.bytes * (4 - kQuartersOfBudget) / 4 / count / part.connections;
    while (request.depth > 1 && transport::connection_cost(request).bytes > most) request.depth /= 2;
  }

  /// The part of the budget of the scarcest resource.
  static constexpr std::uint64_t kWhole = 1'000'000'000;
  static std::uint64_t part_of(const transport::ConnectionCost& cost, const transport::ConnectionCost& budget) {
    const auto part = [](std::size_t of, std::size_t most) {
      const long double share = static_cast<long double>(of) / static_cast<long double>(most) * 4 / kQuartersOfBudget;
      return static_cast<std::uint64_t>(std::min(share, 2.0L) * kWhole) + 1;
    };
    return std::max(
        {part(cost.bytes, budget.bytes), part(cost.areas, budget.areas), part(cost.descriptors, budget.descriptors)});
  }

  ForwardingPlan& plan_;
  const std::vector<HostEndpoint>& here_;
  const transport::ConnectionBudget& budget_;
  FairShares shares_;
  std::vector<Wish> wishes_;
};

}  // namespace

std::size_t announced_bytes_of(const PlannedProxy& wanted) {
  return wanted.publisher.topic.size() + wanted.publisher.type_name.size() + wanted.publisher.node.size() +
         wanted.host_name.size() + kPublisherBytes;
}

namespace {

/// To which of the other hosts each process belongs, by the first bytes of its endpoints' ids.
std::map<IdPrefix, Gid> owners_of(const std::vector<HostEndpoint>& here, const std::vector<HostAdvertisement>& others,
                                  const std::map<IdPrefix, Gid>& before) {
  std::map<IdPrefix, Gid> out;
  std::set<IdPrefix> own;
  for (const HostEndpoint& endpoint : here) own.insert(prefix_of(endpoint.gid));
  // The earlier owner stays: a process of any host can announce any id, except those of other processes of that host.
  for (const HostAdvertisement& host : others) {
    for (const HostEndpoint& endpoint : host.endpoints) {
      const IdPrefix prefix = prefix_of(endpoint.gid);
      const auto owner = before.find(prefix);
      if (owner != before.end() && owner->second == host.host) out.emplace(prefix, host.host);
    }
  }
  for (const HostAdvertisement& host : others) {
    for (const HostEndpoint& endpoint : host.endpoints) {
      const IdPrefix prefix = prefix_of(endpoint.gid);
      if (own.count(prefix) == 0) out.emplace(prefix, host.host);
    }
  }
  return out;
}

/// Publishers of a host that are left out, because their ids belong to processes of other hosts.
class DisputedIds {
 public:
  explicit DisputedIds(const std::vector<HostAdvertisement>& others) {
    for (const HostAdvertisement& host : others) names_.emplace(host.host, host.host_name);
  }
  bool have_one_name(const Gid& host, const Gid& other) const { return names_.at(host) == names_.at(other); }
  void add(const Gid* owner) { ++counts_[owner == nullptr ? std::string() : names_.at(*owner)]; }
  /// `host`: the name of the host that has advertised them.
  std::vector<std::string> texts(const std::string& host) {
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

ForwardingPlan make_plan(const std::vector<HostEndpoint>& here, const std::vector<HostAdvertisement>& others,
                         const std::map<IdPrefix, Gid>& owners, const transport::ConnectionBudget& budget) {
  ForwardingPlan out;
  std::map<Gid, std::size_t> complaints_of;  // of hosts
  out.owners = owners_of(here, others, owners);
  DisputedIds claims(others);
  std::map<std::string, std::vector<const HostEndpoint*>> publishers, subscriptions;
  std::set<Gid> known;
  const auto advertised = std::make_shared<std::set<Gid>>();
  out.advertised = advertised;
  for (const HostEndpoint& endpoint : here) {
    (endpoint.is_writer ? publishers : subscriptions)[endpoint.topic].push_back(&endpoint);
    known.insert(endpoint.gid);
  }
  for (const HostAdvertisement& host : others) {
    std::map<std::pair<TypeHash, std::string>, std::shared_ptr<const transport::TypeInfo>> types;
    for (const auto& type : host.types) types[{type->hash, type->name}] = type;
    std::map<std::string, std::string> wants;  // channels, as they are and numbered
    for (const std::string& channel : host.wants) wants[channel.substr(0, channel.rfind(kNumberMark))] = channel;
    std::size_t& complaints = complaints_of[host.host];
    const auto complain = [&](const std::string& text) {
      if (complaints < kMostComplaintsOfHost && out.complaints.insert(text).second) ++complaints;
    };
    for (const auto& [base, channel] : wants) {
      const auto found = base.size() < kChannelPrefix ? publishers.end() : publishers.find(base.substr(kChannelPrefix));
      if (found != publishers.end() && is_forwarded(found->first)) {
        const std::string& topic = found->first;
        for (const HostEndpoint* publisher : found->second) {
          if (channel_of(*publisher) != base) continue;
          PlannedFlow& sending = out.sending[{host.host, channel}];
          if (sending.publishers.empty()) {
            sending.topic = topic;
            sending.request = QoS(1).hold(kUnderWay);
            sending.request.reliability = publisher->qos.reliability;
            sending.request.durability = publisher->qos.durability;
          }
          sending.publishers.insert(publisher->gid);
          if (publisher->qos.liveliness == Liveliness::kManualByTopic)
            sending.lease = std::min<std::chrono::nanoseconds>(sending.lease, publisher->qos.lease);
          // The history of a transient_local publisher is kept in full, within bounds, for subscriptions that come later.
          if (kept(*publisher))
            sending.request.depth = std::max(sending.request.depth, std::min(publisher->qos.depth, kMostDepth));
        }
      }
    }
    for (const HostEndpoint& endpoint : host.endpoints) {
      if (!is_forwarded(endpoint.topic)) continue;
      if (!endpoint.is_writer) {
        const auto found = publishers.find(endpoint.topic);
        if (found == publishers.end()) continue;
        for (const HostEndpoint* publisher : found->second) {
          if (complaints == kMostComplaintsOfHost && !same_type(*publisher, endpoint))
            continue;  // its complaints are not shown
          const std::string differs = difference(*publisher, endpoint);
          const auto name = wants.find(channel_of(*publisher));
          const auto sending = name == wants.end() ? out.sending.end() : out.sending.find({host.host, name->second});
          if (differs.empty()) {
            if (sending == out.sending.end()) continue;
            raise(sending->second, endpoint);
            if (is_response(endpoint.topic)) sending->second.clients.insert(endpoint.gid);
            continue;
          }
          complain("publisher of '" + endpoint.topic + "' (node '" + publisher->node +
                   "') is not connected to the subscription of node '" + endpoint.node + "' of host " + host.host_name +
                   ": the publisher " + differs);
        }
        continue;
      }
      advertised->insert(endpoint.gid);
      // An id that is known here belongs to this host: its advertisement came back by another path.
      if (known.count(endpoint.gid) != 0) {
        out.left_out.emplace(host.host, endpoint.gid);
        continue;
      }
      const auto owner = out.owners.find(prefix_of(endpoint.gid));
      if (owner == out.owners.end() || owner->second != host.host) {
        claims.add(owner == out.owners.end() ? nullptr : &owner->second);
        // Of a link that was started again, what it sends waits until its former run is forgotten: it may be what that run did not bring.
        if (owner == out.owners.end() || !claims.have_one_name(owner->second, host.host))
          out.left_out.emplace(host.host, endpoint.gid);
        continue;
      }
      const std::vector<const HostEndpoint*>& mine = subscriptions[endpoint.topic];
      const auto fitting =
          std::find_if(mine.begin(), mine.end(), [&](const HostEndpoint* each) { return same_type(*each, endpoint); });
      // A server of another host is known here by its publisher of responses. Its clients concern only a server of this host.
      if (is_request(endpoint.topic) && mine.empty()) continue;
      PlannedProxy& receiving = out.receiving[endpoint.gid];
      receiving.host = host.host;
      receiving.publisher = endpoint;
      receiving.host_name = host.host_name;
      if (const auto type = types.find({endpoint.hash, endpoint.type_name}); type != types.end())
        receiving.type = type->second;
      receiving.fits = fitting != mine.end();
      if (!receiving.fits) continue;
      receiving.subscription = (*fitting)->gid;
      out.channels.insert(channel_of(endpoint));
    }
    for (const std::string& text : claims.texts(host.host_name)) out.complaints.insert(text);
  }
  for (auto& [key, sending] : out.sending) {
    // A KEEP_LAST depth counts the messages of all publishers. Here each publisher gets a history of its own, but one process not all of them.
    // In powers of two, because another depth needs another subscription.
    std::map<Process, std::size_t> of_processes;
    std::size_t histories = 0, depth = sending.request.depth;
    for (const HostEndpoint* publisher : publishers.at(sending.topic))
      if (sending.publishers.count(publisher->gid) != 0 &&
          ++of_processes[process_of(*publisher)] <= kMostHistoriesOfProcess)
        ++histories;
    for (std::size_t doubled = 1; doubled < histories; doubled *= 2)
      depth = std::min<std::size_t>(2 * depth, kMostDepth);
    sending.request.depth = static_cast<std::uint32_t>(depth);
  }
  Limits(out, here, others, budget, complaints_of).apply();
  return out;
}

}  // namespace baton::link
