// SPDX-License-Identifier: Apache-2.0
// The Platform (baton/memory/platform.hpp) on the explorer's simulated memory.
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine.hpp"

namespace baton::model {

/// A simulated std::atomic<T>, T an integer of up to 64 bits. Needs a World while it exists.
template <class T>
class Atomic {
 public:
  explicit Atomic(const char* label, T initial = 0)
      : id_(World::current().add_location(label, static_cast<std::uint64_t>(initial))) {}
  T load(std::memory_order order) const noexcept { return static_cast<T>(World::current().load(id_, order)); }
  void store(T value, std::memory_order order) noexcept {
    World::current().store(id_, static_cast<std::uint64_t>(value) & kMask, order);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure) noexcept {
    std::uint64_t value = static_cast<std::uint64_t>(expected) & kMask;
    const bool ok = World::current().compare_exchange(id_, value, static_cast<std::uint64_t>(desired) & kMask, success,
                                                      failure, kMask);
    expected = static_cast<T>(value);
    return ok;
  }
  T fetch_add(T value, std::memory_order order) noexcept {
    return static_cast<T>(World::current().fetch_add(id_, static_cast<std::uint64_t>(value), order, kMask));
  }
  int id() const noexcept { return id_; }

 private:
  static constexpr std::uint64_t kMask =
      sizeof(T) == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (sizeof(T) % 8 * 8)) - 1;
  int id_;
};

struct ModelPlatform {
  template <class T>
  using atomic = Atomic<T>;
  static void fence_seq_cst() noexcept { World::current().fence_seq_cst(); }
};

}  // namespace baton::model
