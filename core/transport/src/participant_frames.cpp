// SPDX-License-Identifier: Apache-2.0
// Handlers of frames. Those of other processes' frames run on the background thread, and an error ends that peer's
// connection. Some of this process to itself run on the thread that loans, or that ends a publisher.
#include <algorithm>
#include <new>
#include <utility>

#include "baton/os/crash_point.hpp"
#include "baton/os/disposal.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/real_time.hpp"
#include "baton/os/shortage.hpp"
#include "participant.hpp"

namespace baton::transport {
namespace {

Error violation(const std::string& what) { return {Errc::protocol_violation, what}; }

bool changes_graph(FrameType type) {
  return type == FrameType::kAnnounce || type == FrameType::kWithdraw || type == FrameType::kNodeUp ||
         type == FrameType::kNodeDown;
}

/// A data segment and its charges. A sample may keep it after its publisher retired it.
struct KeptSegment {
  Charge bytes, descriptor;  // given back after the segment
  std::shared_ptr<memory::ForeignSegment> segment;
};

/// The same segment, but destroyed on the disposal thread: the last unmapping of a dead publisher's memory frees its
/// pages, which takes 0.1 s per GiB. A segment that was never mapped is destroyed at once.
std::shared_ptr<memory::ForeignSegment> ended_elsewhere(KeptSegment kept) {
  memory::ForeignSegment* const raw = kept.segment.get();
  auto owner = std::make_shared<KeptSegment>(std::move(kept));
  return {raw, [owner = std::move(owner), generation = os::fork_generation()](memory::ForeignSegment*) mutable {
            if (!owner->segment->mapped() || generation != os::fork_generation()) return;
            try {
              os::dispose([ending = std::move(owner)] {});
            } catch (const std::bad_alloc&) {  // then it was destroyed on this thread
            }
          }};
}

}  // namespace

void Participant::Impl::on_peer_up(PeerId peer, const PeerInfo& info) {
  {
    const os::Lock lock(pids_mutex_);
    pids_[peer] = {{info.pid, info.local_pid}, info.rates};
  }
  const os::Lock lock(mutex_);
  budgets_.add_peer(peer, info.identity, info.uid);
  PeerState& state = peers_[peer];
  state.pid = info.pid;
  state.uid = info.uid;
  state.identity = info.identity;
  state.name = info.name;
  state.rates = info.rates;
  state.share = info.share;
  id_owners_.add(peer, prefix_of(info.process_id));
  BATON_CRASH_POINT("handshake.before_announce");
  graph_.visit_nodes_of(kSelf, [&](const NodeName& node) { send(peer, FrameType::kNodeUp, encode(node)); });
  Payload announcements;  // together: a process that comes has a few dozen of them, and meets all others
  std::size_t count = 0;
  const auto flush = [&] {
    if (count != 0) send(peer, FrameType::kAnnounce, std::exchange(announcements, {}));
    count = 0;
  };
  const auto add = [&](const AnnounceFrame& frame) {
    const Payload one = encode(frame);
    if (count == kMostAnnouncements) flush();
    announcements.insert(announcements.end(), one.begin(), one.end());
    ++count;
  };
  for (const auto& [gid, writer] : writers_) add(writer->announcement());
  for (const auto& [gid, reader] : readers_) add(reader->announcement());
  flush();
  if (const AccountFrame account = account_.own(); account.backed_bytes > 0)
    send(peer, FrameType::kAccount, encode(account));
  BATON_CRASH_POINT("handshake.after_announce");
}

void Participant::Impl::on_peer_down(PeerId peer, const Error&) {
  {
    const os::Lock lock(mutex_);
    graph_.leave(peer);
    id_owners_.remove(peer);
    forget_left();
    // Whether the process lives is not known: the samples that it holds stay pinned until on_peer_gone().
    for (const auto& [own, writer] : writers_) writer->peer_disconnected(peer);
    peers_.erase(peer);
    budgets_.remove_peer(peer);
    account_.peer_gone(peer);
  }
  {
    const os::Lock lock(pids_mutex_);
    pids_.erase(peer);
  }
  take_answer(peer, HoldingsFrame{});  // it will not answer
  answer_type_question(peer, DefinitionFrame{});
  graph_changed();
}

bool Participant::Impl::holds_anything(PeerId peer) {
  const os::Lock lock(mutex_);
  return std::any_of(writers_.begin(), writers_.end(),
                     [peer](const auto& entry) { return entry.second->is_held_by(peer); });
}

Participant::Impl::Need Participant::Impl::needs_link(PeerId peer) {
  const os::Lock lock(mutex_);
  const bool reads = std::any_of(remote_writers_.begin(), remote_writers_.end(),
                                 [peer](const auto& entry) { return entry.second.peer == peer; });
  if (reads) return Need::kConnections;
  Need need = Need::kNone;
  for (const auto& [own, writer] : writers_) {
    if (writer->serves(peer)) return Need::kConnections;
    if (writer->is_held_by(peer)) need = Need::kSamples;
  }
  return need;
}

void Participant::Impl::on_link_open(PeerId peer) {
  const os::Lock lock(mutex_);
  const auto state = peers_.find(peer);
  if (state == peers_.end() || !std::exchange(state->second.account_due, false)) return;
  send(peer, FrameType::kAccount, encode(account_.own()));
}

void Participant::Impl::on_peer_gone(PeerId peer) {
  const os::Lock lock(mutex_);
  for (const auto& [own, writer] : writers_) writer->peer_gone(peer);
}

Result<void> Participant::Impl::on_frame(PeerId peer, Frame&& frame) {
  const auto type = static_cast<FrameType>(frame.type);
  Result<void> result;
  {
    const os::Lock lock(mutex_);
    if (peer != kSelf && peers_.count(peer) == 0) return {};
    result = handle(peer, std::move(frame));
  }
  if (changes_graph(type)) graph_changed();
  return result;
}

Result<void> Participant::Impl::handle(PeerId peer, Frame&& frame) {
  // Calls a handler with the frame's content, and its descriptors if the handler takes them.
  const auto pass = [&](auto content, auto handler, auto&... fds) -> Result<void> {
    if (!content) return content.error();
    if constexpr (std::is_void_v<decltype((this->*handler)(peer, std::move(*content), fds...))>) {
      (this->*handler)(peer, std::move(*content), fds...);
      return {};
    } else {
      return (this->*handler)(peer, std::move(*content), fds...);
    }
  };
  switch (static_cast<FrameType>(frame.type)) {
    case FrameType::kAnnounce:
      return pass(decode_announcements(frame.payload), &Impl::on_announcements);
    case FrameType::kWithdraw:
      return pass(decode_gid(frame.payload), &Impl::on_withdraw);
    case FrameType::kNodeUp:
      return pass(decode_node(frame.payload), &Impl::on_node_up);
    case FrameType::kNodeDown:
      return pass(decode_node(frame.payload), &Impl::on_node_down);
    case FrameType::kAttach:
      return pass(decode_attach(frame.payload), &Impl::on_attach, frame.fds);
    case FrameType::kAttached:
      return pass(decode_attached(frame.payload), &Impl::on_attached, frame.fds);
    case FrameType::kRefused:
    case FrameType::kClosed:
      return pass(decode_refused(frame.payload), &Impl::on_ended);
    case FrameType::kSegment:
      return pass(decode_segment(frame.payload), &Impl::on_segment, frame.fds);
    case FrameType::kRetired:
      return pass(decode_segment(frame.payload), &Impl::on_retired);
    case FrameType::kDetach:
      return pass(decode_pair(frame.payload), &Impl::on_detach);
    case FrameType::kDefinitionRequest:
      return pass(decode_gid(frame.payload), &Impl::on_definition_request);
    case FrameType::kDefinition:
      return pass(decode_definition(frame.payload), &Impl::on_definition);
    case FrameType::kWakeSocket:
      return pass(decode_pair(frame.payload), &Impl::on_wake_socket, frame.fds);
    case FrameType::kAccount:
      return pass(decode_account(frame.payload), &Impl::on_account);
    case FrameType::kHoldingsRequest:
      return pass(decode_question(frame.payload), &Impl::on_holdings_request);
    case FrameType::kHoldings:
      return pass(decode_holdings(frame.payload), &Impl::on_holdings);
    case FrameType::kLosses:
      return pass(decode_losses(frame.payload), &Impl::on_losses);
    case FrameType::kCall:
      return pass(decode_pair(frame.payload), &Impl::on_call);
    case FrameType::kRest:
      return pass(decode_pair(frame.payload), &Impl::on_rest);
    default:
      return violation("unknown frame type " + std::to_string(frame.type));
  }
}

Result<void> Participant::Impl::on_node_up(PeerId peer, const NodeName& node) {
  Result<void> added = graph_.add_node(peer, node);
  return added ? added : violation(added.error().message);
}

void Participant::Impl::on_node_down(PeerId peer, const NodeName& node) { graph_.remove_node(peer, node); }

void Participant::Impl::on_detach(PeerId peer, const PairFrame& frame) {
  const auto writer = writers_.find(frame.writer);
  if (writer != writers_.end()) writer->second->detach(peer, frame.reader);
}

void Participant::Impl::on_account(PeerId peer, const AccountFrame& frame) {
  if (peer != kSelf) account_.peer_reported(peer, frame);
}

Result<void> Participant::Impl::on_announcements(PeerId peer, const std::vector<AnnounceFrame>& frames) {
  for (const AnnounceFrame& frame : frames) {
    if (Result<void> accepted = on_announce(peer, frame); !accepted) return accepted;
  }
  return {};
}

Result<void> Participant::Impl::on_announce(PeerId peer, const AnnounceFrame& frame) {
  if (EndpointRecord* left = graph_.find_left(frame.gid)) {
    // Its process is back before its former connection was completely removed.
    endpoint_gone(*left, true);
    graph_.remove_endpoint(*left);
  }
  const Result<std::optional<PeerId>> holder = holder_of(peer, frame);
  if (!holder) return holder.error();
  if (*holder) return keep_claim(peer, **holder, frame);
  Result<EndpointRecord*> added = graph_.add_endpoint(peer, frame);
  if (!added) return violation(added.error().message);
  match_new(**added);
  return {};
}

Result<void> Participant::Impl::on_withdraw(PeerId peer, const Gid& gid) {
  EndpointRecord* record = graph_.find(gid);
  if (id_owners_.has_claim(peer, gid)) {
    id_owners_.drop_claim(peer, gid);
    return {};
  }
  if (record == nullptr || record->peer() != peer) return violation("WITHDRAW of an endpoint that was not announced");
  endpoint_gone(*record, false);
  graph_.remove_endpoint(*record);
  give_to_next(gid);
  if (peer != kSelf) return_memory_later();
  return {};
}

Result<void> Participant::Impl::on_attach(PeerId peer, const AttachFrame& frame,
                                          const std::vector<os::ReceivedFd>& fds) {
  if (fds.size() != 1) return violation("ATTACH without a connection segment");
  const auto writer = writers_.find(frame.writer);
  if (writer == writers_.end()) return {};  // withdrawn meanwhile: a WITHDRAW is on its way
  EndpointRecord* record = graph_.find(frame.reader);
  if (id_owners_.has_claim(peer, frame.reader)) {
    RefusedFrame refused;
    static_cast<PairFrame&>(refused) = frame;
    refused.code = Errc::limit_reached;  // it tries again
    refused.text = "another process has announced an endpoint with the subscription's id";
    send(peer, FrameType::kRefused, encode(refused));
    return {};
  }
  if (record == nullptr) {
    if (peer == kSelf) return {};  // withdrawn meanwhile
    return violation("ATTACH for a reader that was not announced");
  }
  if (record->peer() != peer || record->is_writer) return violation("ATTACH for an endpoint of another process");
  const Writer::Impl& own = *writer->second;
  if (record->banned) return {};
  if (record->type->name != own.options().type.name || record->type->hash != own.options().type.hash ||
      !incompatibility(own.options().qos, *record->qos).empty()) {
    return violation("ATTACH between endpoints that do not match");
  }
  record->attached = true;
  Result<Charge> charge =
      budgets_.charge(peer, Keep::kConnections, Writer::Impl::connection_bytes(*record->qos), kAreasOfConnection);
  if (!charge) {
    writer->second->refuse_attach(
        peer, party_of(peer), *record->qos, frame,
        {charge.error().code, "process " + std::to_string(pid_of(peer)) + ": " + charge.error().message});
    return {};
  }
  return writer->second->attach(peer, party_of(peer), *record->qos, frame, fds[0].fd(), std::move(*charge));
}

Result<void> Participant::Impl::on_attached(PeerId peer, const AttachedFrame& frame,
                                            const std::vector<os::ReceivedFd>& fds) {
  const auto reader = readers_.find(frame.reader);
  if (reader == readers_.end()) return {};
  const auto remote = remote_writers_.find(frame.writer);
  if (remote == remote_writers_.end() || remote->second.peer != peer) return {};
  forget_attempts_later(frame.reader, frame.writer);
  if (Result<void> done = reader->second->attached(peer, frame, fds, remote->second.segments); !done) return done;
  if (remote->second.lacking) {
    give_up(peer, frame.writer, frame.reader, Error(*remote->second.lacking));
    return {};
  }
  const Participant::ReaderOptions& options = reader->second->options();
  if (frame.held < std::min(options.qos.held, kBasicHeld)) {
    diagnose_about(peer, Diagnostic::Level::kWarning, Errc::limit_reached, [&] {
      return "subscription to '" + options.topic + "' may hold " + std::to_string(frame.held) +
             " samples of the publisher in process " + std::to_string(pid_of(peer)) + " and asked for " +
             std::to_string(options.qos.held) +
             " (QoS held): the publisher's slots are granted to others; raise its PublisherOptions::slot_count";
    });
  }
  return {};
}

Result<void> Participant::Impl::on_ended(PeerId peer, const RefusedFrame& frame) {
  const auto reader = readers_.find(frame.reader);
  if (reader == readers_.end()) return {};
  const bool shortage = is_shortage(frame.code);
  if (!reader->second->ended_by_writer(peer, frame.writer, shortage)) return {};
  release_remote_writer(frame.writer, frame.reader);
  const std::string text = "subscription to '" + reader->second->options().topic + "' is not served: " + frame.text;
  const bool never = frame.code == Errc::incompatible_qos;  // this publisher cannot serve it
  if (never) {
    attempts_.forget(frame.writer, frame.reader);
    reader->second->report_incompatible(Event::kIncompatibleQos, &text);
  }
  if (shortage || never) reader->second->refused(frame.writer, text);
  if (shortage && !attach_later(frame.reader, frame.writer)) return {};  // reported already
  diagnose_about(
      peer, Diagnostic::Level::kError, frame.code, [&] { return shortage ? text + "; trying again" : text; },
      never ? Errc::incompatible_qos : Errc::limit_reached);
  return {};
}

Result<void> Participant::Impl::on_segment(PeerId peer, const SegmentFrame& frame, std::vector<os::ReceivedFd>& fds) {
  if (fds.size() != 1) return violation("SEGMENT without a descriptor");
  const auto remote = remote_writers_.find(frame.writer);
  if (remote == remote_writers_.end()) return {};  // no reader uses it any more
  if (remote->second.peer != peer) {
    return id_owners_.has_claim(peer, frame.writer) ? Result<void>()
                                                    : violation("SEGMENT for a writer of another process");
  }
  if (remote->second.lacking) return {};  // its readers disconnect
  for (const auto& [index, segment] : remote->second.segments) {
    if (index == frame.index) return {};
  }
  constexpr std::size_t kMaxSegments = 256;  // a publisher retires old segments long before this number
  if (remote->second.segments.size() >= kMaxSegments) return violation("a publisher announced too many data segments");
  remote->second.segments.reserve(remote->second.segments.size() + 1);
  Result<std::uint64_t> size = os::file_size(fds[0].fd());
  if (!size) return size.error();
  // Before address space is allocated: an absurd size is a lie, not a shortage.
  if (*size != frame.size_bytes) {
    return violation("SEGMENT announces " + std::to_string(frame.size_bytes) + " bytes, but has " +
                     std::to_string(*size));
  }
  constexpr std::size_t kSegmentBytes = 4096;  // objects and tables, not the memory itself
  KeptSegment kept;
  Result<Charge> bytes = budgets_.charge(peer, Keep::kConnections, kSegmentBytes);
  Result<Charge> descriptor = bytes ? budgets_.charge(peer, Keep::kSegments, 1) : bytes.error();
  if (!descriptor) {
    lacks_segment(peer, frame.writer, remote->second, descriptor.error());
    return {};
  }
  kept.bytes = std::move(*bytes);
  kept.descriptor = std::move(*descriptor);
  const Reader::Impl* first_reader = nullptr;
  for_readers_of(frame.writer, [&](Reader::Impl& reader) {
    if (first_reader == nullptr) first_reader = &reader;
  });
  const os::HotRoom room(first_reader);
  // Mapped when its first message is taken: a segment that no reader takes from costs no address space.
  const auto state = peers_.find(peer);
  Result<std::shared_ptr<memory::ForeignSegment>> segment = memory::ForeignSegment::open(
      fds[0].release().release(), frame.size_bytes, state != peers_.end() ? state->second.share : nullptr);
  if (!segment && is_shortage(segment.error().code)) {
    lacks_segment(peer, frame.writer, remote->second, segment.error());
    return {};
  }
  if (!segment) return segment.error();
  // A process with locked memory maps and locks at once, not in the take of a thread with a deadline. If that fails,
  // the take tries again and reports the error.
  if (os::memory_is_locked()) static_cast<void>((*segment)->map());
  kept.segment = std::move(*segment);
  *segment = ended_elsewhere(std::move(kept));
  remote->second.segments.emplace_back(frame.index, *segment);
  for_readers_of(frame.writer, [&](Reader::Impl& reader) { reader.add_segment(frame.writer, frame.index, *segment); });
  return {};
}

/// An honest publisher may need more than this process can spare. Its readers disconnect, and attach again later. A reader
/// that is attaching disconnects after the ATTACHED that is on its way: otherwise the next attempt could take that for its
/// own.
void Participant::Impl::lacks_segment(PeerId peer, const Gid& writer, RemoteWriter& remote, const Error& why) {
  remote.lacking = why;
  const std::vector<Gid> readers = remote.readers;
  for (const Gid& reader : readers) {
    const auto own = readers_.find(reader);
    if (own == readers_.end() || !own->second->is_attaching(writer)) give_up(peer, writer, reader, why);
  }
}

Result<void> Participant::Impl::on_retired(PeerId peer, const SegmentFrame& frame) {
  const auto remote = remote_writers_.find(frame.writer);
  if (remote == remote_writers_.end() || remote->second.peer != peer) return {};
  auto& segments = remote->second.segments;
  segments.erase(
      std::remove_if(segments.begin(), segments.end(), [&](const auto& entry) { return entry.first == frame.index; }),
      segments.end());
  for_readers_of(frame.writer, [&](Reader::Impl& reader) { reader.retire_segment(frame.writer, frame.index); });
  return {};
}

/// The writer may know of the reader before match_known() has reached the writer, so a reader that is called need not rest yet.
Result<void> Participant::Impl::on_call(PeerId peer, const PairFrame& frame) {
  const auto reader = readers_.find(frame.reader);
  const EndpointRecord* const writer = graph_.find(frame.writer);
  if (reader == readers_.end() || writer == nullptr || id_owners_.has_claim(peer, frame.writer)) return {};
  if (writer->peer() != peer || !writer->seldom) return violation("CALL by a writer that cannot call");
  if (writer->banned) return {};
  const Participant::ReaderOptions& options = reader->second->options();
  if (writer->type->name != options.type.name || writer->type->hash != options.type.hash ||
      *writer->topic->name != options.topic || !incompatibility(*writer->qos, options.qos).empty())
    return violation("CALL between endpoints that do not match");
  if (!reader->second->rests(frame.writer)) static_cast<void>(rest(reader->second, *writer));
  reader->second->called(frame.writer);
  // Else at its time: a writer that calls without end costs no more than one that refuses.
  if (!attempts_.is_planned(frame.writer, frame.reader)) begin_attach(reader->second, *writer);
  return {};
}

void Participant::Impl::on_rest(PeerId peer, const PairFrame& frame) {
  const auto reader = readers_.find(frame.reader);
  if (reader == readers_.end() || !reader->second->rested_by_writer(peer, frame.writer)) return;
  release_remote_writer(frame.writer, frame.reader);
  // After the connection, whose room comes back. If a held sample keeps the connection, that is charged, and for more than this pair.
  if (Result<Charge> room = budgets_.charge(peer, Keep::kConnections, kRestingBytes))
    reader->second->rest(peer, frame.writer, std::move(*room));
}

Result<void> Participant::Impl::on_wake_socket(PeerId peer, const PairFrame& frame, std::vector<os::ReceivedFd>& fds) {
  if (fds.size() != 1 || os::kind_of(fds[0].get()) != os::DescriptorKind::kWakeSocket) {
    return violation("WAKE_SOCKET without a wake socket");
  }
  const auto writer = writers_.find(frame.writer);
  if (writer == writers_.end()) return {};
  const auto state = peers_.find(peer);
  Result<WakeSocketRef> socket =
      wake_sockets_.keep(state != peers_.end() ? state->second.process() : 0, std::move(fds[0]));
  if (!socket) {
    writer->second->end_connection(peer, frame.reader, socket.error());
    return {};
  }
  writer->second->set_wake_socket(peer, frame.reader, std::move(*socket));
  return {};
}

}  // namespace baton::transport
