// SPDX-License-Identifier: Apache-2.0
// Links to other processes: from which process a link comes, and how many links a process and a user may have.
#include <algorithm>

#include "baton/os/process.hpp"
#include "hub_impl.hpp"

namespace baton::transport {
namespace {

constexpr std::size_t kMaxRoutes = 16384;
/// Marks an identity that is only the process's number.
constexpr std::uint64_t kPidIdentity = std::uint64_t{1} << 63;

std::uint64_t account_key(const PeerLink& link) {
  constexpr std::uint64_t kUser = std::uint64_t{1} << 62;  // marks a user's processes without an identity
  return link.info.identity != 0 ? link.info.identity : kUser | link.info.uid;
}

}  // namespace

std::uint64_t identity_of(const os::UniqueFd& pidfd, std::int32_t pid) {
  const std::uint64_t identity = os::process_identity(pidfd);
  return identity != 0 || pid <= 0 ? identity : kPidIdentity | static_cast<std::uint64_t>(pid);
}

bool same_process(const PeerInfo& a, const PeerInfo& b) {
  if (a.identity == b.identity) return true;
  const bool by_number = ((a.identity | b.identity) & kPidIdentity) != 0;
  return by_number && a.local_pid > 0 && a.local_pid == b.local_pid;
}

PeerLink* Hub::Impl::find(LinkId id) {
  const auto found = links.find(id);
  return found == links.end() ? nullptr : found->second.get();
}

std::string Hub::Impl::describe(const PeerLink& link) const {
  const std::string& name = link.machine.peer().name;
  return (name.empty() ? "a process" : "process '" + name + "'") + " (pid " + std::to_string(link.info.pid) +
         ", user " + std::to_string(link.info.uid) + ")";
}

void Hub::Impl::no_longer_silent(PeerLink& link) {
  if (std::exchange(link.silent, false)) --silent_count;
}

void Hub::Impl::refuse_for_ever(const ProcessId& process) {
  make_room_for_routes();
  routes[process].refused = true;
}

// A process that joins under ever new identities must not fill the memory. Forgotten refusals cost one more diagnostic.
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

/// Whether a name in the directory may take a place among the processes that are known. Whoever may enter it can make names without end.
bool Hub::Impl::may_remember(const ProcessId& process) const {
  return routes.size() < kMaxRoutes || routes.count(process) != 0;
}

KnownProcess& Hub::Impl::account_of(const PeerLink& link) { return processes[account_key(link)]; }

void Hub::Impl::process_ended(const PeerLink& link) {
  if (link.info.identity != 0) account_of(link).ended = true;
}

void Hub::Impl::remove_from_account(const PeerLink& link) {
  const auto process = processes.find(account_key(link));
  if (--process->second.links == 0 && process->second.ended) processes.erase(process);
  const auto user = links_of_user.find(link.info.uid);
  if (--user->second == 0) links_of_user.erase(user);
}

bool Hub::Impl::welcome(const PeerLink& link) {
  KnownProcess& process = account_of(link);
  if (link.info.identity == self_identity) return true;  // this process can only harm itself
  if (Clock::now() - process.arrivals_since > kArrivalsWindow) {
    process.arrivals_since = Clock::now();
    process.arrivals = 0;
  }
  ++process.arrivals;
  const bool stranger = link.info.uid != os::effective_user_id();
  constexpr std::size_t kAlways = 4;
  if (!stranger && process.violations == 0 && process.links <= kAlways && process.arrivals <= kMaxArrivals) return true;
  const std::size_t limit = os::descriptor_limit();
  std::size_t most_links = std::clamp<std::size_t>(limit / 32, kAlways, kMaxLinksPerProcess);
  unsigned most_arrivals = kMaxArrivals;
  if (link.info.identity == 0) {  // a user's containers on an older kernel: many processes under one number
    most_links = std::max<std::size_t>(limit / 4, most_links);
    most_arrivals *= 16;
  }
  return process.violations < kMaxViolations && process.links <= most_links && process.arrivals <= most_arrivals &&
         (!stranger || links_of_user[link.info.uid] <= std::max(most_links, limit / 4));
}

bool Hub::Impl::judge(PeerLink& link) {
  link.unjudged = false;
  if (welcome(link)) return true;
  turn_away(link);
  return false;
}

void Hub::Impl::turn_away(PeerLink& link) {
  const bool banned = account_of(link).violations >= kMaxViolations;
  const bool first = !std::exchange(account_of(link).turned_away, true);
  const ProcessId wanted = link.initiator ? link.process : ProcessId{};
  const std::string text =
      banned ? " broke the protocol too often" : " has too many connections, or begins them too often";
  end_link(link, {{Errc::protocol_violation,
                   describe(link) + text + "; its connection is refused" + (banned ? "" : " for now")},
                  banned ? Bye::kViolation : Bye::kTimeout,
                  first});
  if (wanted != ProcessId{}) retry_later(wanted);  // no effect if it was refused for ever
}

PeerLink& Hub::Impl::add_link(os::UniqueFd socket, bool initiator) {
  auto link = std::make_unique<PeerLink>();
  link->id = next_link++;
  link->initiator = initiator;
  const os::PeerCredentials credentials = os::peer_credentials(socket.get());
  link->info.pid = link->info.local_pid = credentials.pid;
  link->info.uid = credentials.uid;
  link->watch = os::watch_socket_peer(socket.get());
  link->info.identity = identity_of(link->watch, credentials.pid);
  // The second signal of death costs a descriptor: used only while many are free.
  if (link->watch && static_cast<std::size_t>(link->watch.get()) > os::descriptor_limit() / 2) link->watch.reset();
  std::shared_ptr<std::size_t>& queued = queued_of_users[credentials.uid];
  if (!queued) queued = std::make_shared<std::size_t>(0);
  link->queued_of_user = queued;
  KnownProcess& account = account_of(*link);
  if (!account.rates) account.rates = std::make_shared<PeerRates>();
  if (!account.alarms) account.alarms = std::make_shared<FalseAlarms>();
  if (!account.share) account.share = std::make_shared<memory::WindowShare>();
  link->info.rates = account.rates;
  link->info.share = account.share;
  std::size_t& of_user = links_of_user[link->info.uid];
  link->line = std::make_shared<LifeLine>(std::move(socket));
  PeerLink& added = *links.emplace(link->id, std::move(link)).first->second;
  ++account.links;
  ++of_user;
  (void)poller.add(added.socket(), socket_token(added.id));
  if (added.watch) (void)poller.add(added.watch.get(), watch_token(added.id));
  return added;
}

}  // namespace baton::transport
