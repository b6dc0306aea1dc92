// SPDX-License-Identifier: Apache-2.0
// A process's membership in a named heap: its connections to the other members, and the background thread that serves
// them. The thread hands the heap to newcomers. If a connection ends, a member left or died: then the thread notifies
// sleepers (waiters.hpp) and recovers dead processes.
// Thread rules: start(), stop(), wake() and the destructor from any thread, one at a time; the thread sleeps when
// nothing happens.
#pragma once

#include <atomic>
#include <memory>

#include "baton/os/poller.hpp"
#include "baton/os/process.hpp"
#include "recovery.hpp"
#include "rendezvous.hpp"
#include "waiters.hpp"

namespace baton::objects::detail {

class Membership {
 public:
  /// Used by the background thread; they must outlive the membership. `heap`: the heap's Closable in OperationGuard.
  struct Parts {
    Mapping& mapping;
    Waiters& waiters;
    Recovery& recovery;
    const Closable* heap;
  };
  /// Starts the background thread.
  static Result<std::unique_ptr<Membership>> start(Presence presence, const Parts& parts);
  /// Also leave()s.
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;
  void after_fork_in_child() noexcept;
  /// Ends the background thread. The connections stay until the destructor, so that other members notice a death before
  /// it.
  void stop() noexcept;
  /// Makes the background thread check Waiters::unwatched().
  void wake() noexcept { poller_.wake(); }

 private:
  Membership(Presence presence, const Parts& parts, os::Poller poller)
      : presence_(std::move(presence)), parts_(parts), poller_(std::move(poller)) {}
  void run();
  bool receive(os::UniqueFd& link);
  bool accept_one();
  void send_unwatched() noexcept;

  Presence presence_;
  const Parts parts_;
  os::Poller poller_;
  std::uint32_t generation_ = 0;
  std::atomic<bool> ended_{false};
  bool accepts_ = true;  // for the background thread: a descriptor was free for the last newcomer
  pthread_t thread_{};
  bool running_ = false;
};

}  // namespace baton::objects::detail
