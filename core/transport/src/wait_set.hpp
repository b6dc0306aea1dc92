// SPDX-License-Identifier: Apache-2.0
// A wait set sleeps on its own word, incremented by threads of this process, and on the event word of every connected
// publisher. Where futex_waitv cannot wait for these (kernel, more than 127 publishers), it sleeps on a descriptor
// (sleepers.hpp).
// Thread rules: wait() by one thread at a time; everything else by any thread. Lock order: a reader's locks before
// mutex_.
// Invariants: (1) no wake-up is lost (memory/wake.hpp); (2) a wait that finds nothing new allocates nothing; (3) only
// the waiting thread writes the sleeping flags of its connections.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "baton/os/allowance.hpp"
#include "baton/os/futex.hpp"
#include "baton/os/lock.hpp"
#include "baton/transport/transport.hpp"
#include "connection.hpp"
#include "sleepers.hpp"

namespace baton::transport {

struct GuardCondition::Impl {
  std::atomic<bool> triggered{false};
  os::Mutex mutex;
  std::vector<std::weak_ptr<WaitSet::Impl>> wait_sets BATON_GUARDED_BY(mutex);
};

struct WaitSet::Impl : std::enable_shared_from_this<WaitSet::Impl> {
  Result<bool> wait(std::chrono::nanoseconds timeout);
  /// Makes the waiter check again; a system call only if it sleeps.
  void look_again();
  /// The connections of a reader have changed.
  void changed() noexcept { call(kChanged); }
  void call(std::uint32_t reason) noexcept {
    calls.fetch_or(reason, std::memory_order_release);  // pairs with the acquire in answer_calls()
  }
  void remove(const Reader::Impl* reader);

  // The Sources of wait_round (memory/wake.hpp).
  template <class F>
  void for_each_event(F&& f) {
    f(futex.own(), futex.seen(0));
    for (std::size_t i = 0; i < connections.size(); ++i) f(connections[i]->line->event, futex.seen(i + 1));
  }
  template <class F>
  void for_each_sleeping(F&& f) {
    f(sleeping, how);
    for (const ConnectionRef& ref : connections) f(*ref->sleeping, how);
  }
  bool ready();
  void sleep();

  Result<void> rebuild();
  bool has_work();
  bool has_news();
  Result<bool> answer_calls();
  bool spin_until(std::int64_t end_ns);
  void sleep_on_descriptor() noexcept;
  void pause_for(const Error& lack) noexcept;

  /// Reasons to check more than the queues.
  static constexpr std::uint32_t kWoken = 1;  ///< wake() was called
  static constexpr std::uint32_t kChanged =
      2;  ///< the membership has changed, or the last rebuild() has to be made again

  // Used before the waiting thread sleeps.
  const std::uint32_t generation = os::fork_generation();
  memory::Sleeping how =
      memory::Sleeping::kFutex;  // of the waiting thread only, as deadline_ns and all from timed_out to watched_owners
  std::int64_t deadline_ns = 0;
  std::atomic<std::int64_t> spin_ns{0};
  // What a thread that wakes up touches: on one cache line, since 48 bytes and the counts of make_hot_shared() come before.
  alignas(16) std::atomic<std::uint32_t> calls{kChanged};  ///< reasons
  WakeWord sleeping{0};                                    ///< the flag of the own word
  bool timed_out = false;
  bool once = false;                               ///< wake_once_for_each_message()
  const ReaderConnection* with_message = nullptr;  // of `connections`: where the last wait() found a message
  os::HotVector<ConnectionRef> connections;
  os::HotVector<GuardCondition::Impl*> watched;  // kept alive by watched_owners
  FutexSleeper futex;
  std::vector<std::shared_ptr<GuardCondition::Impl>> watched_owners;
  std::vector<std::uint32_t>
      told;  ///< with `once`: the local word and the event word of each connection when they were last looked at

  os::Mutex mutex;
  std::vector<std::shared_ptr<Reader::Impl>> readers BATON_GUARDED_BY(mutex);
  std::vector<std::shared_ptr<GuardCondition::Impl>> guards BATON_GUARDED_BY(mutex);
  DescriptorSleeper descriptor;
  os::Allowance lack_lines;
};

}  // namespace baton::transport
