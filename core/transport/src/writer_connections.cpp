// SPDX-License-Identifier: Apache-2.0
// How readers join and leave a writer.
#include <algorithm>

#include "baton/os/crash_point.hpp"
#include "baton/os/wake_socket.hpp"
#include "endpoint_context.hpp"
#include "writer.hpp"

namespace baton::transport {
namespace {

/// So long a writer of seldom messages publishes nothing before its connections rest. While some of them cannot, since messages are unread
/// or held, the pause doubles up to the longest.
constexpr std::chrono::seconds kRestPause{2}, kLongestRestPause{64};

}  // namespace

AnnounceFrame Writer::Impl::announcement() const {
  AnnounceFrame frame;
  frame.gid = gid_;
  frame.is_writer = true;
  frame.seldom = options_.seldom;
  frame.topic = options_.topic;
  frame.node = options_.node;
  frame.type_name = options_.type.name;
  frame.type_hash = options_.type.hash;
  frame.ros_type_hash = options_.type.ros_hash;
  frame.skeleton_bytes = options_.type.skeleton_bytes;
  frame.qos = options_.qos;
  return frame;
}

std::size_t Writer::Impl::connection_bytes(const QoS& requested) noexcept {
  constexpr std::size_t kOverhead = 4096;  // objects, descriptors' files, mappings
  const std::uint32_t entries = Layout::entries_for(requested.depth, requested.held);
  const std::size_t ring_bytes = os::round_to_pages(Ring::bytes(memory::ring_capacity(requested.depth)));
  // Both segments, and this side's private copies of outstanding entries.
  return kOverhead + os::round_to_pages(Layout::bytes(entries)) + ring_bytes + entries * 4 * sizeof(std::uint64_t);
}

void Writer::Impl::refuse_attach(PeerId peer, const Party& party, const QoS& requested, const AttachFrame& frame,
                                 const Error& error) {
  const os::Lock lock(mutex_);
  if (!closed_) refuse(peer, frame, {error.code, Refusal::Why::kOther, party, requested.held}, error.message);
}

Result<void> Writer::Impl::attach(PeerId peer, const Party& party, const QoS& requested, const AttachFrame& frame,
                                  const os::UniqueFd& segment, Charge charge) {
  const os::Lock lock(mutex_);
  if (closed_) return {};  // a WITHDRAW is on its way
  for (const auto& connection : live_) {
    if (connection->reader == frame.reader)
      return Error{Errc::protocol_violation, "ATTACH for a reader that is attached"};
  }
  const std::uint32_t entries = Layout::entries_for(requested.depth, requested.held);
  const std::size_t segment_bytes = os::round_to_pages(Layout::bytes(entries));
  if (entries == 0 || frame.connection_bytes != segment_bytes) {
    return Error{Errc::protocol_violation, "ATTACH announces a connection segment of " +
                                               std::to_string(frame.connection_bytes) + " bytes instead of " +
                                               std::to_string(segment_bytes)};
  }
  collect();  // messages that were given back count for no subscription any more
  if (expel_) expel_broken();
  const Grant given = answer(party, requested.held).grant;
  if (given.held == 0) {
    const bool never = given.reason == Grant::Reason::kNeverFits;
    refuse(peer, frame,
           {never ? Errc::incompatible_qos : Errc::limit_reached, Refusal::Why::kGrant, party, requested.held},
           explain_grant(party, requested.held));
    return {};
  }
  if (!memory_for(party)) {
    refuse(peer, frame, {Errc::limit_reached, Refusal::Why::kHeld, party, requested.held},
           explain_memory(held_by(party)));
    return {};
  }
  Result<os::SharedMapping> mapping = os::map_segment(segment, segment_bytes, os::Writers::kBothEnds);
  if (!mapping) {
    if (mapping.error().code == Errc::protocol_violation) return mapping.error();
    refuse(peer, frame, {mapping.error().code, Refusal::Why::kOther, party, requested.held}, mapping.error().message);
    return {};
  }
  BATON_CRASH_POINT("attach.before_ring");
  const std::uint32_t capacity = memory::ring_capacity(requested.depth);
  Result<os::CreatedSegment> ring = os::create_segment("baton-ring", Ring::bytes(capacity), os::Writers::kOnlyCreator);
  if (!ring) {
    refuse(peer, frame, {ring.error().code, Refusal::Why::kOther, party, requested.held}, ring.error().message);
    return {};
  }
  const Ring ring_view = Ring::at(ring->mapping.base(), capacity);
  const Layout layout = Layout::at(mapping->base(), entries);
  const std::size_t ring_bytes = ring->mapping.size();
  const os::HotRoom room(this);
  auto connection = std::make_unique<WriterConnection>(std::move(ring->mapping), std::move(*mapping), ring_view, layout,
                                                       requested.depth);
  connection->reader = frame.reader;
  connection->peer = peer;
  connection->reliable = requested.reliability == Reliability::kReliable;
  connection->refuses_when_full = connection->reliable && requested.history == History::kKeepAll;
  connection->party = party;
  connection->wished = requested.held;
  connection->held = given.held;
  // Of a greater wish, a part is granted only by publishers for which that is ordinary.
  const std::string lesser =
      given.held < std::min(requested.held, kBasicHeld) ? explain_grant(party, requested.held) : std::string();
  connection->charge = std::move(charge);
  connection->number = ++last_connection_;
  connection->handed_before = handed_over_;

  const bool first_of_peer =
      std::none_of(live_.begin(), live_.end(), [peer](const auto& other) { return other->peer == peer; });
  WriterConnection& added = *connection;
  const RestingReaders::Entry* const rested = resting_.find(peer, frame.reader);
  const bool matched = rested != nullptr && !rested->refused;
  if (options_.seldom) {
    history_.make_room(options_.qos.depth);  // it may attach before it is matched
    rest_later(kRestPause);
  }
  // So that ending a connection never needs memory: drain().
  if (const std::size_t most = live_.size() + draining_.size() + 1; most > draining_.capacity())
    draining_.reserve(2 * most);
  live_.push_back(std::move(connection));
  try {
    introduce(added, requested, rested, first_of_peer, ring_bytes,
              std::make_shared<const os::UniqueFd>(std::move(ring->fd)));
  } catch (...) {
    // The replayed messages are taken back. The reader's process knows that the connection failed, whatever was sent:
    // its link ends, or it is this process, which tries again.
    added.channel.end(release());
    live_.remove(added);
    throw;
  }
  refused_.erase({peer, frame.reader});
  resting_.remove(peer, frame.reader);
  if (!resting_.awaited()) forget_history();
  if (!matched) {
    ++statuses_.matched_total;
    notify(Event::kMatched);
  }
  if (!lesser.empty()) {
    context_->diagnose_about(peer, Diagnostic::Level::kWarning, Errc::limit_reached,
                             [&] { return "publisher of '" + options_.topic + "': " + lesser; });
  }
  return {};
}

/// Sends a new reader the segments, the replayed messages and ATTACHED, in this order. So the reader knows all segments
/// when it sees the first handle.
void Writer::Impl::introduce(WriterConnection& added, const QoS& requested, const RestingReaders::Entry* rested,
                             bool first_of_peer, std::size_t ring_bytes, const os::SharedFd& ring) {
  const PeerId peer = added.peer;
  if (first_of_peer) {
    pool_->visit_segments([&](std::uint32_t index, int fd, std::uint64_t size) BATON_REQUIRES(mutex_) {
      const os::SharedFd shared = context_->duplicate(fd);
      if (!shared) return owe_segment(peer, index);
      BATON_CRASH_POINT("attach.before_segment");
      context_->send(peer, FrameType::kSegment, encode(SegmentFrame{gid_, index, size}), {shared});
    });
  }
  AttachedFrame attached;
  attached.writer = gid_;
  attached.reader = added.reader;
  attached.event_offset = line_.offset();
  attached.ring_capacity = memory::ring_capacity(requested.depth);
  attached.ring_bytes = ring_bytes;
  attached.held = added.held;
  attached.first_sequence = last_sequence_ + handed_over_ + 1;  // one of the two is 0
  // Not known yet; or nobody has wanted its messages for a while, so that numbers are missing which are not lost.
  if (options_.relayed && (last_sequence_ == 0 || live_.size() == 1)) attached.first_sequence = 0;
  if (rested != nullptr) {
    attached.first_sequence = rested->from;  // what is kept no more counts as lost
    replay(added, history_.count_from(rested->from, requested.depth));
  } else if (requested.durability == Durability::kTransientLocal && !history_.empty()) {
    const std::size_t count = history_.count_from(0, requested.depth);
    attached.first_sequence = history_.before_newest(count - 1).sequence;
    replay(added, count);
  }
  added.first_sequence = attached.first_sequence;
  BATON_CRASH_POINT("attach.before_attached");
  context_->send(peer, FrameType::kAttached, encode(attached), {line_.fd(), ring});
  BATON_CRASH_POINT("attach.after_attached");
}

/// Pushes the newest `count` messages of the history.
void Writer::Impl::replay(WriterConnection& connection, std::size_t count) {
  for (; count > 0; --count) {
    BATON_CRASH_POINT("replay.before_push");
    push(connection, history_.before_newest(count - 1));
  }
}

void Writer::Impl::rest(PeerId peer, const Gid& reader, const QoS& requested, Charge charge) {
  const os::Lock lock(mutex_);
  if (closed_ || resting_.find(peer, reader) != nullptr || find(peer, reader) != nullptr) return;
  history_.make_room(options_.qos.depth);
  RestingReaders::Entry entry;
  entry.from = last_sequence_ + 1;
  entry.held = requested.held;
  entry.reliable = requested.reliability == Reliability::kReliable;
  if (requested.durability == Durability::kTransientLocal && !history_.empty())
    entry.from = history_.before_newest(history_.count_from(0, requested.depth) - 1).sequence;
  entry.paid = std::move(charge);
  resting_.add(peer, reader, std::move(entry));
  ++statuses_.matched_total;
  notify(Event::kMatched);
  call_resting();
}

void Writer::Impl::call_resting() noexcept {
  resting_.call_all(last_sequence_, [&](PeerId peer, const Gid& reader) {
    try {
      context_->send(peer, FrameType::kCall, encode(PairFrame{gid_, reader}));
      return true;
    } catch (const std::bad_alloc&) {
      if (peer != kSelf) context_->hub().end_for_want_of_memory(peer);
      return false;
    }
  });
}

/// While connections of a writer of seldom messages are live, rest_idle() is going to run.
void Writer::Impl::rest_later(std::chrono::nanoseconds pause) {
  if (rests_later_) return;
  context_->hub().schedule(std::chrono::steady_clock::now() + pause,
                           [weak = weak_from_this(), last = last_sequence_, pause] {
                             if (const auto self = weak.lock()) self->rest_idle(last, pause);
                           });
  rests_later_ = true;
}

/// Nothing was published since number `last`, for `pause`: connections whose messages are all read and given back rest.
void Writer::Impl::rest_idle(std::uint64_t last, std::chrono::nanoseconds pause) {
  const os::Lock lock(mutex_);
  rests_later_ = false;
  if (closed_ || live_.empty()) return;
  const bool idle = last == last_sequence_;
  // First, because a timer that throws is called again. A reader that takes nothing costs a look a minute.
  rest_later(idle ? std::min<std::chrono::nanoseconds>(2 * pause, kLongestRestPause) : kRestPause);
  if (!idle) return;
  collect();
  if (expel_) expel_broken();
  for (std::size_t i = live_.size(); i > 0; --i) {
    WriterConnection& connection = *live_[i - 1];
    if (!connection.broken && connection.channel.unread() == 0 && connection.channel.outstanding() == 0 &&
        !rest(connection))
      return;
  }
}

/// False: there is no memory.
bool Writer::Impl::rest(WriterConnection& connection) {
  const PeerId peer = connection.peer;
  RestingReaders::Entry entry;
  entry.from = last_sequence_ + 1;
  entry.held = connection.wished;
  entry.reliable = connection.reliable;
  try {
    RestingReaders::Entry& added = resting_.add(peer, connection.reader, std::move(entry));
    context_->send(peer, FrameType::kRest, encode(PairFrame{gid_, connection.reader}));
    added.paid = std::move(connection.charge);
    added.paid.keep(kRestingBytes);
  } catch (const std::bad_alloc&) {
    resting_.remove(peer, connection.reader);
    return false;
  }
  live_.remove(connection);
  return true;
}

/// Unless late readers are to have it.
void Writer::Impl::forget_history() noexcept {
  if (options_.qos.durability == Durability::kTransientLocal) return;
  while (!history_.empty()) pool_->release(history_.remove_oldest());
}

void Writer::Impl::send_segment(std::uint32_t index, int fd, std::uint64_t size) {
  os::SharedFd shared;
  std::vector<PeerId> sent;
  for (const auto& connection : live_) {
    if (std::find(sent.begin(), sent.end(), connection->peer) != sent.end()) continue;
    sent.push_back(connection->peer);
    BATON_CRASH_POINT("loan.before_segment");
    if (connection->peer == kSelf) {
      Frame frame;
      frame.type = static_cast<std::uint16_t>(FrameType::kSegment);
      frame.payload = encode(SegmentFrame{gid_, index, size});
      frame.fds.push_back(os::duplicate(fd));
      if (!frame.fds.back()) {
        owe_segment(kSelf, index);
      } else {
        frames_to_self_.push_back(std::move(frame));
        frames_ = true;
      }
      continue;
    }
    if (!shared) shared = context_->duplicate(fd);
    if (!shared) {
      owe_segment(connection->peer, index);
      continue;
    }
    context_->send(connection->peer, FrameType::kSegment, encode(SegmentFrame{gid_, index, size}), {shared});
  }
}

/// Readers skip messages in a segment that they do not have yet: these stay unread until the segment arrives.
void Writer::Impl::owe_segment(PeerId peer, std::uint32_t index) {
  constexpr auto kPause = std::chrono::milliseconds(100);
  owed_segments_.emplace_back(peer, index);
  if (owed_segments_.size() > 1) return;
  try {
    context_->hub().schedule(std::chrono::steady_clock::now() + kPause, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->send_owed();
    });
  } catch (...) {
    owed_segments_.pop_back();
    throw;
  }
}

