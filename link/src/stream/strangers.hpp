// SPDX-License-Identifier: Apache-2.0
// The connections that others have made and that have not become a host's yet. Whoever reaches the port can make them, so their number, and how
// fast one network makes new ones, are bounded; the time of each is kAdmission.
// Thread rules: any thread; the caller's lock.
// Invariants: (1) at most kMostStrangers connections, of one network kMostStrangersOfNetwork; (2) a connection from an address of a known host gives
// way to no connection from another address, unless all connections (of its network) are such.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "baton/os/allowance.hpp"
#include "baton/os/tcp_socket.hpp"

namespace baton::link::stream {

/// Connections without a session, with a thread each.
inline constexpr std::size_t kMostStrangers = 64;
/// Of them, of one address (IPv6: of one /64): several hosts may share an address and come at the same moment.
inline constexpr std::size_t kMostStrangersOfNetwork = 16;
/// New connections of one network in kArrivalWindow. A host calls another twice a second, and 16 hosts may share an address.
inline constexpr unsigned kMostArrivals = 64;
inline constexpr std::chrono::milliseconds kArrivalWindow{1000};
/// What a stranger has for its handshake and its hellos together.
inline constexpr std::chrono::milliseconds kAdmission{6000};

/// Bounds how fast each network makes connections, in memory that does not grow with their number: networks share counters by their hashes.
class Arrivals {
 public:
  /// `seed`: a number that others do not know, so that they cannot choose an address that shares an honest host's counter.
  explicit Arrivals(std::size_t seed) : seed_(seed) {}
  /// Whether a connection of `network` may be looked at now.
  bool admit(const std::string& network, os::Allowance::Clock::time_point now) {
    const std::size_t place = std::hash<std::string>()(network + std::to_string(seed_)) % counters_.size();
    return counters_[place].use(now, kMostArrivals, kArrivalWindow) >= 0;
  }

 private:
  const std::size_t seed_;
  std::array<os::Allowance, 1024> counters_;
};

/// `Connection`: os::TcpSocket; tests have another one.
template <class Connection>
class Strangers {
 public:
  /// Adds a connection that has come from `network`. `known`: its address is that of a host that this one knows. Returns the connection that gives
  /// way, which may be this one; null: there is room.
  std::shared_ptr<Connection> add(std::shared_ptr<Connection> connection, const std::string& network, bool known) {
    all_.push_back({std::move(connection), network, known});
    const auto of_network = [&](const Stranger& each) { return each.network == network; };
    const auto count = static_cast<std::size_t>(std::count_if(all_.begin(), all_.end(), of_network));
    if (count > kMostStrangersOfNetwork) {
      // All hosts of one LAN may share a /64 (fe80::/64), so a network may have known hosts and strangers.
      const auto stranger =
          std::find_if(all_.begin(), all_.end(), [&](const Stranger& each) { return of_network(each) && !each.known; });
      return take(stranger != all_.end() ? stranger : std::find_if(all_.begin(), all_.end(), of_network));
    }
    if (all_.size() <= kMostStrangers) return nullptr;
    const bool all_known = std::all_of(all_.begin(), all_.end(), [](const Stranger& each) { return each.known; });
    std::map<std::string, std::size_t> counts;
    std::size_t most = 0;
    for (const Stranger& each : all_) {
      if (all_known || !each.known) most = std::max(most, ++counts[each.network]);
    }
    return take(std::find_if(all_.begin(), all_.end(), [&](const Stranger& each) {
      return (all_known || !each.known) && counts[each.network] == most;
    }));
  }
  /// The connection has become a host's, or has ended; it may have given way before.
  void remove(const std::shared_ptr<Connection>& connection) {
    all_.remove_if([&](const Stranger& each) { return each.connection == connection; });
  }
  std::size_t size() const noexcept { return all_.size(); }

 private:
  struct Stranger {
    std::shared_ptr<Connection> connection;
    std::string network;
    bool known = false;
  };
  std::shared_ptr<Connection> take(typename std::list<Stranger>::iterator at) {
    std::shared_ptr<Connection> out = std::move(at->connection);
    all_.erase(at);
    return out;
  }
  std::list<Stranger> all_;  // the oldest first
};

}  // namespace baton::link::stream
