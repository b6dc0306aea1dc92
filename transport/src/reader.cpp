// SPDX-License-Identifier: Apache-2.0
// Take. Connections are in reader_connections.cpp, timers in reader_timers.cpp.
#include "reader.hpp"

#include <algorithm>

#include "baton/os/clock.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/os/trace.hpp"
#include "participant.hpp"
#include "wait_set.hpp"

namespace baton::transport {

using memory::QueueStatus;

Reader::Impl::Impl(std::shared_ptr<Participant::Impl> participant, const Participant::ReaderOptions& options,
                   const Gid& gid)
    : participant_(std::move(participant)), options_(options), gid_(gid), generation_(os::fork_generation()) {}

Reader::Impl::~Impl() = default;

Error Reader::Impl::forked_error() const {
  return {Errc::forked,
          "subscription to '" + options_.topic + "' belongs to the parent process; make a new node in the child"};
}

/// The connection whose oldest message is the oldest of all, and the number of unread messages (`holdable`: of those
/// connections whose held limit leaves room; `only`: of connections to this publisher).
[[gnu::hot]] Reader::Impl::Pick Reader::Impl::pick(ReaderConnection** best, memory::QueuedMessage* message,
                                                   std::uint64_t* unread, std::optional<Error>* error, bool holdable,
                                                   const Gid* only) {
  *best = nullptr;
  *unread = 0;
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    ReaderConnection& connection = *connections_[i];
    const ReaderConnection::State state = connection.state.load(std::memory_order_relaxed);
    if (state == ReaderConnection::State::kAttaching) continue;
    if (only != nullptr && connection.writer != *only) continue;
    memory::QueuedMessage oldest;
    QueueStatus status = connection.channel->queue().peek(&oldest);
    if (status == QueueStatus::kContended) status = connection.channel->queue().peek(&oldest);
    if (status == QueueStatus::kEmpty || status == QueueStatus::kContended) {
      if (state == ReaderConnection::State::kOrphaned && status == QueueStatus::kEmpty) {
        static_cast<void>(forget(connection));
        --i;
      }
      continue;
    }
    if (status == QueueStatus::kCorrupted) {
      *error = out_of_line(
          [&] { return expel(connection, Errc::protocol_violation, "its queue holds impossible positions"); });
      return Pick::kFailed;
    }
    const SegmentUse* segment = connection.find_segment(memory::handle_segment(oldest.handle));
    if (segment == nullptr) {
      if (state == ReaderConnection::State::kOrphaned) {
        // The publisher died, or the processes were disconnected, before its segment arrived: no reader of this process
        // can read this message any more. Give it back, since a living publisher waits for that.
        if (connection.full()) continue;  // until a sample is released: as in merged_away()
        if (connection.channel->queue().try_take(oldest)) discard(connection, oldest);
        --i;
      } else {
        connection.blocked.store(true, std::memory_order_relaxed);  // add_segment() clears it and wakes
      }
      continue;
    }
    // The publisher's CPU has these lines: fetch them together, while the queue's words are still on their way.
    segment->segment->prefetch(memory::handle_offset(oldest.handle));
    if (holdable && connection.full()) continue;
    *unread += connection.channel->queue().size();
    if (*best == nullptr || oldest.source_monotonic_ns < message->source_monotonic_ns) {
      *best = &connection;
      *message = oldest;
    }
  }
  return *best != nullptr ? Pick::kFound : Pick::kNone;
}

/// KEEP_LAST applies to all publishers together: only the newest `depth` unread messages count. True if `message`, the
/// oldest, exceeds the depth. It is then given up, or was taken or evicted meanwhile.
[[gnu::hot]] bool Reader::Impl::merged_away(ReaderConnection& connection, const memory::QueuedMessage& message,
                                            std::uint64_t unread) {
  if (connections_.size() <= 1 || options_.qos.history != History::kKeepLast || unread <= options_.qos.depth)
    return false;
  // Giving a message up takes it for a moment. At the limit this would exceed the grant, for which a publisher expels a
  // reader.
  if (connection.full()) return false;
  if (connection.channel->queue().try_take(message)) {
    discard(connection, message);
    notify(Event::kMessageLost);
  }
  return true;
}

