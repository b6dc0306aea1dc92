// SPDX-License-Identifier: Apache-2.0
// A publisher's timers: deadline and lease. Clock: CLOCK_MONOTONIC, on the background thread.
#include <algorithm>

#include "baton/os/clock.hpp"
#include "endpoint_context.hpp"
#include "writer.hpp"

namespace baton::transport {
namespace {

/// steady_clock is CLOCK_MONOTONIC with libstdc++ and libc++ on Linux.
std::chrono::steady_clock::time_point at(std::int64_t monotonic_ns) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(monotonic_ns));
}

}  // namespace

void Writer::Impl::start_timers() {
  const QoS& qos = options_.qos;
  const std::int64_t now = os::monotonic_ns();
  const std::weak_ptr<Writer::Impl> weak = weak_from_this();
  const os::Lock lock(mutex_);
  if (qos.deadline < kEndless) {
    deadline_due_ns_ = now + qos.deadline.count();
    context_->hub().schedule(at(deadline_due_ns_), [weak] {
      if (const auto self = weak.lock()) self->check_deadline();
    });
  }
  if (qos.lease < kEndless && qos.liveliness == Liveliness::kManualByTopic) {
    context_->hub().schedule(at(now + qos.lease.count()), [weak] {
      if (const auto self = weak.lock()) self->check_liveliness();
    });
  }
}

void Writer::Impl::check_deadline() {
  const os::Lock lock(mutex_);
  if (closed_) return;
  const std::int64_t now = os::monotonic_ns();
  const std::int64_t period = std::max<std::int64_t>(options_.qos.deadline.count(), 1'000'000);
  std::int64_t due = now + period;  // counts from the first message on, as in DDS
  const bool missed = last_publish_ns_ != 0 && last_publish_ns_ + period <= now;
  if (missed) {
    due = std::max(deadline_due_ns_ + period, now);
  } else if (last_publish_ns_ != 0) {
    due = last_publish_ns_ + period;
  }
  // First, because a timer that throws is called again.
  context_->hub().schedule(at(due), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->check_deadline();
  });
  deadline_due_ns_ = due;
  if (!missed) return;
  ++statuses_.deadline_missed_total;
  notify(Event::kDeadlineMissed);
}

void Writer::Impl::check_liveliness() {
  const os::Lock lock(mutex_);
  if (closed_) return;
  const std::int64_t now = os::monotonic_ns();
  const std::int64_t lease = std::max<std::int64_t>(options_.qos.lease.count(), 1'000'000);
  const std::int64_t asserted = line_.line()->asserted_ns.load(std::memory_order_relaxed);
  const bool lost = asserted + lease <= now;
  // First, because a timer that throws is called again.
  context_->hub().schedule(at(lost ? now + lease : asserted + lease), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->check_liveliness();
  });
  if (!std::exchange(lease_lost_, lost) && lost) {  // once until the next sign of life
    ++statuses_.liveliness_lost_total;
    notify(Event::kLivelinessLost);
  }
}

void Writer::Impl::assert_liveliness() {
  if (generation_ != os::fork_generation()) return;
  // relaxed: a sign of life orders nothing.
  line_.line()->asserted_ns.store(os::of_machine(os::monotonic_ns()), std::memory_order_relaxed);
}

}  // namespace baton::transport
