// SPDX-License-Identifier: Apache-2.0
// One connection: packets in and out, the handshake, and every way in which it can end.
#include <algorithm>
#include <new>

#include "baton/os/crash_point.hpp"
#include "baton/os/process.hpp"
#include "hub_impl.hpp"

namespace baton::transport {
namespace {

// So that one talkative peer does not keep the others waiting.
constexpr int kMaxPacketsPerRound = 64;
constexpr auto kInFlightPause = std::chrono::milliseconds(20);
constexpr auto kSteadyTime = std::chrono::seconds(5);
constexpr std::size_t kMaxRoutes = 16384;

}  // namespace

std::uint64_t identity_of(const os::UniqueFd& pidfd, std::int32_t pid) {
  constexpr std::uint64_t kPid = std::uint64_t{1} << 63;
  const std::uint64_t identity = os::process_identity(pidfd);
  return identity != 0 || pid <= 0 ? identity : kPid | static_cast<std::uint64_t>(pid);
}

Link* Hub::Impl::find(LinkId id) {
  const auto found = links.find(id);
  return found == links.end() ? nullptr : found->second.get();
}

std::string Hub::Impl::describe(const Link& link) const {
  const std::string& name = link.machine.peer().name;
  return (name.empty() ? "a process" : "process '" + name + "'") + " (pid " + std::to_string(link.info.pid) + ", user " +
         std::to_string(link.info.uid) + ")";
}

void Hub::Impl::no_longer_silent(Link& link) {
  if (std::exchange(link.silent, false)) --silent_count;
}

void Hub::Impl::refuse_for_ever(const ProcessId& process) {
  make_room_for_routes();
  routes[process].refused = true;
}

// Somebody who joins under ever new identities must not fill the memory. Forgotten refusals cost one more diagnostic.
void Hub::Impl::make_room_for_routes() {
  if (processes.size() >= kMaxRoutes) {
    for (auto process = processes.begin(); process != processes.end();) {
      process = process->second.links == 0 ? processes.erase(process) : std::next(process);
    }
  }
  if (routes.size() < kMaxRoutes) return;
  for (auto route = routes.begin(); route != routes.end();) {
    const Route& r = route->second;
    route = r.mine == 0 && r.up == 0 && r.retry == 0 ? routes.erase(route) : std::next(route);
  }
}

KnownProcess& Hub::Impl::account_of(const Link& link) {
  constexpr std::uint64_t kUser = std::uint64_t{1} << 62;  // of a user's processes that cannot be told apart
  return processes[link.info.identity != 0 ? link.info.identity : kUser | link.info.uid];
}

bool Hub::Impl::welcome(const Link& link) {
  KnownProcess& process = account_of(link);
  if (link.info.identity == self_identity) return true;  // it could only harm itself
  if (Clock::now() - process.arrivals_since > kArrivalsWindow) {
    process.arrivals_since = Clock::now();
    process.arrivals = 0;
  }
  ++process.arrivals;
  const std::size_t limit = os::descriptor_limit();
  std::size_t most_links = std::clamp<std::size_t>(limit / 32, 4, kMaxLinksPerProcess);
  unsigned most_arrivals = kMaxArrivals;
  if (link.info.identity == 0) {  // a user's containers on an older kernel: many processes under one number
    most_links = std::max<std::size_t>(limit / 4, most_links);
    most_arrivals *= 16;
  }
  const bool stranger = link.info.uid != os::effective_user_id();
  return process.violations < kMaxViolations && process.links <= most_links && process.arrivals <= most_arrivals &&
         (!stranger || links_of_user[link.info.uid] <= std::max(most_links, limit / 4));
}

void Hub::Impl::turn_away(Link& link) {
  const bool banned = account_of(link).violations >= kMaxViolations;
  const bool first = !std::exchange(account_of(link).turned_away, true);
  const ProcessId wanted = link.initiator ? link.process : ProcessId{};
  const std::string text = banned ? " broke the protocol too often" : " has too many connections, or begins them too often";
  end_link(link, {{Errc::protocol_violation, describe(link) + text + "; it is turned away" + (banned ? "" : " for now")},
                  banned ? Bye::kViolation : Bye::kTimeout, first});
  if (wanted != ProcessId{}) retry_later(wanted);  // not if it was refused for ever
}

Link& Hub::Impl::add_link(os::UniqueFd socket, bool initiator) {
  auto link = std::make_unique<Link>();
  link->id = next_link++;
  link->initiator = initiator;
  const os::PeerCredentials credentials = os::peer_credentials(socket.get());
  link->info.pid = link->info.local_pid = credentials.pid;
  link->info.uid = credentials.uid;
  link->watch = os::watch_socket_peer(socket.get());
  link->info.identity = identity_of(link->watch, credentials.pid);
  // The second signal of death costs a descriptor: only while there are plenty.
  if (link->watch && static_cast<std::size_t>(link->watch.get()) > os::descriptor_limit() / 2) link->watch.reset();
  std::shared_ptr<std::size_t>& queued = queued_of_users[credentials.uid];
  if (!queued) queued = std::make_shared<std::size_t>(0);
  link->queued_of_user = queued;
  KnownProcess& account = account_of(*link);
  std::size_t& of_user = links_of_user[link->info.uid];
  link->line = std::make_shared<LifeLine>(std::move(socket));
  Link& added = *links.emplace(link->id, std::move(link)).first->second;
  ++account.links;
  ++of_user;
  (void)poller.add(added.socket(), socket_token(added.id));
  if (added.watch) (void)poller.add(added.watch.get(), watch_token(added.id));
  return added;
}

void Hub::Impl::on_readable(LinkId id) {
  const auto start = Clock::now();
  for (int i = 0; i < kMaxPacketsPerRound; ++i) {
    Link* link = find(id);
    if (link == nullptr || stopping.load(std::memory_order_acquire)) return;
    if (i > 0 && Clock::now() - start > kSliceTime) return;  // the socket stays readable
    os::ReceivedPacket packet;
    os::IoStatus status{};
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (link->doom || link->lost_something || link->down_due || link->lingering) return;
      status = os::receive_packet(link->socket(), buffer.get(), kMaxPacketBytes, kMaxFrameFds, packet);
    }
    switch (status) {
      case os::IoStatus::kDone:
        break;
      case os::IoStatus::kWouldBlock:
        return;
      case os::IoStatus::kReset:
        continue;  // reported once; then what is left, then the end of file
      default:
        hung_up(*link);
        return;
    }
    if (packet.truncated) {
      end_link(*link, {{Errc::protocol_violation, describe(*link) + " sent a packet larger than " +
                                                      std::to_string(kMaxPacketBytes) + " bytes"}, Bye::kViolation, true});
      return;
    }
    if (packet.fds_lost) {
      if (os::reserve_descriptor()) {
        end_link(*link, {{Errc::protocol_violation, describe(*link) + " sent more than " + std::to_string(kMaxFrameFds) +
                                                        " descriptors in one packet"}, Bye::kViolation, true});
      } else {
        // A frame without its descriptors is lost; a fresh connection brings everything again.
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
      // Nothing else is ever asked for, and other descriptors can block whoever closes or uses them.
      if (os::kind_of(fd.get()) != os::DescriptorKind::kOther) continue;
      end_link(*link, {{Errc::protocol_violation, describe(*link) + " sent a descriptor that is neither a memfd nor a Unix stream socket"},
                       Bye::kViolation, true});
      return;
    }
    on_step(*link, link->machine.on_packet(buffer.get(), packet.size_bytes, std::move(packet.fds)));
  }
}

void Hub::Impl::on_step(Link& link, LinkMachine::Step&& step) {
  using Kind = LinkMachine::Step::Kind;
  switch (step.kind) {
    case Kind::kNothing:
      return;
    case Kind::kHello:
      on_hello(link);
      return;
    case Kind::kBye:
      on_bye(link, step);
      return;
    case Kind::kFrame: {
      Result<void> accepted;
      call([&] { accepted = handler.on_frame(link.id, std::move(step.frame)); });
      if (accepted) return;
      end_link(link, {{accepted.error().code, describe(link) + ": " + accepted.error().message}, Bye::kViolation, true});
      return;
    }
    case Kind::kVersion: {
      link.info.version = link.machine.peer().version;
      const std::string text = "process '" + self_name + "' speaks version " + std::to_string(kProtocolVersion) +
                               " of Baton's protocol, " + describe(link) + " version " + std::to_string(link.info.version) +
                               "; build both with the same Baton";
      if (!link.initiator) {  // so that the other side can name both, too
        const std::lock_guard<std::mutex> lock(mutex);
        Hello hello;
        hello.pid = os::process_id();
        hello.process_id = self;
        hello.name = self_name;
        send_now(link, encode_hello(hello));
      }
      // Both directions may be on their way at once: tell the user once.
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

void Hub::Impl::on_hello(Link& link) {
  BATON_CRASH_POINT("hub.hello_received");
  const Hello& hello = link.machine.peer();
  if (link.info.pid == 0) link.info.pid = hello.pid;  // for people only
  link.info.process_id = hello.process_id;
  link.info.name = hello.name;
  link.info.version = hello.version;
  if (hello.process_id == self || (link.initiator && hello.process_id != link.process)) {
    end_link(link, {{Errc::protocol_violation, describe(link) + " claims another process's identity"}, Bye::kViolation, true});
    return;
  }
  if (link.initiator) {
    go_up(link);
    return;
  }
  no_longer_silent(link);
  make_room_for_routes();
  Route& route = routes[hello.process_id];
  if (route.refused) {
    end_link(link, {{Errc::protocol_violation, "refused before"}, Bye::kViolation, false});
    return;
  }
  switch (judge_arrival(self, hello.process_id, route.up != 0, route.mine != 0)) {
    case Arrival::kRefuse:
      end_link(link, {{Errc::disconnected, "another connection of the same processes survives"}, Bye::kDuplicate, false});
      return;
    case Arrival::kAcceptInsteadOfMine:
      // Without a BYE: the other side refuses it by the same rule.
      if (Link* mine = find(route.mine)) drop_link(*mine, {Errc::disconnected, "duplicate"}, true);
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
  {
    const std::lock_guard<std::mutex> lock(mutex);
    send_now(link, encode_hello(answer));
  }
  BATON_CRASH_POINT("hub.answer_sent");
  go_up(link);
}

void Hub::Impl::go_up(Link& link) {
  // A process that comes back is not up twice.
  if (!finish_downs()) throw std::bad_alloc();
  auto claim = std::make_shared<LifeLine::Claim>(link.line);
  cancel(std::exchange(link.handshake_timer, 0));
  Route& route = routes[link.process];
  if (route.mine == link.id) route.mine = 0;
  if (route.retry != 0) cancel(std::exchange(route.retry, 0));
  route.up = link.id;
  route.up_since = Clock::now();
  {
    const std::lock_guard<std::mutex> lock(mutex);
    link.up = link.was_up = link.greeting = true;
    link.claim = std::move(claim);
  }
  up_count.fetch_add(1, std::memory_order_relaxed);
  BATON_CRASH_POINT("hub.up");
  call([&] { handler.on_peer_up(link.id, link.info); });
  const std::lock_guard<std::mutex> lock(mutex);
  link.greeting = false;
}

void Hub::Impl::on_bye(Link& link, const LinkMachine::Step& step) {
  const ProcessId process = link.process;
  const bool initiator = link.initiator;
  const bool was_up = link.up;
  const std::string who = describe(link);
  switch (step.bye) {
    case Bye::kLeaving:
      drop_link(link, {Errc::disconnected, who + " left"}, false);
      routes.erase(process);
      return;
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
      return;
    }
    case Bye::kNoDescriptors:
      diagnose(Diagnostic::Level::kWarning, Errc::out_of_descriptors, who + ": " + step.error.message + "; trying again");
      break;
    case Bye::kDuplicate:
    case Bye::kStalled:
    case Bye::kTimeout:
      break;
  }
  drop_link(link, {Errc::disconnected, who + " ended the connection: " + step.error.message}, false);
  if (initiator || was_up) retry_later(process);
}

void Hub::Impl::on_handshake_timeout(LinkId id) {
  Link* link = find(id);
  if (link == nullptr) return;
  link->handshake_timer = 0;
  if (link->up) return;
  const auto seconds = std::to_string(std::chrono::duration<double>(options.handshake_timeout).count()).substr(0, 4);
  if (!link->initiator) {
    end_link(*link, {{Errc::timed_out, describe(*link) + " connected and said nothing for " + seconds + " s"}, Bye::kTimeout, true});
    return;
  }
  if (os::socket_peer_gone(link->socket())) {  // dead before the pidfd could be had
    on_process_end(id);
    return;
  }
  // It may be stopped, or in a debugger. The connection waits in its backlog and will be answered when it goes on; if it dies,
  // the socket or the pidfd says so.
  diagnose(Diagnostic::Level::kWarning, Errc::timed_out,
           describe(*link) + " has not answered for " + seconds + " s (stopped, or overloaded?); still waiting for it");
}

// End of file without a good-bye: death, or a peer that gave this one up while it was stopped, and holds nothing of it. Connecting
// again tells which, and removes the name of a dead one.
void Hub::Impl::hung_up(Link& link) {
  const ProcessId process = link.process;
  const bool again = link.initiator || link.up;
  const bool nameless = link.silent;
  // Whether it is an end of file, drop_link() sees for itself: an error or an empty packet proves nothing.
  drop_link(link, {Errc::disconnected, describe(link) + " ended without saying good-bye"}, false);
  if (again) retry_later(process);
  if (nameless) scan_later();
}

// The pidfd's word: the process is dead, even if a child made behind the C library's back still holds its sockets open.
void Hub::Impl::on_process_end(LinkId id) {
  // What it sent before its death still counts.
  for (int i = 0; i < 1024; ++i) {
    Link* link = find(id);
    if (link == nullptr) return;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (link->doom || link->lost_something || link->down_due || link->lingering || !os::readable_now(link->socket())) break;
    }
    on_readable(id);
  }
  Link* link = find(id);
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
    routes.erase(process);
  } else if (known) {
    retry_later(process);  // only the listener's death proves that the name is dead
  }
}

void Hub::Impl::end_link(Link& link, const Doom& doom) {  // `doom` is not the link's own: that one ends in here
  const ProcessId process = link.process;
  const bool known = link.initiator || link.up;
  if (is_final(doom.bye) && process != ProcessId{}) refuse_for_ever(process);
  if (doom.bye == Bye::kViolation && doom.tell_user) ++account_of(link).violations;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    clear_queue(link);
    const std::vector<std::uint8_t> packet = encode_bye(doom.bye, doom.reason.message);
    Outgoing bye;
    bye.type = kByeFrame;
    bye.payload.assign(packet.begin() + kPacketHeaderBytes, packet.end());
    const std::size_t cost = bye.cost();
    link.queue.push_back(std::move(bye));
    link.queued_bytes += cost;
    *link.queued_of_user += cost;
    flush(link);
  }
  drop_link(link, doom.reason, false);
  if (doom.tell_user) diagnose(Diagnostic::Level::kWarning, doom.reason.code, doom.reason.message);
  // After a lack of descriptors this side is the one that knows when to try again; a stalled peer comes back by itself.
  if (known && doom.bye == Bye::kNoDescriptors) retry_later(process);
}

void Hub::Impl::drop_link(Link& link, Error reason, bool over) {
  const LinkId id = link.id;
  const bool was_up = link.up;
  no_longer_silent(link);
  if (link.handshake_timer != 0) cancel(std::exchange(link.handshake_timer, 0));
  const auto route = routes.find(link.process);
  if (route != routes.end()) {
    if (route->second.mine == id) route->second.mine = 0;
    if (route->second.up == id) {
      route->second.up = 0;
      // One that comes up only to hang up is tried ever more rarely.
      if (Clock::now() - route->second.up_since > kSteadyTime) route->second.attempts = 0;
    }
  }
  if (!was_up) {
    forget_link(link);
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex);
    link.up = false;
    // The end of file in front of the reading end counts also with packets unread: nothing that they say matters any more.
    over = over || os::hung_up_now(link.socket());
  }
  up_count.fetch_sub(1, std::memory_order_relaxed);
  link.down_due = true;
  link.over = over;
  link.down_reason = std::move(reason);
  link.next_down = std::exchange(downs, &link);
  finish_downs();
}

