// SPDX-License-Identifier: Apache-2.0
// Admission: the hellos of a new connection, whether its host is served, and then the reading of it (docs/format/link.md, "Hellos").
// Thread rules: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "baton/os/lock.hpp"
#include "frames.hpp"
#include "refusals.hpp"
#include "security.hpp"
#include "session_table.hpp"

namespace baton::link::stream {

/// Which side made the connection, and why.
enum class ConnectionOrigin : std::uint8_t {
  kTaken,   ///< made by the other side
  kCalled,  ///< made by this host, to a named peer or a host of the multicast group
  kLook     ///< the same; only if the other end is not a host that is connected already
};

class HostGreeter {
 public:
  /// `own`: this host's hello, without a session. `interface`: from which bulk connections are made. `security`: null: bytes as they are. The references must be valid as long as the greeter.
  HostGreeter(HostHello own, std::string interface, std::unique_ptr<Security> security, SayLine say,
              SessionTable& table, Refusals& refusals)
      : own_(std::move(own)),
        interface_(std::move(interface)),
        security_(std::move(security)),
        say_(std::move(say)),
        table_(table),
        refusals_(refusals) {}

  /// Exchanges hellos, then reads the connection until it ends. Returns the key that the host got, if any, or this host's own id. `greeted` is
  /// called once the other side is a host with a session. `why`: why the other side was refused.
  Gid serve(std::shared_ptr<os::TcpSocket> socket, ConnectionOrigin way, const std::string& whom,
            const std::function<void()>& greeted, std::string& why);
  /// Makes the bulk connection of a session with the host at `place`, whose urgent connection was made there, and reads it until it ends. `key`:
  /// which that host has given for it. The reason why there was no connection; empty: there was one.
  std::string call_bulk(const std::shared_ptr<Session>& session, const ListenAddress& place, std::uint64_t key);
  /// Ends a connection for which there is no time or no room, in words that a link at the other end shows. Never waits.
  void turn_away(os::TcpSocket& socket) const;
  /// Takes new files of --security, and ends the connections of hosts that they do not let in any more. To be called a few times a second.
  void refresh_security();
  /// Ends all connections; later ones end at once.
  void shut_down();

  /// Why the other side is refused; empty: it is accepted.
  std::string objection(const HostHello& hello) const;
  const HostHello& own() const noexcept { return own_; }
  bool secured() const noexcept { return security_ != nullptr; }

 private:
  Gid greet_and_read(const std::shared_ptr<HostConnection>& connection, ConnectionOrigin way, const std::string& whom,
                     const std::function<void()>& greeted, std::string& why);
  std::shared_ptr<HostConnection> connection(std::shared_ptr<os::TcpSocket> socket, bool called);
  void end(const std::shared_ptr<HostConnection>& connection);
  std::string greet_bulk(Session& session, const std::shared_ptr<HostConnection>& made, std::uint64_t key);
  Gid accept_bulk(const std::shared_ptr<HostConnection>& connection, const HostHello& hello,
                  const std::function<void()>& greeted);
  void read(Session& session, TrafficClass traffic_class, const std::shared_ptr<HostConnection>& connection);
  HostHello hello_with(std::uint64_t session, TrafficClass traffic_class = TrafficClass::kUrgent) const;
  HostHello refusing_hello(Refusal refusal) const;
  void leave_out(const Wire& line, const HostHello& hello, const std::string& why);
  void refuse(const Wire& line, const std::string& name, const std::string& why);

  const HostHello own_;
  const std::string interface_;
  const std::unique_ptr<Security> security_;
  const SayLine say_;
  SessionTable& table_;
  Refusals& refusals_;
  os::Mutex mutex_;
  bool ended_ BATON_GUARDED_BY(mutex_) = false;
  std::list<std::shared_ptr<HostConnection>> connections_ BATON_GUARDED_BY(mutex_);
};

}  // namespace baton::link::stream
