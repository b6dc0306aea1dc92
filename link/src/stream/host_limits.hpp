// SPDX-License-Identifier: Apache-2.0
// How many hosts a link remembers, and which of them give way to others. The limits for one address and one network keep a single machine from
// taking the room of other hosts.
// Thread rules: any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "baton/os/tcp_socket.hpp"
#include "frames.hpp"

namespace baton::link::stream {

inline constexpr std::size_t kMostHosts = 256;
/// Hosts of one address: several containers and domains may share an address, but a stranger gets no more than this.
inline constexpr std::size_t kMostHostsOfAddress = 16;
/// Hosts of one /64 network of IPv6, in which a machine can have any number of addresses.
inline constexpr std::size_t kMostHostsOfNetwork = 64;

/// A host's address, and the TCP port on which it says that it listens.
using ListenAddress = std::pair<std::string, std::uint16_t>;

/// What is known of a host that is remembered.
struct KnownHost {
  ListenAddress place;
  bool connected = false;
  bool carries = false;                           ///< a topic travels to it or from it
  std::chrono::steady_clock::time_point since{};  ///< it is connected, or not
};

/// Which limit leaves no room for a host at `newcomer` beside `all`; kNone: there is room. Each of `named`, the places of the peers that this host
/// names, has room of its own for one host.
inline Refusal why_no_room(const std::vector<KnownHost>& all, const ListenAddress& newcomer,
                           std::set<ListenAddress> named) {
  const std::string network = os::network_of(newcomer.first);
  std::size_t count = 0, of_address = 0, of_network = 0;
  for (const KnownHost& each : all) {
    if (named.erase(each.place) != 0) continue;
    ++count;
    if (each.place.first == newcomer.first) ++of_address;
    if (os::network_of(each.place.first) == network) ++of_network;
  }
  if (named.count(newcomer) != 0) return Refusal::kNone;
  if (of_address >= kMostHostsOfAddress) return Refusal::kFullAddress;
  if (of_network >= kMostHostsOfNetwork) return Refusal::kFullNetwork;
  return count >= kMostHosts ? Refusal::kFull : Refusal::kNone;
}

/// Which of `all` gives way to a host at `newcomer`, for which `limit` leaves no room; empty: none does. A host that carries a topic, and one at a
/// place of `named`, never does. One that is not connected and carries nothing gives way to everyone: it loses nothing. One that is connected gives
/// way where networks are at the limit of all, and its network has at least two hosts more than the newcomer's: so those networks come
/// to the same number, whatever a machine with many hosts does. Of several: the one that has been away longest, then the newest.
inline std::optional<std::size_t> who_gives_way(const std::vector<KnownHost>& all, const ListenAddress& newcomer,
                                                Refusal limit, std::set<ListenAddress> named) {
  const std::string network = os::network_of(newcomer.first);
  std::map<std::string, std::size_t> counts;
  std::vector<bool> may(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (named.erase(all[i].place) != 0) continue;
    ++counts[os::network_of(all[i].place.first)];
    may[i] = !all[i].carries && (limit == Refusal::kFull ||
                                 (limit == Refusal::kFullAddress ? all[i].place.first == newcomer.first
                                                                 : os::network_of(all[i].place.first) == network));
  }
  const std::size_t own = counts[network];
  std::optional<std::size_t> out;
  std::size_t out_count = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const KnownHost& each = all[i];
    const std::size_t count = counts[os::network_of(each.place.first)];
    if (!may[i] || (each.connected && (limit != Refusal::kFull || count < own + 2))) continue;
    const bool better = !out || (all[*out].connected && !each.connected) ||
                        (all[*out].connected == each.connected &&
                         (each.connected ? count > out_count || (count == out_count && each.since > all[*out].since)
                                         : each.since < all[*out].since));
    if (!better) continue;
    out = i;
    out_count = count;
  }
  return out;
}

/// The limit in words, for this host's log and status.
inline std::string words_of_limit(Refusal limit, const std::string& address) {
  switch (limit) {
    case Refusal::kFullAddress:
      return "there are " + std::to_string(kMostHostsOfAddress) + " hosts of its address already";
    case Refusal::kFullNetwork:
      return "there are " + std::to_string(kMostHostsOfNetwork) + " hosts of its network " + os::network_of(address) +
             " already";
    case Refusal::kFull:
      return "there are " + std::to_string(kMostHosts) + " other hosts";
    default:
      return {};
  }
}

}  // namespace baton::link::stream
