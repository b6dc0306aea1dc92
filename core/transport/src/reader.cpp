// SPDX-License-Identifier: Apache-2.0
// Take. What is lost is in reader_losses.cpp, connections are in reader_connections.cpp, timers in reader_timers.cpp.
#include "reader.hpp"

#include <algorithm>

#include "baton/os/clock.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/os/hot_path.hpp"
#include "baton/os/trace.hpp"
#include "endpoint_context.hpp"
#include "wait_set.hpp"

namespace baton::transport {

using memory::QueueStatus;

Reader::Impl::Impl(std::shared_ptr<EndpointContext> context, const Participant::ReaderOptions& options, const Gid& gid)
    : context_(std::move(context)),
      gid_(gid),
      generation_(os::fork_generation()),
      skeleton_bytes_(options.type.skeleton_bytes),
      validate_(options.validate),
      validate_context_(options.validate_context.get()),
      options_(options) {}

Reader::Impl::~Impl() = default;

Error Reader::Impl::forked_error() const {
  return {Errc::forked,
          "subscription to '" + options_.topic + "' belongs to the parent process; make a new node in the child"};
}

/// When the message was published, in this process's clock, and never in the future: the order of messages of several publishers. Reads the
/// clock only for a stamp that is later than the last reading.
BATON_HOT_INLINE std::int64_t Reader::Impl::order_ns(ReaderConnection& connection,
                                                     const memory::QueuedMessage& message) {
  const std::int64_t stamp = os::of_process(message.source_monotonic_ns);
  if (unlikely(connection.stamps.ahead())) return corrected_order_ns(connection, stamp, message.position);
  if (stamp <= seen_now_ns_) return stamp;
  // After the message was read, so its stamp is earlier if it is honest.
  seen_now_ns_ = os::monotonic_ns();
  return unlikely(stamp > seen_now_ns_) ? corrected_order_ns(connection, stamp, message.position) : stamp;
}

/// As order_ns(), but a message that was pushed after this process knew of a moment counts as no older than that, whatever its publisher says.
/// So a publisher with stamps of the past, or without any (corrected_order_ns), comes before others with what its queue has at once, and not for
/// ever. For delivery: what is given up first is still what says to be the oldest, which may displace no message of others.
BATON_HOT_INLINE std::int64_t Reader::Impl::turn_ns(ReaderConnection& connection, std::int64_t order_ns,
                                                    std::uint64_t position) {
  constexpr std::int64_t kOldNs = 100'000'000;
  return unlikely(order_ns < seen_now_ns_ - kOldNs) ? not_before_known(connection, order_ns, position) : order_ns;
}

BATON_COLD std::int64_t Reader::Impl::not_before_known(ReaderConnection& connection, std::int64_t order_ns,
                                                       std::uint64_t position) const {
  if (connection.stamps.unknown(position)) {
    const std::int64_t now = os::monotonic_ns();  // before the head: what is pushed behind that is younger
    const Ring ring = Ring::at(connection.ring.base(), memory::ring_capacity(options_.qos.depth));
    // acquire: pairs with the release in append; the clock was read before.
    connection.stamps.know(now, std::max(ring.head->load(std::memory_order_acquire), position + 1));
  }
  return std::max(order_ns, connection.stamps.floor_ns());
}

/// The connection whose oldest message is the oldest of all, and the number of unread messages (`holdable`: of those
/// connections whose held limit leaves room; `only`: of connections to this publisher).
Reader::Impl::Pick Reader::Impl::pick(ReaderConnection** best, memory::QueuedMessage* message, std::uint64_t* unread,
                                      std::optional<Error>* error, Passes& passes, bool holdable, const Gid* only) {
  *best = nullptr;
  *unread = 0;
  std::int64_t earliest = INT64_MAX;
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
      *error = out_of_line([&]() BATON_REQUIRES(mutex_) {
        return expel(connection, Errc::protocol_violation, "its queue holds impossible positions", 1);
      });
      return Pick::kFailed;
    }
    const SegmentUse* segment = connection.find_segment(memory::handle_segment(oldest.handle));
    if (segment == nullptr) {
      if (state == ReaderConnection::State::kOrphaned) {
        // The publisher died, or the processes were disconnected, before its segment arrived: no reader of this process
        // can read this message any more. Give it back, since a living publisher waits for that.
        if (connection.full()) continue;  // until a sample is released: as in merged_away()
        if (passes.spent()) continue;     // a living publisher may go on pushing
        passes.count();
        if (connection.channel->queue().try_take(oldest)) {
          count_taken(connection, oldest);
          give_back(connection, oldest);
          add_losses(losses_.interrupted, 1);
          notify(Event::kMessageLost);
        }
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
    const std::int64_t order = turn_ns(connection, order_ns(connection, oldest), oldest.position);
    if (*best == nullptr || order < earliest) {
      earliest = order;
      *best = &connection;
      *message = oldest;
    }
  }
  return *best != nullptr ? Pick::kFound : Pick::kNone;
}

/// The connection's oldest message, if it can be given up or delivered.
bool Reader::Impl::oldest_of(ReaderConnection& connection, memory::QueuedMessage* oldest) noexcept {
  if (connection.state.load(std::memory_order_relaxed) == ReaderConnection::State::kAttaching) return false;
  QueueStatus status = connection.channel->queue().peek(oldest);
  if (status == QueueStatus::kContended) status = connection.channel->queue().peek(oldest);
  return status == QueueStatus::kOk && connection.find_segment(memory::handle_segment(oldest->handle)) != nullptr;
}

/// KEEP_LAST applies to all publishers together: only the newest `depth` unread messages count. True if older ones exceed the depth. They are
/// then given up, or were taken or evicted meanwhile. A look at all publishers for each of them would be too much work where these are many.
bool Reader::Impl::merged_away(std::uint64_t unread, bool holdable, Passes& passes) noexcept {
  if (connections_.size() <= 1 || options_.qos.history != History::kKeepLast || unread <= options_.qos.depth)
    return false;
  memory::QueuedMessage message;
  merging_.clear();
  for (const ConnectionRef& ref : connections_) {
    if ((!holdable || !ref->full()) && oldest_of(*ref, &message))
      merging_.push_back({order_ns(*ref, message), ref.get()});
  }
  const auto is_later = [](const Merging& a, const Merging& b) { return a.order_ns > b.order_ns; };
  std::make_heap(merging_.begin(), merging_.end(), is_later);
  bool some = false;
  for (std::uint64_t excess = unread - options_.qos.depth; excess > 0 && !passes.spent() && !merging_.empty();) {
    std::pop_heap(merging_.begin(), merging_.end(), is_later);
    ReaderConnection& connection = *merging_.back().connection;
    // Giving a message up takes it for a moment. At the limit this would exceed the grant, for which a publisher expels a
    // reader.
    if (connection.full()) break;
    if (oldest_of(connection, &message) && connection.channel->queue().try_take(message)) {
      count_taken(connection, message);
      give_back(connection, message);
      add_losses(losses_.overflow, 1);
      notify(Event::kMessageLost);
      --excess;
    }
    passes.count();
    some = true;
    if (oldest_of(connection, &message)) {
      merging_.back().order_ns = order_ns(connection, message);
      std::push_heap(merging_.begin(), merging_.end(), is_later);
    } else {
      merging_.pop_back();
    }
  }
  return some;
}

/// Gives up messages that no take() would deliver. A reader that is rarely used must not collect the segments of all
/// former publishers. For each that ends, as many as its queue has at most, but not without a bound: the participant's lock is held.
void Reader::Impl::drop_useless() noexcept {
  ReaderConnection* connection = nullptr;
  memory::QueuedMessage message{};
  std::uint64_t unread = 0;
  std::optional<Error> error;
  Passes passes(std::clamp(options_.qos.depth, kFewestDropped, kMostDropped));
  for (const bool holdable : {false, true}) {
    while (!passes.spent() && pick(&connection, &message, &unread, &error, passes, holdable) == Pick::kFound &&
           merged_away(unread, holdable, passes)) {
    }
  }
}

void Reader::Impl::drop_useless_later(const ReaderConnection& connection) noexcept {
  if (connection.channel->queue().ready()) return;
  try {
    context_->post([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      const os::Lock lock(self->mutex_);
      if (!self->closed_) self->drop_useless();
    });
  } catch (const std::bad_alloc&) {
    // The next take ends it.
  }
}

/// The message that take() delivers, of all connections. kFailed: `out` has the error.
BATON_HOT_SELDOM Reader::Impl::Pick Reader::Impl::choose(Candidate* found, const Gid* only, Passes& passes,
                                                         Result<TakenSample>* out) {
  while (!passes.spent()) {
    std::uint64_t unread = 0;
    std::optional<Error> error;
    Pick picked = pick(&found->connection, &found->message, &unread, &error, passes, false, only);
    if (picked == Pick::kFound) {
      if (only == nullptr && merged_away(unread, false, passes)) continue;
      if (found->connection->full()) {
        found->connection->message_waits();
        // Samples held of one publisher delay only that publisher's messages.
        const std::uint32_t limit = found->connection->limit.load(std::memory_order_relaxed);
        picked = pick(&found->connection, &found->message, &unread, &error, passes, true, only);
        if (picked == Pick::kFound && only == nullptr && merged_away(unread, true, passes)) continue;
        if (picked == Pick::kNone) {
          // The descriptor must not stay readable until a sample is released or a message comes; otherwise its event
          // loop would spin.
          if (wake_ && rearm()) {
            passes.count();
            continue;
          }
          error = out_of_line([&] {
            return Error{Errc::held_limit,
                         "subscription to '" + options_.topic + "' holds " + std::to_string(limit) +
                             " samples of one publisher, as many as its QoS 'held' allows; release some or raise it"};
          });
          picked = Pick::kFailed;
        }
      }
    }
    if (picked == Pick::kFailed) *out = *std::move(error);
    if (picked == Pick::kFound)
      found->segment = found->connection->find_segment(memory::handle_segment(found->message.handle));
    return picked;
  }
  return Pick::kSpent;
}

/// The number of a taken message: a gap before it is a loss.
BATON_HOT_INLINE void Reader::Impl::count_taken(ReaderConnection& connection, const memory::QueuedMessage& message) {
  if (unlikely(message.sequence != connection.next_sequence)) {
    const std::uint64_t lost = connection.count_lost(message.sequence, message.position);
    add_losses(connection.held_back() ? losses_.held : losses_.overflow, lost);
    if (lost > 0) notify(Event::kMessageLost);
  } else {
    connection.next_sequence = message.sequence + 1;
  }
}

/// The message's header, if every check finds at once that it can be delivered. Null: accept_closely() decides.
BATON_HOT_INLINE const memory::ChunkHeader* Reader::Impl::checked(const Candidate& found,
                                                                  std::uint32_t* size_bytes) const {
  if (unlikely(!found.connection->channel->releases().valid(found.message.entry))) return nullptr;
  const memory::ChunkHeader* const header =
      found.segment->segment->known_chunk(memory::handle_offset(found.message.handle), size_bytes);
  if (unlikely(header == nullptr || *size_bytes < skeleton_bytes_)) return nullptr;
  const auto* const bytes = reinterpret_cast<const std::byte*>(header + 1);
  return validate_ == nullptr || validate_(validate_context_, bytes, *size_bytes, nullptr) ? header : nullptr;
}

BATON_HOT_INLINE Result<TakenSample> Reader::Impl::sample_of(const Candidate& found, const memory::ChunkHeader* header,
                                                             std::uint32_t size_bytes) noexcept {
  ReaderConnection& connection = *found.connection;
  connection.add_reference();
  connection.outstanding.fetch_add(1, std::memory_order_relaxed);
  connection.end_waiting();
  found.segment->held.fetch_add(1, std::memory_order_relaxed);
  BATON_CRASH_POINT("take.end");
  BATON_TRACE3(take, found.message.handle, found.message.sequence, size_bytes);
  return Result<TakenSample>(std::in_place, header, found.message.entry, found.message.sequence, &connection,
                             found.segment, size_bytes);
}

/// The usual case, in as few instructions as it needs: the oldest message of the only publisher can be delivered. Everything else is
/// for take_any(), which looks again.
BATON_HOT_INLINE Result<TakenSample> Reader::Impl::take(Passes& passes) {
  if (unlikely(forked())) return out_of_line([&] { return Result<TakenSample>(forked_error()); });
  const os::Lock lock(mutex_);
  Candidate found;
  found.connection = usual_;
  if (unlikely(found.connection == nullptr)) return take_any(nullptr, passes);
  ReaderConnection& connection = *found.connection;
  const QueueStatus status = connection.channel->queue().peek_once(&found.message);
  if (unlikely(status != QueueStatus::kOk)) {
    if (status == QueueStatus::kEmpty && !wake_) return Result<TakenSample>(std::in_place);
    return take_any(nullptr, passes);
  }
  found.segment = connection.find_segment(memory::handle_segment(found.message.handle));
  if (unlikely(found.segment == nullptr || connection.full())) return take_any(nullptr, passes);
  // The publisher's CPU has these lines: fetch them together, while the cursor is on its way.
  found.segment->segment->prefetch(memory::handle_offset(found.message.handle));
  BATON_CRASH_POINT("take.before_cursor");
  if (unlikely(!connection.channel->queue().try_take(found.message))) return take_any(nullptr, passes);
  BATON_CRASH_POINT("take.after_cursor");
  count_taken(connection, found.message);
  std::uint32_t size_bytes = 0;
  const memory::ChunkHeader* header = nullptr;
  try {
    header = checked(found, &size_bytes);
  } catch (const std::bad_alloc&) {
    // A check that allocates is made once more.
  }
  if (unlikely(header == nullptr))
    return out_of_line([this, found, &passes]() BATON_REQUIRES(mutex_) { return take_any(nullptr, passes, &found); });
  return sample_of(found, header, size_bytes);
}

Result<TakenSample> Reader::Impl::take_from(const Gid& publisher) {
  if (forked()) return forked_error();
  const os::Lock lock(mutex_);
  // As many as its queue may have: if there is none left of those that were there, no message is returned (ros1/api relies on it).
  Passes passes(std::max(kMostPassedOver, memory::ring_capacity(options_.qos.depth)));
  return take_any(&publisher, passes);
}

/// The oldest message of all publishers, or of `only`. `begun`: this message was taken from its queue already, and comes first.
BATON_HOT_SELDOM Result<TakenSample> Reader::Impl::take_any(const Gid* only, Passes& passes, const Candidate* begun) {
  Result<TakenSample> out(std::in_place);
  if (closed_) return out;
  Candidate found{};
  bool taken = begun != nullptr;  // from its queue, and not given back
  if (taken) found = *begun;
  try {
    for (;;) {
      if (!taken) {
        const Pick picked = choose(&found, only, passes, &out);
        if (picked != Pick::kFound) {
          if (picked == Pick::kNone && only == nullptr && wake_ && rearm()) {
            passes.count();
            continue;
          }
          if (picked == Pick::kSpent && wake_)
            disarm();  // readable() is still true; so the descriptor must be readable
          return out;
        }
        if (armed_) disarm();
        BATON_CRASH_POINT("take.before_cursor");
        passes.count();  // unless it is delivered, which ends the call
        if (!found.connection->channel->queue().try_take(found.message)) continue;  // evicted meanwhile: try again
        BATON_CRASH_POINT("take.after_cursor");
        taken = true;
        count_taken(*found.connection, found.message);
        if (unlikely(found.connection->stamps.ahead())) ++losses_.stamp;
        if (unwanted(*found.connection, found.message)) {
          give_back(*found.connection, found.message);
          taken = false;
          continue;
        }
      }
      std::uint32_t size_bytes = 0;
      if (const memory::ChunkHeader* header = checked(found, &size_bytes)) {
        out = sample_of(found, header, size_bytes);
      } else {
        accept_closely(found, &out);
      }
      return out;
    }
  } catch (const std::bad_alloc&) {
    // Only failures allocate: the text of an error, a copy for lack of room.
    if (taken) {
      give_back(*found.connection, found.message);
      ++losses_.memory;
    }
    out = no_memory();
  }
  return out;
}

/// True for a message that was delivered before, or is too old.
bool Reader::Impl::unwanted(ReaderConnection& connection, const memory::QueuedMessage& message) {
  if (connection.interrupted && interrupted_.seen(connection.writer, connection.process, message.sequence)) return true;
  if (connection.lifespan_ns >= kEndless.count()) return false;
  const std::int64_t now = os::monotonic_ns();
  const std::int64_t stamp = connection.stamps.published_ns(os::of_process(message.source_monotonic_ns));
  const bool expired = now > ends_after(std::min(stamp, now), connection.lifespan_ns);
  losses_.lifespan += expired;
  return expired;
}

/// Makes a sample of a taken message that checked() has not accepted: the first one of its segment, or of a range of pages. Else `out` gets
/// the error.
BATON_COLD void Reader::Impl::accept_closely(const Candidate& found, Result<TakenSample>* out) {
  ReaderConnection& connection = *found.connection;
  const memory::QueuedMessage& message = found.message;
  if (!connection.channel->releases().valid(message.entry)) {
    *out = refuse(connection, Errc::protocol_violation, "it lent a release entry that does not exist");
    return;
  }
  std::uint32_t size_bytes = 0;
  Candidate closer = found;
  const memory::ChunkHeader* const header = look_closer(connection, &closer.segment, message, &size_bytes, out);
  if (header == nullptr) return;
  if (size_bytes < skeleton_bytes_) {
    *out = refuse(connection, Errc::malformed_message,
                  "it sent a message of " + std::to_string(size_bytes) + " bytes; the type has at least " +
                      std::to_string(skeleton_bytes_));
    return;
  }
  Error why{Errc::malformed_message, {}};
  if (validate_ != nullptr &&
      !validate_(validate_context_, reinterpret_cast<const std::byte*>(header + 1), size_bytes, &why)) {
    *out = refuse(connection, Errc::malformed_message, why.message);
    return;
  }
  *out = sample_of(closer, header, size_bytes);
}

/// The message's header, where more has to be done than to look at it. Null: `out` has the error.
BATON_COLD const memory::ChunkHeader* Reader::Impl::look_closer(ReaderConnection& connection, SegmentUse** segment,
                                                                const memory::QueuedMessage& message,
                                                                std::uint32_t* size_bytes, Result<TakenSample>* out) {
  std::uint64_t offset = memory::handle_offset(message.handle);
  if (!(*segment)->segment->mapped()) {
    *segment = map_or_copy(connection, **segment, message, &offset, out);
    if (*segment == nullptr) return nullptr;
  }
  const Result<const memory::ChunkHeader*> header = (*segment)->segment->chunk(offset, size_bytes);
  if (header) return *header;
  lose(connection, message, header.error(), out);
  return nullptr;
}

/// The first message of a segment maps the segment. If there is no room for it (the window is full, or the publisher's
/// process has used up its share), the message is copied: then the segment is the copy, and `offset` 0. Null: `out` has
/// the error. A message without room for a copy either is lost, and the error says so.
SegmentUse* Reader::Impl::map_or_copy(ReaderConnection& connection, SegmentUse& segment,
                                      const memory::QueuedMessage& message, std::uint64_t* offset,
                                      Result<TakenSample>* out) {
  segment.held.fetch_add(1, std::memory_order_relaxed);  // a hostile publisher may have retired it
  drop_retired(connection);                              // frees copies that are no longer held
  segment.held.fetch_sub(1, std::memory_order_relaxed);
  const Result<void> mapped = segment.segment->map();
  if (mapped) return &segment;
  if (!std::exchange(segment.reported, true)) {
    context_->diagnose_about(connection.peer, Diagnostic::Level::kError, mapped.error().code, [&] {
      return "subscription to '" + options_.topic +
             "' cannot map a publisher's data segment, its messages are copied until there is room: " +
             mapped.error().message;
    });
  }
  Result<std::shared_ptr<memory::ForeignSegment>> copy = segment.segment->copy_of(*offset);
  if (!copy && segment.segment->mapped()) return &segment;  // by another reader
  if (!copy) {
    lose(connection, message, copy.error(), out);
    return nullptr;
  }
  ++statuses_.copied_total;
  auto use = std::make_unique<SegmentUse>();
  use->index = SegmentUse::kCopy;
  use->segment = std::move(*copy);
  use->retired = true;
  connection.segments.push_back(std::move(use));
  *offset = 0;
  return connection.segments.back().get();
}

Result<TakenSample> Reader::take() {
  Impl::Passes passes;
  return impl_->take(passes);
}
Result<TakenSample> Reader::take_next() {
  Impl::Passes passes;
  Result<TakenSample> taken = impl_->take(passes);
  if (unlikely(!taken.ok())) return impl_->take_after(std::move(taken), passes);
  return taken;
}
Result<TakenSample> Reader::take_from(const Gid& publisher) { return impl_->take_from(publisher); }

/// Takes a connection off the list; samples and wait sets may still refer to it.
ConnectionRef Reader::Impl::forget(ReaderConnection& connection) noexcept {
  const bool was_matched = connection.state.load(std::memory_order_relaxed) == ReaderConnection::State::kLive;
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

BATON_HOT_SELDOM bool Reader::Impl::any_readable() const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const ConnectionRef& ref) { return ref->readable(); });
}

