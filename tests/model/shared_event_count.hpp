// SPDX-License-Identifier: Apache-2.0
// The event count of baton/objects, and a count to wait for, for the scenarios that notify.
#pragma once

#include "baton/objects/event_count.hpp"
#include "model_platform.hpp"

namespace baton::model {

using EventCount = objects::EventCountWords<ModelPlatform>;

/// One of a semaphore's count, if one is left.
inline bool try_take(Atomic<std::uint32_t>& left) {
  std::uint32_t count = left.load(std::memory_order_relaxed);
  while (count > 0) {
    if (left.compare_exchange_strong(count, count - 1, std::memory_order_acquire, std::memory_order_relaxed))
      return true;
  }
  return false;
}

}  // namespace baton::model
