// SPDX-License-Identifier: Apache-2.0
// Deaths that the ring does not tell, because the neighbours of the dead process lie, or a liar stands between it and its honest neighbours in
// the order of ids (docs/format/handshake.md, section 9). Each process is a witness of a few others: it holds their pidfds, in a choice that
// nobody else can foresee.
#include <algorithm>
#include <memory>
#include <utility>

#include "baton/os/process.hpp"
#include "baton/os/unix_socket.hpp"
#include "hub_impl.hpp"

namespace baton::transport {
namespace {

/// Witnesses tell a death after its neighbours, and not all at the same time: the id decides.
constexpr std::chrono::milliseconds kNeighboursFirst{250};
constexpr std::chrono::milliseconds kPerWitness{4};

}  // namespace

/// The place of a process in the choice of this one. Only this process knows `secret`.
std::uint64_t Hub::Impl::witness_rank(std::uint64_t identity) const {
  std::uint64_t rank = identity ^ secret[0];
  for (const std::uint64_t factor : {secret[1] | 1, secret[0] | 1}) {
    rank *= factor;
    rank ^= rank >> 31;
  }
  return rank;
}

/// Of the processes with a parked link, holds the pidfds of those that rank first. A process under many names counts once.
void Hub::Impl::choose_whom_to_witness() {
  std::map<std::uint64_t, PeerLink*> ranked;
  for (const auto& [process, route] : routes) {
    if (!route.parked) continue;
    PeerLink& link = *find(route.up);
    if (link.info.identity == 0 || link.info.identity == self_identity || link.info.local_pid <= 0) continue;
    ranked.emplace(witness_rank(link.info.identity), &link);
  }
  if (ranked.size() > kMostWitnessed) ranked.erase(std::next(ranked.begin(), kMostWitnessed), ranked.end());
  const os::Lock lock(mutex());
  for (const auto& [id, link] : links) {
    if (link->socket() >= 0 || !link->watch) continue;
    const auto found = ranked.find(witness_rank(link->info.identity));
    if (found != ranked.end() && found->second == link.get()) continue;
    poller.remove(link->watch.get());
    link->watch.reset();
  }
  for (const auto& [rank, link] : ranked) {
    if (link->watch) continue;
    os::UniqueFd watch = os::watch_process(link->info.local_pid);
    // The number may be another process's by now. And the last descriptors are for links.
    if (!watch || identity_of(watch, link->info.local_pid) != link->info.identity ||
        static_cast<std::size_t>(watch.get()) > os::descriptor_limit() / 2)
      continue;
    link->watch = std::move(watch);
    (void)poller.add(link->watch.get(), watch_token(link->id));
  }
}

/// The pidfd of a process with a parked link reports its end.
void Hub::Impl::on_witnessed_end(PeerLink& link) {
  {
    const os::Lock lock(mutex());
    poller.remove(link.watch.get());
    link.watch.reset();
  }
  const ProcessId process = link.process;
  routes[process].witnessed = true;
  connect_to(process);  // its name refuses
}

/// Says that the process is gone, also if others have said so: a liar could say it to all witnesses and nobody else. `watch`: empty, or
/// a pidfd that has not reported the end so far. A dying process refuses connections some milliseconds before its pidfd reports the end, and a
/// liar can use this time to send all witnesses there. So the pidfd is asked again when it is time to tell; one that reports no end is of a
/// process that has left and lives.
void Hub::Impl::tell_as_witness(const ProcessId& process, os::UniqueFd watch) {
  const auto held = std::make_shared<const os::UniqueFd>(std::move(watch));  // a std::function is copied
  schedule(Clock::now() + kNeighboursFirst + self.back() * kPerWitness, [this, process, held] {
    if (!*held || os::readable_now(held->get())) newly_gone.push_back(process);
  });
}

/// A process was called gone by one that has said too much else that was false. Another one may have said the same, so the link is looked
/// at all the same, within one budget for all such links.
void Hub::Impl::check_doubtful(const ProcessId& process) {
  const auto found = routes.find(process);
  if (found == routes.end() || !found->second.parked || found->second.mine != 0 || found->second.doubtful) return;
  if (!doubts.spent(kMostDoubtful)) {
    (void)check_whether_gone(process, doubts);
    return;
  }
  found->second.doubtful = true;
  schedule(doubts.since + kArrivalsWindow, [this, process] {
    const auto later = routes.find(process);
    if (later == routes.end()) return;
    later->second.doubtful = false;
    check_doubtful(process);
  });
}

}  // namespace baton::transport