/// Gives up messages that no take() would deliver. A reader that is rarely used must not collect the segments of all
/// former publishers.
void Reader::Impl::drop_useless() noexcept {
  ReaderConnection* connection = nullptr;
  memory::QueuedMessage message{};
  std::uint64_t unread = 0;
  std::optional<Error> error;
  for (const bool holdable : {false, true}) {
    while (pick(&connection, &message, &unread, &error, holdable) == Pick::kFound &&
           merged_away(*connection, message, unread)) {
    }
  }
}

[[gnu::hot]] Result<TakenSample> Reader::Impl::take(const Gid* only) {
  Result<TakenSample> out(std::in_place);
  if (forked()) {
    out = out_of_line([&] { return forked_error(); });
    return out;
  }
  const std::lock_guard<os::PiMutex> lock(mutex_);
  if (closed_) return out;
  ReaderConnection* taken = nullptr;
  memory::QueuedMessage message{};
  try {
    take_next(&taken, message, only, &out);
  } catch (const std::bad_alloc&) {
    // Only failures allocate: the text of an error, a copy for lack of room.
    if (taken != nullptr) discard(*taken, message);
    out = no_memory();
  }
  return out;
}

/// `taken`: the connection whose queue `message` was taken from.
[[gnu::hot]] void Reader::Impl::take_next(ReaderConnection** taken, memory::QueuedMessage& message, const Gid* only,
                                          Result<TakenSample>* out) {
  for (;;) {
    ReaderConnection* connection = nullptr;
    std::uint64_t unread = 0;
    std::optional<Error> error;
    switch (pick(&connection, &message, &unread, &error, false, only)) {
      case Pick::kFailed:
        *out = *std::move(error);
        return;
      case Pick::kNone:
        if (only != nullptr || !wake_ || !rearm()) return;
        continue;
      case Pick::kFound:
        break;
    }
    if (armed_) disarm();
    if (only == nullptr && merged_away(*connection, message, unread)) continue;
    if (connection->full()) {
      // Samples held of one publisher delay only that publisher's messages.
      const std::uint32_t limit = connection->limit.load(std::memory_order_relaxed);
      const Pick other = pick(&connection, &message, &unread, &error, true, only);
      if (other == Pick::kFailed) {
        *out = *std::move(error);
        return;
      }
      if (other == Pick::kFound && only == nullptr && merged_away(*connection, message, unread)) continue;
      if (other == Pick::kNone) {
        // The descriptor must not stay readable until a sample is released or a message comes; otherwise its event loop
        // would spin.
        if (wake_ && rearm()) continue;
        *out = out_of_line([&] {
          return Error{Errc::held_limit,
                       "subscription to '" + options_.topic + "' holds " + std::to_string(limit) +
                           " samples of one publisher, as many as its QoS 'held' allows; release some or " +
                           "raise it"};
        });
        return;
      }
    }
    BATON_CRASH_POINT("take.before_cursor");
    if (!connection->channel->queue().try_take(message)) continue;  // evicted meanwhile: try again
    BATON_CRASH_POINT("take.after_cursor");
    *taken = connection;
    if (connection->interrupted &&
        out_of_line([&] { return seen_before_interruption(*connection, message.sequence); })) {
      discard(*connection, message);
      --discarded_;  // delivered before, not lost
      connection->next_sequence = message.sequence + 1;
      *taken = nullptr;
      continue;
    }
    // A smaller number is of a message from before the connection: Writer::hand_newest_to().
    if (connection->next_sequence != 0 && message.sequence > connection->next_sequence) notify(Event::kMessageLost);
    connection->next_sequence = message.sequence + 1;

    const std::chrono::nanoseconds lifespan = std::min(connection->offered.lifespan, options_.qos.lifespan);
    std::int64_t expires_ns = INT64_MAX;
    if (lifespan != kInfinite) {
      if (!options_.take_expired && os::monotonic_ns() - message.source_monotonic_ns > lifespan.count()) {
        discard(*connection, message);
        --discarded_;  // expired, not lost
        *taken = nullptr;
        continue;
      }
      if (lifespan < kEndless) expires_ns = message.source_monotonic_ns + lifespan.count();
    }
    SegmentUse* segment = connection->find_segment(memory::handle_segment(message.handle));
    if (segment->segment->mapped()) {
      accept(*connection, *segment, message, memory::handle_offset(message.handle), out);
    } else {
      out_of_line([&] { accept_unmapped(*connection, *segment, message, out); });
    }
    if (*out) (*out)->expires_ns_ = expires_ns;
    return;
  }
}