BATON_HOT_INLINE bool Reader::Impl::has_data() const {
  if (unlikely(forked())) return false;
  const os::Lock lock(mutex_);
  return usual_ != nullptr ? usual_->readable() : any_readable();
}

bool Reader::has_data() const { return impl_->has_data(); }

std::size_t Reader::Impl::unread() const {
  if (forked()) return 0;
  std::size_t count = 0;
  const os::Lock lock(mutex_);
  for (const ConnectionRef& ref : connections_) {
    if (ref->channel && !ref->blocked.load(std::memory_order_relaxed)) count += ref->channel->queue().size();
  }
  return count;
}

bool Reader::Impl::awaits_memory(const Gid& publisher) const {
  if (forked()) return false;
  const os::Lock lock(mutex_);
  const ReaderConnection* const connection = find(publisher);
  return connection != nullptr && connection->blocked.load(std::memory_order_relaxed);
}

// A polled reader announces its sleep when take() finds nothing, and revokes it when take() finds a message. The
// descriptor is drained only when the queues are empty, so it stays readable while there may be data.

/// Announces sleep (wake.hpp W1 to W4). True if a message arrived meanwhile.
bool Reader::Impl::rearm() {
  wake_->drain(broke_wake_socket);
  // Repeats earlier announcements: a wait set that the reader left may have revoked them, and woken this one.
  for (const ConnectionRef& ref : connections_) {
    memory::announce_sleep<Platform>(*ref->sleeping, memory::Sleeping::kDescriptor);
  }
  armed_ = true;
  find_usual();
  memory::announced_sleep<Platform>();
  return any_readable();
}

