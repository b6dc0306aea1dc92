// SPDX-License-Identifier: Apache-2.0
// How a wait set sleeps, and how it is woken: one class for each way (memory::Sleeping), with the same functions.
//
//   serves(events)     whether it can sleep on so many words here: the wait set's own, and one for each publisher
//   begin_round()      before step W1 of memory/wake.hpp: notifications of earlier rounds are over
//   sleep(deadline)    step W5; false: the deadline has passed. It returns at once if there was a notification since W1
//   notify()           by a thread of this process that has changed the wait set's own word; never blocks, allocates nothing
//
// Publishers notify by what they have of the way: step P5, in Writer::Impl::wake_readers(). sleepers_test.cpp has the tests that every way
// passes.
// Thread rules: notify() by any thread; everything else by the thread that waits.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <memory>
#include <utility>

#include "baton/memory/wake.hpp"
#include "baton/os/clock.hpp"
#include "baton/os/futex.hpp"
#include "baton/os/hot_memory.hpp"
#include "baton/os/lock.hpp"
#include "baton/os/wake_socket.hpp"
#include "connection.hpp"
#include "wake_descriptor.hpp"

namespace baton::transport {

/// On words, by futex_waitv(2).
class FutexSleeper {
 public:
  static bool serves(std::size_t events) noexcept {
    return events == 1 || (events <= os::kFutexWaitMax && os::futex_waits_available());
  }
  /// The words to sleep on besides the own one, valid until the next call: word_of(i) for each i < count.
  template <class WordOf>
  void set_events(std::size_t count, WordOf&& word_of) {
    waits_.assign(count + 1, os::FutexWait{});
    waits_[0] = {&own_, 0, os::FutexScope::kProcess};
    for (std::size_t i = 0; i < count; ++i) waits_[i + 1].word = word_of(i);
  }
  /// Where the value of a word is kept that was read in W1: 0 is the own word.
  std::uint32_t& seen(std::size_t event) noexcept { return waits_[event].seen; }
  WakeWord& own() noexcept { return own_; }

  void begin_round() noexcept {}
  bool sleep(std::int64_t deadline_ns) noexcept {
    return os::futex_waits(waits_.data(), waits_.size(), deadline_ns) != os::WaitOutcome::kTimedOut;
  }
  void notify() noexcept { os::futex_wake(&own_, INT_MAX, os::FutexScope::kProcess); }

 private:
  os::HotVector<os::FutexWait> waits_;
  WakeWord own_{0};  // incremented by threads of this process
};

/// In poll(2) on a descriptor, for any number of publishers.
class DescriptorSleeper {
 public:
  static bool serves(std::size_t) noexcept { return true; }
  /// Makes the descriptor, before the first sleep.
  Result<void> open() {
    if (descriptor_) return {};
    Result<std::unique_ptr<WakeDescriptor>> made = WakeDescriptor::create();
    if (!made) return made.error();
    const os::Lock lock(mutex_);
    descriptor_ = std::move(*made);
    return {};
  }
  /// Null before open().
  WakeDescriptor* descriptor() noexcept { return descriptor_.get(); }
  /// Some publisher has no socket: until all have one, a sleep is short, and its caller tries again to make them.
  bool lacks_sockets = false;

  template <class BrokeRules>
  void begin_round(BrokeRules&& broke_rules) {
    descriptor_->drain(broke_rules);
  }
  bool sleep(std::int64_t deadline_ns) noexcept {
    const std::int64_t pause_ns = std::chrono::nanoseconds(kWakeSocketPause).count();
    const std::int64_t until_ns = lacks_sockets ? std::min(deadline_ns, os::monotonic_ns() + pause_ns) : deadline_ns;
    return os::wait_readable(descriptor_->fd(), until_ns) || until_ns != deadline_ns;
  }
  void notify() noexcept {
    const os::Lock lock(mutex_);
    if (descriptor_) descriptor_->notify();
  }

 private:
  os::Mutex mutex_;
  std::unique_ptr<WakeDescriptor> descriptor_;  // set once, with mutex_, by the thread that waits
};

}  // namespace baton::transport
