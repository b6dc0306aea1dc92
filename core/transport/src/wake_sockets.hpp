// SPDX-License-Identifier: Apache-2.0
// The wake sockets that other processes gave (WAKE_SOCKET, docs/format/connection.md). There is one descriptor per
// socket, not per subscription that waits on it, and a limit per process.
// Thread rules: externally synchronised (Participant::Impl::mutex_). The descriptors may be used and dropped on any
// thread.
// Invariants: (1) one process's sockets use at most limit() descriptors; (2) a descriptor is closed with its last
// connection.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "baton/os/disposal.hpp"
#include "baton/os/process.hpp"
#include "baton/os/result.hpp"

namespace baton::transport {

using WakeSocketRef = std::shared_ptr<const os::ReceivedFd>;

class WakeSockets {
 public:
  /// One process may use one of so many parts of the descriptors.
  static constexpr std::size_t kPartOfDescriptors = 8;
  /// The limit for one process, of the soft limit of descriptors; at least 8.
  static std::size_t limit() { return std::max<std::size_t>(8, os::descriptor_limit() / kPartOfDescriptors); }

  /// The socket that `received` names; if the process gave the same socket before, the first descriptor. `process`:
  /// identifies the process; 0: this process, which has no limit. Errors: limit_reached, with the numbers.
  Result<WakeSocketRef> keep(std::uint64_t process, os::ReceivedFd received) {
    forget_closed();
    Sockets& sockets = of_processes_[process];
    std::weak_ptr<const os::ReceivedFd>& known = sockets[os::file_identity(received.get())];
    if (WakeSocketRef socket = known.lock()) return socket;
    if (process != 0 && sockets.size() > limit()) {
      forget_closed();  // the new entry, too
      return Error{Errc::limit_reached,
                   "its process waits on " + std::to_string(limit()) +
                       " wake sockets already, an eighth of this process's RLIMIT_NOFILE; let more " +
                       "subscriptions share a wait set, or raise the limit here"};
    }
    auto socket = std::make_shared<const os::ReceivedFd>(std::move(received));
    known = socket;
    return socket;
  }

 private:
  using Sockets = std::map<std::pair<std::uint64_t, std::uint64_t>, std::weak_ptr<const os::ReceivedFd>>;

  void forget_closed() {
    for (auto process = of_processes_.begin(); process != of_processes_.end();) {
      Sockets& sockets = process->second;
      for (auto socket = sockets.begin(); socket != sockets.end();) {
        socket = socket->second.expired() ? sockets.erase(socket) : std::next(socket);
      }
      process = sockets.empty() ? of_processes_.erase(process) : std::next(process);
    }
  }

  std::map<std::uint64_t, Sockets> of_processes_;
};

}  // namespace baton::transport
