// SPDX-License-Identifier: Apache-2.0
// The working link: applies the plan. Each change of the domain, or of what another host says, makes a new plan; the difference is
// opened and closed.
// A message gets through from the moment at which its publisher sees the link's subscription, because the path is made from its far
// end: (1) the far link has a publisher that stands for this one, (2) its subscription there is connected, (3) the far link wants the
// channel, (4) this link's outlet is connected, (5) this link subscribes.
// Thread rules: step() by one thread; the rest by any.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "baton/link/link.hpp"
#include "baton/transport/transport.hpp"
#include "engine.hpp"
#include "inbound.hpp"
#include "outbound.hpp"
#include "plan.hpp"
#include "saying.hpp"

namespace baton::link {

class Carrier {
 public:
  /// `changed` is called by any thread when step() has something to do.
  Carrier(std::shared_ptr<transport::Participant> participant, std::string host_name, std::shared_ptr<Saying> saying,
          std::function<void()> changed);
  ~Carrier();
  Result<void> open(const EngineOptions& options);
  /// True if something is still being connected: call again soon.
  bool step();
  void fill(Link::State& state) const;

 private:
  class Listener;
  struct Out {
    std::shared_ptr<Outlet> outlet;
    std::shared_ptr<transport::Reader> reader;
    std::chrono::steady_clock::time_point since;
    std::string topic;
    QoS request;
  };
  struct In {
    std::shared_ptr<InboundChannel> channel;
    std::shared_ptr<void> open;
  };
  struct Proxy {
    std::shared_ptr<transport::Writer> writer;
    std::string channel, topic;
    bool joined = false;  ///< its channel knows it
  };

  std::vector<End> ends_here() const;
  std::shared_ptr<const CarriedType> type_of(const Gid& endpoint, const std::string& name, const TypeHash& hash);
  void complain(const std::set<std::string>& complaints);
  bool receive(const Plan& plan);
  bool send(const Plan& plan);
  bool open_out(const std::string& channel, const Sending& sending);
  Result<std::shared_ptr<transport::Writer>> make_proxy(const Gid& gid, const Receiving& wanted,
                                                        transport::TypeInfo type);
  /// True if a type is not known yet.
  bool say_words(const std::vector<End>& here);

  const std::shared_ptr<transport::Participant> participant_;
  const std::shared_ptr<Saying> saying_;
  const std::function<void()> changed_;
  Words own_;
  std::vector<std::byte> said_;
  std::uint64_t words_sequence_ = 0;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<Listener> listener_;
  std::unique_ptr<Outlet> words_out_;
  std::shared_ptr<void> words_in_;
  std::unique_ptr<Outbound> outbound_;
  std::map<std::pair<std::string, TypeHash>, std::shared_ptr<const CarriedType>> types_;
  std::map<Gid, std::chrono::steady_clock::time_point> silent_;  // endpoints whose processes did not say their types
  std::set<std::string> complaints_;

  mutable std::mutex mutex_;  // the tables, which fill() reads
  std::map<std::string, Out> out_;
  std::map<std::string, In> in_;
  std::map<Gid, Proxy> proxies_;
};

}  // namespace baton::link
