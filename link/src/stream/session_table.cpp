// SPDX-License-Identifier: Apache-2.0
#include "session_table.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "baton/os/process.hpp"
#include "host_limits.hpp"

namespace baton::link::stream {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Level = transport::Diagnostic::Level;

/// Numbers of sessions that are kept for hosts that have not connected yet.
constexpr std::size_t kMostNumbers = 1024;
/// Long enough to notice that a connection has just ended.
constexpr milliseconds kNoticed{200};

Result<std::uint64_t> random_number() {
  std::uint64_t number = 0;
  while (number == 0) {
    const Result<std::array<std::uint8_t, 16>> id = os::random_id();
    if (!id) return id.error();
    std::memcpy(&number, id->data(), sizeof number);
  }
  return number;
}

/// The number that is kept under `key`; made if there is none.
template <class Key>
Result<std::uint64_t> kept(std::map<Key, std::uint64_t>& numbers, const Key& key) {
  if (const auto known = numbers.find(key); known != numbers.end()) return known->second;
  if (numbers.size() >= kMostNumbers) numbers.clear();  // of hosts that did not come
  const Result<std::uint64_t> made = random_number();
  if (made) numbers.emplace(key, *made);
  return made;
}

/// Whether the host that sent `hello` is the host of `session`, started again on the same port of the same machine.
bool is_replaced(const Session& session, const HostHello& hello, const std::string& address) {
  return hello.name == session.hello().name && hello.port == session.hello().port && address == session.address();
}

}  // namespace

std::shared_ptr<Session> SessionTable::find(const Gid& key) const {
  const os::Lock lock(mutex_);
  const auto found = sessions_.find(key);
  return found == sessions_.end() ? nullptr : found->second;
}

int used_percent(const AbsenceBudget& budget, std::chrono::nanoseconds absent, std::size_t waiting_bytes) {
  const auto share = [](double used, double all) {
    return used >= 10 * all ? 1000 : static_cast<int>(100 * used / all);
  };
  const std::chrono::nanoseconds time = budget.time;
  return std::max(share(static_cast<double>(absent.count()), static_cast<double>(time.count())),
                  share(static_cast<double>(waiting_bytes), static_cast<double>(budget.bytes)));
}

std::vector<std::shared_ptr<Session>> SessionTable::all() const {
  std::vector<std::shared_ptr<Session>> out;
  const os::Lock lock(mutex_);
  for (const auto& [key, session] : sessions_) out.push_back(session);
  return out;
}

std::vector<HostState> SessionTable::states() const {
  std::vector<HostState> out;
  for (const std::shared_ptr<Session>& session : all()) {
    HostState& state = out.emplace_back(session->state());
    const auto since = session->disconnected_since();
    if (state.connected || !since) continue;
    state.absent_since_ns = std::chrono::nanoseconds(since->time_since_epoch()).count();
    state.absence_percent =
        std::min(100, used_percent(absence_, steady_clock::now() - *since, session->waiting_bytes()));
  }
  return out;
}

void SessionTable::end() {
  std::map<Gid, std::shared_ptr<Session>> sessions;
  {
    const os::Lock lock(mutex_);
    ended_ = true;
    sessions.swap(sessions_);
  }
  for (const auto& [key, session] : sessions) session->end();
}

/// Of the sessions with hosts of this id, the most likely one for a connection from `address`, before the other side's number is
/// known. Prefers a session without a connection, and one of this address.
std::shared_ptr<Session> SessionTable::likely(const Gid& id, const std::string& address) const {
  std::shared_ptr<Session> best;
  int best_rank = -1;
  for (const auto& [key, session] : sessions_) {
    if (session->hello().host != id) continue;
    const int rank = (session->disconnected_since() ? 2 : 0) + (session->address() == address ? 1 : 0);
    if (rank <= best_rank) continue;
    best = session;
    best_rank = rank;
  }
  return best;
}
/// The session with the host of this id whose number for it is `partner`.
std::shared_ptr<Session> SessionTable::partner_of(const Gid& id, std::uint64_t partner) const {
  for (const auto& [key, session] : sessions_)
    if (session->hello().host == id && session->partner() == partner) return session;
  return nullptr;
}