void Writer::Impl::send_owed() {
  const os::Lock lock(mutex_);
  if (closed_) return;
  std::vector<std::pair<PeerId, std::uint32_t>> owed;
  owed.swap(owed_segments_);
  try {
    send_owed(owed);
  } catch (...) {
    owed_segments_.swap(owed);  // segments that were already sent are sent once more, without effect
    throw;
  }
}

void Writer::Impl::send_owed(const std::vector<std::pair<PeerId, std::uint32_t>>& owed) {
  pool_->visit_segments([&](std::uint32_t index, int fd, std::uint64_t size) BATON_REQUIRES(mutex_) {
    os::SharedFd shared;
    for (const auto& entry : owed) {
      const PeerId peer = entry.first;
      if (entry.second != index) continue;
      if (std::none_of(live_.begin(), live_.end(), [peer](const auto& other) { return other->peer == peer; })) continue;
      if (!shared) shared = std::make_shared<const os::UniqueFd>(os::duplicate(fd));
      if (!*shared) {
        shared.reset();
        owe_segment(peer, index);
        continue;
      }
      context_->send(peer, FrameType::kSegment, encode(SegmentFrame{gid_, index, size}), {shared});
    }
  });
}

void Writer::Impl::send_retired(std::uint32_t index) noexcept {
  for (const auto& connection : live_) {
    const PeerId peer = connection->peer;
    if (live_.find([peer](const auto& other) { return other->peer == peer; }) != connection) continue;  // it has it
    try {
      context_->send(peer, FrameType::kRetired, encode(SegmentFrame{gid_, index, 0}));
    } catch (const std::bad_alloc&) {
      // Readers of this process keep the segment until their connection ends.
      if (peer != kSelf) context_->hub().end_for_want_of_memory(peer);
    }
  }
}

