// SPDX-License-Identifier: Apache-2.0
// The user's callback of an endpoint, and its pending events. One call stands for all events of one kind since the last
// call, because a peer that causes very many events must not queue very many calls.
// Thread rules: a value, guarded by its endpoint's mutex.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "baton/os/lock.hpp"
#include "baton/os/pi_mutex.hpp"
#include "baton/transport/transport.hpp"

namespace baton::transport {

class PendingEvents {
 public:
  void set_callback(std::function<void(Event)> callback) { callback_ = std::move(callback); }

  /// Arranges a call of the callback for `event`, without `mutex`, from a function that `post(fn)` runs later. This
  /// object is a part of `endpoint`. If there is no memory, the next event arranges the call for this event, too.
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
      const os::Lock lock(mutex);
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
