// SPDX-License-Identifier: Apache-2.0
// What this host shares with one other: a stream of urgent flows, and one of bulk flows (session_stream.hpp). The urgent stream has a connection as
// long as the hosts reach each other. The bulk stream gets its connection, and its threads, with the first bulk flow of either side: the side
// that made the urgent connection makes it.
// A flow begins as an urgent one, and changes its class with its chunks (flow_sender.hpp), unless its priority is fixed. While the hosts have only
// the urgent connection, for longer than a moment, all flows take it: the detour.
// Thread rules: any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "baton/os/lock.hpp"
#include "host_network.hpp"
#include "session_stream.hpp"

namespace baton::link::stream {

class Session : public std::enable_shared_from_this<Session> {
 public:
  /// `key`: the host's id in this network. `hello`: its first. `number` and `partner`: this side's number of the session, and the other side's.
  /// `bulk_key`: with which the other side makes the bulk connection.
  struct Identity {
    Gid key{};
    HostHello hello;
    std::uint64_t number = 0, partner = 0, bulk_key = 0;
    std::string address;
  };
  /// Makes the bulk connection of a session with the host at this place, by its key, and reads it until it ends. The reason why there was none.
  using CallBulk = std::function<std::string(const std::shared_ptr<Session>&, const ListenAddress&, std::uint64_t key)>;
  /// `changed` is called when the urgent connection breaks or is there again, by any thread. `patience`: HostNetworkOptions.
  Session(Identity identity, const std::shared_ptr<const ReceiverTable>& channels, std::function<void(bool)> changed,
          CallBulk call_bulk, std::chrono::milliseconds patience);
  ~Session();  ///< REQUIRES: ended
  Result<void> start() { return urgent_.start(); }
  /// Ends all flows: Flow::ended().
  void leave();
  /// Breaks the connections and ends the session's threads, too.
  void end();

  /// The bulk connection that is being made, before its hellos: end() ends it, too. False: the session has ended. By CallBulk's thread.
  bool begin_call(const std::shared_ptr<HostConnection>& connection);
  /// As SessionStream::attach() and read(), for a connection of this class.
  bool attach(TrafficClass traffic_class, const std::shared_ptr<HostConnection>& connection);
  Error read(TrafficClass traffic_class, const std::shared_ptr<HostConnection>& connection);

  std::unique_ptr<Flow> open_flow(const std::string& channel, std::shared_ptr<ChunkSource> source,
                                  TopicPriority priority);
  const Gid& key() const noexcept { return identity_.key; }
  const HostHello& hello() const noexcept { return identity_.hello; }
  std::uint64_t number() const noexcept { return identity_.number; }
  std::uint64_t partner() const noexcept { return identity_.partner; }
  std::uint64_t bulk_key() const noexcept { return identity_.bulk_key; }
  bool ended() const noexcept;
  /// Of the urgent stream.
  std::optional<std::chrono::steady_clock::time_point> disconnected_since() const {
    const SessionStream::Presence urgent = urgent_.presence();
    return urgent.connected ? std::nullopt : std::optional(urgent.since);
  }
  bool was_connected() const { return urgent_.presence().was_connected; }
  KnownHost known() const;  ///< what decides whether the host gives way to another one
  std::string address() const { return urgent_.presence().address; }
  HostState state() const;
  /// A bulk connection that is wanted and missing for kDetourShown, while there is an urgent one.
  struct Detour {
    std::chrono::steady_clock::time_point since;
    std::string why;
  };
  std::optional<Detour> detour() const;
  /// The same, once for each time that it begins.
  std::optional<Detour> new_detour();
  /// About how many bytes wait for the host.
  std::size_t waiting_bytes() const { return urgent_.waiting_bytes() + bulk_.waiting_bytes(); }

 private:
  class SessionFlow;
  /// Where a flow is now.
  struct Place {
    TrafficClass traffic_class;
    std::uint32_t id;
    std::uint64_t before;  ///< chunks that were acknowledged in earlier places
  };
  SessionStream& stream(TrafficClass of) { return of == TrafficClass::kUrgent ? urgent_ : bulk_; }
  void move_flows(TrafficClass from);
  bool want_bulk();
  void bulk_is_wanted(std::uint64_t key);
  std::optional<std::chrono::steady_clock::time_point> alone_since() const;
  void take_detour();
  void end_detour();
  void move_to(TrafficClass to, TrafficClass from, std::vector<MovingFlow> flows) BATON_REQUIRES(places_mutex_);
  void note_change();
  void call();

  const Identity identity_;
  const std::chrono::milliseconds patience_;
  const std::function<void(bool)> changed_;
  const CallBulk call_bulk_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> wanted_{false};  // the host has wanted a topic of this one. A hint: orders nothing
  SessionStream urgent_, bulk_;

  /// Held, before the mutexes of the streams, while a flow comes, goes or moves.
  os::Mutex places_mutex_;
  std::map<std::pair<TrafficClass, std::uint32_t>, std::shared_ptr<Place>> places_ BATON_GUARDED_BY(places_mutex_);
  bool detours_ BATON_GUARDED_BY(places_mutex_) = false;

  mutable os::Mutex mutex_;
  std::condition_variable news_;
  bool ending_ BATON_GUARDED_BY(mutex_) = false;
  bool bulk_wanted_ BATON_GUARDED_BY(mutex_) = false;  // its writing thread runs
  std::optional<pthread_t> caller_ BATON_GUARDED_BY(mutex_);
  std::shared_ptr<HostConnection> calling_ BATON_GUARDED_BY(mutex_);  // of caller_
  std::uint64_t call_key_ BATON_GUARDED_BY(mutex_) = 0;               // from the other side; 0: none yet
  std::string call_failed_ BATON_GUARDED_BY(mutex_);                  // why, the last time
  bool detour_said_ BATON_GUARDED_BY(mutex_) = false;
  std::uint64_t changes_ BATON_GUARDED_BY(mutex_) = 0;  // of either connection
};

}  // namespace baton::link::stream