std::unique_ptr<WriterConnection> Writer::Impl::remove_live(const WriterConnection& connection) {
  std::unique_ptr<WriterConnection> removed = live_.remove(connection);
  notify(Event::kMatched);
  return removed;
}

void Writer::Impl::drain(const WriterConnection& ended) {
  std::unique_ptr<WriterConnection> connection = remove_live(ended);
  BATON_CRASH_POINT("detach.before_evict");
  if (!connection->channel.end_unread(release()) || !connection->channel.collect(release())) {
    connection->channel.end(release());
    return;
  }
  connection->draining = true;
  if (connection->channel.outstanding() == 0) return;
  draining_.push_back(std::move(connection));
  drained_ = true;
}

WriterConnection* Writer::Impl::find(PeerId peer, const Gid& reader) const {
  return live_.find([&](const auto& connection) { return connection->peer == peer && connection->reader == reader; });
}

void Writer::Impl::detach(PeerId peer, const Gid& reader) {
  const os::Lock lock(mutex_);
  if (closed_) return;
  if (const WriterConnection* const found = find(peer, reader)) drain(*found);
}

void Writer::Impl::reader_gone(PeerId peer, const Gid& reader) {
  detach(peer, reader);
  const os::Lock lock(mutex_);
  refused_.erase({peer, reader});
  if (closed_ || !resting_.remove(peer, reader)) return;
  if (!resting_.awaited()) forget_history();
  notify(Event::kMatched);
}

