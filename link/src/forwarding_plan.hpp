// SPDX-License-Identifier: Apache-2.0
// Which topics travel: a pure function of what this host has and what the other hosts advertise. A topic travels while a subscription abroad
// wants it.
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
/// The channel as its receiver calls it this time. A receiver that comes again, before the other host has heard that it had gone, must not
/// be taken for the one before: that host's flow is open into nothing, and what it has sent does not come again.
std::string numbered(const std::string& channel, std::uint64_t number);

/// A topic of users, none of a service and none that only Baton's own parts use.
bool is_topic(const std::string& topic);
/// The topics of a service: NAME/_request and NAME/_response.
bool is_request(const std::string& topic);
bool is_response(const std::string& topic);
/// Topics of users and of services are.
bool is_forwarded(const std::string& topic);

struct PlannedFlow {
  std::string topic;
  std::set<Gid> publishers;                    ///< of this host
  QoS request;                                 ///< of the link's subscription
  std::chrono::nanoseconds lease = kInfinite;  ///< the least of publishers whose liveliness is manual
  std::set<Gid> clients;                       ///< of responses: the host's clients, whose they are
};
struct PlannedProxy {
  Gid host{};
  HostEndpoint publisher;
  std::string host_name;
  std::shared_ptr<const transport::TypeInfo> type;  ///< as the other host advertises it; null: not yet
  bool fits = false;                                ///< a subscription of this host has its type and definition
  Gid subscription{};                               ///< such a one
};
struct ForwardingPlan {
  std::map<std::pair<Gid, std::string>, PlannedFlow> sending;  ///< by host and numbered channel
  std::map<Gid, PlannedProxy> receiving;                       ///< publishers of other hosts, by their ids
  std::vector<Gid> order;                                      ///< of `receiving`: the hosts take turns
  std::set<std::string> channels;                              ///< of those that fit
  std::shared_ptr<const std::set<Gid>> advertised;             ///< all publishers of other hosts
  /// Those that do not come, by host: there are too many, or their ids are those of processes elsewhere.
  std::set<std::pair<Gid, Gid>> left_out;
  std::set<std::string> complaints;  ///< for people: what does not fit, and what is not carried
  std::map<IdPrefix, Gid> owners;    ///< the other hosts' processes, and of which host each is
};

/// Endpoints of the link on one topic: fewer than a process may have (core/transport/src/graph.hpp), also while a subscription replaces another.
inline constexpr std::size_t kMostPublishersOfTopic = 640;
inline constexpr std::size_t kMostSubscriptionsOfTopic = 160;
/// Publishers that stand for ones that are gone, while their last messages wait for a subscription. What waits of others is lost.
inline constexpr std::size_t kMostLingering = 60;
/// And in all. Publishers also have a bound of the bytes that every process of this host keeps of them. All of them take half of the window's
/// addresses, as they are made.
inline constexpr std::size_t kMostPublishers = 8192;
inline constexpr std::size_t kMostPublisherBytes = std::size_t{32} << 20;
inline constexpr std::size_t kMostSubscriptions = 8192;
/// The link is one process to each process of this host. Of what that one grants a process, connections take so many quarters: the rest is for
/// subscriptions that replace others, and for connections whose end takes a while.
inline constexpr std::size_t kQuartersOfBudget = 3;
/// Messages that a subscription of another host may make wait here: its own queue is at that host.
inline constexpr std::uint32_t kMostDepth = 16384;
/// Publishers of one process of this host that make the link's subscription deeper. A process may have very many that say nothing.
inline constexpr std::size_t kMostHistoriesOfProcess = 8;
/// Connections that a process of this host may have with one publisher or subscription of another host, and still count as modest: counted as
/// those of ordinary depth, for publishers. What a process that is not modest has no room for is its own loss, and no other process's.
inline constexpr std::size_t kMostModest = 4;
/// Messages under way that the link holds in their publisher's memory, for each host.
inline constexpr std::uint32_t kUnderWay = 8;
/// Of one host.
inline constexpr std::size_t kMostComplaintsOfHost = 50;

/// What each process of this host keeps of a publisher.
std::size_t announced_bytes_of(const PlannedProxy& wanted);

/// `here`: the endpoints of this host, without the link's own. `owners`: those of the plan before. The ids of a process's endpoints begin with
/// the same bytes, and a process is of the host that had or advertised an endpoint of it first, as long as that does. Publishers of it that another
/// host says are left out. Where there is not room for all, each host has the same share, or all that it wishes if that is less: nothing that
/// one host wishes takes anything of another's share. Where a process of this host is not modest, and more so than the host on the topic, its
/// connections alone have no room: those of other processes are kept. `budget`: what processes of this host grant each other.
ForwardingPlan make_plan(const std::vector<HostEndpoint>& here, const std::vector<HostAdvertisement>& others,
                         const std::map<IdPrefix, Gid>& owners = {},
                         const transport::ConnectionBudget& budget = transport::connection_budget());

}  // namespace baton::link
