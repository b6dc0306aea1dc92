// SPDX-License-Identifier: Apache-2.0
// The peers that this host names (--peer), and the state of the calls to each.
// Thread rules: add() before the first thread; the rest by any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "baton/os/lock.hpp"
#include "baton/os/result.hpp"
#include "host_limits.hpp"
#include "host_network.hpp"

namespace baton::link::stream {

struct NamedPeer {
  std::string text;  ///< as it was named
  std::string host;
  std::uint16_t port = 0;
};

/// HOST, HOST:PORT, [IPv6] or [IPv6]:PORT. `port`: where the text names none. Error invalid_argument.
Result<NamedPeer> parse_peer(const std::string& text, std::uint16_t port);

class NamedPeers {
 public:
  struct Calls {
    NamedPeer peer;
    bool reached = false;
    PeerState state;
    Gid host{};                          ///< that answered last
    std::vector<std::string> addresses;  ///< of the peer
  };

  void add(NamedPeer peer);
  std::size_t size() const;
  NamedPeer peer(std::size_t index) const;
  /// A call of the peer has ended, or was answered. `why`: why it is not reached. `host`: the host that answered; zeros: none.
  void note(std::size_t index, bool reached, const std::string& why, const Gid& host);
  void set_addresses(std::size_t index, std::vector<std::string> addresses);
  /// The places of all peers, as far as their names were resolved.
  std::set<ListenAddress> places() const;
  bool is_at(const std::string& address) const;  ///< one of them
  /// A copy of the state of each.
  std::vector<Calls> all() const;

 private:
  mutable os::Mutex mutex_;
  std::vector<Calls> calls_ BATON_GUARDED_BY(mutex_);
};

}  // namespace baton::link::stream