void Writer::Impl::peer_disconnected(PeerId peer) {
  const os::Lock lock(mutex_);
  if (closed_) return;
  const auto first = refused_.lower_bound({peer, Gid{}});
  auto last = first;
  while (last != refused_.end() && last->first.first == peer) ++last;
  refused_.erase(first, last);
  if (resting_.remove_all(peer)) {
    if (!resting_.awaited()) forget_history();
    notify(Event::kMatched);
  }
  for (std::size_t i = live_.size(); i > 0; --i) {
    if (live_[i - 1]->peer == peer) drain(*live_[i - 1]);
  }
}

bool Writer::Impl::is_held_by(PeerId peer) {
  const os::Lock lock(mutex_);
  if (closed_) return false;
  collect();
  return std::any_of(draining_.begin(), draining_.end(),
                     [peer](const auto& connection) { return connection->peer == peer; });
}

bool Writer::Impl::serves(PeerId peer) {
  const os::Lock lock(mutex_);
  for (std::size_t i = 0; i < live_.size(); ++i)
    if (live_[i]->peer == peer) return true;
  return false;
}

void Writer::Impl::peer_gone(PeerId peer) {
  const os::Lock lock(mutex_);
  if (closed_) return;
  for (auto at = draining_.begin(); at != draining_.end();) {
    if ((*at)->peer != peer) {
      ++at;
      continue;
    }
    (*at)->channel.end(release());
    at = draining_.erase(at);
  }
}

