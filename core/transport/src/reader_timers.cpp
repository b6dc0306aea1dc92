// SPDX-License-Identifier: Apache-2.0
// What a subscription notices with time: deadline, liveliness, and messages that wait for the held limit. Clock:
// CLOCK_MONOTONIC; on the background thread, but for message_waits().
#include <algorithm>

#include "baton/os/clock.hpp"
#include "baton/os/hot_path.hpp"
#include "endpoint_context.hpp"
#include "reader.hpp"

namespace baton::transport {
namespace {

std::chrono::steady_clock::time_point at(std::int64_t monotonic_ns) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(monotonic_ns));
}

}  // namespace

void Reader::Impl::start_timers() {
  const QoS& qos = options_.qos;
  const std::int64_t now = os::monotonic_ns();
  const std::weak_ptr<Reader::Impl> weak = weak_from_this();
  const os::Lock lock(mutex_);
  if (qos.deadline < kEndless) {
    deadline_due_ns_ = now + qos.deadline.count();
    context_->hub().schedule(at(deadline_due_ns_), [weak] {
      if (const auto self = weak.lock()) self->check_deadline();
    });
  }
  if (qos.lease < kEndless) {
    context_->hub().schedule(at(now + qos.lease.count()), [weak] {
      if (const auto self = weak.lock()) self->check_liveliness();
    });
  }
}

/// Source time of the newest message that reached any queue; 0 if there was none. A publisher that writes wrong times
/// into its ring falsifies only this statistic: future times count as now.
std::int64_t Reader::Impl::last_arrival_ns() const {
  std::int64_t last = 0;
  for (const ConnectionRef& ref : connections_) last = std::max(last, last_arrival_ns(*ref));
  return last;
}

std::int64_t Reader::Impl::last_arrival_ns(const ReaderConnection& connection) const {
  if (!connection.channel || newest_stamp_ns(connection) == INT64_MIN) return 0;
  return std::min(newest_stamp_ns(connection), os::monotonic_ns());
}

/// The stamp of the newest message that was pushed, in this process's clock; INT64_MIN: there was none. As the publisher wrote it.
std::int64_t Reader::Impl::newest_stamp_ns(const ReaderConnection& connection) const {
  const Ring ring = Ring::at(connection.ring.base(), memory::ring_capacity(options_.qos.depth));
  const std::uint64_t head = ring.head->load(std::memory_order_acquire);  // pairs with the release in append
  if (head == 0) return INT64_MIN;
  return os::of_process(
      ring.slot_table[(head - 1) & (ring.capacity - 1)].source_monotonic_ns.load(std::memory_order_relaxed));
}

/// The place of a message whose publisher stamps messages in the future, among those of other publishers.
BATON_COLD std::int64_t Reader::Impl::corrected_order_ns(ReaderConnection& connection, std::int64_t stamp_ns,
                                                         std::uint64_t position) {
  const std::int64_t now = os::monotonic_ns();
  if (!connection.stamps.in_future(stamp_ns, now)) return connection.stamps.order_ns(stamp_ns, position);
  const std::int64_t ahead = std::max(stamp_ns, newest_stamp_ns(connection)) - now;
  if (!connection.stamps.ahead()) {
    try {
      context_->diagnose_about(connection.peer, Diagnostic::Level::kWarning, Errc::invalid_argument, [&] {
        return "subscription to '" + options_.topic + "': the messages of process " +
               std::to_string(context_->pid_of(connection.peer)) + " are stamped " + std::to_string(ahead / 1'000'000) +
               " ms in the future; the stamps are corrected (docs/guides/containers.md, time namespaces)";
      });
    } catch (const std::bad_alloc&) {
      // They are corrected all the same. drop_useless() comes here, too, and must not throw.
    }
  }
  const Ring ring = Ring::at(connection.ring.base(), memory::ring_capacity(options_.qos.depth));
  connection.stamps.found_ahead(ahead, ring.head->load(std::memory_order_relaxed));  // orders nothing
  return INT64_MIN;
}

std::int64_t Reader::Impl::newest_ns() const {
  if (forked()) return 0;
  const os::Lock lock(mutex_);
  return std::max(last_arrival_ns_, last_arrival_ns());
}