[[gnu::hot]] void Reader::Impl::accept(ReaderConnection& connection, SegmentUse& segment,
                                       const memory::QueuedMessage& message, std::uint64_t offset,
                                       Result<TakenSample>* out) {
  if (!connection.channel->releases().valid(message.entry)) {
    *out = out_of_line(
        [&] { return expel(connection, Errc::protocol_violation, "it lent a release entry that does not exist"); });
    return;
  }
  std::uint32_t size_bytes = 0;
  Result<const memory::ChunkHeader*> header = segment.segment->chunk(offset, &size_bytes);
  if (!header) {
    *out = out_of_line([&] { return expel(connection, header.error().code, header.error().message); });
    return;
  }
  if (size_bytes < options_.type.skeleton_bytes) {
    *out = out_of_line([&] {
      return expel(connection, Errc::malformed_message,
                   "it sent a message of " + std::to_string(size_bytes) + " bytes; the type has at least " +
                       std::to_string(options_.type.skeleton_bytes));
    });
    return;
  }
  if (options_.validate != nullptr) {
    const auto* bytes = reinterpret_cast<const std::byte*>(*header + 1);
    if (Result<void> valid = options_.validate(options_.validate_context.get(), bytes, size_bytes); !valid) {
      *out = out_of_line([&] { return expel(connection, Errc::malformed_message, valid.error().message); });
      return;
    }
  }
  TakenSample& sample = **out;
  sample.header_ = *header;
  sample.size_bytes_ = size_bytes;
  sample.token_ = message.entry;
  sample.sequence_ = message.sequence;
  sample.reception_time_ns_ = os::realtime_ns();
  sample.connection_ = &connection;
  sample.segment_ = &segment;
  connection.add_reference();
  connection.outstanding.fetch_add(1, std::memory_order_relaxed);
  connection.waiting_since_ns.store(0, std::memory_order_relaxed);
  connection.waiting_reported.store(false, std::memory_order_relaxed);
  segment.held.fetch_add(1, std::memory_order_relaxed);
  BATON_CRASH_POINT("take.end");
  BATON_TRACE3(take, message.handle, message.sequence, size_bytes);
}

/// The first message of a segment maps the segment. If there is no room for it (the window is full, or the publisher's
/// process has used up its share), the message is copied. A message without room for a copy either is lost, and the
/// error says so.
void Reader::Impl::accept_unmapped(ReaderConnection& connection, SegmentUse& segment,
                                   const memory::QueuedMessage& message, Result<TakenSample>* out) {
  const std::uint64_t offset = memory::handle_offset(message.handle);
  segment.held.fetch_add(1, std::memory_order_relaxed);  // a hostile publisher may have retired it
  drop_retired(connection);                              // frees copies that are no longer held
  segment.held.fetch_sub(1, std::memory_order_relaxed);
  const Result<void> mapped = segment.segment->map();
  if (mapped) return accept(connection, segment, message, offset, out);
  if (!std::exchange(segment.reported, true)) {
    participant_->diagnose(
        Diagnostic::Level::kError, mapped.error().code,
        "subscription to '" + options_.topic +
            "' cannot map a publisher's data segment, its messages are copied until there is room: " +
            mapped.error().message);
  }
  Result<std::shared_ptr<memory::ForeignSegment>> copy = segment.segment->copy_of(offset);
  if (!copy && segment.segment->mapped())  // by another reader
    return accept(connection, segment, message, offset, out);
  if (!copy && copy.error().code == Errc::protocol_violation) {
    *out = expel(connection, copy.error().code, copy.error().message);
    return;
  }
  if (!copy) {
    discard(connection, message);
    notify(Event::kMessageLost);
    *out = Error{copy.error().code, "subscription to '" + options_.topic + "' lost a message: " + copy.error().message};
    return;
  }
  ++statuses_.copied_total;
  auto use = std::make_unique<SegmentUse>();
  use->index = SegmentUse::kCopy;
  use->segment = std::move(*copy);
  use->retired = true;
  connection.segments.push_back(std::move(use));
  accept(connection, *connection.segments.back(), message, 0, out);
}