Result<std::uint64_t> SessionTable::number_for(const Gid& id, const std::string& address, std::uint64_t partner) {
  const os::Lock lock(mutex_);
  if (const auto apart = apart_.find({id, address}); partner == 0 && apart != apart_.end()) return apart->second;
  const std::shared_ptr<Session> session = partner != 0 ? partner_of(id, partner) : likely(id, address);
  if (session) return session->number();
  // A host with the id of another host must not get that host's session.
  if (partner != 0 && likely(id, address)) return kept(apart_, std::pair(id, address));
  return kept(numbers_, id);
}

std::shared_ptr<Session> SessionTable::session_of(const HostHello& hello, std::uint64_t number, std::uint64_t partner,
                                                  const std::string& address, std::string& why) {
  std::shared_ptr<Session> made, other;
  make_room_for(hello, partner, address);
  {
    const os::Lock telling(telling_);
    {
      const os::Lock lock(mutex_);
      if (ended_) return nullptr;
      const std::shared_ptr<Session> known = partner_of(hello.host, partner);
      if (known) return known->number() == number ? known : nullptr;
      // The number may belong to a session that was forgotten since the number was sent. The other host still remembers that session.
      const auto next = numbers_.find(hello.host);
      const auto apart = apart_.find({hello.host, address});
      const bool is_next = next != numbers_.end() && next->second == number;
      const bool is_apart = apart != apart_.end() && apart->second == number;
      other = likely(hello.host, address);
      if (is_next || is_apart) {
        if (const Refusal limit = room_for({address, hello.port}); limit != Refusal::kNone) {
          why = words_of_limit(limit, address);
          return nullptr;
        }
        Gid key = hello.host;
        if (sessions_.count(key) != 0) {
          const Result<std::array<std::uint8_t, 16>> id = os::random_id();
          if (!id) return nullptr;
          key = *id;
        }
        const Result<std::uint64_t> bulk_key = random_number();
        if (!bulk_key) return nullptr;
        made = std::make_shared<Session>(
            Session::Identity{key, hello, number, partner, *bulk_key, address}, channels_,
            [listener = listener_, key](bool connected) { listener->connected(key, connected); }, call_bulk_,
            patience_);
        if (const Result<void> started = made->start(); !started) {
          say_(About::kNetwork, Level::kError, started.error().code, started.error().message);
          return nullptr;
        }
        sessions_[key] = made;
        if (is_next) numbers_.erase(next);
        if (is_apart) apart_.erase(apart);
      }
    }
    if (made) listener_->joined(made->key());
  }
  if (other) contested(hello, address, other, !made);
  return made;
}

std::vector<KnownHost> SessionTable::known_hosts() const {
  std::vector<KnownHost> out;
  for (const auto& [key, session] : sessions_) out.push_back(session->known());
  return out;
}

/// Why not one more host; kNone: there is room.
Refusal SessionTable::room_for(const ListenAddress& newcomer) const {
  return why_no_room(known_hosts(), newcomer, peers_.places());
}

/// Where there is no room: the session that ends for a host that comes with a new one; null: none does. First its own former run, which has no
/// connection any more. Where there is room, a former run stays until it is forgotten: it knows which kept messages this host has given out.
std::shared_ptr<Session> SessionTable::giving_way(const HostHello& hello, const std::string& address) const {
  const ListenAddress newcomer{address, hello.port};
  const Refusal limit = room_for(newcomer);
  if (limit == Refusal::kNone) return nullptr;
  for (const auto& [key, session] : sessions_) {
    // Not a session that was just made, and gets its connection now.
    if (session->disconnected_since() && session->was_connected() && session->hello().host != hello.host &&
        is_replaced(*session, hello, address))
      return session;
  }
  const auto place = who_gives_way(known_hosts(), newcomer, limit, peers_.places());
  return place ? std::next(sessions_.begin(), static_cast<std::ptrdiff_t>(*place))->second : nullptr;
}

Refusal SessionTable::no_room_for(const HostHello& hello, const std::string& address) const {
  const os::Lock lock(mutex_);
  if (likely(hello.host, address) || giving_way(hello, address)) return Refusal::kNone;
  return room_for({address, hello.port});
}

bool SessionTable::knows(const std::string& address) const {
  const os::Lock lock(mutex_);
  return peers_.is_at(address) || std::any_of(sessions_.begin(), sessions_.end(),
                                              [&](const auto& each) { return each.second->address() == address; });
}

