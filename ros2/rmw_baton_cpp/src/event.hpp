// SPDX-License-Identifier: Apache-2.0
// One event of an endpoint: what the underlying RMW counts, and what is counted here of messages that it does not carry (missed
// deadlines, lost messages).
//
// Thread rules: happened() from any thread; take() as rmw_take_event().
// Invariants: (1) events live as long as their endpoint: rmw_event_fini() is rmw's, not ours, and would free nothing.
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
  bool watched = false;  ///< the signal says when it is ready
  bool below = true;     ///< what the underlying RMW counts is part of it

  /// `count` more, that are counted here.
  void happened(std::uint64_t count) {
    here_.fetch_add(count, std::memory_order_relaxed);  // read after the signal's rang(), which orders
    ReadySignal::rung(&signal, count);
  }
  std::uint64_t here() const noexcept { return here_.load(std::memory_order_relaxed); }

  std::uint64_t told = 0;  ///< of here(), to the application

 private:
  std::atomic<std::uint64_t> here_{0};
};
using Events = std::array<Event, RMW_EVENT_TYPE_MAX>;

/// From now on the underlying RMW rings `event`'s signal, whether the application asks for this event or not. False: it cannot.
bool signal_underlying(Event& event, const rmw_publisher_t* inner, rmw_event_type_t type) noexcept;

/// From now on the underlying RMW's changes count: a subscription is not served by Baton any more.
void count_below(Event& event) noexcept;

}  // namespace baton::rmw
