// SPDX-License-Identifier: Apache-2.0
#include "waiters.hpp"

#include <climits>

#include "baton/objects/event_count.hpp"
#include "operation_guard.hpp"

namespace baton::objects::detail {

Place take_place(const void* event_count) noexcept {
  std::byte* const base = heap_base_of(event_count);
  if (base == nullptr) return {};
  WaiterTable& table = private_of(base).waiter_table;
  // A background thread must not depend on another background thread, which may be asleep in the same way.
  // is_watched(): a hint; A2 decides.
  if (!table.is_watched() || OperationGuard::is_background()) return {};
  // A cache line holds eight places: the first 32 threads have one each.
  const std::uint32_t number = thread_number();
  const std::size_t index = table.enter(reinterpret_cast<std::uintptr_t>(event_count), number * 8 + number / 32);
  if (index == WaiterTable::kNowhere) return {};
  return {&table, index};
}

void leave_place(const Place& place, const void* event_count) noexcept {
  place.table->leave(place.index, reinterpret_cast<std::uintptr_t>(event_count), [event_count](const auto& gone) {
    const std::lock_guard<std::mutex> lock(private_of(heap_base_of(event_count)).waiters->mutex());
    gone();
  });
}

void Waiters::begin_watch() noexcept {
  if (!unwatched()) mapping_.here().waiter_table.begin_watch();  // a later set_unwatched() wakes this thread
}

void Waiters::notify_all() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  mapping_.here().waiter_table.notify_all([](std::uint64_t at) {
    auto& event_count = *reinterpret_cast<EventCountWords<memory::StdPlatform>*>(at);
    if (event_count.must_wake()) event_count.woke(os::futex_wake(&event_count.event, INT_MAX));
  });
}

}  // namespace baton::objects::detail
