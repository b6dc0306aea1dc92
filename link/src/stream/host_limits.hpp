// SPDX-License-Identifier: Apache-2.0
// How many hosts a link remembers. The limits for one address and one network keep a single machine from taking the room of other hosts.
// Thread rules: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "baton/os/tcp_socket.hpp"

namespace baton::link::stream {

inline constexpr std::size_t kMostHosts = 256;
/// Hosts of one address: several containers and domains may share an address, but a stranger gets no more than this.
inline constexpr std::size_t kMostHostsOfAddress = 16;
/// Hosts of one /64 network of IPv6, in which a machine can have any number of addresses.
inline constexpr std::size_t kMostHostsOfNetwork = 64;

/// A host's address, and the TCP port on which it says that it listens.
using ListenAddress = std::pair<std::string, std::uint16_t>;

/// Why a host at `newcomer` is not remembered beside those at `taken`; empty: there is room. Each of `named`, the places of the peers that this
/// host names, has room of its own for one host.
inline std::string why_no_room(const std::vector<ListenAddress>& taken, const ListenAddress& newcomer,
                               std::set<ListenAddress> named) {
  const std::string network = os::network_of(newcomer.first);
  std::size_t all = 0, of_address = 0, of_network = 0;
  for (const ListenAddress& place : taken) {
    if (named.erase(place) != 0) continue;
    ++all;
    if (place.first == newcomer.first) ++of_address;
    if (os::network_of(place.first) == network) ++of_network;
  }
  if (named.count(newcomer) != 0) return {};
  if (of_address >= kMostHostsOfAddress)
    return "there are " + std::to_string(kMostHostsOfAddress) + " hosts of its address already";
  if (of_network >= kMostHostsOfNetwork)
    return "there are " + std::to_string(kMostHostsOfNetwork) + " hosts of its network " + network + " already";
  if (all >= kMostHosts) return "there are " + std::to_string(kMostHosts) + " other hosts";
  return {};
}

}  // namespace baton::link::stream
