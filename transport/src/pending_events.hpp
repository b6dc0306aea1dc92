// SPDX-License-Identifier: Apache-2.0
// Events of an endpoint that its user's callback has not been called for. One call stands for all of a kind that happened since the
// last one: a peer that causes very many must not queue very many.
// Thread rules: a value, guarded by its endpoint's mutex.
#pragma once

#include <cstdint>

#include "baton/transport/transport.hpp"

namespace baton::transport {

class PendingEvents {
 public:
  /// True if somebody has to arrange for the callback: nobody does so yet.
  bool add(Event event) noexcept {
    bits_ |= 1U << static_cast<unsigned>(event);
    return !arranged_;
  }
  void arranged() noexcept { arranged_ = true; }
  /// The callback is about to run.
  std::uint32_t take() noexcept {
    arranged_ = false;
    const std::uint32_t bits = bits_;
    bits_ = 0;
    return bits;
  }
  template <class F>
  static void for_each(std::uint32_t bits, F&& f) {
    for (unsigned i = 0; bits != 0; ++i, bits >>= 1) {
      if ((bits & 1) != 0) f(static_cast<Event>(i));
    }
  }

 private:
  std::uint32_t bits_ = 0;
  bool arranged_ = false;
};

}  // namespace baton::transport