/// Gives back a message that was just taken, without delivering it.
void Reader::Impl::discard(ReaderConnection& connection, const memory::QueuedMessage& message) {
  ++discarded_;
  if (connection.channel->releases().valid(message.entry)) connection.channel->releases().release(message.entry);
}

/// Ends the connection to a publisher that broke the protocol.
Error Reader::Impl::expel(ReaderConnection& connection, Errc code, const std::string& what) noexcept {
  try {
    Error error{code, "subscription to '" + options_.topic + "' ended the connection to a publisher (process " +
                          std::to_string(participant_->pid_of(connection.peer)) + "): " + what};
    participant_->expel(connection.peer, gid_, connection.writer, error);
    static_cast<void>(forget(connection));
    return error;
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

void Reader::Impl::expel(const Gid& publisher, const std::string& what) noexcept {
  if (forked()) return;
  const std::lock_guard<os::PiMutex> lock(mutex_);
  if (ReaderConnection* connection = find(publisher)) expel(*connection, Errc::malformed_message, what);
}

/// Takes a connection off the list; samples and wait sets may still refer to it.
ConnectionRef Reader::Impl::forget(ReaderConnection& connection) noexcept {
  const bool was_matched = connection.state.load(std::memory_order_relaxed) == ReaderConnection::State::kLive;
  if (connection.channel) discarded_ += connection.channel->queue().lost();
  last_arrival_ns_ =
      std::max(last_arrival_ns_, last_arrival_ns(connection));  // its messages still count for the deadline
  connection.state.store(ReaderConnection::State::kEnded, std::memory_order_relaxed);
  // A wait set may keep the connection until its next wait, but must not keep the segments, which are memory and
  // descriptors.
  for (const auto& use : connection.segments) use->retired = true;
  drop_retired(connection);
  const auto entry = by_writer_.find(connection.writer);
  if (entry != by_writer_.end() && entry->second == &connection) by_writer_.erase(entry);
  ConnectionRef gone;
  const auto found = std::find_if(connections_.begin(), connections_.end(),
                                  [&](const ConnectionRef& ref) { return ref.get() == &connection; });
  if (found != connections_.end()) {
    gone = std::move(*found);
    connections_.erase(found);
  }
  forget_socket(connection.peer);
  connections_changed();
  if (was_matched) notify(Event::kMatched);
  return gone;
}

[[gnu::hot]] bool Reader::Impl::has_data() const {
  if (forked()) return false;
  const std::lock_guard<os::PiMutex> lock(mutex_);
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const ConnectionRef& ref) { return ref->readable(); });
}

[[gnu::hot]] std::size_t Reader::Impl::unread() const {
  if (forked()) return 0;
  std::size_t count = 0;
  const std::lock_guard<os::PiMutex> lock(mutex_);
  for (const ConnectionRef& ref : connections_) {
    if (ref->channel && !ref->blocked.load(std::memory_order_relaxed)) count += ref->channel->queue().size();
  }
  return count;
}

bool Reader::Impl::awaits_memory(const Gid& publisher) const {
  if (forked()) return false;
  const std::lock_guard<os::PiMutex> lock(mutex_);
  const ReaderConnection* const connection = find(publisher);
  return connection != nullptr && connection->blocked.load(std::memory_order_relaxed);
}

// A polled reader announces its sleep when take() finds nothing, and revokes it when take() finds a message. The
// descriptor is drained only when the queues are empty, so it stays readable while there may be data.

/// Announces sleep (wake.hpp W1 to W4). True if a message arrived meanwhile.
[[gnu::hot]] bool Reader::Impl::rearm() {
  wake_->drain([](const Notifier& notifier) { Participant::Impl::broke_wake_socket(notifier); });
  // Repeats earlier announcements: a wait set that the reader left may have revoked them, and woken this one.
  for (const ConnectionRef& ref : connections_) {
    memory::announce_sleep<Platform>(*ref->layout.sleeping, memory::Sleeping::kDescriptor);
  }
  armed_ = true;
  memory::announced_sleep<Platform>();
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const ConnectionRef& ref) { return ref->readable(); });
}

