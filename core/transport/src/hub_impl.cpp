// SPDX-License-Identifier: Apache-2.0
// Life of the hub, its thread, its timers, and fork().
#include "hub.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "baton/os/crash_point.hpp"
#include "baton/os/hexadecimal.hpp"
#include "baton/os/process.hpp"
#include "hub_impl.hpp"

namespace baton::transport {
namespace {

// The users' event callbacks also run on this thread, so its stack is larger than the hub alone needs. Only touched
// pages cost memory, except under mlockall.
constexpr std::size_t kStackBytes = 256 * 1024;

// The hub whose background thread this is.
thread_local const void* t_running = nullptr;

}  // namespace

Result<std::unique_ptr<Hub>> Hub::create(const HubOptions& options, HubHandler& handler) {
  auto impl = std::make_shared<Impl>(options, handler);
  if (auto prepared = impl->prepare(); !prepared) return prepared.error();
  return std::unique_ptr<Hub>(new Hub(std::move(impl)));
}

Hub::Hub(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
void Hub::stop() { impl_->stop(); }
Hub::~Hub() { stop(); }
Result<void> Hub::start() { return impl_->start(); }

void Hub::send(PeerId peer, std::uint16_t type, std::vector<std::uint8_t> payload,
               std::vector<os::SharedFd> fds) noexcept {
  assert(type >= kFirstUserFrame && payload.size() <= kMaxPayloadBytes && fds.size() <= kMaxFrameFds);
  Outgoing frame;
  frame.type = type;
  frame.payload = std::move(payload);
  frame.fds = std::move(fds);
  impl_->send(peer, std::move(frame));
}

void Hub::send_soon(PeerId peer, std::uint16_t type, std::vector<std::uint8_t> payload, std::size_t most) noexcept {
  Outgoing frame;
  frame.type = type;
  frame.payload = std::move(payload);
  frame.room = most;
  impl_->send(peer, std::move(frame));
}

void Hub::send_waiting(PeerId peer) noexcept {
  try {
    const os::Lock lock(impl_->mutex());
    if (impl_->is_child.load(std::memory_order_relaxed) || impl_->stopping.load(std::memory_order_relaxed)) return;
    const auto found = impl_->links.find(peer);
    if (found != impl_->links.end() && !found->second->lost_frame) impl_->flush_held(*found->second);
  } catch (const std::bad_alloc&) {
    end_for_want_of_memory(peer);
  }
}

void Hub::note_change() {
  const os::Lock lock(impl_->mutex());
  impl_->note_change();
}

void Hub::disconnect(PeerId peer, Error reason) {
  const os::Lock lock(impl_->mutex());
  const auto found = impl_->links.find(peer);
  if (found == impl_->links.end()) return;
  impl_->disconnect_soon(*found->second, {std::move(reason), Bye::kViolation, false});
}

std::shared_ptr<const void> Hub::claim(PeerId peer) {
  const os::Lock lock(impl_->mutex());
  const auto found = impl_->links.find(peer);
  if (found == impl_->links.end()) return nullptr;
  return found->second->claim;
}

void Hub::end_for_want_of_memory(PeerId peer) noexcept { impl_->end_for_want_of_memory(peer); }
void Hub::post(std::function<void()> fn) { impl_->post(std::move(fn)); }
TimerId Hub::schedule(std::chrono::steady_clock::time_point when, std::function<void()> fn) {
  return impl_->schedule(when, std::move(fn));
}
void Hub::cancel(TimerId timer) { impl_->cancel(timer); }
bool Hub::on_background_thread() const { return impl_->on_thread(); }
bool Hub::forked() const { return impl_->is_child.load(std::memory_order_acquire); }
const ProcessId& Hub::process_id() const { return impl_->self; }
int Hub::domain() const { return impl_->domain; }
const std::string& Hub::domain_directory() const { return impl_->directory.path; }
bool Hub::is_parked(PeerId peer) const {
  const os::Lock lock(impl_->mutex());
  const auto found = impl_->links.find(peer);
  return found != impl_->links.end() && found->second->acquaintance.phase() == Acquaintance::Phase::kParked;
}
std::size_t Hub::peer_count() const { return impl_->up_count.load(std::memory_order_relaxed); }
std::size_t Hub::unmet_count() const {
  Result<std::vector<std::string>> names = [this] {
    const os::Lock lock(impl_->mutex());
    return os::list_directory(impl_->directory.fd.get());
  }();
  if (!names) return 0;  // the background thread reports it and tries again
  const auto others =
      static_cast<std::size_t>(std::count_if(names->begin(), names->end(), [&](const std::string& name) {
        ProcessId process{};
        return name[0] == 'p' && name != impl_->socket_name &&
               os::from_hexadecimal(name.substr(std::min<std::size_t>(2, name.size())), process);
      }));
  return others - std::min(others, peer_count());
}
std::vector<std::int32_t> Hub::unmet_pids() const {
  std::set<ProcessId> met;  // of a process that is up, a connection the other way may still be under way
  std::map<ProcessId, std::int32_t> asked;
  {
    const os::Lock lock(impl_->mutex());
    for (const auto& [id, link] : impl_->links) {
      if (link->up) {
        met.insert(link->process);
      } else if (link->initiator && !link->lingering && link->info.local_pid > 0) {
        asked[link->process] = link->info.local_pid;
      }
    }
  }
  std::set<std::int32_t> pids;
  for (const auto& [process, pid] : asked) {
    if (met.count(process) == 0) pids.insert(pid);
  }
  return {pids.begin(), pids.end()};
}

Hub::Impl::~Impl() { stop_listening(); }

Result<void> Hub::Impl::prepare() {
  start_listening();
  DirectoryOptions where;
  where.runtime_directory = options.runtime_directory;
  auto number = resolve_domain(options.domain, where);
  if (!number) return number.error();
  domain = *number;
  auto opened = open_domain_directory(domain, where);
  if (!opened) return opened.error();
  directory = std::move(*opened);
  auto id = os::random_id();
  if (!id) return id.error();
  self = *id;
  const auto random = os::random_id();
  if (!random) return random.error();
  std::memcpy(secret.data(), random->data(), sizeof secret);
  self_identity = identity_of(os::watch_process(os::process_id()), os::process_id());
  socket_name = name_of(self);
  self_name = options.name.empty() ? os::program_name() : options.name;
  auto made = os::Poller::create();
  if (!made) return made.error();
  poller = std::move(*made);
  os::raise_descriptor_limit();  // each peer and publisher needs some
  {
    const os::Lock lock(mutex());
    reserve = os::reserve_descriptor();
  }
  // Not value-initialised: pages that no packet reaches stay untouched.
  buffer.reset(new std::uint8_t[kMaxPacketBytes]);
  // Made now, because an ending hub may have no memory for it.
  bye_leaving = encode_bye(Bye::kLeaving, "");
  bye_no_memory = encode_bye(Bye::kNoDescriptors, "process '" + self_name + "' has no memory left");
  events.reserve(os::Poller::kMaxEvents);
  alarms_in_shortage = std::make_shared<FalseAlarms>();
  return {};
}

Result<void> Hub::Impl::start() {
  {
    const os::Lock lock(mutex());
    if (is_child.load(std::memory_order_relaxed)) return Error{Errc::forked, "the hub was made before fork()"};
    if (auto published = publish_name(); !published) return published.error();
    if (!poller.add(listener.get(), kListenerToken)) return os::system_error("epoll_ctl", errno);
  }
  auto started = os::start_thread("baton-bg", kStackBytes, [keep = shared_from_this()] { keep->run(); });
  if (!started) return started.error();
  thread = *started;
  thread_started = true;
  if (!directory.remark.empty())
    post([this] { diagnose(Diagnostic::Level::kWarning, Errc::no_runtime_directory, directory.remark); });
  return {};
}

void Hub::Impl::stop() {
  if (is_child.load(std::memory_order_acquire)) return;  // neither the thread nor any descriptor exists in a child
  const bool inside = on_thread();
  {
    const os::Lock lock(mutex());
    // Pairs with the acquire in call(): a callback that starts after this store is not made.
    stopping.store(true, std::memory_order_release);
    poller.wake();
  }
  if (!std::exchange(thread_started, false)) {
    const os::Lock lock(mutex());
    if (listener) (void)os::remove_name(directory.fd.get(), socket_name);
  } else if (inside) {
    (void)::pthread_detach(thread);
  } else {
    (void)::pthread_join(thread, nullptr);
  }
}

bool Hub::Impl::on_thread() const { return t_running == this && !is_child.load(std::memory_order_acquire); }

std::optional<Clock::time_point> Hub::Impl::next_deadline() {
  const os::Lock lock(mutex());
  std::optional<Clock::time_point> deadline;
  if (!timers.empty()) deadline = timers.begin()->first.first;
  const bool busy = scan_wanted || ring_changed || !newly_gone.empty() || lost_frames || downs != nullptr ||
                    batch_at < batch.size() || !posted.empty() || !to_disconnect.empty();
  if (busy && (!deadline || rest_until < *deadline)) deadline = rest_until;
  return deadline;
}

void Hub::Impl::run() {
  t_running = this;
  while (!stopping.load(std::memory_order_acquire)) {
    if (scan_wanted && rest_until <= Clock::now()) {
      scan_wanted = false;
      attempt([&] { scan(false); });
    }
    bool works = true;
    attempt([&] {
      auto waited = poller.wait(next_deadline(), events);
      if (waited) return;
      works = false;
      diagnose(Diagnostic::Level::kError, waited.error().code, waited.error().message);
    });
    if (!works) break;
    for (const os::Poller::Event& event : events) {
      if (stopping.load(std::memory_order_acquire)) break;
      if (event.token == kListenerToken) {
        attempt([&] { on_listener(); });
        continue;
      }
      const LinkId id = event.token / 4;
      const bool handled = attempt([&] {
        if (event.token == watch_token(id)) {
          on_process_end(id);
          return;
        }
        if (PeerLink* link = find(id); link != nullptr && link->lingering) {
          on_lingering(*link, event.hung_up, event.writable);
          return;
        }
        if (event.writable) on_writable(id);
        if (event.readable) on_readable(id);
      });
      if (!handled) end_for_want_of_memory(id);
    }
    finish_disconnects();
    end_links_without_memory();
    if (downs != nullptr && rest_until <= Clock::now()) finish_downs();
    run_timers_and_posts();
    if (ring_changed && rest_until <= Clock::now()) attempt([&] { update_ring(); });
    if (!newly_gone.empty() && rest_until <= Clock::now()) attempt([&] { tell_gone(); });
  }

  // First invisible, then BYE: no process connects to a process that is leaving.
  const os::Lock lock(mutex());
  (void)os::remove_name(directory.fd.get(), socket_name);
  BATON_CRASH_POINT("hub.name_removed");
  listener.reset();
  for (auto& [id, link] : links) {
    if (link->socket() < 0) {  // parked: its neighbours say that this process has left
      link->claim.reset();
      link->line.reset();
      link->up = false;
      clear_queue(*link);
      continue;
    }
    if (link->up) attempt([&, &up = *link]() BATON_REQUIRES(hub_mutex) { flush(up); });
    if (!link->lingering) send_now(*link, bye_leaving);
    BATON_CRASH_POINT("hub.good_bye_sent");
    // Samples that this process still holds keep their claims, and the claims keep the socket.
    link->claim.reset();
    poller.remove(link->socket());
    link->line.reset();
    link->watch.reset();
    link->up = false;
    clear_queue(*link);
  }
  up_count.store(0, std::memory_order_relaxed);
}

void Hub::Impl::post(std::function<void()> fn) {
  const os::Lock lock(mutex());
  if (is_child.load(std::memory_order_relaxed) || stopping.load(std::memory_order_relaxed)) return;
  if (posted.empty()) poller.wake();
  posted.push_back(std::move(fn));
}

TimerId Hub::Impl::schedule(Clock::time_point when, std::function<void()> fn) {
  const os::Lock lock(mutex());
  return schedule_locked(when, std::move(fn));
}

TimerId Hub::Impl::schedule_locked(Clock::time_point when, std::function<void()>&& fn) {
  const TimerId id = next_timer++;
  if (is_child.load(std::memory_order_relaxed) || stopping.load(std::memory_order_relaxed)) return id;
  const auto time = timer_times.emplace(id, when).first;
  decltype(timers)::iterator at;
  try {
    at = timers.emplace(std::make_pair(when, id), std::move(fn)).first;
  } catch (...) {
    timer_times.erase(time);
    throw;
  }
  if (at == timers.begin() && !on_thread()) poller.wake();
  return id;
}

void Hub::Impl::cancel(TimerId timer) {
  std::function<void()> dropped;  // destroyed outside the lock: its destructor may call the hub
  const os::Lock lock(mutex());
  const auto found = timer_times.find(timer);
  if (found == timer_times.end()) return;
  const auto entry = timers.find({found->second, timer});
  dropped = std::move(entry->second);
  timers.erase(entry);
  timer_times.erase(found);
}

void Hub::Impl::run_timers_and_posts() {
  const auto start = Clock::now();
  if (rest_until <= start) run_posts(start);
  run_timers(start);
}

// In order: a function that lacks memory delays the functions behind it.
void Hub::Impl::run_posts(Clock::time_point start) {
  if (batch_at == batch.size()) {
    constexpr std::size_t kWorthKeeping = 1024;
    if (batch.capacity() > kWorthKeeping) std::vector<std::function<void()>>().swap(batch);
    batch.clear();
    batch_at = 0;
    const os::Lock lock(mutex());
    batch.swap(posted);
  }
  while (batch_at < batch.size()) {
    if (!attempt([&] { call(batch[batch_at]); })) return;
    batch[batch_at++] = nullptr;
    if (Clock::now() - start > kSliceTime) return;
  }
}

void Hub::Impl::run_timers(Clock::time_point start) {
  // A timer scheduled for "now" by a timer waits for the next round, so that sockets get their turn.
  do {
    decltype(timers)::node_type timer;  // its function is destroyed outside the lock
    decltype(timer_times)::node_type time;
    {
      const os::Lock lock(mutex());
      if (timers.empty() || timers.begin()->first.first > start) return;
      timer = timers.extract(timers.begin());
      time = timer_times.extract(timer.key().second);
    }
    if (stopping.load(std::memory_order_acquire)) return;
    if (attempt([&] { call(timer.mapped()); })) continue;
    timer.key().first = time.mapped() = rest_until;
    const os::Lock lock(mutex());
    timers.insert(std::move(timer));
    timer_times.insert(std::move(time));
  } while (Clock::now() - start <= 2 * kSliceTime);
}

void Hub::Impl::diagnose(Diagnostic::Level level, Errc code, std::string text) {
  if (!options.on_diagnostic) return;
  call([&] { options.on_diagnostic({level, code, std::move(text)}); });
}

void Hub::Impl::after_fork_in_child() {
  // The child must not keep the parent's connections open. Closing is enough: an epoll_ctl in the child would change
  // the parent's epoll, which is shared.
  is_child.store(true, std::memory_order_release);
  stopping.store(true, std::memory_order_release);
  listener.reset();
  reserve.reset();
  directory.fd.reset();
  directory.runtime.reset();
  for (auto& [id, link] : links) {
    link->watch.reset();  // the sockets are closed already (os::ParentOnlyFd)
    link->up = false;
  }
  poller.close_after_fork();
  up_count.store(0, std::memory_order_relaxed);
  mutex().unlock();
}

}  // namespace baton::transport
