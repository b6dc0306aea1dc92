// SPDX-License-Identifier: Apache-2.0
// The descriptor on which a reader or a wait set sleeps in poll(): an epoll descriptor over one socket pair for each
// process that publishes to it. A process can spoil only its own socket, and drain() removes a spoilt socket. Both ends
// of a pair stay open in this process while the other process publishes. So an orderly end or a death never shows on
// the socket, and an end of file means shutdown(2).
// Thread rules: fd() and notify() by any thread; everything else externally synchronised. After fork() only the
// destructor may be called.
// Invariants: (1) the descriptor is readable from a notification until drain(); (2) the bytes of a process are read
// within bounds, and a process that breaks the rules of its socket makes the descriptor readable at most once.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "baton/os/disposal.hpp"
#include "baton/os/lock.hpp"
#include "baton/os/poller.hpp"
#include "baton/os/result.hpp"
#include "baton/transport/transport.hpp"
#include "hub.hpp"

namespace baton::transport {

/// If a publisher's process has no socket to wake a sleeper: the time after which the sleeper checks its queues and
/// tries again to make the socket. docs/format/connection.md.
inline constexpr std::chrono::milliseconds kWakeSocketPause{100};

class EndpointContext;

/// A process that publishes to this one, as one participant of this process knows it.
struct Notifier {
  std::weak_ptr<EndpointContext> context;
  PeerId peer = 0;

  bool operator<(const Notifier& other) const noexcept {
    if (context.owner_before(other.context)) return true;
    return !other.context.owner_before(context) && peer < other.peer;
  }
};

/// Counts the pairs made for each process: a process that publishes on very many topics must not use up the
/// descriptors.
/// Thread-safe.
class WakePairs {
 public:
  /// The pairs of one process may be one of so many parts of the descriptors. A pair has two ends.
  static constexpr std::size_t kPartOfDescriptors = 16;
  /// The limit for one process, of the soft limit of descriptors; at least 4.
  static std::size_t limit();
  /// Keep the result as long as the pair. `process`: identifies the process; 0: this process, which has no limit.
  /// Errors: limit_reached, with the numbers.
  Result<std::shared_ptr<const void>> count(std::uint64_t process);

 private:
  os::Mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<const char>> of_processes_
      BATON_GUARDED_BY(mutex_);  // the uses of each pointer are counted
};

class WakeDescriptor {
 public:
  static Result<std::unique_ptr<WakeDescriptor>> create();

  int fd() const noexcept { return poller_.fd(); }
  /// Makes the descriptor readable; one system call.
  void notify() noexcept { poller_.wake(); }
  /// The end to give to `notifier`; the first call makes the pair. Errors: those of `pairs`, out_of_descriptors.
  Result<os::SharedFd> socket_for(const Notifier& notifier, std::uint64_t process, WakePairs& pairs);
  /// Closes the pair of a process that no longer publishes, if there is one.
  void forget(const Notifier& notifier) noexcept;
  template <class Predicate>
  void forget_unless(Predicate&& used) noexcept {
    for (auto at = sockets_.begin(); at != sockets_.end();) at = used(at->first) ? std::next(at) : erase(at);
  }
  /// Consumes the notifications so far, of at most Poller::kMaxEvents processes; the rest stays. Calls
  /// broke_rules(notifier) once for each process that misused its socket, and closes the socket. If the call throws,
  /// the next drain() repeats it.
  template <class BrokeRules>
  void drain(BrokeRules&& broke_rules) {
    for (Socket* const socket : spoilt()) {
      broke_rules(socket->notifier);
      forget(Notifier(socket->notifier));
    }
  }

 private:
  struct Socket {
    Notifier notifier;
    os::ReceivedFd wait_end;  // disposed, because unread packets may lie in it
    os::SharedFd notify_end;
    std::shared_ptr<const void> counted;
  };
  using Sockets = std::map<Notifier, Socket>;

  explicit WakeDescriptor(os::Poller poller) : poller_(std::move(poller)) { ready_.reserve(os::Poller::kMaxEvents); }
  Sockets::iterator erase(Sockets::iterator at) noexcept;
  const std::vector<Socket*>& spoilt();

  os::Poller poller_;
  Sockets sockets_;
  std::vector<os::Poller::Event> ready_;
  std::vector<Socket*> spoilt_;
};

}  // namespace baton::transport
