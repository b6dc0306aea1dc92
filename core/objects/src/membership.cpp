// SPDX-License-Identifier: Apache-2.0
#include "membership.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "baton/os/disposal.hpp"
#include "baton/os/fork.hpp"

namespace baton::objects::detail {
namespace {

constexpr std::chrono::milliseconds kAcceptAgain{50};
/// Connections of a member. A heap has at most half as many processes; the others wait in the backlog until one ends.
constexpr std::size_t kMostLinks = 128;
static_assert(kMostLinks == 2 * kMaxProcesses);

}  // namespace

Result<std::unique_ptr<Membership>> Membership::start(Presence presence, const Parts& parts) {
  Result<os::Poller> poller = os::Poller::create();
  if (!poller) return poller.error();
  std::unique_ptr<Membership> out(new Membership(std::move(presence), parts, std::move(*poller)));
  out->generation_ = os::fork_generation();
  bool added = out->poller_.add(out->presence_.listener.get(), 0);
  for (std::size_t i = 0; i < out->presence_.links.size(); ++i)
    added = out->poller_.add(out->presence_.links[i].get(), i + 1) && added;
  if (!added) parts.waiters.set_unwatched();
  Result<pthread_t> thread = os::start_thread("baton-heap", 256 * 1024, [m = out.get()] { m->run(); });
  if (!thread) return thread.error();
  out->thread_ = *thread;
  out->running_ = true;
  return out;
}

// Tokens: 0 is the listener, i + 1 is links[i]. A link that ended leaves an empty place, which the next link takes. A
// member without a connection makes the heap unwatched. That is rare: after errors, and for processes that came by
// attach().
void Membership::run() {
  OperationGuard::set_background(parts_.heap);
  using Clock = std::chrono::steady_clock;
  std::vector<os::Poller::Event> events;
  std::optional<Clock::time_point> again;  // when to accept again, after descriptors ran out
  bool unwatched_sent = false;
  while (!ended_.load(std::memory_order_acquire)) {  // pairs with the release in stop()
    if (parts_.waiters.unwatched() && !unwatched_sent) {
      unwatched_sent = true;
      parts_.waiters.notify_all();
      send_unwatched();
    }
    if (!again) parts_.waiters.begin_watch();
    if (!poller_.wait(again, events)) break;
    if (again && Clock::now() >= *again) {
      again.reset();
      if (!poller_.add(presence_.listener.get(), 0)) parts_.waiters.set_unwatched();
    }
    bool ended = false;
    for (const os::Poller::Event& event : events) {
      ended = (event.token != 0 ? receive(presence_.links[event.token - 1]) : accept_one()) || ended;
    }
    if (!accepts_) {
      accepts_ = true;
      poller_.remove(presence_.listener.get());
      again = Clock::now() + kAcceptAgain;
      parts_.waiters.notify_all();  // the death of a newcomer in the backlog is not noticed until then
    }
    if (!ended) continue;
    parts_.waiters.notify_all();  // before the recovery, which may take long
    parts_.recovery.collect();
    if (std::shared_ptr<Closable> last = OperationGuard::take_parked()) {
      last.reset();  // destroys *this, too
      return;
    }
  }
  parts_.waiters.notify_all();
}

/// True: the link has ended.
bool Membership::receive(os::UniqueFd& link) {
  HeapHello hello;
  os::ReceivedPacket packet;
  const os::IoStatus status = os::receive_packet(link.get(), &hello, sizeof hello, 1, packet);
  if (status == os::IoStatus::kWouldBlock) return false;
  if (status == os::IoStatus::kDone && packet.size_bytes != 0 && !packet.fds_lost) return false;
  if (!is_over(status, packet)) parts_.waiters.set_unwatched();
  poller_.remove(link.get());
  os::close_socket(std::move(link));
  return true;
}

/// True: a newcomer has died or left since, and may have been in the heap.
bool Membership::accept_one() {
  os::UniqueFd link;
  std::vector<os::UniqueFd>& links = presence_.links;
  auto place = std::find_if(links.begin(), links.end(), [](const os::UniqueFd& l) { return !l; });
  if (place == links.end() && links.size() >= kMostLinks) {
    accepts_ = false;
    return false;
  }
  if (const os::IoStatus status = os::accept_one(presence_.listener.get(), link); status != os::IoStatus::kDone) {
    accepts_ = status == os::IoStatus::kWouldBlock;
    return false;
  }
  const HeapHello hello;
  const int fd = parts_.mapping.descriptor().get();
  if (const os::IoStatus status = os::send_packet(link.get(), &hello, sizeof hello, nullptr, 0, &fd, 1);
      status != os::IoStatus::kDone) {
    if (status != os::IoStatus::kClosed) parts_.waiters.set_unwatched();
    return true;
  }
  if (place == links.end()) place = links.emplace(links.end());
  *place = std::move(link);
  if (!poller_.add(place->get(), static_cast<std::uint64_t>(place - links.begin()) + 1)) parts_.waiters.set_unwatched();
  return false;
}

// If a packet cannot be sent, the link has unread packets, which wake its reader as well, or has ended.
void Membership::send_unwatched() noexcept {
  const HeapHello hello;
  for (const os::UniqueFd& link : presence_.links) {
    if (link) (void)os::send_packet(link.get(), &hello, sizeof hello, nullptr, 0, nullptr, 0);
  }
}

void Membership::stop() noexcept {
  if (generation_ != os::fork_generation() || !running_) return;
  running_ = false;
  if (::pthread_equal(thread_, ::pthread_self()) != 0) {  // see run()
    ::pthread_detach(thread_);
    return;
  }
  ended_.store(true, std::memory_order_release);  // pairs with the acquire in run()
  poller_.wake();
  ::pthread_join(thread_, nullptr);
}

Membership::~Membership() {
  if (generation_ != os::fork_generation()) return;
  stop();  // if the heap could not be opened
  leave(presence_);
}

void Membership::after_fork_in_child() noexcept {
  presence_.listener.reset();
  for (os::UniqueFd& link : presence_.links) link.reset();
  presence_.directory.fd.reset();
  presence_.directory.runtime.reset();
  poller_.close_after_fork();
}

}  // namespace baton::objects::detail