/// Two hosts have one id, with different sessions. One of them may be a stranger, but this host cannot know which. Both are served, each as a
/// host of its own. A host that has lost its memory and begins anew looks the same; its old session ends.
void SessionTable::contested(const HostHello& hello, const std::string& address, const std::shared_ptr<Session>& other,
                             bool again) {
  if (again && !other->disconnected_since()) stop_.pause(kNoticed);
  const bool is_connected = !other->disconnected_since();
  if (again && !is_connected && is_replaced(*other, hello, address)) return forget(other);
  if (again) {
    const os::Lock lock(mutex_);
    static_cast<void>(kept(apart_, std::pair(hello.host, address)));
  }
  if (!is_connected) return;
  say_(About::kIdentities, Level::kWarning, Errc::already_exists,
       "host '" + hello.name + "' at " + address + " says the id of host '" + other->hello().name + "' at " +
           other->address() +
           ": one of them is not what it says; they are kept apart. With --security only hosts of your CA are let in");
}

void SessionTable::forget_replaced(const HostHello& hello, const std::string& address) {
  std::shared_ptr<Session> before;
  {
    const os::Lock lock(mutex_);
    if (!partner_of(hello.host, hello.session)) before = likely(hello.host, address);
  }
  if (before && before->disconnected_since() && is_replaced(*before, hello, address)) forget(before);
}

void SessionTable::make_room_for(const HostHello& hello, std::uint64_t partner, const std::string& address) {
  std::shared_ptr<Session> before;
  {
    const os::Lock lock(mutex_);
    if (!partner_of(hello.host, partner)) before = giving_way(hello, address);
  }
  if (!before) return;
  if (!is_replaced(*before, hello, address)) {
    say_(About::kLimits, Level::kWarning, Errc::limit_reached,
         "host '" + before->hello().name + "' at " + before->address() + " gives way to host '" + hello.name + "' at " +
             address + ": no topic has travelled to it or from it, and there is no room for both");
  }
  forget(before);
}

void SessionTable::forget(const std::shared_ptr<Session>& session) {
  {
    const os::Lock telling(telling_);
    {
      const os::Lock lock(mutex_);
      const auto found = sessions_.find(session->key());
      if (found == sessions_.end() || found->second != session) return;
      sessions_.erase(found);
    }
    session->leave();
    listener_->gone(session->key());
  }
  session->end();
}

void SessionTable::forget_some() {
  const std::vector<std::shared_ptr<Session>> sessions = all();
  for (const auto& session : sessions) {
    const auto since = session->disconnected_since();
    if (const auto detour = session->new_detour()) {
      say_(About::kPeers, Level::kWarning, Errc::timed_out,
           "host '" + session->hello().name +
               "' has only one of its two connections, so small messages wait for big ones: " + detour->why +
               "; trying again");
    }
    if (!since) continue;
    // A link that was started again: its former run has ended.
    const bool replaced = std::any_of(sessions.begin(), sessions.end(), [&](const auto& other) {
      return other != session && !other->disconnected_since() &&
             is_replaced(*session, other->hello(), other->address());
    });
    if (replaced) {
      forget(session);
      continue;
    }
    const auto absent = steady_clock::now() - *since;
    const std::size_t waiting = session->waiting_bytes();
    if (used_percent(absence_, absent, waiting) <= 100) continue;
    if (waiting > absence_.bytes) {
      say_(About::kLimits, Level::kWarning, Errc::limit_reached,
           "host '" + session->hello().name + "', which is not reached, is forgotten: about " +
               std::to_string(waiting >> 20) + " MiB wait for it; --absence-mib allows more");
    }
    forget(session);
  }
}

std::shared_ptr<Session> SessionTable::session_with_key(const Gid& id, std::uint64_t bulk_key) const {
  const os::Lock lock(mutex_);
  for (const auto& [key, session] : sessions_)
    if (session->hello().host == id && session->bulk_key() == bulk_key) return session;
  return nullptr;
}

SessionTable::Reach SessionTable::reach_of(const Gid& id, const std::string& address) const {
  Reach out = Reach::kNone;
  const os::Lock lock(mutex_);
  for (const auto& [key, session] : sessions_) {
    if (session->hello().host != id || session->disconnected_since()) continue;
    if (session->address() == address) return Reach::kThere;
    out = Reach::kElsewhere;
  }
  return out;
}
bool SessionTable::is_connected(const Gid& id, std::uint64_t partner) const {
  const os::Lock lock(mutex_);
  const std::shared_ptr<Session> session = partner_of(id, partner);
  return session && !session->disconnected_since();
}

}  // namespace baton::link::stream
