// SPDX-License-Identifier: Apache-2.0
// The leader's work: applies the forwarding plan. Each change of the domain, or of another host's advertisement, makes a new plan. The
// forwarder opens the flows and proxies that the new plan adds, and closes those that it no longer has.
// No message of a publisher is lost once the publisher sees the link's subscription, because the path is made from its far end:
// (1) the far link has a proxy of the publisher, (2) a subscription there is connected to the proxy, (3) the far link wants the channel,
// (4) this link subscribes, and opens a flow.
// Thread rules: step() by one thread; the rest by any.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "baton/link/state.hpp"
#include "baton/os/lock.hpp"
#include "baton/transport/transport.hpp"
#include "forwarding_plan.hpp"
#include "host_budgets.hpp"
#include "host_network.hpp"
#include "hosts.hpp"
#include "inbound.hpp"
#include "link_log.hpp"
#include "outbound.hpp"
#include "type_cache.hpp"

namespace baton::link {

class TopicForwarder {
 public:
  /// `changed` is called by any thread when step() has something to do.
  TopicForwarder(std::shared_ptr<transport::Participant> participant, std::string host_name,
                 std::shared_ptr<LinkLog> log, std::function<void()> changed);
  ~TopicForwarder();
  /// `priorities`: by topic; without an entry kBySize.
  Result<void> open(HostNetworkOptions options, std::map<std::string, TopicPriority> priorities);
  /// True if something is still being connected: call again soon. Never waits for another process.
  bool step();
  /// Forwards signs of life of publishers with manual liveliness (QoS::lease). Returns after how long to call it again. By the thread of
  /// step().
  std::chrono::nanoseconds send_signs();
  /// Waits, `most` at most, until the connected hosts have acknowledged every message that is under way.
  void drain(std::chrono::nanoseconds most) const;
  void fill(LinkState& state) const;
  std::uint16_t port() const;  ///< on which the link listens

 private:
  /// A channel that travels to one host.
  struct OutboundTopic {
    std::string topic;
    std::shared_ptr<const LocalType> type;
    QoS request;
    std::chrono::steady_clock::time_point right_since;  // since when its depth is not above the depth that is wanted
    std::chrono::nanoseconds lease{};                   // PlannedFlow::lease
    std::set<Gid> publishers, clients;
    std::shared_ptr<transport::Reader> reader;
    std::shared_ptr<TopicSource> source;
    std::unique_ptr<Flow> flow;
  };
  struct InboundTopic {
    std::string name;  ///< numbered(): the other hosts open flows of this name
    std::shared_ptr<InboundChannel> channel;
    std::shared_ptr<void> open;
  };
  struct PublisherProxy {
    Gid host{};
    std::shared_ptr<transport::Writer> writer;
    std::string channel, host_name;
    bool joined = false;  ///< its channel knows it
  };
  struct AdvertisementFlow {
    std::shared_ptr<AdvertisementSource> source;
    std::unique_ptr<Flow> flow;
  };
  struct LocalPublisher {
    HostEndpoint endpoint;
    std::uint64_t connection = 0;  // to its process
  };
  /// A publisher that has ended, while its last messages are under way.
  struct DrainingPublisher {
    LocalPublisher publisher;
    std::chrono::steady_clock::time_point since;
  };

  std::vector<HostEndpoint> local_endpoints();
  /// Adds the publishers that have ended with messages under way. True if there are any.
  bool add_draining(std::vector<HostEndpoint>& here);
  std::shared_ptr<const LocalType> type_of(const Gid& endpoint, const std::string& name, const TypeHash& hash);
  void complain(std::set<std::string> complaints);
  bool receive(const ForwardingPlan& plan);
  bool send(const ForwardingPlan& plan);
  std::shared_ptr<transport::Reader> subscribe(const LocalType& type, const PlannedFlow& sending,
                                               bool replaces = false);
  void resubscribe(OutboundTopic& out, const PlannedFlow& sending);
  bool open_out(const std::pair<Gid, std::string>& key, const PlannedFlow& sending);
  Result<std::shared_ptr<transport::Writer>> make_proxy(const Gid& gid, const PlannedProxy& wanted,
                                                        transport::TypeInfo type);
  void fill_topics(LinkState& state) const;
  void account();
  void advertise(const std::vector<HostEndpoint>& here);

  const std::shared_ptr<transport::Participant> participant_;
  const std::shared_ptr<LinkLog> log_;
  const std::function<void()> changed_;
  std::map<std::string, TopicPriority> priorities_;
  TypeCache types_;
  HostAdvertisement own_;
  std::vector<std::byte> advertised_;
  std::uint64_t advertisement_sequence_ = 0, last_channel_ = 0;
  std::map<Gid, CopiedBytes> copied_;  // by host
  const std::shared_ptr<Answerable> answerable_ = std::make_shared<Answerable>();
  const std::shared_ptr<HostBudgets> budgets_;
  std::chrono::steady_clock::time_point accounted_{};
  std::shared_ptr<Hosts> known_hosts_;
  std::unique_ptr<HostNetwork> network_;
  std::map<Gid, AdvertisementFlow> advertisement_flows_;
  std::map<Gid, std::uint64_t> connections_;      // of endpoints to their processes, as the last step saw them
  std::shared_ptr<const std::set<Gid>> writers_;  // of this host, the same
  std::map<Gid, LocalPublisher> publishers_;      // of this host, as the last step saw them
  std::map<Gid, DrainingPublisher> draining_;
  std::map<IdPrefix, Gid> owners_;  // of the last plan

  /// Held by the forwarder's own thread while it changes the tables, which it reads without, and by fill().
  mutable os::Mutex mutex_;
  std::map<std::pair<Gid, std::string>, OutboundTopic> out_;  // by host and channel
  std::map<std::string, InboundTopic> in_;
  std::set<std::string> complaints_;
  std::map<Gid, PublisherProxy> proxies_;
  std::uint64_t sent_before_ = 0, received_before_ = 0, refused_before_ = 0;  // of what is closed
};

}  // namespace baton::link