[[gnu::hot]] void Reader::Impl::disarm() {
  for (const ConnectionRef& ref : connections_) memory::announce_awake<Platform>(*ref->layout.sleeping);
  armed_ = false;
  wake_->notify();  // stays readable until the queues are empty
}

Result<int> Reader::Impl::pollable_fd() {
  if (forked()) return forked_error();
  const std::lock_guard<os::PiMutex> lock(mutex_);
  if (!wake_) {
    const std::lock_guard<std::mutex> wake_lock(wake_mutex_);
    if (wait_set_) {
      return Error{Errc::already_exists, "subscription to '" + options_.topic +
                                             "' is in a wait set (or an executor); it is either waited for or polled"};
    }
    Result<std::unique_ptr<WakeDescriptor>> wake = WakeDescriptor::create();
    if (!wake) return wake.error();
    wake_ = std::move(*wake);
  }
  give_own_sockets();
  if (rearm()) wake_->notify();
  return wake_->fd();
}

[[gnu::hot]] std::uint32_t Reader::Impl::matched() const {
  if (forked()) return 0;
  const std::lock_guard<os::PiMutex> lock(mutex_);
  return static_cast<std::uint32_t>(
      std::count_if(connections_.begin(), connections_.end(), [](const ConnectionRef& ref) {
        return ref->state.load(std::memory_order_relaxed) == ReaderConnection::State::kLive;
      }));
}

std::map<Gid, bool> Reader::Impl::publishers() const {
  std::map<Gid, bool> out;
  if (forked()) return out;
  const std::lock_guard<os::PiMutex> lock(mutex_);
  for (const ConnectionRef& ref : connections_) {
    const ReaderConnection::State state = ref->state.load(std::memory_order_relaxed);
    if (state == ReaderConnection::State::kLive || state == ReaderConnection::State::kAttaching)
      out.emplace(ref->writer, state == ReaderConnection::State::kLive);
  }
  return out;
}

std::vector<EndpointInfo> Reader::Impl::gone_publishers() const {
  std::vector<EndpointInfo> out;
  if (forked()) return out;
  const std::lock_guard<os::PiMutex> lock(mutex_);
  for (const ConnectionRef& ref : connections_) {
    if (ref->state.load(std::memory_order_relaxed) == ReaderConnection::State::kOrphaned &&
        ref->channel->queue().ready()) {
      out.push_back({ref->writer, true, options_.topic, options_.type.name, ref->node, options_.type.hash, ref->offered,
                     ref->pid, ref->local_pid, ref->peer});
    }
  }
  return out;
}

void Reader::Impl::stop_matching() noexcept {
  if (forked()) return;
  const std::lock_guard<os::PiMutex> lock(mutex_);
  matches_ = false;
}

[[gnu::hot]] Statuses Reader::Impl::statuses() const {
  if (forked()) return {};
  const std::lock_guard<os::PiMutex> lock(mutex_);
  Statuses out = statuses_;
  out.lost_total = discarded_;
  out.refused_now = refused_by_.size();
  for (const ConnectionRef& ref : connections_) {
    if (ref->channel) {
      out.lost_total += ref->channel->queue().lost();
      out.held_limit_now += ref->full() && ref->channel->queue().ready();
    }
    if (ref->state.load(std::memory_order_relaxed) != ReaderConnection::State::kLive) continue;
    ++out.matched_now;
    ++(ref->alive ? out.alive_now : out.not_alive_now);
  }
  return out;
}

void Reader::Impl::on_event(std::function<void(Event)> callback) {
  if (forked()) return;
  const std::lock_guard<os::PiMutex> lock(mutex_);
  pending_.set_callback(std::move(callback));
}

void Reader::Impl::notify(Event event) noexcept {  // with mutex_
  if (event == Event::kMatched) participant_->graph_changed();
  pending_.add(event, weak_from_this(), mutex_, [this](auto call) { participant_->post(std::move(call)); });
}

}  // namespace baton::transport
