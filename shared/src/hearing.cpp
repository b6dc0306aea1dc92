// SPDX-License-Identifier: Apache-2.0
#include "baton/shared/hearing.hpp"

#include <climits>
#include <mutex>

#include "baton/shared/bell.hpp"
#include "heap_state.hpp"

namespace baton::shared::detail {

Place take_place(const void* bell) noexcept {
  std::byte* const base = heap_base_of(bell);
  if (base == nullptr) return {};
  Hearing& hearing = private_of(base).hearing;
  // A thread that hears must not need another one, which may be asleep in the same way. heard(): a hint here, A2 decides.
  if (!hearing.heard() || HeapState::background() != nullptr) return {};
  // A cache line holds eight places: the first 32 threads have one each.
  const std::uint32_t number = thread_number();
  const std::size_t index = hearing.take(reinterpret_cast<std::uintptr_t>(bell), number * 8 + number / 32);
  if (index == Hearing::kNowhere) return {};
  return {&hearing, index};
}

void leave_place(const Place& place, const void* bell) noexcept {
  place.hearing->leave(place.index, reinterpret_cast<std::uintptr_t>(bell), [bell](const auto& gone) {
    const std::lock_guard<std::mutex> lock(private_of(heap_base_of(bell)).state->ringing_mutex());
    gone();
  });
}

void HeapState::hear() noexcept {
  // acquire: pairs with the release in say_unheard(). Who says so later wakes the background thread.
  if (header().unheard.load(std::memory_order_acquire) == 0) private_of(base_).hearing.hear();
}

void HeapState::ring_sleepers() noexcept {
  const std::lock_guard<std::mutex> lock(ringing_mutex_);
  private_of(base_).hearing.ring_all([](std::uint64_t at) {
    auto& bell = *reinterpret_cast<BellWords<memory::StdPlatform>*>(at);
    if (bell.must_wake()) bell.woke(os::futex_wake(&bell.event, INT_MAX));
  });
}

}  // namespace baton::shared::detail
