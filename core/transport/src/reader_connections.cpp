// SPDX-License-Identifier: Apache-2.0
// A reader's connections: how they come, change and end, and which waiters must check again.
#include <algorithm>

#include "baton/os/crash_point.hpp"
#include "endpoint_context.hpp"
#include "reader.hpp"
#include "wait_set.hpp"

namespace baton::transport {

using State = ReaderConnection::State;

AnnounceFrame Reader::Impl::announcement() const {
  AnnounceFrame frame;
  frame.gid = gid_;
  frame.topic = options_.topic;
  frame.node = options_.node;
  frame.type_name = options_.type.name;
  frame.type_hash = options_.type.hash;
  frame.ros_type_hash = options_.type.ros_hash;
  frame.skeleton_bytes = options_.type.skeleton_bytes;
  frame.qos = options_.qos;
  return frame;
}

ReaderConnection* Reader::Impl::find(const Gid& writer) const {
  const auto found = by_writer_.find(writer);
  return found == by_writer_.end() ? nullptr : found->second;
}

std::size_t Reader::Impl::connection_bytes() const noexcept {
  constexpr std::size_t kOverhead = 4096;  // objects with a name of 1024 bytes, descriptors' files, mappings
  return kOverhead + os::round_to_pages(Layout::bytes(Layout::entries_for(options_.qos.depth, options_.qos.held)));
}

Result<bool> Reader::Impl::begin_attach(const EndpointInfo& info, Charge charge) {
  const PeerId peer = info.connection;
  const Gid writer = info.gid;
  {
    const os::Lock lock(mutex_);
    if (!may_connect(writer)) return false;
  }
  // Made without the lock, which take() needs. No other thread attaches this pair: the participant's lock is held.
  const std::uint32_t entries = Layout::entries_for(options_.qos.depth, options_.qos.held);
  Result<os::CreatedSegment> segment =
      os::create_segment("baton-connection", Layout::bytes(entries), os::Writers::kBothEnds);
  if (!segment) return segment.error();
  const os::HotRoom room(this);
  ConnectionRef connection = ConnectionRef::adopt(new ReaderConnection);
  connection->peer = peer;
  connection->writer = writer;
  connection->offered = info.qos;
  connection->lifespan_ns = std::min(info.qos.lifespan, options_.qos.lifespan).count();
  connection->owner = weak_from_this();
  connection->reader = this;
  connection->claim = context_->claim(peer);
  connection->process = context_->process_of(peer);
  connection->charge = std::move(charge);
  connection->node = info.node;
  connection->pid = info.pid;
  connection->local_pid = info.local_pid;
  AttachFrame frame;
  frame.writer = writer;
  frame.reader = gid_;
  frame.connection_bytes = segment->mapping.size();
  connection->segment = std::move(segment->mapping);
  connection->layout = Layout::at(connection->segment.base(), entries);
  connection->sleeping = connection->layout.sleeping;
  Payload payload = encode(frame);
  std::vector<os::SharedFd> fds{std::make_shared<const os::UniqueFd>(std::move(segment->fd))};
  const os::Lock lock(mutex_);
  if (!may_connect(writer)) return false;
  if (connections_.size() == connections_.capacity()) connections_.reserve(2 * connections_.size() + 4);
  merging_.reserve(connections_.capacity());
  // So that ending a connection never needs memory: orphan().
  interrupted_.make_room(connections_.size() + 1);
  const auto entry = by_writer_.emplace(writer, connection.get()).first;
  BATON_CRASH_POINT("attach.before_attach");
  try {
    context_->send(peer, FrameType::kAttach, std::move(payload), std::move(fds));
  } catch (...) {
    by_writer_.erase(entry);
    throw;
  }
  connections_.push_back(std::move(connection));
  find_usual();
  BATON_CRASH_POINT("attach.after_attach");
  return true;
}

Result<void> Reader::Impl::attached(
    PeerId peer, const AttachedFrame& frame, const std::vector<os::ReceivedFd>& fds,
    const std::vector<std::pair<std::uint32_t, std::shared_ptr<memory::ForeignSegment>>>& segments) {
  const auto attaching = [&]() BATON_REQUIRES(mutex_) -> Result<ReaderConnection*> {
    ReaderConnection* connection = closed_ ? nullptr : find(frame.writer);
    if (connection == nullptr) return connection;  // ended meanwhile
    if (connection->peer != peer || connection->state.load(std::memory_order_relaxed) != State::kAttaching) {
      return Error{Errc::protocol_violation, "ATTACHED without a request"};
    }
    return connection;
  };
  {
    const os::Lock lock(mutex_);
    const Result<ReaderConnection*> found = attaching();
    if (!found) return found.error();
    if (*found == nullptr) return {};
  }
  // Mapped without the lock, which take() needs.
  const std::size_t event_bytes = os::round_to_pages(kEventPageBytes);
  const std::uint32_t capacity = frame.ring_capacity;
  if (fds.size() != 2 || capacity != memory::ring_capacity(options_.qos.depth) ||
      frame.ring_bytes != os::round_to_pages(Ring::bytes(capacity)) || frame.event_offset % sizeof(ControlLine) != 0 ||
      frame.event_offset >= kEventPageBytes || frame.held == 0 || frame.held > options_.qos.held) {
    return Error{Errc::protocol_violation, "ATTACHED with sizes that do not fit the request"};
  }
  Result<os::SharedMapping> events = os::map_segment(fds[0].fd(), event_bytes, os::Writers::kOnlyCreator);
  if (!events) return events.error();
  Result<os::SharedMapping> ring_memory = os::map_segment(fds[1].fd(), frame.ring_bytes, os::Writers::kOnlyCreator);
  if (!ring_memory) return ring_memory.error();
  const os::HotRoom room(this);
  os::HotVector<std::unique_ptr<SegmentUse>> uses;
  for (const auto& [index, segment] : segments) {
    auto use = std::make_unique<SegmentUse>();
    use->index = index;
    use->segment = segment;
    uses.push_back(std::move(use));
  }

  const os::Lock lock(mutex_);
  const Result<ReaderConnection*> found = attaching();
  if (!found) return found.error();
  ReaderConnection* connection = *found;
  if (connection == nullptr) return {};
  connection->event_page = std::move(*events);
  connection->ring = std::move(*ring_memory);
  connection->line = reinterpret_cast<const ControlLine*>(connection->event_page.base() + frame.event_offset);
  connection->channel.emplace(Ring::at(connection->ring.base(), capacity), connection->layout);
  connection->limit.store(frame.held, std::memory_order_relaxed);
  connection->next_sequence = frame.first_sequence;
  if (const auto gap = interrupted_.begins(frame.writer, connection->process, frame.first_sequence)) {
    connection->interrupted = true;
    if (gap->missing != 0) {  // published meanwhile, or given up unread
      add_losses(losses_.interrupted, lost_in_gap(gap->missing) - gap->counted);
      notify(Event::kMessageLost);
    }
  }
  connection->segments = std::move(uses);
  // release: pairs with the acquire in ReaderConnection::readable.
  connection->state.store(State::kLive, std::memory_order_release);
  BATON_CRASH_POINT("attach.live");
  refused_by_.erase(frame.writer);
  if (resting_.erase(frame.writer) == 0) {
    ++statuses_.matched_total;
    notify(Event::kMatched);
    if (options_.qos.lease != kInfinite || connection->offered.liveliness == Liveliness::kManualByTopic)
      notify(Event::kLivelinessChanged);
  }
  if (wake_ && armed_) memory::announce_sleep<Platform>(*connection->sleeping, memory::Sleeping::kDescriptor);
  connections_changed();
  if (wake_) give_own_sockets();
  return {};
}

bool Reader::Impl::is_connected(const Gid& writer) const {
  const os::Lock lock(mutex_);
  return find(writer) != nullptr;
}

bool Reader::Impl::is_attaching(const Gid& writer) const {
  const os::Lock lock(mutex_);
  const ReaderConnection* const connection = find(writer);
  return connection != nullptr && connection->state.load(std::memory_order_relaxed) == State::kAttaching;
}

bool Reader::Impl::ended_by_writer(PeerId peer, const Gid& writer, bool tries_again) {
  ConnectionRef gone;  // destroyed without the lock
  const os::Lock lock(mutex_);
  ReaderConnection* connection = closed_ ? nullptr : find(writer);
  if (connection == nullptr || connection->peer != peer) return false;
  if (!tries_again || !matches_) rests_no_more(peer, writer);  // else the writer still keeps what it called for
  gone = orphan(*connection);
  return true;
}

void Reader::Impl::rest(PeerId peer, const Gid& writer, Charge charge) {
  const os::Lock lock(mutex_);
  const ReaderConnection* const connection = find(writer);
  if (connection != nullptr && connection->state.load(std::memory_order_relaxed) == State::kLive) return;
  auto found = resting_.find(writer);
  if (closed_ || (!matches_ && found == resting_.end())) return;
  const bool known = found != resting_.end();
  if (!known) found = resting_.try_emplace(writer).first;
  found->second.peer = peer;
  found->second.charge = std::move(charge);
  if (known) return;
  ++statuses_.matched_total;
  notify(Event::kMatched);
  if (options_.qos.lease != kInfinite) notify(Event::kLivelinessChanged);
}

bool Reader::Impl::rests(const Gid& writer) const {
  const os::Lock lock(mutex_);
  return resting_.count(writer) != 0;
}

void Reader::Impl::called(const Gid& writer) {
  const os::Lock lock(mutex_);
  if (const auto found = resting_.find(writer); found != resting_.end()) found->second.called = true;
}

bool Reader::Impl::rested_by_writer(PeerId peer, const Gid& writer) {
  ConnectionRef gone;  // destroyed without the lock
  const os::Lock lock(mutex_);
  ReaderConnection* connection = closed_ ? nullptr : find(writer);
  if (connection == nullptr || connection->peer != peer ||
      connection->state.load(std::memory_order_relaxed) == State::kAttaching)
    return false;
  resting_[writer].peer = peer;
  gone = orphan(*connection, true);
  return true;
}

void Reader::Impl::rests_no_more(PeerId peer, const Gid& writer) noexcept {
  const auto found = resting_.find(writer);
  if (found == resting_.end() || found->second.peer != peer) return;
  if (found->second.called) {  // the writer keeps at least one message for this reader, which does not connect again
    add_losses(losses_.interrupted, 1);
    interrupted_.count_next(writer);
  }
  resting_.erase(found);
  notify(Event::kMatched);
  notify(Event::kLivelinessChanged);
}

/// `rests`: nobody is informed, since the pair still matches.
ConnectionRef Reader::Impl::orphan(ReaderConnection& connection, bool rests) noexcept {
  if (connection.state.load(std::memory_order_relaxed) == State::kAttaching) return forget(connection);
  ConnectionRef kept(connection);
  by_writer_.erase(connection.writer);
  interrupted_.ended(connection.writer, connection.process, connection.next_sequence);
  connection.interrupted = true;
  connection.state.store(State::kOrphaned, std::memory_order_release);  // channel stays set
  connection.blocked.store(false, std::memory_order_relaxed);
  if (!rests) {
    notify(Event::kMatched);
    notify(Event::kLivelinessChanged);
  }
  forget_socket(connection.peer);
  connections_changed();
  drop_useless();  // may end `connection`
  return kept;
}

void Reader::Impl::writer_gone(PeerId peer, const Gid& writer, bool for_good) noexcept {
  ConnectionRef gone;  // destroyed without the lock
  const os::Lock lock(mutex_);
  refused_by_.erase(writer);
  rests_no_more(peer, writer);
  ReaderConnection* connection = closed_ ? nullptr : find(writer);
  if (connection != nullptr && connection->peer == peer) gone = orphan(*connection);
  if (for_good) interrupted_.forget(writer, context_->process_of(peer));
}

void Reader::Impl::refused(const Gid& writer, const std::string& text) {
  const os::Lock lock(mutex_);
  refused_by_.insert(writer);
  statuses_.last_refusal = text;
  context_->graph_changed();
}

void Reader::Impl::add_segment(const Gid& writer, std::uint32_t index,
                               const std::shared_ptr<memory::ForeignSegment>& segment) {
  const os::HotRoom room(this);
  auto use = std::make_unique<SegmentUse>();
  use->index = index;
  use->segment = segment;
  const os::Lock lock(mutex_);
  ReaderConnection* connection = closed_ ? nullptr : find(writer);
  if (connection == nullptr || connection->state.load(std::memory_order_relaxed) != State::kLive) return;
  if (connection->find_segment(index) != nullptr) return;
  connection->segments.push_back(std::move(use));
  connection->blocked.store(false, std::memory_order_relaxed);
  look_again();
}

void Reader::Impl::retire_segment(const Gid& writer, std::uint32_t index) {
  const os::Lock lock(mutex_);
  ReaderConnection* connection = closed_ ? nullptr : find(writer);
  if (connection == nullptr) return;
  if (SegmentUse* use = connection->find_segment(index)) use->retired = true;
  drop_retired(*connection);
}

void Reader::Impl::drop_retired(ReaderConnection& connection) {
  auto& segments = connection.segments;
  connection.last_used = nullptr;
  // An honest publisher retires a segment only when no process holds a chunk of it. A hostile one must not unmap memory
  // that we read.
  // acquire: pairs with the release in TakenSample::release.
  segments.erase(
      std::remove_if(segments.begin(), segments.end(),
                     [](const auto& use) { return use->retired && use->held.load(std::memory_order_acquire) == 0; }),
      segments.end());
}

void Reader::Impl::explain_incompatible(const std::string& text) {
  const os::Lock lock(mutex_);
  statuses_.last_incompatibility = text;
}

void Reader::Impl::report_incompatible(Event event, const std::string* text, Policy policy) {
  const os::Lock lock(mutex_);
  ++(event == Event::kIncompatibleQos ? statuses_.incompatible_qos_total : statuses_.incompatible_type_total);
  if (event == Event::kIncompatibleQos) statuses_.last_incompatible_policy = policy;
  if (text != nullptr) statuses_.last_incompatibility = *text;
  notify(event);
}

Result<void> Reader::Impl::join_wait_set(const std::shared_ptr<WaitSet::Impl>& wait_set) {
  if (forked()) return forked_error();
  const os::Lock lock(mutex_);
  const os::Lock wake_lock(wake_mutex_);
  if (wait_set_ == wait_set) return {};
  if (wait_set_ || wake_) {
    return Error{Errc::already_exists, "subscription to '" + options_.topic + "' is " +
                                           (wake_ ? "polled by its descriptor" : "in another wait set") +
                                           " already; it can be waited for in one place only"};
  }
  wait_set_ = wait_set;
  return {};
}

bool Reader::Impl::leave_wait_set(const std::shared_ptr<WaitSet::Impl>& wait_set) {
  if (forked()) return false;
  const os::Lock lock(mutex_);
  const os::Lock wake_lock(wake_mutex_);
  if (wait_set_ != wait_set) return false;
  wait_set_.reset();  // The publishers keep its sockets, for the case that the reader comes back.
  return true;
}

void Reader::Impl::append_connections(os::HotVector<ConnectionRef>* out) const {
  const os::Lock lock(mutex_);
  for (const ConnectionRef& ref : connections_) {
    if (ref->state.load(std::memory_order_relaxed) != State::kAttaching) out->push_back(ref);
  }
}

void Reader::Impl::append_notifiers(std::set<Notifier>* out) const {
  const os::Lock lock(mutex_);
  for (const auto& [writer, connection] : by_writer_) out->insert({context_, connection->peer});
}

std::size_t Reader::Impl::publishers_without_socket() const {
  const os::Lock lock(mutex_);
  return static_cast<std::size_t>(std::count_if(connections_.begin(), connections_.end(),
                                                [](const ConnectionRef& ref) { return ref->socket_given.expired(); }));
}

bool Reader::Impl::give_sockets(const WaitSet::Impl* wait_set, WakeDescriptor& wake) {
  const os::Lock lock(mutex_);
  {
    const os::Lock wake_lock(wake_mutex_);
    if (wait_set_.get() != wait_set) return true;  // the reader left while that wait set was being rebuilt
  }
  return give_sockets(wake);
}

bool Reader::Impl::give_sockets(WakeDescriptor& wake) {
  bool all = true;
  for (const ConnectionRef& ref : connections_) {
    if (ref->state.load(std::memory_order_relaxed) != State::kLive) continue;
    Result<os::SharedFd> socket = wake.socket_for({context_, ref->peer}, ref->process, context_->wake_pairs());
    if (!socket) {
      all = false;
      if (std::exchange(lack_of_sockets_reported_, true)) continue;
      context_->diagnose_about(ref->peer, Diagnostic::Level::kWarning, socket.error().code, [&] {
        return "subscription to '" + options_.topic + "' has no wake socket for a publisher (process " +
               std::to_string(context_->pid_of(ref->peer)) + "); it looks for messages every " +
               std::to_string(kWakeSocketPause.count()) + " ms until it has one: " + socket.error().message;
      });
      continue;
    }
    if (ref->socket_given.lock() == *socket) continue;
    context_->give_wake_socket(ref->peer, ref->writer, gid_, *socket);
    ref->socket_given = *socket;
  }
  if (all) lack_of_sockets_reported_ = false;
  return all;
}

/// A publisher without a socket cannot wake this reader. So the descriptor becomes readable periodically until each
/// publisher has its socket: no message is lost, or waits longer than kWakeSocketPause.
void Reader::Impl::give_own_sockets() {
  if (give_sockets(*wake_) || gives_sockets_again_) return;
  context_->hub().schedule(std::chrono::steady_clock::now() + kWakeSocketPause, [weak = weak_from_this()] {
    const std::shared_ptr<Reader::Impl> self = weak.lock();
    if (!self) return;
    const os::Lock lock(self->mutex_);
    self->gives_sockets_again_ = false;
    if (self->closed_) return;
    self->wake_->notify();
    self->give_own_sockets();
  });
  gives_sockets_again_ = true;
}

/// After a connection ended: the last connection of a process removes its socket.
void Reader::Impl::forget_socket(PeerId peer) noexcept {
  if (!wake_) return;
  const auto publishes = [peer](const auto& entry) { return entry.second->peer == peer; };
  if (std::none_of(by_writer_.begin(), by_writer_.end(), publishes)) wake_->forget({context_, peer});
}

void Reader::Impl::look_again() {
  std::shared_ptr<WaitSet::Impl> wait_set;
  {
    const os::Lock lock(wake_mutex_);
    wait_set = wait_set_;
    if (wake_) wake_->notify();
  }
  if (wait_set) wait_set->look_again();
}

void Reader::Impl::find_usual() noexcept {
  usual_ = nullptr;
  if (armed_ || connections_.size() != 1) return;
  ReaderConnection& only = *connections_.front();
  if (only.state.load(std::memory_order_relaxed) == State::kLive && !only.interrupted &&
      only.lifespan_ns == kInfinite.count())
    usual_ = &only;
}

void Reader::Impl::report_lack(const Error& lack) noexcept {
  try {
    context_->diagnose(Diagnostic::Level::kWarning, lack.code,
                       "subscription to '" + options_.topic + "' looks for messages every " +
                           std::to_string(kWakeSocketPause.count()) +
                           " ms, because it cannot wait for them: " + lack.message);
  } catch (const std::bad_alloc&) {
    // The next report comes in 10 s.
  }
}

void Reader::Impl::connections_changed() {
  find_usual();
  {
    const os::Lock lock(wake_mutex_);
    if (wait_set_) wait_set_->changed();
  }
  look_again();
}

void Reader::Impl::close() {
  if (forked()) return;
  context_->withdraw_reader(gid_);
  os::HotVector<ConnectionRef> connections;
  std::shared_ptr<WaitSet::Impl> wait_set;
  {
    const os::Lock lock(mutex_);
    closed_ = true;
    pending_.set_callback(nullptr);
    connections.swap(connections_);
    usual_ = nullptr;
    by_writer_.clear();
    resting_.clear();
    for (const ConnectionRef& ref : connections) ref->state.store(State::kEnded, std::memory_order_relaxed);
    const os::Lock wake_lock(wake_mutex_);
    wait_set.swap(wait_set_);
  }
  if (wait_set) wait_set->remove(this);
}

}  // namespace baton::transport
