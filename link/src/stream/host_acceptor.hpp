// SPDX-License-Identifier: Apache-2.0
// Accepts connections, each with a thread that greets and reads it, and bounds those that are no host's yet (strangers.hpp).
// Thread rules: start() and join() by one thread; join() once the network's StopSignal and HostGreeter have ended.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <random>

#include "baton/os/lock.hpp"
#include "baton/os/tcp_socket.hpp"
#include "host_greeter.hpp"
#include "serving_thread.hpp"
#include "strangers.hpp"

namespace baton::link::stream {

class HostAcceptor {
 public:
  /// The references must be valid as long as the acceptor.
  HostAcceptor(os::TcpListener listener, SayLine say, HostGreeter& greeter, SessionTable& table, StopSignal& stop)
      : tcp_(std::move(listener)), say_(std::move(say)), greeter_(greeter), table_(table), stop_(stop) {}
  Result<void> start();
  void join();

 private:
  void accept();
  void receive(std::unique_ptr<os::TcpSocket> socket);

  os::TcpListener tcp_;
  const SayLine say_;
  HostGreeter& greeter_;
  SessionTable& table_;
  StopSignal& stop_;
  std::optional<pthread_t> accepting_;
  Arrivals arrivals_{std::random_device()()};  // of the accepting thread
  std::list<ServingThread> reading_;           // of the accepting thread, and of join() when that has ended
  os::Mutex mutex_;
  Strangers<os::TcpSocket> strangers_ BATON_GUARDED_BY(mutex_);
};

}  // namespace baton::link::stream
