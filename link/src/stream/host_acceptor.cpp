// SPDX-License-Identifier: Apache-2.0
#include "host_acceptor.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace baton::link::stream {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Level = transport::Diagnostic::Level;

constexpr milliseconds kTurn{200};

}  // namespace

Result<void> HostAcceptor::start() {
  Result<pthread_t> thread = os::start_thread("baton-link-acc", kNetworkStackBytes, [this] { accept(); });
  if (!thread) return thread.error();
  accepting_ = *thread;
  return {};
}

void HostAcceptor::join() {
  if (accepting_) pthread_join(*accepting_, nullptr);
  for (ServingThread& each : reading_) each.join();
  reading_.clear();
}

void HostAcceptor::accept() {
  auto next = steady_clock::now();
  while (!stop_.stopped()) {
    if (steady_clock::now() >= next) {
      table_.forget_some();
      greeter_.refresh_security();
      next = steady_clock::now() + kTurn;
    }
    reading_.remove_if([](ServingThread& each) {
      if (!each.done()) return false;
      each.join();
      return true;
    });
    Result<std::unique_ptr<os::TcpSocket>> socket = tcp_.accept(kTurn, kUnsentBytes);
    if (!socket) {
      say_(About::kNetwork, Level::kError, socket.error().code, "no host can connect now: " + socket.error().message);
      stop_.pause(kTurn);
      continue;
    }
    if (*socket) receive(std::move(*socket));
  }
}

void HostAcceptor::receive(std::unique_ptr<os::TcpSocket> socket) {
  const std::shared_ptr<os::TcpSocket> watched(std::move(socket));
  const std::string network = os::network_of(watched->address());
  const bool is_known = table_.knows(watched->address());
  const bool is_admitted = is_known || arrivals_.admit(network, steady_clock::now());
  std::shared_ptr<os::TcpSocket> gives_way = watched;
  {
    const os::Lock lock(mutex_);
    if (is_admitted) gives_way = strangers_.add(watched, network, is_known);
    // With the lock: without it, the connection may become a host's before it ends.
    if (gives_way) greeter_.turn_away(*gives_way);
  }
  if (gives_way) {
    say_(About::kStrangers, Level::kWarning, Errc::limit_reached,
         "a program at " + gives_way->address() + " is turned away: too many programs connect at the same time");
    if (gives_way == watched) return;
  }
  const std::string whom = "a program at " + watched->address();
  Result<ServingThread> thread = ServingThread::start("baton-link-in", [this, watched, whom] {
    const auto known = [&] {
      const os::Lock lock(mutex_);
      strangers_.remove(watched);
    };
    std::string why;
    greeter_.serve(watched, ConnectionOrigin::kTaken, whom, known, why);
    known();
  });
  if (thread) {
    reading_.push_back(std::move(*thread));
    return;
  }
  say_(About::kNetwork, Level::kError, thread.error().code, "no host can connect now: " + thread.error().message);
  const os::Lock lock(mutex_);
  strangers_.remove(watched);
}

}  // namespace baton::link::stream
