// SPDX-License-Identifier: Apache-2.0
// Which topics travel: a pure function of the endpoints of this host and the advertisements of the other hosts. A topic travels to a host
// while a subscription of that host wants it.
// Thread rules: values, pure functions.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "advertisement.hpp"
#include "baton/transport/connection_budget.hpp"
#include "host_network.hpp"

namespace baton::link {

/// The publishers of one topic, definition, reliability and durability travel on one channel.
std::string channel_of(const HostEndpoint& publisher);
/// The channel's name with a number that the receiving host chooses each time when it opens the channel. Without the number, a host that
/// closes a channel and opens it again at once looks to the sender as if nothing had changed. The sender would go on with its old flow, and
/// the messages of that flow that the receiver dropped in between would never come again.
std::string numbered(const std::string& channel, std::uint64_t number);

/// A topic of users or of an action of ROS 2: not a topic of a service, and not one that only Baton's own parts use.
bool is_topic(const std::string& topic);
/// The topics of a service: NAME/_request and NAME/_response.
bool is_request(const std::string& topic);
bool is_response(const std::string& topic);
/// Whether messages of the topic may travel: true for topics of users and of services.
bool is_forwarded(const std::string& topic);

struct PlannedFlow {
  std::string topic;
  std::set<Gid> publishers;                    ///< of this host
  QoS request;                                 ///< of the link's subscription
  std::chrono::nanoseconds lease = kInfinite;  ///< the shortest lease of the publishers whose liveliness is manual
  std::set<Gid> clients;                       ///< of a topic of responses: the clients of the host that get them
};
struct PlannedProxy {
  Gid host{};
  HostEndpoint publisher;
  std::string host_name;
  std::shared_ptr<const transport::TypeInfo> type;  ///< as the other host advertises it; null: not yet
  bool fits = false;                                ///< a subscription of this host has its type and definition
  Gid subscription{};                               ///< one such subscription
};
struct ForwardingPlan {
  std::map<std::pair<Gid, std::string>, PlannedFlow> sending;  ///< by host and numbered channel
  std::map<Gid, PlannedProxy> receiving;                       ///< publishers of other hosts, by their ids
  std::vector<Gid> order;                                      ///< of `receiving`: the hosts take turns
  std::set<std::string> channels;                              ///< of the publishers in `receiving` that fit
  std::shared_ptr<const std::set<Gid>> advertised;             ///< all publishers of other hosts
  /// Publishers without a proxy, by host: there are too many, or their ids belong to processes of another host.
  std::set<std::pair<Gid, Gid>> left_out;
  std::set<std::string> complaints;  ///< for people: what does not fit, and what is not carried
  std::map<IdPrefix, Gid> owners;    ///< to which host each process of the other hosts belongs
};

/// Endpoints of the link on one topic: fewer than a process may have (core/transport/src/graph.hpp), also while a subscription replaces another.
inline constexpr std::size_t kMostPublishersOfTopic = 640;
inline constexpr std::size_t kMostSubscriptionsOfTopic = 160;
/// Proxies whose publishers have ended, while their last messages are pending. Pending messages of further such proxies are lost.
inline constexpr std::size_t kMostLingering = 60;
/// Publishers and subscriptions on all topics. Publishers also have a bound of the bytes that every process of this host keeps of them. At
/// these bounds the addresses of all proxies together take half of the window.
inline constexpr std::size_t kMostPublishers = 8192;
inline constexpr std::size_t kMostPublisherBytes = std::size_t{32} << 20;
inline constexpr std::size_t kMostSubscriptions = 8192;
/// The link is one process to each process of this host. Connections take so many quarters of the budget that a process grants to another.
/// The last quarter is for subscriptions that replace others, and for connections that take a while to end.
inline constexpr std::size_t kQuartersOfBudget = 3;
/// Messages that may wait on this host for a subscription of another host, which also has its own queue there.
inline constexpr std::uint32_t kMostDepth = 16384;
/// Publishers of one process of this host that make the link's subscription deeper. A process may have many publishers that never publish.
inline constexpr std::size_t kMostHistoriesOfProcess = 8;
/// Connections that a process of this host may have with one publisher or subscription of another host, and still count as modest. With a
/// publisher, deep connections count as several of ordinary depth. What a process that is not modest has no room for, only that process loses.
inline constexpr std::size_t kMostModest = 4;
/// Messages under way that the link holds in their publisher's memory, for each host.
inline constexpr std::uint32_t kUnderWay = 8;
/// Complaints about one host.
inline constexpr std::size_t kMostComplaintsOfHost = 50;

/// Bytes that each process of this host keeps of a publisher.
std::size_t announced_bytes_of(const PlannedProxy& wanted);

/// `here`: the endpoints of this host, without the link's own. `owners`: the owners in the plan before. The ids of a process's endpoints begin
/// with the same bytes. A process belongs to the host that first had or advertised an endpoint of it, as long as that host still does.
/// Publishers of that process that another host advertises are left out. Where there is not room for all, each host has the same share, or all
/// that it wishes if that is less. So no wish of one host reduces another host's share. Where a process of this host is not modest, and has at
/// least as many connections for a wish as the other host has wishes on the topic, only the connections of that process have no room: those of
/// other processes are kept. `budget`: what processes of this host grant each other.
ForwardingPlan make_plan(const std::vector<HostEndpoint>& here, const std::vector<HostAdvertisement>& others,
                         const std::map<IdPrefix, Gid>& owners = {},
                         const transport::ConnectionBudget& budget = transport::connection_budget());

}  // namespace baton::link
