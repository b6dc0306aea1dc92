// SPDX-License-Identifier: Apache-2.0
#include "events.hpp"

namespace baton::objects::detail {

thread_local Events::Deferred* Events::Deferred::innermost = nullptr;

Events::Deferred* Events::deferred() const noexcept {
  Deferred* found = Deferred::innermost;
  while (found != nullptr && &found->events_ != this) found = found->outer_;
  return found;
}

void Events::report(const HeapEvent& event) noexcept {
  if (Deferred* const collector = deferred()) return collector->collected_.push_back(event);
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const auto on_event = on_event_;  // the call may destroy the Heap object, and so call silence()
  if (on_event) (*on_event)(event);
}

void Events::silence() noexcept {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  on_event_.reset();
}

}  // namespace baton::objects::detail
