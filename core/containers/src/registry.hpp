// SPDX-License-Identifier: Apache-2.0
// Which addresses are buffers, and what each of them keeps alive. One per process, never destroyed: buffers outlive
// static objects.
//
// Thread rules: every function from any thread. The mutex is held for look-ups only: samples are released, loans given
// back and pages discarded outside it. It is held during a fork, so that the child finds the registry consistent.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "baton/containers/counters.hpp"
#include "baton/os/fork_listener.hpp"
#include "baton/os/lock.hpp"
#include "baton/transport/transport.hpp"

namespace baton::containers {

/// The object that buffers keep alive: a received sample, or a loan.
struct Entry {
  std::size_t references = 1;  ///< by the Received or Loaned, and by each buffer
  transport::TakenSample sample;
  std::byte* copy = nullptr;  ///< received: the private copy of the chunk, from its header on; whole pages
  std::size_t copy_bytes = 0;
  std::shared_ptr<std::atomic<std::size_t>> quota;  ///< received: the quota that counts this message, if any
  std::shared_ptr<transport::Writer> writer;
  memory::Chunk loan;
};

class Registry final : public os::ForkListener {
 public:
  static Registry& instance();

  /// False if a message is aliased at this address already.
  bool occupy(const std::byte* copy);
  Entry* make();
  /// False if a buffer begins at this address already.
  bool add(Entry* entry, void* address, std::size_t bytes);
  /// Whether a buffer of `entry` begins at this address.
  bool belongs(const Entry* entry, const void* address) noexcept;
  /// Ends a buffer of `entry` without dropping the entry's reference. Returns its size, or 0 if it is no buffer.
  std::size_t remove(const Entry* entry, void* address) noexcept;
  std::size_t references(const Entry* entry) noexcept;
  void drop(Entry* entry) noexcept;

  /// False if no buffer begins there.
  bool freed(void* address) noexcept;
  void count_unknown() noexcept;
  std::size_t usable(const void* address) noexcept;
  Counters counters() noexcept;

  void before_fork() override BATON_ACQUIRES(mutex_) { mutex_.lock(); }
  void after_fork_in_parent() override BATON_RELEASES(mutex_) { mutex_.unlock(); }
  void after_fork_in_child() override BATON_RELEASES(mutex_) { mutex_.unlock(); }

 private:
  Registry() { start_listening(); }
  void finish(Entry* entry) noexcept;

  struct Buffer {
    Entry* entry;
    std::size_t bytes;
  };
  os::Mutex mutex_;
  std::unordered_map<const void*, Buffer> buffers_ BATON_GUARDED_BY(mutex_);
  std::unordered_set<const void*> occupied_ BATON_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Entry>> spare_ BATON_GUARDED_BY(mutex_);  // reused entries: the steady state makes none
  std::size_t entries_ BATON_GUARDED_BY(mutex_) = 0;
  Counters counters_ BATON_GUARDED_BY(mutex_);
};

}  // namespace baton::containers
