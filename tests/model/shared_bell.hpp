// SPDX-License-Identifier: Apache-2.0
// The bell of baton/shared, and what is waited for on it, for the scenarios that ring it.
#pragma once

#include "baton/shared/bell.hpp"
#include "model_platform.hpp"

namespace baton::model {

using Bell = shared::BellWords<ModelPlatform>;

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
