// SPDX-License-Identifier: Apache-2.0
// One event of an endpoint. The underlying RMW counts events of messages that it carries. This file counts missed
// deadlines and lost messages among the messages that only Baton carries.
//
// Thread rules: happened() from any thread; take() as rmw_take_event().
// Invariants: (1) events live as long as their endpoint: rmw_event_fini() belongs to the rmw library, and would free
// nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "ready_signal.hpp"
#include "rmw/event.h"

namespace baton::rmw {

struct Event {
  rmw_event_t inner{};
  ReadySignal signal;
  bool watched = false;           ///< the underlying RMW, or happened(), uses the signal
  bool counts_underlying = true;  ///< the underlying RMW's count is part of the event

  /// Counts `count` more events that the underlying RMW does not count.
  void happened(std::uint64_t count) {
    counted_.fetch_add(count, std::memory_order_relaxed);  // relaxed: read after the signal's count(), which orders
    ReadySignal::on_ready(&signal, count);
  }
  std::uint64_t counted() const noexcept { return counted_.load(std::memory_order_relaxed); }

  std::uint64_t taken = 0;  ///< of counted(), by the application

 private:
  std::atomic<std::uint64_t> counted_{0};
};
/// The last type of event in each ROS 2, and one more. (RMW_EVENT_TYPE_MAX came with Kilted.)
inline constexpr std::size_t kEventTypes = std::size_t{RMW_EVENT_PUBLICATION_MATCHED} + 1;
using Events = std::array<Event, kEventTypes>;

/// From now on the underlying RMW uses `event`'s signal, even if the application does not use this event. False: that
/// is not possible.
bool signal_underlying(Event& event, const rmw_publisher_t* inner, rmw_event_type_t type) noexcept;

/// From now on the underlying RMW's count is part of the event, because Baton does not serve the subscription any more.
void count_underlying(Event& event) noexcept;

}  // namespace baton::rmw
