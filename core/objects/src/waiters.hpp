// SPDX-License-Identifier: Apache-2.0
// Replaces notifications that dead processes did not send: the waiter table of this process (waiter_table.hpp), which
// its background thread notifies after deaths. The shared word `unwatched` becomes 1 when a process may have the heap
// open whose death not every other process notices; it never becomes 0 again.
// Thread rules: begin_watch() by the background thread; everything else is thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "mapping.hpp"

namespace baton::objects::detail {

struct WaiterWords {
  std::atomic<std::uint32_t> unwatched{0};
};

class Waiters {
 public:
  Waiters(Mapping& mapping, WaiterWords& words) noexcept : mapping_(mapping), words_(words) {}

  /// D6, unless the heap is unwatched.
  void begin_watch() noexcept;
  /// D2 to D4.
  void notify_all() noexcept;
  /// acquire: pairs with set_unwatched().
  bool unwatched() const noexcept { return words_.unwatched.load(std::memory_order_acquire) != 0; }
  /// release: pairs with unwatched(). The background thread informs the other processes when it runs next.
  void set_unwatched() noexcept { words_.unwatched.store(1, std::memory_order_release); }
  /// The mutex of notify_all(), for leave_place().
  std::mutex& mutex() noexcept { return mutex_; }

 private:
  Mapping& mapping_;
  WaiterWords& words_;
  std::mutex mutex_;
};

}  // namespace baton::objects::detail
