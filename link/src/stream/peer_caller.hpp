// SPDX-License-Identifier: Apache-2.0
// Calls the peers that this host names (--peer), each from a thread of its own, which then reads the connection.
// Thread rules: start() and join() by one thread; join() once the network's StopSignal and HostGreeter have ended.
#pragma once

#include <string>
#include <vector>

#include "host_greeter.hpp"
#include "named_peers.hpp"

namespace baton::link::stream {

class PeerCaller {
 public:
  /// The references must be valid as long as the caller. `peers` gets no peer any more.
  PeerCaller(std::string interface, SayLine say, NamedPeers& peers, HostGreeter& greeter, SessionTable& table,
             StopSignal& stop)
      : interface_(std::move(interface)),
        say_(std::move(say)),
        peers_(peers),
        greeter_(greeter),
        table_(table),
        stop_(stop) {}
  Result<void> start();
  void join();

 private:
  void call(std::size_t index);

  const std::string interface_;
  const SayLine say_;
  NamedPeers& peers_;
  HostGreeter& greeter_;
  SessionTable& table_;
  StopSignal& stop_;
  std::vector<pthread_t> threads_;
};

}  // namespace baton::link::stream