void Writer::Impl::set_wake_socket(PeerId peer, const Gid& reader, WakeSocketRef notify_end) {
  const os::Lock lock(mutex_);
  WriterConnection* const connection = find(peer, reader);
  if (connection == nullptr) return;
  connection->notify_end = std::move(notify_end);
  // A publish may have seen the sleeping flag before the socket came: notify once for it.
  os::notify(connection->notify_end->get());
}

void Writer::Impl::end_connection(PeerId peer, const Gid& reader, const Error& reason) {
  RefusedFrame closed;
  closed.writer = gid_;
  closed.reader = reader;
  closed.code = reason.code;
  closed.text = "publisher of '" + options_.topic + "': " + reason.message;
  const Payload payload = encode(closed);
  const os::Lock lock(mutex_);
  if (closed_) return;
  const WriterConnection* const found = find(peer, reader);
  if (found == nullptr) return;
  drain(*found);
  context_->diagnose_about(peer, Diagnostic::Level::kWarning, closed.code, [&] { return closed.text; });
  context_->send(peer, FrameType::kClosed, payload);
}

void Writer::Impl::expel_broken() {
  expel_ = false;
  for (std::size_t i = live_.size(); i > 0; --i) {
    if (!live_[i - 1]->broken) continue;
    const std::unique_ptr<WriterConnection> connection = remove_live(*live_[i - 1]);
    connection->channel.end(release());
    try {
      RefusedFrame closed;
      closed.writer = gid_;
      closed.reader = connection->reader;
      closed.code = Errc::protocol_violation;
      closed.text = "publisher of '" + options_.topic + "' ended the connection: ";
      closed.text +=
          connection->holds_too_much
              ? "the subscription holds more than the " + std::to_string(connection->held) + " samples it was granted"
              : std::string("the subscription's segment (cursor or release table) holds impossible values");
      context_->ban(connection->reader);
      context_->diagnose_about(connection->peer, Diagnostic::Level::kError, closed.code, [&] { return closed.text; });
      context_->send(connection->peer, FrameType::kClosed, encode(closed));
    } catch (const std::bad_alloc&) {
      context_->hub().end_for_want_of_memory(
          connection->peer);  // the end informs the peer; if the peer is this process, no notice is needed
    }
  }
}

void Writer::Impl::explain_incompatible(const std::string& text) {
  const os::Lock lock(mutex_);
  statuses_.last_incompatibility = text;
}

void Writer::Impl::report_incompatible(Event event, const std::string* text, Policy policy) {
  const os::Lock lock(mutex_);
  ++(event == Event::kIncompatibleQos ? statuses_.incompatible_qos_total : statuses_.incompatible_type_total);
  if (event == Event::kIncompatibleQos) statuses_.last_incompatible_policy = policy;
  if (text != nullptr) statuses_.last_incompatibility = *text;
  notify(event);
}

void Writer::Impl::close() {
  if (generation_ != os::fork_generation()) return;
  context_->withdraw_writer(gid_);
  const os::Lock lock(mutex_);
  closed_ = true;
  pending_.set_callback(nullptr);
  live_.clear();
  draining_.clear();
  refused_.clear();
  resting_.clear();
  history_.clear();
  // Readers keep their messages: their mappings hold the segments.
  pool_.reset();
}

}  // namespace baton::transport
