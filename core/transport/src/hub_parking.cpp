// SPDX-License-Identifier: Apache-2.0
// Links that rest, and the ring of processes that watch over each other (parking.hpp; docs/format/handshake.md, section 9).
#include <algorithm>

#include "baton/os/crash_point.hpp"
#include "hub_impl.hpp"
#include "wire.hpp"

namespace baton::transport {
namespace {

using Phase = Acquaintance::Phase;

/// Of a link that is parked while descriptors are short.
constexpr std::chrono::milliseconds kShortIdleTime{250};
/// So many idle times after the first of many changes, links are parked all the same.
constexpr int kUnrestIdleTimes = 30;
/// Held samples keep a link, and no frame says when they are released: they are looked at ever more rarely.
constexpr std::chrono::milliseconds kMostPatience{64'000};
/// So long a process may be new to others that have known each other for long.
constexpr std::chrono::seconds kNewcomer{1};
constexpr std::chrono::seconds kToldToNewcomers{60};
constexpr std::chrono::milliseconds kFirstPause{10};
constexpr unsigned kMaxAttempts = 9;  ///< to tell a process whose backlog is full, after 10 ms, 20 ms, ... 5 s

}  // namespace

void Hub::Impl::note_activity(PeerLink& link) {
  link.last_frame = Clock::now();
  link.may_be_idle = true;
  plan_parking(link.last_frame + options.idle_time);
}

void Hub::Impl::plan_parking(Clock::time_point when) {
  if (when >= parking_at) return;
  schedule_locked(when, [this, when] {
    {  // An earlier look that was planned since plans the next one. Without memory this one is repeated: then the time is max().
      const os::Lock lock(mutex());
      if (when != parking_at && parking_at != Clock::time_point::max()) return;
    }
    look_for_idle_links();
  });
  parking_at = when;
}

void Hub::Impl::note_change() {
  const Clock::time_point now = Clock::now();
  if (now - last_change > 2 * options.idle_time) changing_since = now;
  last_change = now;
}

void Hub::Impl::park_soon() {
  if (hurries) return;
  {
    const os::Lock lock(mutex());
    for (const auto& [id, link] : links) link->may_be_idle = link->may_be_idle || link->up;
  }
  schedule(Clock::now(), [this] { look_for_idle_links(); });
  hurries = true;
}

HubHandler::Need Hub::Impl::need_of(const PeerLink& link) {
  const auto route = routes.find(link.process);
  HubHandler::Need need = HubHandler::Need::kConnections;
  if (route == routes.end() || route->second.watched) return need;
  call([&] { need = handler.needs_link(link.id); });
  return need;
}

void Hub::Impl::look_for_idle_links() {
  const bool hurry = std::exchange(hurries, false);
  std::vector<LinkId> due;
  std::optional<Clock::time_point> next;
  const Clock::time_point now = Clock::now();
  {
    const os::Lock lock(mutex());
    parking_at = Clock::time_point::max();
    // While processes join and announce, each has much to say to all. But some change without end.
    const Clock::time_point calm =
        std::min(last_change + 2 * options.idle_time, changing_since + kUnrestIdleTimes * options.idle_time);
    if (calm > now && !hurry) {
      plan_parking(calm);
      return;
    }
    for (const auto& [id, link] : links) {
      if (!link->up || !link->may_be_idle || link->pending || link->lost_frame ||
          link->acquaintance.phase() != Phase::kOpen)
        continue;
      const Clock::time_point when = link->last_frame + (hurry ? kShortIdleTime : link->patience);
      if (when > now) {
        if (!next || when < *next) next = when;
        continue;
      }
      link->may_be_idle = false;
      due.push_back(id);
    }
  }
  for (const LinkId id : due) {
    PeerLink* link = find(id);
    if (link == nullptr) continue;
    const HubHandler::Need need = need_of(*link);
    if (need == HubHandler::Need::kConnections) continue;
    const os::Lock lock(mutex());
    // Neither the release of a sample nor the end of a claim is a frame. Frames that wait, or a PARK that has no room, are sent when the
    // peer reads, and that is no frame either.
    const bool released = need != HubHandler::Need::kSamples && link->claim.use_count() == 1;
    if (released && link->queue.empty() && !link->pausing && ask_to_park(*link)) {
      link->patience = options.idle_time;
      continue;
    }
    link->patience = std::min(2 * link->patience, kMostPatience);
    link->last_frame = now;
    link->may_be_idle = true;
    if (!next || now + link->patience < *next) next = now + link->patience;
  }
  if (!next) return;
  const os::Lock lock(mutex());
  plan_parking(*next);
}

/// False: there is no room for PARK.
bool Hub::Impl::ask_to_park(PeerLink& link) {
  Outgoing park;
  park.type = kParkFrame;
  WireWriter out;
  out.put(link.acquaintance.counts().received);
  park.payload = std::move(out).take();
  if (push(link, park) != os::IoStatus::kDone) return false;
  link.acquaintance.ask();
  return true;
}

void Hub::Impl::on_park(PeerLink& link, std::uint64_t received) {
  bool unanswered = false, ended = false;
  {
    const os::Lock lock(mutex());
    // Dead, and perhaps nobody else knows. One that has parked the link has been asked.
    ended = link.acquaintance.phase() == Phase::kOpen && os::hung_up_now(link.socket());
    unanswered = std::any_of(link.queue.begin(), link.queue.end(),
                             [](const Outgoing& frame) { return frame.type == kKeepFrame; });
  }
  if (ended) {
    hung_up(link);
    return;
  }
  if (unanswered) {
    end_link(link, {{Errc::protocol_violation, describe(link) + " sends PARK before the last one was answered"},
                    Bye::kViolation,
                    true});
    return;
  }
  // A look at all endpoints. An honest process asks again after a frame and the idle time.
  const Clock::time_point now = Clock::now();
  const bool again = now - std::exchange(link.asked_at, now) < std::min(options.idle_time, kShortIdleTime) / 2;
  const HubHandler::Need need = again ? HubHandler::Need::kConnections : need_of(link);
  bool agreed = false, pause = false;
  {
    const os::Lock lock(mutex());
    const bool waiting = std::any_of(link.queue.begin(), link.queue.end(),
                                     [](const Outgoing& frame) { return frame.type >= kFirstUserFrame; });
    const bool idle = need == HubHandler::Need::kNone && link.claim.use_count() == 1 && !waiting;
    agreed = link.acquaintance.agrees(received, idle);
    if (!agreed) {
      Outgoing keep;
      keep.type = kKeepFrame;
      const std::size_t cost = keep.cost();
      // What this process holds back while it waits for an answer must not hold up its own; an unfinished frame must not be interrupted.
      if (link.acquaintance.phase() == Phase::kAsked) {
        link.queue.push_front(std::move(keep));
      } else {
        link.queue.push_back(std::move(keep));
      }
      link.queued_bytes += cost;
      *link.queued_of_user += cost;
      if (!link.pausing) flush(link);
      pause = link.pausing;
    } else {
      send_now(link, encode_bye(Bye::kParked, ""));
    }
  }
  if (pause) on_writable(link.id);
  if (!agreed) return;
  BATON_CRASH_POINT("hub.parked");
  park(link);
}

void Hub::Impl::on_keep(PeerLink& link) {
  bool asked = false;
  {
    const os::Lock lock(mutex());
    asked = link.acquaintance.kept();
    link.last_frame = Clock::now();  // in a shortage it is asked again, and not at once, which is answered KEEP
  }
  if (asked) {
    on_writable(link.id);
  } else {
    end_link(link, {{Errc::protocol_violation, describe(link) + " answers PARK unasked"}, Bye::kViolation, true});
  }
}

void Hub::Impl::park(PeerLink& link) {
  const ProcessId process = link.process;
  bool again = false;
  {
    const os::Lock lock(mutex());
    poller.remove(link.socket());
    if (link.watch) poller.remove(link.watch.get());
    link.watch.reset();
    link.line->hang_up();
    link.want_write = false;
    link.pausing = false;
    for (auto frame = link.queue.begin(); frame != link.queue.end();) {
      if (frame->type >= kFirstUserFrame) {
        ++frame;
        continue;
      }
      link.queued_bytes -= frame->cost();  // KEEP, which answers nothing any more
      *link.queued_of_user -= frame->cost();
      frame = link.queue.erase(frame);
    }
    again = !link.queue.empty();
  }
  Route& route = routes[process];
  route.parked = true;
  route.attempts = 0;  // the link has lasted
  const std::shared_ptr<FalseAlarms> teller = std::move(route.suspected_by);
  ring_changed = true;  // a neighbour whose link was parked by an earlier view of the ring
  if (again) {
    connect_to(process);
  } else if (teller && !check_whether_gone(process, *teller)) {
    check_doubtful(process);
  }
}

void Hub::Impl::reopen(PeerLink& parked, PeerLink& fresh) {
  cancel(std::exchange(fresh.handshake_timer, 0));
  Route& route = routes[parked.process];
  if (route.mine == fresh.id) route.mine = 0;
  if (route.retry != 0) cancel(std::exchange(route.retry, 0));
  route.parked = false;
  route.attempts = 0;
  std::unique_ptr<PeerLink> ended;  // destroyed outside the lock
  {
    const os::Lock lock(mutex());
    poller.remove(fresh.socket());
    if (fresh.watch) poller.remove(fresh.watch.get());
    if (parked.watch) poller.remove(parked.watch.get());
    parked.line->adopt(*fresh.line);
    parked.watch = std::move(fresh.watch);
    parked.machine = std::move(fresh.machine);
    parked.initiator = fresh.initiator;
    parked.acquaintance.reopened();
    (void)poller.add(parked.socket(), socket_token(parked.id));
    if (parked.watch) (void)poller.add(parked.watch.get(), watch_token(parked.id));
    remove_from_account(fresh);
    const auto found = links.find(fresh.id);
    ended = std::move(found->second);
    links.erase(found);
    parked.progress = Clock::now();
    note_activity(parked);
  }
  on_writable(parked.id);
  BATON_CRASH_POINT("hub.reopened");
  call([&] { handler.on_link_open(parked.id); });
}

void Hub::Impl::finish_parking(const ProcessId& process) {
  constexpr int kRounds = 64;
  for (int i = 0; i < kRounds; ++i) {
    const auto route = routes.find(process);
    PeerLink* const link = route != routes.end() && route->second.has_socket() ? find(route->second.up) : nullptr;
    if (link == nullptr) return;
    {
      const os::Lock lock(mutex());
      if (link->acquaintance.phase() != Phase::kAsked || !os::readable_now(link->socket())) return;
    }
    on_readable(link->id);
  }
}

void Hub::Impl::update_ring() {
  while (std::exchange(ring_changed, false)) {
    std::vector<ProcessId> met;
    for (const auto& [process, route] : routes)
      if (route.up != 0) met.push_back(process);
    std::vector<ProcessId> now = neighbours(self, met);
    std::sort(now.begin(), now.end());
    for (auto& [process, route] : routes) {
      if (route.up == 0) continue;
      const bool watched = std::binary_search(now.begin(), now.end(), process);
      if (route.watched && !watched) {
        const os::Lock lock(mutex());
        note_activity(*find(route.up));
      }
      route.watched = watched;
    }
    for (const ProcessId& process : now) {
      const auto route = routes.find(process);
      if (route != routes.end() && route->second.parked) connect_to(process);
    }
    choose_whom_to_witness();
  }
}

void Hub::Impl::drop_parked(const ProcessId& process, const Error& reason) {
  const auto route = routes.find(process);
  if (route != routes.end() && route->second.parked) drop_link(*find(route->second.up), reason, true);
}

/// Ends the parked link of a process that is refused. Another process that says its id ends nothing of it.
void Hub::Impl::drop_parked_of(const ProcessId& process, const PeerInfo& refused, const Error& reason) {
  const auto route = routes.find(process);
  if (route != routes.end() && route->second.parked && same_process(find(route->second.up)->info, refused))
    drop_parked(process, reason);
}

/// The process is dead, or has left: its name is gone or refuses.
void Hub::Impl::met_its_end(const ProcessId& process) {
  const auto found = routes.find(process);
  if (found == routes.end()) return;
  // No process has parked a link with one that all met so recently, unless this process is the newcomer. Else a process that comes and goes
  // without end would cost all the others.
  const Clock::time_point now = Clock::now();
  const bool was_new =
      now - found->second.up_since < std::min(options.idle_time, kShortIdleTime) && now - joined > kNewcomer;
  const bool watched = std::exchange(found->second.watched, false), witness = found->second.witnessed;
  if (!was_new && watched) newly_gone.push_back(process);
  os::UniqueFd watch;
  if (found->second.parked) {
    const os::Lock lock(mutex());
    PeerLink& link = *find(found->second.up);
    if (link.watch) poller.remove(link.watch.get());
    watch = std::move(link.watch);
  }
  if (!was_new && !watched && (witness || watch)) tell_as_witness(process, std::move(watch));
  if (found->second.parked) {
    PeerLink& link = *find(found->second.up);
    process_ended(link);
    drop_link(link, {Errc::disconnected, describe(link) + " died or left"}, true);
  }
  const auto route = routes.find(process);
  if (route == routes.end()) return;
  if (route->second.retry != 0) cancel(route->second.retry);
  routes.erase(route);
}

void Hub::Impl::tell_gone() {
  while (!newly_gone.empty()) {
    const auto some = static_cast<std::ptrdiff_t>(std::min(newly_gone.size(), kMaxGone));
    const std::vector<ProcessId> part(newly_gone.end() - some, newly_gone.end());
    const auto packet = std::make_shared<const std::vector<std::uint8_t>>(encode_gone(part));
    for (const ProcessId& process : part) gone_before.emplace_back(Clock::now(), process);
    while (gone_before.size() > kMaxGoneBefore) gone_before.pop_front();
    tell_gone_to_some(packet, ProcessId{});
    newly_gone.resize(newly_gone.size() - part.size());
  }
}

/// A process that was met just now: it may know processes whose end was told before.
void Hub::Impl::tell_newcomer(const ProcessId& process) {
  while (!gone_before.empty() && Clock::now() - gone_before.front().first > kToldToNewcomers) gone_before.pop_front();
  if (gone_before.empty()) return;
  std::vector<ProcessId> ended;
  for (const auto& [when, each] : gone_before) ended.push_back(each);
  send_gone(process, std::make_shared<const std::vector<std::uint8_t>>(encode_gone(ended)), 0);
}

/// A link of its own for each, past the one that may be parked: connect, one packet, close. In turns with other work.
void Hub::Impl::tell_gone_to_some(const SharedPacket& packet, ProcessId after) {
  const auto start = Clock::now();
  for (auto at = routes.upper_bound(after); at != routes.end(); at = routes.upper_bound(after)) {
    after = at->first;
    if (at->second.up != 0) send_gone(after, packet, 0);
    if (Clock::now() - start <= kSliceTime) continue;
    post([this, packet, after] { tell_gone_to_some(packet, after); });
    return;
  }
}

void Hub::Impl::send_gone(const ProcessId& to, const SharedPacket& packet, unsigned attempt) {
  os::IoStatus status{};
  {
    const os::Lock lock(mutex());
    os::UniqueFd socket;
    status = os::connect_at(directory.fd.get(), directory.path, name_of(to), socket);
    if (status == os::IoStatus::kDone)
      (void)os::send_packet(socket.get(), packet->data(), packet->size(), nullptr, 0, nullptr, 0);
  }
  const bool later = status == os::IoStatus::kWouldBlock || status == os::IoStatus::kNoDescriptors;
  if (!later || attempt == kMaxAttempts) return;
  schedule(Clock::now() + kFirstPause * (1U << attempt), [this, to, packet, attempt] {
    const auto route = routes.find(to);
    if (route != routes.end() && route->second.up != 0) send_gone(to, packet, attempt + 1);
  });
}

/// A false GONE opens a link, and counts as an alarm of its teller; a true one opens none. False: the teller has said too many false ones.
bool Hub::Impl::check_whether_gone(const ProcessId& parked, FalseAlarms& teller) {
  if (teller.spent()) return false;
  connect_to(parked);
  if (routes.count(parked) != 0) ++teller.count;
  return true;
}

void Hub::Impl::check_whether_gone(const std::vector<ProcessId>& called_gone,
                                   const std::shared_ptr<FalseAlarms>& teller) {
  for (const ProcessId& process : called_gone) {
    const auto found = routes.find(process);
    if (found == routes.end()) continue;
    Route& route = found->second;
    if (!route.parked) {
      // Of several tellers, the most reliable one.
      if (!route.suspected_by || teller->count < route.suspected_by->count) route.suspected_by = teller;
    } else if (route.mine == 0) {
      (void)check_whether_gone(process, *teller);
    }
  }
}

void Hub::Impl::on_gone(PeerLink& link, const std::vector<ProcessId>& called_gone) {
  check_whether_gone(called_gone, std::shared_ptr<FalseAlarms>(account_of(link).alarms));
  drop_link(link, {Errc::disconnected, "it said which processes are gone"}, true);
}

}  // namespace baton::transport