void ReaderConnection::message_waits() const noexcept {
  constexpr std::int64_t kWorthReportingNs = 2'000'000'000;
  if (waiting_since_ns.load(std::memory_order_relaxed) < 0 || generation != os::fork_generation()) return;
  const std::int64_t now = os::monotonic_ns();
  std::int64_t since = 0;
  if (waiting_since_ns.compare_exchange_strong(since, now, std::memory_order_relaxed)) return;
  if (since < 0 || now - since < kWorthReportingNs) return;
  if (!waiting_since_ns.compare_exchange_strong(since, -since, std::memory_order_relaxed)) return;  // or a take came
  const std::shared_ptr<Reader::Impl> kept = owner.lock();
  if (kept == nullptr) return;
  try {
    kept->report_held_limit_later(*this);
  } catch (const std::bad_alloc&) {
    std::int64_t reported = -since;
    waiting_since_ns.compare_exchange_strong(reported, since,
                                             std::memory_order_relaxed);  // the next wake-up tries again
  }
}

void Reader::Impl::report_held_limit_later(const ReaderConnection& connection) {
  context_->post([weak = weak_from_this(), writer = connection.writer] {
    if (const auto self = weak.lock()) self->report_held_limit(writer);
  });
}

void Reader::Impl::report_held_limit(const Gid& writer) {
  const os::Lock lock(mutex_);
  if (closed_) return;
  const auto found = std::find_if(connections_.begin(), connections_.end(), [&](const ConnectionRef& ref) {
    return ref->writer == writer && ref->channel && ref->full();
  });
  if (found == connections_.end()) return;
  ++statuses_.held_limit_total;
  if (std::exchange(held_limit_reported_, true)) return;
  const ReaderConnection& connection = **found;
  context_->diagnose(Diagnostic::Level::kWarning, Errc::held_limit,
                     "subscription to '" + options_.topic + "' takes no messages of process " +
                         std::to_string(context_->pid_of(connection.peer)) + ": it holds " +
                         std::to_string(connection.limit.load(std::memory_order_relaxed)) +
                         " samples of that publisher, as many as its QoS 'held' allows, and " +
                         std::to_string(connection.channel->queue().size()) +
                         " messages wait; release samples, or raise 'held' above the number that it keeps");
}

void Reader::Impl::check_deadline() {
  const os::Lock lock(mutex_);
  if (closed_) return;
  const std::int64_t now = os::monotonic_ns();
  const std::int64_t period = std::max<std::int64_t>(options_.qos.deadline.count(), 1'000'000);
  last_arrival_ns_ = std::max(last_arrival_ns_, last_arrival_ns());
  std::int64_t due = now + period;  // counts from the first message on, as in DDS
  const bool missed = last_arrival_ns_ != 0 && last_arrival_ns_ + period <= now;
  if (missed) {
    due = std::max(deadline_due_ns_ + period, now);
  } else if (last_arrival_ns_ != 0) {
    due = last_arrival_ns_ + period;
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

std::int64_t Reader::Impl::sign_of_life_ns(const Gid& publisher) const {
  const os::Lock lock(mutex_);
  const ReaderConnection* const connection = find(publisher);
  if (connection == nullptr || connection->state.load(std::memory_order_relaxed) != ReaderConnection::State::kLive ||
      connection->offered.liveliness != Liveliness::kManualByTopic)
    return 0;
  // relaxed: a sign of life orders nothing.
  return std::min(os::of_process(connection->line->asserted_ns.load(std::memory_order_relaxed)), os::monotonic_ns());
}

/// Manual liveliness: the publisher's last sign of life is in its control line. (The kernel provides automatic
/// liveliness: the connection ends when the process does.)
void Reader::Impl::check_liveliness() {
  const os::Lock lock(mutex_);
  if (closed_) return;
  const std::int64_t now = os::monotonic_ns();
  const std::int64_t lease = std::max<std::int64_t>(options_.qos.lease.count(), 1'000'000);
  std::int64_t due = now + lease;
  for (const ConnectionRef& ref : connections_) {
    if (ref->state.load(std::memory_order_relaxed) != ReaderConnection::State::kLive) continue;
    if (ref->offered.liveliness != Liveliness::kManualByTopic) continue;
    const std::int64_t asserted = std::min(os::of_process(ref->line->asserted_ns.load(std::memory_order_relaxed)), now);
    const bool alive = now - asserted < lease;
    if (alive) due = std::min(due, asserted + lease);
    if (alive == ref->alive) continue;
    ref->alive = alive;
    notify(Event::kLivelinessChanged);
  }
  context_->hub().schedule(at(due), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->check_liveliness();
  });
}

}  // namespace baton::transport
