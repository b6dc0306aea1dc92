// SPDX-License-Identifier: Apache-2.0
// Loan and publish. Connections are in writer_connections.cpp, timers in writer_timers.cpp.
#include "writer.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <thread>

#include "baton/os/clock.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/os/futex.hpp"
#include "baton/os/hot_path.hpp"
#include "baton/os/trace.hpp"
#include "baton/os/wake_socket.hpp"
#include "endpoint_context.hpp"

namespace baton::transport {

Result<std::shared_ptr<Writer::Impl>> Writer::Impl::create(std::shared_ptr<EndpointContext> context,
                                                           const Participant::WriterOptions& options, const Gid& gid) {
  std::shared_ptr<Writer::Impl> writer(new Writer::Impl(std::move(context), options, gid));
  if (writer->shares_.shared == 0) {
    return Error{Errc::invalid_argument,
                 "publisher of '" + options.topic + "' has room for " + std::to_string(writer->shares_.slots) +
                     " messages (PublisherOptions::slot_count, " +
                     "memory_limit_bytes); a subscription can be served from " + std::to_string(kFewestSlots) + " on"};
  }
  Result<EventLine> line = writer->context_->event_pages().allocate();
  if (!line) return line.error();
  writer->line_ = std::move(*line);
  writer->control_ = writer->line_.line();
  writer->control_->asserted_ns.store(os::of_machine(os::monotonic_ns()), std::memory_order_relaxed);
  Writer::Impl* self = writer.get();  // the pool is a member: it is destroyed before the writer
  Result<std::unique_ptr<memory::Pool>> pool = memory::Pool::create(
      options.pool, [self](memory::Handle oldest) BATON_REQUIRES(self->mutex_) { return self->evict(oldest); },
      [self](std::uint32_t index, int fd, std::uint64_t size)
          BATON_REQUIRES(self->mutex_) { self->send_segment(index, fd, size); });
  if (!pool) return pool.error();
  writer->pool_ = std::move(*pool);
  writer->pool_->set_publisher(gid.data(), options.type.hash.data());
  writer->pool_->set_collect([self]() BATON_REQUIRES(self->mutex_) { self->collect(); });
  writer->pool_->set_retired([self](std::uint32_t index) BATON_REQUIRES(self->mutex_) { self->send_retired(index); });
  if (options.qos.durability == Durability::kTransientLocal) writer->history_.make_room(options.qos.depth);
  return writer;
}

namespace {

bool keeps_all(const QoS& qos) noexcept {
  return qos.history == History::kKeepAll && qos.reliability == Reliability::kReliable;
}

}  // namespace

Writer::Impl::Impl(std::shared_ptr<EndpointContext> context, const Participant::WriterOptions& options, const Gid& gid)
    : gid_(gid),
      generation_(os::fork_generation()),
      skeleton_bytes_(options.type.skeleton_bytes),
      special_(keeps_all(options.qos) || options.qos.durability == Durability::kTransientLocal ||
               options.qos.liveliness == Liveliness::kManualByTopic || options.qos.deadline < kEndless ||
               options.seldom),
      keep_all_(keeps_all(options.qos)),
      context_(std::move(context)),
      options_(options),
      shares_(shares_of(memory::Pool::capacity(options.pool, options.type.fixed_size ? options.type.skeleton_bytes : 0),
                        options.qos.depth)) {}

Writer::Impl::~Impl() {
  // In a forked child the memory is the parent's: unmapping ranges that MADV_DONTFORK left out could hit another
  // mapping.
  if (generation_ != os::fork_generation()) static_cast<void>(pool_.release());
  // Before the participant, which is declared behind what every message touches.
  live_.clear();
  draining_.clear();
  pool_.reset();
}

Error Writer::Impl::forked_error() const {
  return {Errc::forked,
          "publisher of '" + options_.topic + "' belongs to the parent process; make a new node in the child"};
}

std::shared_ptr<Writer> Writer::Impl::open() {
  self_ = shared_from_this();
  return {static_cast<Writer*>(this), [](Writer* writer) { writer->give_up_share(); }};
}

void Writer::hold_share() noexcept { impl().hold(); }
void Writer::give_up_share() noexcept { impl().give_up(); }

BATON_HOT_INLINE void Writer::Impl::give_up() noexcept {
  // acq_rel: the last one closes after all that the others did.
  if (holders_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  out_of_line([this] {
    const std::shared_ptr<Impl> self = std::move(self_);
    close();
  });
}

Result<memory::Chunk> Writer::loan_sized(std::size_t message_bytes) { return impl().loan(message_bytes, false); }
Result<memory::Chunk> Writer::loan_growing() { return impl().loan(0, true); }

Result<memory::Chunk> Writer::loan_growing(std::size_t expected_bytes) { return impl().loan_expecting(expected_bytes); }
void Writer::raise_limits(std::size_t max_message_bytes, std::size_t memory_limit_bytes) {
  impl().raise_limits(max_message_bytes, memory_limit_bytes);
}

Result<memory::Chunk> Writer::Impl::loan_expecting(std::size_t expected_bytes) {
  if (forked()) return forked_error();
  const os::Lock lock(mutex_);
  if (loans_left_-- == 0) look_at_memory(false);
  Result<memory::Chunk> chunk = pool_->loan_growing(skeleton_bytes_, expected_bytes);
  if (!chunk) chunk = loan_in_shortage(expected_bytes, true, chunk.error());
  if (expel_) expel_broken();
  if (frames_) deliver_frames_to_self();
  return chunk;
}

BATON_HOT_INLINE Result<memory::Chunk> Writer::Impl::loan(std::size_t message_bytes, bool growing) {
  if (forked()) return out_of_line([&]() -> Result<memory::Chunk> { return forked_error(); });
  return loan_locked(message_bytes, growing);
}

/// A function of its own, so that the chunk is made where the caller wants it.
BATON_HOT_INLINE Result<memory::Chunk> Writer::Impl::loan_locked(std::size_t message_bytes, bool growing) {
  const os::Lock lock(mutex_);
  BATON_CRASH_POINT("loan.begin");
  if (unlikely(loans_left_-- == 0)) look_at_memory(false);
  Result<memory::Chunk> chunk =
      growing ? pool_->loan_growing(skeleton_bytes_) : pool_->loan_sized(message_bytes, skeleton_bytes_);
  if (!chunk)
    out_of_line([&]() BATON_REQUIRES(mutex_) { chunk = loan_in_shortage(message_bytes, growing, chunk.error()); });
  if (expel_) expel_broken();
  BATON_CRASH_POINT("loan.end");
  if (chunk) BATON_TRACE2(loan, chunk->handle, message_bytes);
  if (frames_) deliver_frames_to_self();
  return chunk;
}

/// A new data segment: readers of this process must know it before the message can be published.
void Writer::Impl::deliver_frames_to_self() {
  std::vector<Frame> frames;
  frames.swap(frames_to_self_);
  frames_ = false;
  const os::Unlock unlocked(mutex_);
  for (Frame& frame : frames) context_->deliver_to_self(std::move(frame));
}

void Writer::abandon(const memory::Chunk& chunk) noexcept { impl().abandon(chunk); }

BATON_HOT_INLINE void Writer::Impl::abandon(const memory::Chunk& chunk) noexcept {
  if (forked()) return;
  const os::Lock lock(mutex_);
  if (unlikely(pool_->abandon(chunk))) dropped("a message could not grow");
}

/// Hands a reference to the connection; what the connection does not take is released.
BATON_HOT_INLINE memory::PushStatus Writer::Impl::push_referenced(WriterConnection& connection,
                                                                  const KeptMessage& message) {
  const memory::PushStatus status =
      connection.channel.push(message.handle, message.source_monotonic_ns, message.sequence, release());
  if (status != memory::PushStatus::kPushed) not_pushed(connection, message.handle, status);
  return status;
}

BATON_COLD void Writer::Impl::not_pushed(WriterConnection& connection, memory::Handle handle,
                                         memory::PushStatus status) {
  pool_->release(handle);
  if (status == memory::PushStatus::kCorrupted) connection.broken = expel_ = true;
}

memory::PushStatus Writer::Impl::push(WriterConnection& connection, const KeptMessage& message) {
  pool_->add_reference(message.handle);
  return push_referenced(connection, message);
}

BATON_HOT_SELDOM void Writer::Impl::remember(const KeptMessage& message) { history_.add(message, release()); }

WriterConnection* Writer::Impl::find(const Gid& reader) const {
  return live_.find([&](const auto& connection) { return connection->reader == reader; });
}

Error Writer::Impl::not_connected() const {
  return {Errc::not_found, "publisher of '" + options_.topic + "': the subscription is not connected"};
}

Error Writer::Impl::published_before(std::uint64_t sequence) const {
  return {Errc::already_exists, "publisher of '" + options_.topic + "': message " + std::to_string(sequence) +
                                    " of another machine was published before; the last one was " +
                                    std::to_string(last_sequence_)};
}

BATON_HOT_SELDOM void Writer::Impl::add(memory::ChunkHeader& header, const PublishInfo& info) {
  if (info.origin != nullptr) header.source_time_ns = info.origin->source_time_ns;
  std::memcpy(header.correlation_client, info.correlation_client.data(), info.correlation_client.size());
  header.correlation_sequence = info.correlation_sequence;
  std::memcpy(header.attachment, info.attachment.data(), info.attachment.size());
  header.selection = info.selection;
}

/// Fills the header; returns the time of publication, of the machine.
std::int64_t Writer::Impl::complete(memory::ChunkHeader& header, std::uint64_t sequence, const PublishInfo* info) {
  const os::Times now = os::read_both_clocks();
  header.sequence = sequence;
  header.source_monotonic_ns = now.machine_ns;
  header.source_time_ns = now.realtime_ns;
  if (info != nullptr) add(header, *info);  // else zero, as the pool made the header
  return header.source_monotonic_ns;
}

/// Whether each queue that refuses when full has room, or (skips_full) at least one queue. `only`: the one reader that gets the
/// message, or null.
bool Writer::Impl::room_for(const WriterConnection* only) {
  bool full = false, room = false;
  for (const auto& connection : live_) {
    if (only != nullptr && connection != only) continue;
    if (!connection->refuses_when_full || !connection->channel.full()) {
      room = true;
    } else if (connection->channel.corrupted()) {
      connection->broken = expel_ = true;  // full() returns true for a corrupted queue
    } else {
      full = true;
    }
  }
  return !full || (room && options_.skips_full);
}

// What becomes of a message, in this order:
//   deliver()    1 connections that were found broken end
//                2 its readers, and whether it may be published; of other than ordinary messages in deliver_specially()
//   carry_out()  3 its header: number and times            6 a sign of life
//                4 its references, in the pool              7 readers that sleep are woken
//                5 its handle in the queue of each reader   8 the history; connections found broken meanwhile end
// An error comes before 3, and the chunk stays a loan.

Result<std::uint64_t> Writer::publish(const memory::Chunk& chunk) { return impl().deliver(chunk, nullptr); }
Result<std::uint64_t> Writer::publish(const memory::Chunk& chunk, const PublishInfo& info) {
  return impl().deliver(chunk, &info);
}

BATON_HOT_INLINE Result<std::uint64_t> Writer::Impl::deliver(const memory::Chunk& chunk, const PublishInfo* info) {
  if (forked()) return out_of_line([&]() -> Result<std::uint64_t> { return forked_error(); });
  const os::Lock lock(mutex_);
  BATON_CRASH_POINT("publish.begin");
  if (expel_) expel_broken();
  if (info != nullptr || special_ || live_.empty()) return deliver_specially(chunk, info);
  // An ordinary message: what carry_out() asks of these constants costs nothing.
  return carry_out(chunk, {last_sequence_ + 1, nullptr, live_.size(), true, false, false, false, false}, nullptr);
}

BATON_HOT_SELDOM Result<std::uint64_t> Writer::Impl::deliver_specially(const memory::Chunk& chunk,
                                                                       const PublishInfo* info) {
  Delivery delivery{last_sequence_ + 1,
                    nullptr,
                    live_.size(),
                    true,
                    options_.qos.durability == Durability::kTransientLocal,
                    options_.qos.liveliness == Liveliness::kManualByTopic,
                    keep_all_ && options_.skips_full,
                    options_.qos.deadline < kEndless};
  if (info != nullptr) {
    if (info->origin != nullptr) delivery.sequence = info->origin->sequence;
    if (delivery.sequence <= last_sequence_)
      return out_of_line([&]() BATON_REQUIRES(mutex_) { return published_before(delivery.sequence); });
    if (const Gid* gid = info->only_client ? &info->correlation_client : info->only_reader) {
      delivery.only = find(*gid);
      if (delivery.only != nullptr) delivery.references = 1;
    }
    if (info->only_reader != nullptr) {
      if (delivery.only == nullptr) return out_of_line([&] { return not_connected(); });
      delivery.remembered = false;
    }
    if (info->keep) ++delivery.references;
  }
  const bool called = !resting_.empty() && (info == nullptr || info->only_reader == nullptr);
  if (called) delivery.remembered = true;
  if (keep_all_ && !room_for(delivery.only)) {
    return out_of_line([&] {
      return Error{Errc::queue_full,
                   "publisher of '" + options_.topic +
                       "': a keep_all subscription has not taken its last messages; nothing was published"};
    });
  }
  if (delivery.remembered) ++delivery.references;
  delivery.wanted = delivery.references > 0;
  if (!delivery.wanted) delivery.references = 1;
  const std::uint64_t sequence = carry_out(chunk, delivery, info);
  if (called) out_of_line([&]() BATON_REQUIRES(mutex_) { call_resting(); });
  return sequence;
}

BATON_HOT_INLINE std::uint64_t Writer::Impl::carry_out(const memory::Chunk& chunk, const Delivery& delivery,
                                                       const PublishInfo* info) {
  const KeptMessage message{chunk.handle, complete(*chunk.header, delivery.sequence, info), delivery.sequence};
  last_sequence_ = message.sequence;
  if (unlikely(pool_->publish(chunk, delivery.references, info == nullptr))) larger_message(chunk.header->size_bytes);

  BATON_CRASH_POINT("publish.before_push");
  for (const auto& connection : live_) {
    if (delivery.only != nullptr && delivery.only != connection) continue;
    if (delivery.skips_full && connection->refuses_when_full && connection->channel.full()) {
      pool_->release(message.handle);
      continue;
    }
    push_referenced(*connection, message);
    BATON_CRASH_POINT("publish.between_pushes");
  }
  BATON_CRASH_POINT("publish.after_push");
  // relaxed: a sign of life orders nothing.
  if (delivery.asserts) control_->asserted_ns.store(message.source_monotonic_ns, std::memory_order_relaxed);
  wake_readers();

  if (delivery.timed) last_publish_ns_ = os::of_process(message.source_monotonic_ns);
  if (delivery.remembered) remember(message);
  if (expel_) expel_broken();
  BATON_TRACE3(publish, message.handle, message.sequence, live_.size());
  if (!delivery.wanted) pool_->release(message.handle);
  return message.sequence;
}

/// Wakes the readers that sleep (wake.hpp).
BATON_HOT_INLINE void Writer::Impl::wake_readers() {
  ControlLine& line = *control_;
  const bool wake = memory::signal<Platform>(
      line.event, live_, [](const auto& connection) -> WakeWord& { return connection->channel.sleeping(); },
      [](const auto& connection) {
        BATON_CRASH_POINT("publish.before_notify");
        if (connection->notify_end) os::notify(connection->notify_end->get());
      });
  BATON_CRASH_POINT("publish.before_wake");
  if (wake) os::futex_wake(&line.event, INT_MAX);
  BATON_CRASH_POINT("publish.after_wake");
}

bool Writer::Impl::hand_newest_to(const Gid& reader) {
  if (forked()) return false;
  const os::Lock lock(mutex_);
  WriterConnection* const connection = find(reader);
  if (connection == nullptr || history_.empty()) return false;
  const KeptMessage& newest = history_.before_newest(0);
  if (connection->first_sequence <= newest.sequence) return true;
  if (connection->channel.pushed() != 0) return false;  // a message for this reader alone, which is newer
  const bool pushed = push(*connection, newest) == memory::PushStatus::kPushed;
  if (pushed) {
    connection->first_sequence = newest.sequence;
    wake_readers();
  }
  if (connection->broken) expel_broken();
  return pushed;
}

Result<void> Writer::Impl::keep(const memory::Chunk& chunk) {
  if (forked()) return forked_error();
  const os::Lock lock(mutex_);
  last_publish_ns_ = os::of_process(complete(*chunk.header, ++last_kept_, nullptr));
  // The reference that this leaves is the caller's, until drop().
  if (pool_->publish(chunk, 1, true)) larger_message(chunk.header->size_bytes);
  return {};
}

Result<std::uint64_t> Writer::Impl::publish_to(const memory::Chunk& kept, const Gid& reader) {
  if (forked()) return out_of_line([&] { return forked_error(); });
  const os::Lock lock(mutex_);
  WriterConnection* const found = find(reader);
  if (found == nullptr) return out_of_line([&] { return not_connected(); });
  WriterConnection& connection = *found;
  const auto has_all = [&] { return connection.channel.outstanding() >= connection.held; };
  if (has_all() && !connection.channel.collect(release())) connection.broken = true;
  if (!connection.broken && has_all()) {
    return out_of_line([&] {
      return Error{Errc::held_limit, "publisher of '" + options_.topic + "': the subscription has all of the " +
                                         std::to_string(connection.held) + " messages that it may hold"};
    });
  }
  if (!connection.broken && connection.channel.full() && !connection.channel.corrupted()) {
    return out_of_line([&] {
      return Error{Errc::queue_full, "publisher of '" + options_.topic +
                                         "': the subscription has not taken the last messages handed over"};
    });
  }
  // Each reader gets messages of its own choice, so its sequence numbers are of its own connection. They go on from those of
  // all earlier connections, by which a reader that comes back knows what it has had.
  const KeptMessage message{kept.handle, kept.header->source_monotonic_ns,
                            connection.handed_before + connection.channel.pushed() + 1};
  const bool pushed = !connection.broken && push(connection, message) == memory::PushStatus::kPushed;
  if (pushed) {
    ++handed_over_;
    return connection.number;
  }
  return out_of_line([&]() BATON_REQUIRES(mutex_) {
    connection.broken = true;
    expel_broken();
    return Error{Errc::not_found, "publisher of '" + options_.topic + "' has just ended the subscription's connection"};
  });
}

Writer::Unread Writer::Impl::unread(const Gid& reader) {
  if (forked()) return {};
  const os::Lock lock(mutex_);
  WriterConnection* const connection = find(reader);
  return connection == nullptr ? Writer::Unread{} : Writer::Unread{connection->number, connection->channel.unread()};
}

void Writer::Impl::drop(const memory::Chunk& kept) noexcept {
  if (forked()) return;
  const os::Lock lock(mutex_);
  if (pool_) pool_->release(kept.handle);
}

bool Writer::Impl::evict(memory::Handle oldest) {
  bool released = false;
  const auto release = [&, pool = pool_.get()](memory::Handle handle) {
    pool->release(handle);
    released = true;
  };
  for (const auto& connection : live_) {
    if (keep_all_ && connection->refuses_when_full) continue;  // never dropped: docs/format/qos.md
    BATON_CRASH_POINT("evict.before_cursor");
    connection->channel.evict_oldest_if(oldest, release);
  }
  if (!keep_all_ && !history_.empty() && history_.oldest().handle == oldest) release(history_.remove_oldest());
  return released;
}

void Writer::Impl::collect() {
  for (const auto& connection : live_) {
    if (connection->broken || (connection->channel.collect(release()) && !overheld(*connection))) continue;
    connection->broken = expel_ = true;
  }
  if (drained_) collect_drained();
}

void Writer::Impl::collect_drained() {
  for (auto at = draining_.begin(); at != draining_.end();) {
    WriterConnection& connection = **at;
    const bool sound = connection.channel.collect(release()) && !overheld(connection);
    if (!sound) connection.channel.end(release());
    at = !sound || connection.channel.outstanding() == 0 ? draining_.erase(at) : at + 1;
  }
  drained_ = !draining_.empty();
}

std::uint32_t Writer::Impl::matched() const {
  if (forked()) return 0;
  const os::Lock lock(mutex_);
  return live_.size() + (options_.seldom ? resting_.matched() : 0);
}

std::vector<Gid> Writer::Impl::readers_of(std::uint64_t sequence) const {
  std::vector<Gid> readers;
  if (forked()) return readers;
  const os::Lock lock(mutex_);
  for (const auto& connection : live_) {
    if (connection->first_sequence <= sequence) readers.push_back(connection->reader);
  }
  for (const auto& [key, entry] : resting_.entries())
    if (entry.from <= sequence && !entry.refused) readers.push_back(key.second);
  return readers;
}

Statuses Writer::Impl::statuses() const {
  if (forked()) return {};
  const os::Lock lock(mutex_);
  Statuses out = statuses_;
  out.matched_now = live_.size() + resting_.matched();
  out.refused_now = refused_.size();
  return out;
}

void Writer::Impl::on_event(std::function<void(Event)> callback) {
  if (forked()) return;
  const os::Lock lock(mutex_);
  pending_.set_callback(std::move(callback));
}

void Writer::Impl::notify(Event event) noexcept {
  if (event == Event::kMatched) context_->graph_changed();
  pending_.add(event, weak_from_this(), mutex_, [this](auto call) { context_->post(std::move(call)); });
}

Result<void> Writer::Impl::wait_for_all_acked(std::chrono::nanoseconds timeout) {
  if (forked()) return forked_error();
  const std::int64_t begin = os::monotonic_ns();
  constexpr std::uint64_t kWhatItIsGiven = UINT64_MAX;  // when it attaches
  std::vector<std::pair<Gid, std::uint64_t>> wanted;
  std::uint64_t last = 0;
  {
    const os::Lock lock(mutex_);
    last = last_sequence_;
    for (const auto& connection : live_) {
      if (connection->reliable) wanted.emplace_back(connection->reader, connection->channel.pushed());
    }
    for (const auto& [key, entry] : resting_.entries())
      if (entry.reliable && entry.called) wanted.emplace_back(key.second, kWhatItIsGiven);
  }
  // Readers give no sign when they take (every take would have to read one more word). So this call checks, at growing
  // intervals; it is meant for orderly ends, not for the hot path.
  for (auto pause = std::chrono::microseconds(20);; pause = std::min(pause * 2, std::chrono::microseconds(2000))) {
    {
      const os::Lock lock(mutex_);
      std::size_t open = 0;
      for (const auto& connection : live_) {
        const std::uint64_t given = connection->channel.pushed(), taken = given - connection->channel.unread();
        for (auto& [reader, pushed] : wanted) {
          if (reader != connection->reader) continue;
          if (pushed == kWhatItIsGiven) pushed = given;
          if (taken >= pushed) pushed = 0;  // for good: a reader that rests meanwhile counts from zero
          open += pushed != 0 ? 1 : 0;
        }
      }
      for (const auto& [key, entry] : resting_.entries()) open += entry.reliable && entry.called && entry.from <= last;
      if (open == 0) return {};
      if (timeout != kInfinite && os::monotonic_ns() - begin >= timeout.count()) {
        return Error{Errc::timed_out, "publisher of '" + options_.topic + "': " + std::to_string(open) +
                                          " reliable subscriptions have not taken everything yet"};
      }
    }
    std::this_thread::sleep_for(pause);
  }
}

Result<void> Writer::Impl::wait_for_queues(std::chrono::nanoseconds timeout) {
  if (forked()) return forked_error();
  const std::int64_t begin = os::monotonic_ns();
  for (auto pause = std::chrono::microseconds(20);; pause = std::min(pause * 2, std::chrono::microseconds(2000))) {
    {
      const os::Lock lock(mutex_);
      const auto& resting = resting_.entries();
      const auto open = std::count_if(resting.begin(), resting.end(),
                                      [](const auto& each) { return each.second.called && !each.second.refused; });
      if (open == 0) return {};
      if (timeout != kInfinite && os::monotonic_ns() - begin >= timeout.count()) {
        return Error{Errc::timed_out, "publisher of '" + options_.topic + "': " + std::to_string(open) +
                                          " subscriptions have no connection yet"};
      }
    }
    std::this_thread::sleep_for(pause);
  }
}

memory::Pool::Account Writer::Impl::memory_account() const {
  if (forked()) return {};
  auto& self = const_cast<Writer::Impl&>(*this);
  const os::Lock lock(self.mutex_);
  if (!self.pool_) return {};
  self.collect();  // messages that readers released without notifying are not held any more
  if (self.expel_) self.expel_broken();
  return self.pool_->account();
}

void Writer::Impl::raise_limits(std::size_t max_message_bytes, std::size_t memory_limit_bytes) {
  if (forked()) return;
  const os::Lock lock(mutex_);
  pool_->raise_limits(max_message_bytes, memory_limit_bytes,
                      [this](std::uint32_t index) BATON_REQUIRES(mutex_) { send_retired(index); });
}

void Writer::Impl::trim() {
  if (forked()) return;
  const os::Lock lock(mutex_);
  shown_bytes_ = 0;
  unit_bytes_ = 1;
  memory_.slots = 0;
  pool_->retire_segment([this](std::uint32_t index) BATON_REQUIRES(mutex_) { send_retired(index); });
}

}  // namespace baton::transport
