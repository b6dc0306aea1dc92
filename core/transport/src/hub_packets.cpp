// SPDX-License-Identifier: Apache-2.0
// One link while it lives: the handshake, and packets in and out.
#include <algorithm>
#include <new>

#include "baton/os/crash_point.hpp"
#include "baton/os/process.hpp"
#include "baton/os/shortage.hpp"
#include "hub_impl.hpp"

namespace baton::transport {
namespace {

// So that one busy peer does not delay the others.
constexpr int kMaxPacketsPerRound = 64;
/// Of frames of send_soon(): with each link more.
constexpr std::chrono::microseconds kWaitPerLink{100}, kShortestWait{1000}, kLongestWait{50000};

}  // namespace

void Hub::Impl::on_readable(LinkId id) {
  const auto start = Clock::now();
  for (int i = 0; i < kMaxPacketsPerRound; ++i) {
    PeerLink* link = find(id);
    if (link == nullptr || stopping.load(std::memory_order_acquire)) return;
    if (i > 0 && Clock::now() - start > kSliceTime) return;  // the socket stays readable
    os::ReceivedPacket packet;
    os::IoStatus status{};
    {
      const os::Lock lock(mutex());
      if (link->pending || link->lost_frame || link->down_due || link->lingering || link->socket() < 0) return;
      status = os::receive_packet(link->socket(), buffer.get(), kMaxPacketBytes, kMaxFrameFds, packet);
    }
    switch (status) {
      case os::IoStatus::kDone:
        break;
      case os::IoStatus::kWouldBlock:
        return;
      case os::IoStatus::kReset:
        continue;  // reported once; then read the remaining packets and the end of file
      default:
        hung_up(*link);
        return;
    }
    if (packet.truncated) {
      end_link(*link, {{Errc::protocol_violation,
                        describe(*link) + " sent a packet larger than " + std::to_string(kMaxPacketBytes) + " bytes"},
                       Bye::kViolation,
                       true});
      return;
    }
    if (packet.fds_lost) {
      if (os::reserve_descriptor()) {
        end_link(*link, {{Errc::protocol_violation, describe(*link) + " sent more than " +
                                                        std::to_string(kMaxFrameFds) + " descriptors in one packet"},
                         Bye::kViolation,
                         true});
      } else {
        // A frame without its descriptors is lost; a new connection sends everything again.
        end_link(*link, {os::system_error("cannot receive the descriptors that " + describe(*link) + " sent", EMFILE),
                         Bye::kNoDescriptors, true});
      }
      return;
    }
    if (packet.size_bytes == 0) {
      hung_up(*link);
      return;
    }
    for (const os::ReceivedFd& fd : packet.fds) {
      // No frame needs other descriptors, and these can block a thread that closes or uses them.
      if (os::kind_of(fd.get()) != os::DescriptorKind::kOther) continue;
      end_link(*link, {{Errc::protocol_violation,
                        describe(*link) + " sent a descriptor that is neither a memfd nor a Unix stream socket"},
                       Bye::kViolation,
                       true});
      return;
    }
    on_step(*link, link->machine.on_packet(buffer.get(), packet.size_bytes, std::move(packet.fds)));
  }
}

void Hub::Impl::on_step(PeerLink& link, LinkMachine::Step&& step) {
  using Kind = LinkMachine::Step::Kind;
  // A process that says only which others are gone is not counted: everybody says so after many deaths.
  if (link.unjudged && step.kind != Kind::kGone && !judge(link)) return;
  switch (step.kind) {
    case Kind::kNothing:
      return;
    case Kind::kHello:
      on_hello(link);
      return;
    case Kind::kBye:
      on_bye(link, step);
      return;
    case Kind::kPark:
      on_park(link, step.received);
      return;
    case Kind::kKeep:
      on_keep(link);
      return;
    case Kind::kGone:
      on_gone(link, step.processes);
      return;
    case Kind::kFrame: {
      {
        const os::Lock lock(mutex());
        link.acquaintance.frame_received();
        note_activity(link);
      }
      Result<void> accepted;
      call([&] { accepted = handler.on_frame(link.id, std::move(step.frame)); });
      if (accepted) return;
      // A lack of this process is no violation of the peer: both may meet again.
      end_link(link, {{accepted.error().code, describe(link) + ": " + accepted.error().message},
                      is_shortage(accepted.error().code) ? Bye::kNoDescriptors : Bye::kViolation,
                      true});
      return;
    }
    case Kind::kVersion: {
      link.info.version = link.machine.peer().version;
      const std::string text = "process '" + self_name + "' speaks version " + std::to_string(kProtocolVersion) +
                               " of Baton's protocol, " + describe(link) + " version " +
                               std::to_string(link.info.version) + "; build both with the same Baton";
      if (!link.initiator) {  // so that the other side can also report both names
        const os::Lock lock(mutex());
        Hello hello;
        hello.pid = os::process_id();
        hello.process_id = self;
        hello.name = self_name;
        send_now(link, encode_hello(hello));
      }
      // Both directions may be connecting at once: report once.
      link.process = link.machine.peer().process_id;
      const auto route = routes.find(link.process);
      const bool first = route == routes.end() || !route->second.refused;
      end_link(link, {{Errc::version_mismatch, text}, Bye::kVersion, first});
      return;
    }
    case Kind::kViolation:
      end_link(link, {{step.error.code, describe(link) + ": " + step.error.message}, Bye::kViolation, true});
      return;
  }
}

/// Whether another process is connected whose endpoints would have the same ids: only a process that lies has such an id.
bool Hub::Impl::another_begins_like(const ProcessId& process) const {
  ProcessId first{};
  const IdPrefix prefix = prefix_of(process);
  std::copy(prefix.begin(), prefix.end(), first.begin());
  for (auto at = routes.lower_bound(first); at != routes.end() && prefix_of(at->first) == prefix; ++at)
    if (at->first != process && at->second.up != 0) return true;
  return false;
}

bool Hub::Impl::continues(const PeerLink& parked, const Hello& hello) const {
  const os::Lock lock(mutex());
  return parked.acquaintance.continues(hello.counts);
}

void Hub::Impl::on_hello(PeerLink& link) {
  BATON_CRASH_POINT("hub.hello_received");
  const Hello& hello = link.machine.peer();
  if (link.info.pid == 0) link.info.pid = hello.pid;  // for people only
  link.info.process_id = hello.process_id;
  link.info.name = hello.name;
  link.info.version = hello.version;
  if (prefix_of(hello.process_id) == prefix_of(self)) {
    end_link(
        link,
        {{Errc::protocol_violation, describe(link) + " claims another process's identity"}, Bye::kViolation, true});
    return;
  }
  if (link.initiator && hello.process_id != link.process) {
    // Whoever made this name, its socket may be that of an honest process, which is met by its own name. One that was met before can still
    // come by this process's name.
    const ProcessId wanted = link.process;
    const bool was_met = routes[wanted].parked;
    if (!was_met) refuse_for_ever(wanted);
    end_link(link, {{Errc::protocol_violation, "the name " + name_of(link.process) +
                                                   " in the domain's directory leads to the socket of " +
                                                   describe(link) + ", which has another identity"},
                    Bye::kDuplicate,
                    !was_met || routes[wanted].attempts == 0});
    if (was_met) retry_later(wanted);
    return;
  }
  if (link.initiator) {
    if (another_begins_like(hello.process_id)) {
      end_link(link, {{Errc::disconnected, "another process's id begins with the same bytes"}, Bye::kDuplicate, false});
      return;
    }
    const Route& route = routes[link.process];
    PeerLink* const parked = route.parked ? find(route.up) : nullptr;
    if (parked != nullptr && !same_process(parked->info, link.info)) {
      const ProcessId wanted = link.process;
      end_link(link, {{Errc::protocol_violation, describe(link) + " has the name of another process"},
                      Bye::kDuplicate,
                      route.attempts == 0});
      retry_later(wanted);
      return;
    }
    if (parked == nullptr && !(hello.counts == FrameCounts{})) {
      // It goes on with a link that this process has given up meanwhile. It tries again, and both begin anew.
      end_link(link, {{Errc::disconnected, "this process has given up the link"}, Bye::kDuplicate, false});
      return;
    }
    if (parked != nullptr && continues(*parked, hello)) {
      reopen(*parked, link);
      return;
    }
    if (parked != nullptr) drop_link(*parked, {Errc::disconnected, describe(*parked) + " begins anew"}, true);
    go_up(link);
    return;
  }
  no_longer_silent(link);
  if (another_begins_like(hello.process_id)) {
    end_link(link, {{Errc::disconnected, "another process's id begins with the same bytes"}, Bye::kDuplicate, false});
    return;
  }
  make_room_for_routes();
  finish_parking(hello.process_id);
  Route& route = routes[hello.process_id];
  PeerLink* const parked = route.parked ? find(route.up) : nullptr;
  if (parked != nullptr && !same_process(parked->info, link.info)) {
    end_link(link, {{Errc::disconnected, "another process has this id"}, Bye::kDuplicate, false});
    return;
  }
  if (parked != nullptr && os::closed_now(link.socket())) {
    // Of a time before the link was parked: the other process preferred another link and closed this one, and this process accepts it only
    // now.
    drop_link(link, {Errc::disconnected, "duplicate"}, true);
    return;
  }
  if (route.refused) {
    end_link(link, {{Errc::protocol_violation, "refused before"}, Bye::kViolation, false});
    return;
  }
  switch (judge_arrival(self, hello.process_id, route.has_socket(), route.mine != 0)) {
    case Arrival::kRefuse:
      end_link(link,
               {{Errc::disconnected, "another connection of the same processes survives"}, Bye::kDuplicate, false});
      return;
    case Arrival::kAcceptInsteadOfMine:
      // Without a BYE: the other side refuses it by the same rule.
      if (PeerLink* mine = find(route.mine)) drop_link(*mine, {Errc::disconnected, "duplicate"}, true);
      route.mine = 0;
      break;
    case Arrival::kAccept:
      break;
  }
  link.process = hello.process_id;
  Hello answer;
  answer.pid = os::process_id();
  answer.process_id = self;
  answer.name = self_name;
  const bool goes_on = parked != nullptr && continues(*parked, hello);
  {
    const os::Lock lock(mutex());
    if (goes_on) answer.counts = parked->acquaintance.counts();
    send_now(link, encode_hello(answer));
  }
  BATON_CRASH_POINT("hub.answer_sent");
  if (goes_on) {
    reopen(*parked, link);
    return;
  }
  if (parked != nullptr) drop_link(*parked, {Errc::disconnected, describe(*parked) + " begins anew"}, true);
  go_up(link);
}

void Hub::Impl::go_up(PeerLink& link) {
  // First finish on_peer_down() of a former connection, so that a process is never up twice.
  if (!finish_downs()) throw std::bad_alloc();
  auto claim = std::make_shared<LifeLine::Claim>(link.line);
  cancel(std::exchange(link.handshake_timer, 0));
  Route& route = routes[link.process];
  if (route.mine == link.id) route.mine = 0;
  if (route.retry != 0) cancel(std::exchange(route.retry, 0));
  route.up = link.id;
  route.up_since = Clock::now();
  ring_changed = true;
  {
    const os::Lock lock(mutex());
    link.up = link.was_up = link.greeting = true;
    link.claim = std::move(claim);
    link.patience = options.idle_time;
    note_change();
    changing_since = last_change;  // a process that joins has much to say, however long others have been changing
    note_activity(link);
  }
  up_count.fetch_add(1, std::memory_order_relaxed);
  BATON_CRASH_POINT("hub.up");
  call([&] { handler.on_peer_up(link.id, link.info); });
  {
    const os::Lock lock(mutex());
    link.greeting = false;
  }
  tell_newcomer(link.process);
}

void Hub::Impl::on_handshake_timeout(LinkId id) {
  PeerLink* link = find(id);
  if (link == nullptr) return;
  link->handshake_timer = 0;
  if (link->up) return;
  const auto seconds = std::to_string(std::chrono::duration<double>(options.handshake_timeout).count()).substr(0, 4);
  if (!link->initiator) {
    end_link(*link, {{Errc::timed_out, describe(*link) + " connected and said nothing for " + seconds + " s"},
                     Bye::kTimeout,
                     true});
    return;
  }
  if (os::socket_peer_gone(link->socket())) {  // it died before its pidfd was opened
    on_process_end(id);
    return;
  }
  // The peer may be stopped, or in a debugger. The connection waits in its backlog and is answered when the peer
  // continues. If the peer dies, the socket or the pidfd reports it.
  diagnose(Diagnostic::Level::kWarning, Errc::timed_out,
           describe(*link) + " has not answered for " + seconds + " s (stopped, or overloaded?); still waiting for it");
}

void Hub::Impl::send_now(PeerLink& link, const std::vector<std::uint8_t>& packet) {
  if (link.socket() < 0) return;
  // A peer that is gone or does not read misses it: the hang-up tells it the same.
  (void)os::send_packet(link.socket(), packet.data(), packet.size(), nullptr, 0, nullptr, 0);
}

void Hub::Impl::send(PeerId peer, Outgoing frame) noexcept {
  try {
    send_or_throw(peer, std::move(frame));
  } catch (const std::bad_alloc&) {
    end_for_want_of_memory(peer);
  }
}

/// Ends the connections of the user of `link` that have taken nothing for a while and for which much waits. What waits for them
/// goes to `dropped`.
void Hub::Impl::end_stalled(const PeerLink& link, std::list<Outgoing>& dropped) {
  const Clock::time_point now = Clock::now();
  for (const auto& [id, entry] : links) {
    PeerLink& other = *entry;
    if (other.queued_of_user != link.queued_of_user || !other.up || other.pending || other.lost_frame) continue;
    if (other.queued_bytes <= kMaxQueuedBytes || now - other.progress <= kStallTime) continue;
    disconnect_stalled_soon(other);
    dropped.splice(dropped.end(), other.queue);
    clear_queue(other);
  }
}

void Hub::Impl::disconnect_stalled_soon(PeerLink& link) {
  disconnect_soon(link, {{Errc::disconnected,
                          describe(link) + " has not read for too long and " + std::to_string(link.queue.size()) +
                              " frames wait for it; it is disconnected and may come back when it goes on"},
                         Bye::kStalled,
                         true});
}

void Hub::Impl::send_or_throw(PeerId peer, Outgoing frame) {
  std::list<Outgoing> dropped;  // descriptors are closed outside the lock
  const os::Lock lock(mutex());
  if (is_child.load(std::memory_order_relaxed) || stopping.load(std::memory_order_relaxed)) return;
  const auto found = links.find(peer);
  if (found == links.end() || !found->second->up || found->second->pending || found->second->lost_frame) return;
  PeerLink& link = *found->second;
  const Acquaintance::Phase phase = link.acquaintance.phase();
  const bool open = phase == Acquaintance::Phase::kOpen;
  if (open) note_activity(link);
  const Clock::time_point now = Clock::now();
  if (join(link, frame)) return;
  const bool holds = open && frame.room != 0 && now < link.soon_after && !link.want_write && !link.pausing;
  if (holds && !held_planned) {
    schedule_locked(now + soon_time(), [this] { send_held(); });
    held_planned = true;
  }
  if (!holds) flush_held(link);
  if (open && link.queue.empty() && !link.pausing && !holds) {
    if (frame.room != 0) link.soon_after = now + soon_time();
    const os::IoStatus status = push(link, frame);
    if (status == os::IoStatus::kDone || status == os::IoStatus::kClosed || status == os::IoStatus::kError) {
      dropped.push_back(std::move(frame));  // sent, or the background thread is about to see the hang-up
      return;
    }
    if (status == os::IoStatus::kTooManyInFlight) link.pausing = true;
  }
  if (link.queue.empty()) link.progress = now;
  const std::size_t bytes = link.queued_bytes + frame.cost();
  if (link.greeting && on_thread()) link.greeting_bytes += frame.cost();  // excludes frames of other threads
  const std::size_t most_bytes = kMaxQueuedBytes + link.greeting_bytes;
  const std::size_t fds = link.queued_fds + frame.fds.size();
  // A busy peer may lag for a while, for example when hundreds of processes start at once; a stopped peer takes nothing
  // at all.
  if (*link.queued_of_user + frame.cost() > kMaxQueuedBytesPerUser) end_stalled(link, dropped);
  if (link.pending) {
    dropped.push_back(std::move(frame));
    return;
  }
  const std::size_t of_user = *link.queued_of_user + frame.cost();
  if (bytes > most_bytes + kHardQueuedBytes - kMaxQueuedBytes ||
      (bytes > kMaxQueuedBytes && of_user > kMaxQueuedBytesPerUser) ||
      fds > std::max(kMaxQueuedFds, os::descriptor_limit() / 2) ||
      ((bytes > most_bytes || fds > kMaxQueuedFds) && now - link.progress > kStallTime)) {
    dropped.push_back(std::move(frame));
    disconnect_stalled_soon(link);
    return;
  }
  link.queue.push_back(std::move(frame));
  link.queued_bytes = bytes;
  link.queued_fds = fds;
  *link.queued_of_user = of_user;
  if (phase == Acquaintance::Phase::kParked) {
    if (link.queue.size() > 1) return;
    posted.push_back([this, process = link.process] { connect_to(process); });
    poller.wake();
  } else if (phase == Acquaintance::Phase::kAsked) {
    return;  // KEEP or BYE is on its way
  } else if (holds) {
    link.holding = true;
  } else if (link.pausing && link.queue.size() == 1) {
    schedule_locked(now + kInFlightPause, [this, peer] { on_writable(peer); });
  } else if (!link.pausing && !link.want_write) {
    link.want_write = true;
    poller.modify(link.socket(), socket_token(link.id), os::Poller::Interest::kReadWrite);
  }
}

/// So long frames of send_soon() wait for more: to send one to all takes a tenth of the time at most.
Clock::duration Hub::Impl::soon_time() const {
  return std::clamp<Clock::duration>(links.size() * kWaitPerLink, kShortestWait, kLongestWait);
}

/// Whether the payload is now part of a frame that waits.
bool Hub::Impl::join(PeerLink& link, const Outgoing& frame) {
  if (frame.room == 0 || link.queue.empty()) return false;
  Outgoing& last = link.queue.back();
  if (last.type != frame.type || last.room < 2 || last.sent_bytes != 0 ||
      last.payload.size() + frame.payload.size() > kMaxPacketPayloadBytes)
    return false;
  last.payload.insert(last.payload.end(), frame.payload.begin(), frame.payload.end());
  --last.room;
  link.queued_bytes += frame.payload.size();
  *link.queued_of_user += frame.payload.size();
  return true;
}

void Hub::Impl::flush_held(PeerLink& link) {
  if (!link.holding) return;
  flush(link);
  if (link.pausing) schedule_locked(Clock::now() + kInFlightPause, [this, id = link.id] { on_writable(id); });
}

/// What waits by send_soon() goes.
void Hub::Impl::send_held() {
  std::vector<LinkId> held;
  {
    const os::Lock lock(mutex());
    held_planned = false;
    const Clock::time_point after = Clock::now() + soon_time();
    for (const auto& [id, link] : links) {
      if (!link->holding) continue;
      link->soon_after = after;
      held.push_back(id);
    }
  }
  const Clock::time_point start = Clock::now();
  for (const LinkId id : held) {
    if (!attempt([&] { on_writable(id); })) end_for_want_of_memory(id);
    if (Clock::now() - start <= kSliceTime) continue;
    const os::Lock lock(mutex());  // the others in the next round
    if (!held_planned) schedule_locked(Clock::now(), [this] { send_held(); });
    held_planned = true;
    return;
  }
}

// Sends as many packets of the frame as the socket takes now.
os::IoStatus Hub::Impl::push(PeerLink& link, Outgoing& frame) {
  std::array<int, kMaxFrameFds> fds{};
  do {
    const bool first = frame.sent_bytes == 0;
    const std::size_t size = std::min(kMaxPacketPayloadBytes, frame.payload.size() - frame.sent_bytes);
    const bool last = frame.sent_bytes + size == frame.payload.size();
    PacketHeader header;
    header.type = frame.type;
    header.flags = last ? 0 : kMoreFollows;
    header.payload_bytes = static_cast<std::uint32_t>(size);
    std::size_t fd_count = 0;
    if (first) {
      for (const os::SharedFd& fd : frame.fds) fds[fd_count++] = fd->get();
    }
    header.fd_count = static_cast<std::uint8_t>(fd_count);
    const auto bytes = encode_header(header);
    const os::IoStatus status = os::send_packet(link.socket(), bytes.data(), bytes.size(),
                                                frame.payload.data() + frame.sent_bytes, size, fds.data(), fd_count);
    if (status != os::IoStatus::kDone) return status;
    BATON_CRASH_POINT("hub.packet_sent");
    frame.sent_bytes += size;
  } while (frame.sent_bytes < frame.payload.size());
  if (frame.type >= kFirstUserFrame) link.acquaintance.frame_sent();
  return os::IoStatus::kDone;
}

void Hub::Impl::flush(PeerLink& link) {
  link.pausing = link.holding = false;
  while (!link.queue.empty()) {
    Outgoing& frame = link.queue.front();
    if (link.acquaintance.phase() != Acquaintance::Phase::kOpen && frame.type >= kFirstUserFrame) break;
    const os::IoStatus status = push(link, frame);
    if (status == os::IoStatus::kTooManyInFlight) {
      link.pausing = true;
      break;
    }
    if (status == os::IoStatus::kWouldBlock) break;
    link.queued_bytes -= frame.cost();
    *link.queued_of_user -= frame.cost();
    link.queued_fds -= frame.fds.size();
    link.queue.pop_front();
    link.progress = Clock::now();
  }
  const bool open = link.acquaintance.phase() == Acquaintance::Phase::kOpen;
  const bool want_write = !link.queue.empty() && !link.pausing && (open || link.queue.front().type < kFirstUserFrame);
  if (want_write != link.want_write) {
    link.want_write = want_write;
    poller.modify(link.socket(), socket_token(link.id),
                  want_write ? os::Poller::Interest::kReadWrite : os::Poller::Interest::kRead);
  }
}

void Hub::Impl::clear_queue(PeerLink& link) {
  link.queue.clear();
  *link.queued_of_user -= link.queued_bytes;
  link.queued_bytes = 0;
  link.queued_fds = 0;
}

void Hub::Impl::on_writable(LinkId id) {
  PeerLink* link = find(id);
  if (link == nullptr) return;
  bool pause = false;
  {
    const os::Lock lock(mutex());
    if (link->pending || link->lost_frame || link->down_due || link->lingering || link->socket() < 0) return;
    flush(*link);
    pause = link->pausing;
  }
  if (pause) schedule(Clock::now() + kInFlightPause, [this, id] { on_writable(id); });
}

}  // namespace baton::transport
