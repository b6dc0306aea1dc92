// SPDX-License-Identifier: Apache-2.0
// Every way in which a link ends, and its second life as a life line (docs/format/handshake.md, section 6).
#include "hub_impl.hpp"

namespace baton::transport {
namespace {

constexpr auto kSteadyTime = std::chrono::seconds(5);

}  // namespace

void Hub::Impl::on_bye(PeerLink& link, const LinkMachine::Step& step) {
  const ProcessId process = link.process;
  const bool initiator = link.initiator;
  const bool was_up = link.up;
  const std::string who = describe(link);
  switch (step.bye) {
    case Bye::kLeaving:
      drop_link(link, {Errc::disconnected, who + " left"}, false);
      met_its_end(process);
      return;
    case Bye::kParked: {
      bool asked = false;
      {
        const os::Lock lock(mutex());
        asked = link.acquaintance.parked();
      }
      if (asked) {
        park(link);
      } else {
        end_link(link, {{Errc::protocol_violation, who + " parks a link unasked"}, Bye::kViolation, true});
      }
      return;
    }
    case Bye::kVersion:
    case Bye::kViolation: {
      const Errc code = step.bye == Bye::kVersion ? Errc::version_mismatch : Errc::protocol_violation;
      const std::string text = who + " refuses this process: " + step.error.message;
      if (initiator || was_up) {
        const bool first = !routes[process].refused;
        refuse_for_ever(process);
        if (first) diagnose(Diagnostic::Level::kError, code, text);
      }
      drop_link(link, {code, text}, false);
      if (initiator) drop_parked(process, {code, text});
      return;
    }
    case Bye::kNoDescriptors:
      diagnose(Diagnostic::Level::kWarning, Errc::out_of_descriptors,
               who + ": " + step.error.message + "; trying again");
      break;
    case Bye::kDuplicate:
    case Bye::kStalled:
    case Bye::kTimeout:
      break;
  }
  drop_link(link, {Errc::disconnected, who + " ended the connection: " + step.error.message}, false);
  if (initiator || was_up) retry_later(process);
}

// End of file without BYE: the peer died, or it gave this process up while this process was stopped, and holds nothing
// of it. A new connection attempt shows which, and removes the name of a dead process.
void Hub::Impl::hung_up(PeerLink& link) {
  const ProcessId process = link.process;
  const bool again = link.initiator || link.up;
  const bool nameless = link.silent;
  // drop_link() itself checks for an end of file: an error or an empty packet proves nothing.
  drop_link(link, {Errc::disconnected, describe(link) + " ended without BYE"}, false);
  if (again) retry_later(process);
  if (nameless) scan_later();
}

// The pidfd reports that the process is dead, even if a child made by a raw clone(2) still holds its sockets open.
void Hub::Impl::on_process_end(LinkId id) {
  if (PeerLink* link = find(id)) {
    process_ended(*link);
    if (link->up && link->socket() < 0) {
      on_witnessed_end(*link);
      return;
    }
  }
  // Packets that it sent before its death still count.
  for (int i = 0; i < 1024; ++i) {
    PeerLink* link = find(id);
    if (link == nullptr) return;
    {
      const os::Lock lock(mutex());
      if (link->pending || link->lost_frame || link->down_due || link->lingering || !os::readable_now(link->socket()))
        break;
    }
    on_readable(id);
  }
  PeerLink* link = find(id);
  if (link == nullptr) return;
  if (link->down_due) {
    link->over = true;
    return;
  }
  const ProcessId process = link->process;
  const bool mine = link->initiator;
  const bool known = mine || link->up;
  const bool nameless = link->silent;
  if (link->lingering) {
    forget_link(*link);
  } else {
    drop_link(*link, {Errc::disconnected, describe(*link) + " died"}, true);
  }
  if (nameless) scan_later();
  if (mine) {
    // The pidfd is that of the process that listened under this name.
    sweep(name_of(process));
    met_its_end(process);
  } else if (known) {
    retry_later(process);  // only a dead listener proves that the name is dead
  }
}

void Hub::Impl::end_link(PeerLink& link,
                         const PendingDisconnect& how) {  // `how` must not be the link's own, which ends in this
                                                          // function
  const ProcessId process = link.process;
  const bool known = link.initiator || link.up;
  if (is_final(how.bye) && process != ProcessId{}) refuse_for_ever(process);
  if (how.bye == Bye::kViolation && how.tell_user) ++account_of(link).violations;
  // A stalled peer that sees the end connects again, unless it has parked the link, or has ended it, too. And this process has to see the death
  // of a neighbour.
  const auto route = routes.find(process);
  bool again = how.bye == Bye::kNoDescriptors || (route != routes.end() && route->second.watched);
  {
    const os::Lock lock(mutex());
    again = again || link.acquaintance.phase() != Acquaintance::Phase::kOpen || os::hung_up_now(link.socket());
    clear_queue(link);
    const std::vector<std::uint8_t> packet = encode_bye(how.bye, how.reason.message);
    Outgoing bye;
    bye.type = kByeFrame;
    bye.payload.assign(packet.begin() + kPacketHeaderBytes, packet.end());
    const std::size_t cost = bye.cost();
    link.queue.push_back(std::move(bye));
    link.queued_bytes += cost;
    *link.queued_of_user += cost;
    flush(link);
  }
  const PeerInfo info = link.info;
  drop_link(link, how.reason, false);
  if (is_final(how.bye) && process != ProcessId{}) drop_parked_of(process, info, how.reason);
  if (how.tell_user) diagnose(Diagnostic::Level::kWarning, how.reason.code, how.reason.message);
  // After a lack of descriptors only this side knows when to try again.
  if (!known || (how.bye != Bye::kNoDescriptors && how.bye != Bye::kStalled)) return;
  if (again) {
    retry_later(process);
  } else {
    return_later(process);
  }
}

/// The process was given up and should come back. It does not, if it has given this process up as well, and neither has seen the end yet: each
/// keeps the socket for the samples that it holds, or has only just closed it.
void Hub::Impl::return_later(const ProcessId& process) {
  Route& route = routes[process];
  if (route.refused || route.retry != 0 || route.has_socket() || route.mine != 0) return;
  route.retry = schedule(Clock::now() + 2 * options.idle_time, [this, process] { connect_to(process); });
}

void Hub::Impl::drop_link(PeerLink& link, Error reason, bool over) {
  const LinkId id = link.id;
  const bool was_up = link.up;
  no_longer_silent(link);
  if (link.handshake_timer != 0) cancel(std::exchange(link.handshake_timer, 0));
  const auto route = routes.find(link.process);
  if (route != routes.end()) {
    if (route->second.mine == id) route->second.mine = 0;
    if (route->second.up == id) {
      route->second.up = 0;
      route->second.parked = false;
      ring_changed = true;
      // A connection that comes up only to hang up is retried ever more rarely.
      if (Clock::now() - route->second.up_since > kSteadyTime) route->second.attempts = 0;
    }
  }
  if (!was_up) {
    forget_link(link);
    return;
  }
  {
    const os::Lock lock(mutex());
    link.up = link.holding = false;
    // The end of file counts even if packets before it are unread: they do not matter any more.
    over = over || link.socket() < 0 || os::hung_up_now(link.socket());
  }
  up_count.fetch_sub(1, std::memory_order_relaxed);
  link.down_due = true;
  link.over = over;
  link.down_reason = std::move(reason);
  link.next_down = std::exchange(downs, &link);
  finish_downs();
}

// True if on_peer_down() has returned for every link for which it was due.
bool Hub::Impl::finish_downs() noexcept {
  while (downs != nullptr) {
    PeerLink& link = *downs;
    if (!attempt([&] { call([&] { handler.on_peer_down(link.id, link.down_reason); }); })) return false;
    downs = link.next_down;
    link.down_due = false;
    if (link.over) {
      forget_link(link);
    } else {
      linger(link);
    }
  }
  return true;
}

/// The connection is over and the peer may live. A BYE may still have to be sent. The samples that the peer holds stay
/// valid until its end of file.
void Hub::Impl::linger(PeerLink& link) {
  bool watched = false;
  call([&] { watched = handler.holds_anything(link.id); });
  bool useful = watched;
  {
    const os::Lock lock(mutex());
    // If this process holds nothing of the peer, the end of file says as much as an unsent BYE.
    if (link.queue.empty() || link.claim.use_count() == 1) {
      clear_queue(link);
      link.claim.reset();
    }
    useful = useful || link.claim;
    if (useful) {
      link.lingering = true;
      link.pausing = false;
      poller.modify(link.socket(), socket_token(link.id),
                    link.claim ? os::Poller::Interest::kHangUpWrite : os::Poller::Interest::kHangUp);
    }
  }
  if (!useful) forget_link(link);
}

void Hub::Impl::on_lingering(PeerLink& link, bool hung_up, bool writable) {
  if (hung_up) {
    forget_link(link);
    return;
  }
  if (!writable) return;
  bool sent = false;
  bool pause = false;
  {
    const os::Lock lock(mutex());
    while (!link.queue.empty()) {
      const os::IoStatus status = push(link, link.queue.front());
      pause = status == os::IoStatus::kTooManyInFlight;
      if (pause || status == os::IoStatus::kWouldBlock) break;
      // Sent, or the peer receives nothing any more: then a writable socket would keep this thread busy.
      link.queue.pop_front();
    }
    sent = link.queue.empty();
    if (sent) clear_queue(link);
    // The socket takes writes, but the kernel has no memory for them now.
    poller.modify(link.socket(), socket_token(link.id),
                  sent || pause ? os::Poller::Interest::kHangUp : os::Poller::Interest::kHangUpWrite);
  }
  if (sent) linger(link);
  if (!pause) return;
  schedule(Clock::now() + kInFlightPause, [this, id = link.id] {
    if (PeerLink* later = find(id); later != nullptr && later->lingering) on_lingering(*later, false, true);
  });
}

/// Removes the rest of a link: its peer is gone, or holds nothing.
void Hub::Impl::forget_link(PeerLink& link) {
  const LinkId id = link.id;
  const bool was_up = link.was_up;
  std::unique_ptr<PeerLink> gone;  // destroyed outside the lock
  {
    const os::Lock lock(mutex());
    if (link.socket() >= 0) poller.remove(link.socket());
    if (link.watch) poller.remove(link.watch.get());
    link.watch.reset();
    link.claim.reset();
    // This process may hold samples of the peer. Their claims keep the socket open, if the peer still exists.
    if (link.socket() >= 0 && os::closed_now(link.socket())) link.line->hang_up();
    clear_queue(link);
    remove_from_account(link);
    const auto found = links.find(id);
    gone = std::move(found->second);
    links.erase(found);
  }
  gone.reset();
  if (was_up) call([&] { handler.on_peer_gone(id); });
}

void Hub::Impl::disconnect_soon(PeerLink& link, PendingDisconnect how) {
  if (link.pending) return;
  to_disconnect.push_back(link.id);
  link.pending = std::move(how);
  if (!on_thread()) poller.wake();
}

void Hub::Impl::finish_disconnects() {
  for (;;) {
    std::vector<LinkId> ids;
    {
      const os::Lock lock(mutex());
      ids.swap(to_disconnect);
    }
    if (ids.empty()) return;
    for (const LinkId id : ids) {
      PeerLink* link = find(id);
      if (link == nullptr || link->lingering || link->down_due || stopping.load(std::memory_order_acquire)) continue;
      const bool ended = attempt([&] {
        PendingDisconnect how;
        {
          const os::Lock lock(mutex());
          how = *link->pending;
        }
        end_link(*link, how);
      });
      if (!ended) end_for_want_of_memory(id);
    }
  }
}

void Hub::Impl::end_for_want_of_memory(LinkId id) noexcept {
  const os::Lock lock(mutex());
  const auto found = links.find(id);
  if (found == links.end() || std::exchange(found->second->lost_frame, true)) return;
  lost_frames = true;
  poller.wake();
}

// Each of these connections lost a frame for lack of memory. It is ended, so that the peer reconnects and gets
// everything again.
void Hub::Impl::end_links_without_memory() noexcept {
  for (;;) {
    PeerLink* link = nullptr;
    {
      const os::Lock lock(mutex());
      if (!lost_frames || stopping.load(std::memory_order_acquire)) return;
      for (const auto& entry : links) {
        const PeerLink& candidate = *entry.second;
        if (candidate.lost_frame && !candidate.lingering && !candidate.down_due) link = entry.second.get();
      }
      lost_frames = link != nullptr;
      if (link == nullptr) return;
      clear_queue(*link);
      send_now(*link, bye_no_memory);
    }
    const ProcessId process = link->process;
    const bool known = link->initiator || link->up;
    drop_link(*link, no_memory(), false);
    attempt([&] {
      if (known) retry_later(process);
      tell_no_memory();
    });
  }
}

void Hub::Impl::tell_no_memory() {
  if (!memory_lines.once()) return;
  diagnose(Diagnostic::Level::kError, Errc::out_of_memory,
           "no memory left to serve another process; connections are ended and made again until there is some");
}

}  // namespace baton::transport
