// SPDX-License-Identifier: Apache-2.0
// Counts the messages of one topic in one direction, for Link::state().
// Thread rules: any thread. The numbers are not a snapshot: each is true by itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "baton/os/lock.hpp"

namespace baton::link {

class TrafficCounter {
 public:
  void count(std::size_t bytes) noexcept {
    messages_.fetch_add(1, std::memory_order_relaxed);
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  void dropped(const std::string& why) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    const os::Lock lock(mutex_);
    why_ = why;
  }
  std::uint64_t messages() const noexcept { return messages_.load(std::memory_order_relaxed); }
  std::uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }
  /// Why the last dropped message was dropped.
  std::string why() const {
    const os::Lock lock(mutex_);
    return why_;
  }

 private:
  std::atomic<std::uint64_t> messages_{0}, bytes_{0}, dropped_{0};  // counters: order nothing
  mutable os::Mutex mutex_;
  std::string why_ BATON_GUARDED_BY(mutex_);
};

}  // namespace baton::link
