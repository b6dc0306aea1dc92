// SPDX-License-Identifier: Apache-2.0
// The words on which a wait set sleeps: one local word, incremented by threads of this process, and the event word of
// every connected publisher. Where futex_waitv cannot wait for these (kernel, more than 127 publishers), it sleeps on a
// WakeDescriptor.
// Thread rules: wait() by one thread at a time; everything else by any thread. Lock order: a reader's locks before
// mutex_.
// Invariants: (1) no wake-up is lost (memory/wake.hpp); (2) a wait that finds nothing new allocates nothing; (3) only
// the waiting thread writes the sleeping flags of its connections.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "baton/os/futex.hpp"
#include "baton/transport/transport.hpp"
#include "connection.hpp"
#include "wake_descriptor.hpp"

namespace baton::transport {

struct GuardCondition::Impl {
  std::atomic<bool> triggered{false};
  std::mutex mutex;
  std::vector<std::weak_ptr<WaitSet::Impl>> wait_sets;
};

struct WaitSet::Impl : std::enable_shared_from_this<WaitSet::Impl> {
  Result<bool> wait(std::chrono::nanoseconds timeout);
  /// Makes the waiter check again; a system call only if it sleeps.
  void look_again();
  /// The connections of a reader have changed.
  void changed() noexcept { version.fetch_add(1, std::memory_order_release); }  // pairs with the acquire in wait()
  void remove(const Reader::Impl* reader);

  // The Sources of wait_round (memory/wake.hpp).
  template <class F>
  void for_each_event(F&& f) {
    f(local, waits[0].seen);
    for (std::size_t i = 0; i < connections.size(); ++i) f(connections[i]->line->event, waits[i + 1].seen);
  }
  template <class F>
  void for_each_sleeping(F&& f) {
    f(sleeping, how);
    for (const ConnectionRef& ref : connections) f(*ref->sleeping, how);
  }
  bool ready();
  void sleep();

  Result<void> rebuild();
  bool has_work() const;
  bool look();
  bool spin_until(std::int64_t end_ns);

  // What every wait touches, side by side. From built_version to watched_owners it is used by the waiting thread only.
  const std::uint32_t generation = os::fork_generation();
  std::atomic<bool> woken{false};
  WakeWord local{0};     ///< incremented by threads of this process
  WakeWord sleeping{0};  ///< the local word's flag
  std::atomic<std::uint64_t> version{1};
  std::atomic<std::int64_t> spin_ns{0};
  std::uint64_t built_version = 0;
  std::int64_t deadline_ns = 0;
  memory::Sleeping how = memory::Sleeping::kFutex;
  bool timed_out = false;
  bool lacks_sockets = false;  // for a publisher: the waiter checks periodically, and tries again to make the sockets
  os::HotVector<ConnectionRef> connections;
  os::HotVector<GuardCondition::Impl*> watched;  // kept alive by watched_owners
  os::HotVector<os::FutexWait> waits;
  std::vector<std::shared_ptr<GuardCondition::Impl>> watched_owners;

  std::mutex mutex;
  std::vector<std::shared_ptr<Reader::Impl>> readers;
  std::vector<std::shared_ptr<GuardCondition::Impl>> guards;
  std::mutex wake_mutex;                 // used by threads other than the waiting thread
  std::unique_ptr<WakeDescriptor> wake;  // made when first needed
};

}  // namespace baton::transport
