// SPDX-License-Identifier: Apache-2.0
// The descriptor on which a reader or a wait set sleeps in poll(): an epoll descriptor in front of one socket pair for each process that
// publishes to it. A process can spoil no socket but its own, and drain() takes a spoilt socket out.
// Both ends of a pair stay open in this process as long as the other process publishes. So an orderly end, or a death, is never seen on the
// socket, and an end of file there means shutdown(2).
// Thread rules: fd() and notify() by any thread; everything else externally synchronised. After fork() only the destructor may be called.
// Invariants: (1) the descriptor is readable from a notification until drain(); (2) what a process sent is read within bounds, and a
// process that breaks the rules of its socket makes the descriptor readable once at most.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "baton/os/disposal.hpp"
#include "baton/os/poller.hpp"
#include "baton/os/result.hpp"
#include "baton/transport/transport.hpp"
#include "hub.hpp"

namespace baton::transport {

/// While a publisher's process has no socket to wake a sleeper: how long the sleeper waits before it looks at its queues and tries again to
/// make the socket. docs/format/connection.md.
inline constexpr std::chrono::milliseconds kWakeSocketPause{100};

/// A process that publishes to this one, as one participant of this process knows it.
struct Notifier {
  std::weak_ptr<Participant::Impl> participant;
  PeerId peer = 0;

  bool operator<(const Notifier& other) const noexcept {
    if (participant.owner_before(other.participant)) return true;
    return !other.participant.owner_before(participant) && peer < other.peer;
  }
};

/// Counts the pairs that were made for each process: a process that publishes on very many topics must not use up the descriptors.
/// Thread-safe.
class WakePairs {
 public:
  /// Of one process, so that their two ends are an eighth of the soft limit of descriptors; at least 4.
  static std::size_t limit();
  /// To be kept as long as the pair. `process`: what tells it from others; 0: this process, which has no limit. Errors:
  /// limit_reached, with the numbers.
  Result<std::shared_ptr<const void>> count(std::uint64_t process);

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<const char>> of_processes_;  // the uses of each pointer are counted
};

class WakeDescriptor {
 public:
  static Result<std::unique_ptr<WakeDescriptor>> create();

  int fd() const noexcept { return poller_.fd(); }
  /// Makes the descriptor readable; one system call.
  void notify() noexcept { poller_.wake(); }
  /// The end to be given to `notifier`; made by the first call. Errors: of `pairs`, out_of_descriptors.
  Result<os::SharedFd> socket_for(const Notifier& notifier, std::uint64_t process, WakePairs& pairs);
  /// Closes the pair of a process that publishes no more, if there is one.
  void forget(const Notifier& notifier) noexcept;
  template <class Predicate>
  void forget_unless(Predicate&& used) noexcept {
    for (auto at = sockets_.begin(); at != sockets_.end();) at = used(at->first) ? std::next(at) : erase(at);
  }
  /// Takes back the notifications so far, those of Poller::kMaxEvents processes at most: the rest stays. Calls broke_rules(notifier)
  /// once for each process that misused its socket, and closes the socket; if the call throws, the next drain() calls it again.
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
    os::ReceivedFd wait_end;  // disposed, because of what may lie in it
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
