// SPDX-License-Identifier: Apache-2.0
// Announces this host by multicast, and calls hosts that announce themselves and are not connected.
// Thread rules: start() and join() by one thread; join() once the network's StopSignal and HostGreeter have ended.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "baton/os/multicast.hpp"
#include "host_greeter.hpp"
#include "serving_thread.hpp"

namespace baton::link::stream {

class HostSeeker {
 public:
  /// The references must be valid as long as the seeker.
  HostSeeker(std::string interface, SayLine say, HostGreeter& greeter, SessionTable& table, StopSignal& stop)
      : interface_(std::move(interface)), say_(std::move(say)), greeter_(greeter), table_(table), stop_(stop) {}
  /// Errors: of os::Multicast::open().
  Result<void> start();
  void join();

 private:
  struct Call {
    ServingThread thread;
    Gid host{};                                  ///< as it says
    std::string address;                         ///< the same
    std::shared_ptr<std::atomic<bool>> greeted;  ///< the other side is a link. A flag: orders nothing
  };
  void seek();
  void call_once(const HostHello& hello, const std::string& address, ConnectionOrigin way);

  const std::string interface_;
  const SayLine say_;
  HostGreeter& greeter_;
  SessionTable& table_;
  StopSignal& stop_;
  std::optional<os::Multicast> multicast_;
  std::optional<pthread_t> seeking_;
  std::list<Call> calling_;  // of the seeking thread, and of join() when that has ended
};

}  // namespace baton::link::stream
