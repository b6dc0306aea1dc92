// SPDX-License-Identifier: Apache-2.0
// The user's callback of an endpoint, and the events that it has not been called for. One call stands for all of a kind that happened
// since the last one: a peer that causes very many must not queue very many.
// Thread rules: a value, guarded by its endpoint's mutex.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "baton/os/pi_mutex.hpp"
#include "baton/transport/transport.hpp"

namespace baton::transport {

class PendingEvents {
 public:
  void set_callback(std::function<void(Event)> callback) { callback_ = std::move(callback); }

  /// Arranges that the callback is called for `event`, without `mutex`, by what `post(fn)` runs later. This is a part of `endpoint`. If
  /// there is no memory, the next event arranges for this one, too.
  template <class Endpoint, class Post>
  void add(Event event, std::weak_ptr<Endpoint> endpoint, os::PiMutex& mutex, Post&& post) noexcept {
    if (!callback_) return;
    bits_ |= 1U << static_cast<unsigned>(event);
    if (arranged_) return;
    try {
      post([this, endpoint = std::move(endpoint), &mutex] {
        if (const std::shared_ptr<Endpoint> kept = endpoint.lock()) call(mutex);
      });
      arranged_ = true;
    } catch (const std::bad_alloc&) {
    }
  }

 private:
  void call(os::PiMutex& mutex) {
    std::function<void(Event)> callback;
    std::uint32_t bits = 0;
    {
      const std::lock_guard<os::PiMutex> lock(mutex);
      callback = callback_;
      arranged_ = false;
      bits = std::exchange(bits_, 0);
    }
    if (!callback) return;
    for (unsigned i = 0; bits != 0; ++i, bits >>= 1) {
      if ((bits & 1) != 0) callback(static_cast<Event>(i));
    }
  }

  std::function<void(Event)> callback_;
  std::uint32_t bits_ = 0;
  bool arranged_ = false;
};

}  // namespace baton::transport
