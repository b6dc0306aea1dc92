// SPDX-License-Identifier: Apache-2.0
// How many hosts a link remembers, so that no machine, and no network of one, takes the places of the others.
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
/// Of one address: containers and domains share an address, and a stranger has few.
inline constexpr std::size_t kMostHostsOfAddress = 16;
/// Of one network, where a machine has as many addresses as it likes: a /64 of IPv6.
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
