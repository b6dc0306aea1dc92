// SPDX-License-Identifier: Apache-2.0
// The sessions with all other hosts: which session a connection belongs to (docs/format/link.md, "Session"), which hosts have room, and when
// a host is forgotten.
// Thread rules: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "baton/os/lock.hpp"
#include "host_network.hpp"
#include "named_peers.hpp"
#include "receiver_table.hpp"
#include "session.hpp"
#include "stop_signal.hpp"

namespace baton::link::stream {

/// How much of an absence budget is used, in percent; above 100: all.
int used_percent(const AbsenceBudget& budget, std::chrono::nanoseconds absent, std::size_t waiting_bytes);

/// HostNetworkOptions::say, never empty.
using SayLine = std::function<void(About, transport::Diagnostic::Level, Errc, std::string)>;

class SessionTable {
 public:
  /// The references must be valid as long as the table.
  SessionTable(AbsenceBudget absence, std::chrono::milliseconds patience, std::shared_ptr<HostListener> listener,
               std::shared_ptr<const ReceiverTable> channels, SayLine say, Session::CallBulk call_bulk,
               const NamedPeers& peers, StopSignal& stop)
      : absence_(absence),
        patience_(patience),
        listener_(std::move(listener)),
        channels_(std::move(channels)),
        say_(std::move(say)),
        call_bulk_(std::move(call_bulk)),
        peers_(peers),
        stop_(stop) {}

  /// By its key; null: there is none.
  std::shared_ptr<Session> find(const Gid& key) const;
  std::vector<std::shared_ptr<Session>> all() const;
  std::vector<HostState> states() const;
  /// Ends all sessions; no session is made any more.
  void end();

  /// This side's number of the session with the host at `address` with this `id`, or of the next session with it. It is the same for all
  /// connections that are being made at the same time. `partner`: that host's number; 0: not known yet.
  Result<std::uint64_t> number_for(const Gid& id, const std::string& address, std::uint64_t partner);
  /// The session with these two numbers; made if there is none. Null: refused for the reason `why`, which is empty if the other host is to try again.
  std::shared_ptr<Session> session_of(const HostHello& hello, std::uint64_t number, std::uint64_t partner,
                                      const std::string& address, std::string& why);

  /// The session with the host of this id that has this key for its bulk connection; null: there is none.
  std::shared_ptr<Session> session_with_key(const Gid& id, std::uint64_t bulk_key) const;

  /// Whether a host of this id is connected.
  enum class Reach : std::uint8_t { kNone, kThere, kElsewhere /* at another address: it may have several */ };
  Reach reach_of(const Gid& id, const std::string& address) const;
  bool is_connected(const Gid& id, std::uint64_t partner) const;
  /// Whether a host that has a session, or is a named peer, is at `address`.
  bool knows(const std::string& address) const;
  /// Why the host that has called with `hello`, and has no session, gets none; kNone: it may get one.
  Refusal no_room_for(const HostHello& hello, const std::string& address) const;

  /// The host that was called begins anew, and has no connection: forgets its old session now.
  void forget_replaced(const HostHello& hello, const std::string& address);
  /// Forgets the hosts that have had no connection for longer than their absence budget allows, or whose link was started again, and says which
  /// have no bulk connection. To be called a few times a second.
  void forget_some();

 private:
  std::shared_ptr<Session> likely(const Gid& id, const std::string& address) const BATON_REQUIRES(mutex_);
  std::shared_ptr<Session> partner_of(const Gid& id, std::uint64_t partner) const BATON_REQUIRES(mutex_);
  std::vector<KnownHost> known_hosts() const BATON_REQUIRES(mutex_);
  Refusal room_for(const ListenAddress& newcomer) const BATON_REQUIRES(mutex_);
  std::shared_ptr<Session> giving_way(const HostHello& hello, const std::string& address) const BATON_REQUIRES(mutex_);
  void contested(const HostHello& hello, const std::string& address, const std::shared_ptr<Session>& other, bool again);
  void make_room_for(const HostHello& hello, std::uint64_t partner, const std::string& address);
  void forget(const std::shared_ptr<Session>& session);

  const AbsenceBudget absence_;
  const std::chrono::milliseconds patience_;
  const std::shared_ptr<HostListener> listener_;
  const std::shared_ptr<const ReceiverTable> channels_;
  const SayLine say_;
  const Session::CallBulk call_bulk_;
  const NamedPeers& peers_;
  StopSignal& stop_;

  /// Held, before mutex_, while a session comes or goes and the listener is called. Else the listener could learn of a host's end after its
  /// return, or of an advertisement before its host.
  os::Mutex telling_;
  mutable os::Mutex mutex_;
  bool ended_ BATON_GUARDED_BY(mutex_) = false;
  /// By their keys: the id of the host, or another one if an earlier host has the same id.
  std::map<Gid, std::shared_ptr<Session>> sessions_ BATON_GUARDED_BY(mutex_);
  std::map<Gid, std::uint64_t> numbers_ BATON_GUARDED_BY(mutex_);  // of sessions to come, by the hosts' ids
  std::map<std::pair<Gid, std::string>, std::uint64_t> apart_
      BATON_GUARDED_BY(mutex_);  // hosts whose id another host has, too, with their addresses
};

}  // namespace baton::link::stream
