// SPDX-License-Identifier: Apache-2.0
#include "baton/shared/waiter_table.hpp"

#include <climits>
#include <mutex>

#include "baton/shared/event_count.hpp"
#include "heap_state.hpp"

namespace baton::shared::detail {

Place take_place(const void* event_count) noexcept {
  std::byte* const base = heap_base_of(event_count);
  if (base == nullptr) return {};
  WaiterTable& waiters = private_of(base).waiters;
  // A background thread must not depend on another one, which may be asleep in the same way. is_watched(): a hint here, A2 decides.
  if (!waiters.is_watched() || HeapState::background() != nullptr) return {};
  // A cache line holds eight places: the first 32 threads have one each.
  const std::uint32_t number = thread_number();
  const std::size_t index = waiters.enter(reinterpret_cast<std::uintptr_t>(event_count), number * 8 + number / 32);
  if (index == WaiterTable::kNowhere) return {};
  return {&waiters, index};
}

void leave_place(const Place& place, const void* event_count) noexcept {
  place.table->leave(place.index, reinterpret_cast<std::uintptr_t>(event_count), [event_count](const auto& gone) {
    const std::lock_guard<std::mutex> lock(private_of(heap_base_of(event_count)).state->notify_mutex());
    gone();
  });
}

void HeapState::watch_deaths() noexcept {
  // acquire: pairs with the release in set_unwatched(). Who says so later wakes the background thread.
  if (header().unwatched.load(std::memory_order_acquire) == 0) private_of(base_).waiters.begin_watch();
}

void HeapState::notify_waiters() noexcept {
  const std::lock_guard<std::mutex> lock(notify_mutex_);
  private_of(base_).waiters.notify_all([](std::uint64_t at) {
    auto& event_count = *reinterpret_cast<EventCountWords<memory::StdPlatform>*>(at);
    if (event_count.must_wake()) event_count.woke(os::futex_wake(&event_count.event, INT_MAX));
  });
}

}  // namespace baton::shared::detail
