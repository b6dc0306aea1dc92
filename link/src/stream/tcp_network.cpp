// SPDX-License-Identifier: Apache-2.0
// The network over TCP, put together: the table of sessions (session_table.hpp), and the threads that accept, call and seek hosts. Each
// connection is admitted and read by host_greeter.hpp, and written by its session.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "baton/os/clock.hpp"
#include "host_acceptor.hpp"
#include "host_greeter.hpp"
#include "host_network.hpp"
#include "host_seeker.hpp"
#include "named_peers.hpp"
#include "peer_caller.hpp"
#include "receiver_table.hpp"
#include "refusals.hpp"
#include "security.hpp"
#include "session_table.hpp"
#include "stop_signal.hpp"

namespace baton::link::stream {
namespace {

class TcpNetwork final : public HostNetwork {
 public:
  TcpNetwork(const HostNetworkOptions& options, std::shared_ptr<HostListener> listener)
      : options_(options), listener_(std::move(listener)) {
    if (options_.say) say_ = options_.say;
  }

  Result<void> start() {
    os::TcpPlace place;
    place.interface = options_.interface;
    place.port = options_.port != 0 ? options_.port : default_port(options_.domain);
    for (const std::string& text : options_.peers) {
      Result<NamedPeer> peer = parse_peer(text, default_port(options_.domain));
      if (!peer) return peer.error();
      peers_.add(std::move(*peer));
    }
    std::unique_ptr<Security> security;
    if (!options_.security.empty()) {
      Result<std::unique_ptr<Security>> made = make_security(options_.security, [this](bool warning, std::string text) {
        using Level = transport::Diagnostic::Level;
        say_(About::kSecurity, warning ? Level::kWarning : Level::kInfo, Errc{}, std::move(text));
      });
      if (!made) return made.error();
      security = std::move(*made);
    }
    Result<os::TcpListener> listening = os::TcpListener::open(place);
    if (!listening) return listening.error();
    HostHello own;
    own.domain = static_cast<std::uint32_t>(options_.domain);
    own.host = security ? security->bind(options_.host) : options_.host;
    own.name = options_.host_name;
    own.port = listening->port();
    if (!security) warn_of_public_addresses(own.port);
    greeter_.emplace(std::move(own), options_.interface, std::move(security), say_, table_, refusals_);
    acceptor_.emplace(std::move(*listening), say_, *greeter_, table_, stop_);
    if (Result<void> started = acceptor_->start(); !started) return started;
    if (options_.multicast) {
      seeker_.emplace(options_.interface, say_, *greeter_, table_, stop_);
      if (Result<void> started = seeker_->start(); !started) return started;
    }
    caller_.emplace(options_.interface, say_, peers_, *greeter_, table_, stop_);
    return caller_->start();
  }

  ~TcpNetwork() override {
    stop_.stop();
    if (greeter_) greeter_->shut_down();
    table_.end();
    if (acceptor_) acceptor_->join();
    if (seeker_) seeker_->join();
    if (caller_) caller_->join();
  }

  std::unique_ptr<Flow> open_flow(const Gid& host, const std::string& channel, std::shared_ptr<ChunkSource> source,
                                  TopicPriority priority) override {
    const std::shared_ptr<Session> session = table_.find(host);
    return session ? session->open_flow(channel, std::move(source), priority) : nullptr;
  }
  Result<std::shared_ptr<void>> open_receiver(const std::string& channel,
                                              std::shared_ptr<ChunkReceiver> receiver) override {
    return channels_->add(channel, std::move(receiver));
  }
  /// Before start(): one that is there as long as the network.
  Result<void> keep_receiver(const std::string& channel, std::shared_ptr<ChunkReceiver> receiver) {
    Result<std::shared_ptr<void>> added = channels_->add(channel, std::move(receiver));
    if (!added) return added.error();
    kept_receivers_.push_back(std::move(*added));
    return {};
  }
  std::vector<HostState> hosts() const override { return table_.states(); }
  std::vector<PeerState> peers() const override {
    std::vector<PeerState> out;
    const std::vector<std::shared_ptr<Session>> sessions = table_.all();
    for (const NamedPeers::Calls& calls : peers_.all()) {
      if (calls.reached || calls.state.why.empty()) continue;
      // It may be connected although this host cannot call it, because it has called this one.
      const bool is_known = std::any_of(sessions.begin(), sessions.end(), [&](const auto& each) {
        return each->key() == calls.host ||
               (each->hello().port == calls.peer.port &&
                std::count(calls.addresses.begin(), calls.addresses.end(), each->address()) != 0);
      });
      if (!is_known) out.push_back(calls.state);
    }
    return out;
  }
  std::vector<RefusedState> refused() const override { return refusals_.all(os::monotonic_ns()); }
  std::uint16_t port() const override { return greeter_ ? greeter_->own().port : std::uint16_t{0}; }
  Gid id() const override { return greeter_ ? greeter_->own().host : Gid{}; }

 private:
  void warn_of_public_addresses(std::uint16_t port) const {
    std::vector<std::string> addresses = os::own_addresses(options_.interface);
    addresses.erase(std::remove_if(addresses.begin(), addresses.end(), os::is_local_range), addresses.end());
    if (addresses.empty()) return;
    say_(About::kSecurity, transport::Diagnostic::Level::kWarning, Errc{},
         "this host has the public address " + addresses.front() +
             ", and this link has no --security: whoever reaches TCP port " + std::to_string(port) +
             " can read and publish the topics that travel; give --security DIR, or --interface with an address of a "
             "network "
             "that you trust");
  }

  const HostNetworkOptions options_;
  const std::shared_ptr<HostListener> listener_;
  SayLine say_ = [](About, transport::Diagnostic::Level, Errc, const std::string&) {};
  const std::shared_ptr<ReceiverTable> channels_ = std::make_shared<ReceiverTable>();
  std::vector<std::shared_ptr<void>> kept_receivers_;
  StopSignal stop_;
  Refusals refusals_;
  NamedPeers peers_;
  SessionTable table_{options_.absence,
                      options_.patience,
                      listener_,
                      channels_,
                      [this](About about, transport::Diagnostic::Level level, Errc code, std::string text) {
                        say_(about, level, code, std::move(text));
                      },
                      [this](const std::shared_ptr<Session>& session, const ListenAddress& place, std::uint64_t key) {
                        return greeter_->call_bulk(session, place, key);
                      },
                      peers_,
                      stop_};
  std::optional<HostGreeter> greeter_;
  std::optional<HostAcceptor> acceptor_;
  std::optional<HostSeeker> seeker_;
  std::optional<PeerCaller> caller_;
};

}  // namespace
}  // namespace baton::link::stream

namespace baton::link {

Result<std::unique_ptr<HostNetwork>> make_host_network(
    const HostNetworkOptions& options, std::shared_ptr<HostListener> listener,
    const std::map<std::string, std::shared_ptr<ChunkReceiver>>& receivers) {
  auto network = std::make_unique<stream::TcpNetwork>(options, std::move(listener));
  for (const auto& [channel, receiver] : receivers) {
    if (Result<void> kept = network->keep_receiver(channel, receiver); !kept) return kept.error();
  }
  if (Result<void> started = network->start(); !started) return started.error();
  return std::unique_ptr<HostNetwork>(std::move(network));
}

}  // namespace baton::link