// True if on_peer_down() is through for all that it was due for.
bool Hub::Impl::finish_downs() noexcept {
  while (downs != nullptr) {
    Link& link = *downs;
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

/// The connection is over and the peer may live. Its BYE may still have to be sent, and what it holds is its own until the end of
/// file.
void Hub::Impl::linger(Link& link) {
  bool watched = false;
  call([&] { watched = handler.holds_anything(link.id); });
  bool useful = watched;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    // Where nothing is held any more, the end of file says as much as an unsent BYE.
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

void Hub::Impl::on_lingering(Link& link, bool hung_up, bool writable) {
  if (hung_up) {
    forget_link(link);
    return;
  }
  if (!writable) return;
  bool sent = false;
  bool pause = false;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    while (!link.queue.empty()) {
      const os::IoStatus status = push(link, link.queue.front());
      pause = status == os::IoStatus::kTooManyInFlight;
      if (pause || status == os::IoStatus::kWouldBlock) break;
      link.queue.pop_front();  // sent, or the peer receives nothing any more: then a socket that takes writes would keep this thread busy
    }
    sent = link.queue.empty();
    if (sent) clear_queue(link);
    // The socket takes writes, the kernel has no memory for them now.
    poller.modify(link.socket(), socket_token(link.id),
                  sent || pause ? os::Poller::Interest::kHangUp : os::Poller::Interest::kHangUpWrite);
  }
  if (sent) linger(link);
  if (!pause) return;
  schedule(Clock::now() + kInFlightPause, [this, id = link.id] {
    if (Link* later = find(id); later != nullptr && later->lingering) on_lingering(*later, false, true);
  });
}

/// Ends what is left of a link: its peer is gone, or holds nothing.
void Hub::Impl::forget_link(Link& link) {
  const LinkId id = link.id;
  const bool was_up = link.was_up;
  std::unique_ptr<Link> gone;  // destroyed outside the lock
  {
    const std::lock_guard<std::mutex> lock(mutex);
    poller.remove(link.socket());
    if (link.watch) poller.remove(link.watch.get());
    link.watch.reset();
    link.claim.reset();
    // Samples of the peer may be held here. Their claims keep the socket for the peer, if the peer is still there.
    if (os::closed_now(link.socket())) link.line->hang_up();
    clear_queue(link);
    --account_of(link).links;
    --links_of_user[link.info.uid];
    const auto found = links.find(id);
    gone = std::move(found->second);
    links.erase(found);
  }
  gone.reset();
  if (was_up) call([&] { handler.on_peer_gone(id); });
}

void Hub::Impl::doom(Link& link, Doom how) {
  if (link.doom) return;
  doomed.push_back(link.id);
  link.doom = std::move(how);
  if (!on_thread()) poller.wake();
}

void Hub::Impl::reap_doomed() {
  for (;;) {
    std::vector<LinkId> ids;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      ids.swap(doomed);
    }
    if (ids.empty()) return;
    for (const LinkId id : ids) {
      Link* link = find(id);
      if (link == nullptr || link->lingering || link->down_due || stopping.load(std::memory_order_acquire)) continue;
      const bool ended = attempt([&] {
        const Doom how = *link->doom;
        end_link(*link, how);
      });
      if (!ended) end_for_want_of_memory(id);
    }
  }
}

void Hub::Impl::end_for_want_of_memory(LinkId id) noexcept {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = links.find(id);
  if (found == links.end() || std::exchange(found->second->lost_something, true)) return;
  unlucky = true;
  poller.wake();
}

// Each of these connections lost a frame for want of memory. Ended, they begin anew, with everything.
void Hub::Impl::reap_unlucky() noexcept {
  for (;;) {
    Link* link = nullptr;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!unlucky || stopping.load(std::memory_order_acquire)) return;
      for (const auto& entry : links) {
        const Link& candidate = *entry.second;
        if (candidate.lost_something && !candidate.lingering && !candidate.down_due) link = entry.second.get();
      }
      unlucky = link != nullptr;
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
  const auto now = Clock::now();
  if (memory_told && now - *memory_told < kShortageInterval) return;
  memory_told = now;
  diagnose(Diagnostic::Level::kError, Errc::out_of_memory,
           "no memory left to serve another process; connections are ended and made again until there is some");
}

void Hub::Impl::send_now(Link& link, const std::vector<std::uint8_t>& packet) {
  // A peer that is gone or does not read misses it: the hang-up says the same with fewer words.
  (void)os::send_packet(link.socket(), packet.data(), packet.size(), nullptr, 0, nullptr, 0);
}

void Hub::Impl::send(PeerId peer, Outgoing frame) noexcept {
  try {
    send_or_throw(peer, std::move(frame));
  } catch (const std::bad_alloc&) {
    end_for_want_of_memory(peer);
  }
}

void Hub::Impl::send_or_throw(PeerId peer, Outgoing frame) {
  Outgoing dropped;  // descriptors are closed outside the lock
  const std::lock_guard<std::mutex> lock(mutex);
  if (is_child.load(std::memory_order_relaxed) || stopping.load(std::memory_order_relaxed)) return;
  const auto found = links.find(peer);
  if (found == links.end() || !found->second->up || found->second->doom || found->second->lost_something) return;
  Link& link = *found->second;
  if (link.queue.empty() && !link.pausing) {
    const os::IoStatus status = push(link, frame);
    if (status == os::IoStatus::kDone || status == os::IoStatus::kClosed || status == os::IoStatus::kError) {
      dropped = std::move(frame);  // sent, or the background thread is about to see the hang-up
      return;
    }
    if (status == os::IoStatus::kTooManyInFlight) link.pausing = true;
  }
  if (link.queue.empty()) link.progress = Clock::now();
  const std::size_t bytes = link.queued_bytes + frame.cost();
  if (link.greeting && on_thread()) link.greeting_bytes += frame.cost();  // not what other threads send meanwhile
  const std::size_t most_bytes = kMaxQueuedBytes + link.greeting_bytes;
  const std::size_t fds = link.queued_fds + frame.fds.size();
  // A busy peer may be behind for a while, for example when hundreds of processes start at once; a stopped one stands still.
  const std::size_t of_user = *link.queued_of_user + frame.cost();
  if (bytes > most_bytes + kHardQueuedBytes - kMaxQueuedBytes || (bytes > most_bytes && of_user > kMaxQueuedBytesPerUser) || fds > std::max(kMaxQueuedFds, os::descriptor_limit() / 2) ||
      ((bytes > most_bytes || fds > kMaxQueuedFds) && Clock::now() - link.progress > kStallTime)) {
    dropped = std::move(frame);
    doom(link, {{Errc::disconnected, describe(link) + " has not read for too long and " + std::to_string(link.queue.size()) +
                                         " frames wait for it; it is disconnected and may come back when it goes on"},
                Bye::kStalled, true});
    return;
  }
  link.queue.push_back(std::move(frame));
  link.queued_bytes = bytes;
  link.queued_fds = fds;
  *link.queued_of_user = of_user;
  if (link.pausing && link.queue.size() == 1) {
    // Timers are made under the same lock: leave that to the background thread.
    posted.push_back([this, peer] {
      schedule(Clock::now() + kInFlightPause, [this, peer] { on_writable(peer); });
    });
    poller.wake();
  } else if (!link.pausing && !link.want_write) {
    link.want_write = true;
    poller.modify(link.socket(), socket_token(link.id), os::Poller::Interest::kReadWrite);
  }
}

// As many packets of the frame as the socket takes now.
os::IoStatus Hub::Impl::push(Link& link, Outgoing& frame) {
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
  return os::IoStatus::kDone;
}

void Hub::Impl::flush(Link& link) {
  link.pausing = false;
  while (!link.queue.empty()) {
    Outgoing& frame = link.queue.front();
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
  const bool want_write = !link.queue.empty() && !link.pausing;
  if (want_write != link.want_write) {
    link.want_write = want_write;
    poller.modify(link.socket(), socket_token(link.id),
                  want_write ? os::Poller::Interest::kReadWrite : os::Poller::Interest::kRead);
  }
}

void Hub::Impl::clear_queue(Link& link) {
  link.queue.clear();
  *link.queued_of_user -= link.queued_bytes;
  link.queued_bytes = 0;
  link.queued_fds = 0;
}

void Hub::Impl::on_writable(LinkId id) {
  Link* link = find(id);
  if (link == nullptr) return;
  bool pause = false;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (link->doom || link->lost_something || link->down_due || link->lingering) return;
    flush(*link);
    pause = link->pausing;
  }
  if (pause) schedule(Clock::now() + kInFlightPause, [this, id] { on_writable(id); });
}

}  // namespace baton::transport