void Reader::Impl::disarm() {
  for (const ConnectionRef& ref : connections_) memory::announce_awake<Platform>(*ref->sleeping);
  armed_ = false;
  find_usual();
  wake_->notify();  // stays readable until the queues are empty
}

Result<int> Reader::Impl::pollable_fd() {
  if (forked()) return forked_error();
  const os::Lock lock(mutex_);
  if (!wake_) {
    const os::Lock wake_lock(wake_mutex_);
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

std::uint32_t Reader::Impl::matched() const {
  if (forked()) return 0;
  const os::Lock lock(mutex_);
  return static_cast<std::uint32_t>(
      static_cast<std::ptrdiff_t>(resting_.size()) +
      std::count_if(connections_.begin(), connections_.end(), [](const ConnectionRef& ref) {
        return ref->state.load(std::memory_order_relaxed) == ReaderConnection::State::kLive;
      }));
}

std::map<Gid, bool> Reader::Impl::publishers() const {
  std::map<Gid, bool> out;
  if (forked()) return out;
  const os::Lock lock(mutex_);
  for (const ConnectionRef& ref : connections_) {
    const ReaderConnection::State state = ref->state.load(std::memory_order_relaxed);
    if (state == ReaderConnection::State::kLive || state == ReaderConnection::State::kAttaching)
      out.emplace(ref->writer, state == ReaderConnection::State::kLive);
  }
  for (const auto& [writer, resting] : resting_) out.emplace(writer, !resting.called);
  return out;
}

std::vector<EndpointInfo> Reader::Impl::gone_publishers() const {
  std::vector<EndpointInfo> out;
  if (forked()) return out;
  const os::Lock lock(mutex_);
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
  const os::Lock lock(mutex_);
  matches_ = false;
}

Statuses Reader::Impl::statuses() const {
  if (forked()) return {};
  const os::Lock lock(mutex_);
  Statuses out = statuses_;
  out.lost_total = losses_.total();
  out.refused_now = refused_by_.size();
  out.matched_now = out.alive_now = resting_.size();
  for (const ConnectionRef& ref : connections_) {
    if (ref->channel) out.held_limit_now += ref->full() && ref->channel->queue().ready();
    if (ref->state.load(std::memory_order_relaxed) != ReaderConnection::State::kLive) continue;
    ++out.matched_now;
    ++(ref->alive ? out.alive_now : out.not_alive_now);
  }
  return out;
}

void Reader::Impl::on_event(std::function<void(Event)> callback) {
  if (forked()) return;
  const os::Lock lock(mutex_);
  pending_.set_callback(std::move(callback));
}

BATON_COLD void Reader::Impl::notify(Event event) noexcept {
  if (event == Event::kMatched) context_->graph_changed();
  pending_.add(event, weak_from_this(), mutex_, [this](auto call) { context_->post(std::move(call)); });
}

}  // namespace baton::transport
