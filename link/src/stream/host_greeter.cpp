// SPDX-License-Identifier: Apache-2.0
#include "host_greeter.hpp"

#include <array>
#include <chrono>

#include "baton/os/clock.hpp"
#include "host_limits.hpp"
#include "strangers.hpp"

namespace baton::link::stream {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Level = transport::Diagnostic::Level;

/// Until the host answers a call for the bulk connection: as long as a call for the urgent one may take over a slow line.
constexpr milliseconds kBulkAnswer{5000};
/// First bytes of a host with security (RFC 8446, section 5.1).
constexpr std::byte kTlsAlert{21}, kTlsHandshake{22};
/// The alert internal_error in place of a handshake (docs/format/link.md, "Security").
constexpr std::array<std::byte, 7> kBusyAlert{kTlsAlert,    std::byte{3}, std::byte{3}, std::byte{0},
                                              std::byte{2}, std::byte{2}, std::byte{80}};

Result<void> write_hello(Wire& wire, const HostHello& hello) {
  std::array<std::byte, kHelloBytes> bytes = encode(hello);
  const os::IoPart part{bytes.data(), bytes.size()};
  return wire.write(&part, 1);
}

Result<HostHello> read_hello(Wire& wire, steady_clock::time_point end) {
  std::array<std::byte, kHelloBytes> bytes;
  for (std::size_t have = 0; have < bytes.size();) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    if (left.count() <= 0 || !wire.wait_readable(left)) return Error{Errc::timed_out, "it says no hello"};
    const os::IoPart part{bytes.data() + have, bytes.size() - have};
    const Result<std::size_t> got = wire.read(&part, 1);
    if (!got) return got.error();
    have += *got;
    if (bytes[0] == kTlsHandshake || bytes[0] == kTlsAlert)
      return Error{Errc::protocol_violation, "it wants TLS; this host needs --security, too"};
  }
  return decode_hello(bytes.data());
}

}  // namespace

/// Null: the network ends.
std::shared_ptr<HostConnection> HostGreeter::connection(std::shared_ptr<os::TcpSocket> socket, bool called) {
  auto connection = std::make_shared<HostConnection>();
  if (called) connection->dialed = ListenAddress(socket->address(), socket->port());
  if (security_) {
    connection->wire = security_->wire(std::move(socket), called);
  } else {
    connection->wire = std::make_unique<PlainWire>(std::move(socket));
  }
  const os::Lock lock(mutex_);
  if (ended_) return nullptr;
  connections_.push_back(connection);
  return connection;
}

void HostGreeter::end(const std::shared_ptr<HostConnection>& connection) {
  connection->wire->shut_down();
  const os::Lock lock(mutex_);
  connections_.remove(connection);
}

Gid HostGreeter::serve(std::shared_ptr<os::TcpSocket> socket, ConnectionOrigin way, const std::string& whom,
                       const std::function<void()>& greeted, std::string& why) {
  const std::shared_ptr<HostConnection> made = connection(std::move(socket), way != ConnectionOrigin::kTaken);
  if (!made) return {};
  const Gid host = greet_and_read(made, way, whom, greeted, why);
  end(made);
  return host;
}

std::string HostGreeter::call_bulk(const std::shared_ptr<Session>& session, const ListenAddress& place,
                                   std::uint64_t key) {
  os::TcpPlace from;
  from.interface = interface_;
  const auto stop = [](void* called) { return static_cast<const Session*>(called)->ended(); };
  Result<std::unique_ptr<os::TcpSocket>> socket =
      os::tcp_connect(place.first, place.second, from, kBulkAnswer, kUnsentBytes, stop, session.get());
  if (!socket) return socket.error().message;
  const std::shared_ptr<HostConnection> made = connection(std::move(*socket), true);
  if (!made) return {};
  std::string why = session->begin_call(made) ? greet_bulk(*session, made, key) : "the session has ended";
  if (why.empty()) read(*session, TrafficClass::kBulk, made);
  end(made);
  return why;
}

/// Attaches the connection. Else the reason why not.
std::string HostGreeter::greet_bulk(Session& session, const std::shared_ptr<HostConnection>& made, std::uint64_t key) {
  Wire& line = *made->wire;
  const auto end_of_hellos = steady_clock::now() + kAdmission;
  Result<void> opened = line.open(kAdmission);
  if (opened) opened = write_hello(line, hello_with(key, TrafficClass::kBulk));
  const Result<HostHello> hello = opened ? read_hello(line, end_of_hellos) : Result<HostHello>(opened.error());
  if (!hello) return hello.error().message;
  if (std::string why = line.objection(); !why.empty()) return why;
  if (!line.may_be(hello->host) || hello->host != session.hello().host) return "another host is there now";
  if (hello->session != session.partner()) return words_of(hello->refusal);
  made->dialed_by_smaller = own_.host < hello->host;
  return session.attach(TrafficClass::kBulk, made) ? std::string() : "it comes too early";
}

/// The other side has made the bulk connection of a session.
Gid HostGreeter::accept_bulk(const std::shared_ptr<HostConnection>& connection, const HostHello& hello,
                             const std::function<void()>& greeted) {
  // The key is known to those that read the urgent connection, so no other program takes the place of the bulk one.
  const std::shared_ptr<Session> session = table_.session_with_key(hello.host, hello.session);
  HostHello answer = session ? hello_with(session->number()) : refusing_hello(Refusal::kNoSession);
  answer.traffic_class = TrafficClass::kBulk;
  if (!write_hello(*connection->wire, answer) || !session) return {};
  greeted();
  connection->dialed_by_smaller = hello.host < own_.host;
  if (session->attach(TrafficClass::kBulk, connection)) read(*session, TrafficClass::kBulk, connection);
  return session->key();
}

void HostGreeter::read(Session& session, TrafficClass traffic_class,
                       const std::shared_ptr<HostConnection>& connection) {
  const Error reason = session.read(traffic_class, connection);
  if (reason.code != Errc::protocol_violation) return;
  say_(About::kViolations, Level::kError, reason.code,
       "the connection to host '" + session.hello().name + "' is ended: " + reason.message);
}

Gid HostGreeter::greet_and_read(const std::shared_ptr<HostConnection>& connection, ConnectionOrigin way,
                                const std::string& whom, const std::function<void()>& greeted, std::string& why) {
  const bool called = way != ConnectionOrigin::kTaken;
  Wire& line = *connection->wire;
  const auto end = steady_clock::now() + kAdmission;
  const Result<void> opened = line.open(kAdmission);
  // The reason why the other side refuses this host comes instead of its hello: so after a failed write the answer is still read.
  if (opened && called) static_cast<void>(write_hello(line, hello_with(0)));
  const Result<HostHello> hello = opened ? read_hello(line, end) : Result<HostHello>(opened.error());
  if (!hello) {
    why = hello.error().message;
    if (called || hello.error().code == Errc::protocol_violation)
      say_(About::kStrangers, Level::kWarning, hello.error().code, whom + " is not connected: " + why);
    // A connection that just ends is no refusal, except during a TLS handshake, which a host without security ends in this way.
    if (hello.error().code == Errc::protocol_violation || (called && !opened)) refuse(line, {}, why);
    return {};
  }
  if (why = objection(*hello); !why.empty()) {
    if (!called)
      static_cast<void>(write_hello(line, hello_with(0)));  // so that the other side can report the reason, too
    say_(About::kVersions, Level::kError, Errc::unsupported, whom + " is not connected: " + why);
    refuse(line, hello->name, why);
    return {};
  }
  // The files may have changed since the handshake began. Those that change from now on are refresh_security()'s.
  if (why = line.objection(); !why.empty()) {
    say_(About::kStrangers, Level::kWarning, Errc::protocol_violation, whom + " is not connected: " + why);
    refuse(line, {}, why);
    return {};
  }
  if (!line.may_be(hello->host)) {
    if (!called) static_cast<void>(write_hello(line, refusing_hello(Refusal::kCertificate)));
    why = "its id is not one of its certificate, of '" + line.certificate() + "'";
    say_(About::kIdentities, Level::kError, Errc::protocol_violation, whom + " is not connected: " + why);
    refuse(line, hello->name, why);
    return {};
  }
  if (hello->host == own_.host) {
    if (!called)
      static_cast<void>(write_hello(line, hello_with(0)));  // so that the calling side learns which host it has called
    return hello->host;
  }
  if (hello->traffic_class == TrafficClass::kBulk) return called ? Gid{} : accept_bulk(connection, *hello, greeted);
  std::uint64_t partner = hello->session;
  if (called && partner == 0) {  // the other side refuses
    why = words_of(hello->refusal);
    say_(About::kPeers, Level::kWarning, Errc::limit_reached, whom + " is not connected: " + why);
    refuse(line, hello->name, why);
    return {};
  }
  // A host that calls learns the reason now. Later it would only see its connection end.
  const Refusal refusal = called ? Refusal::kNone : table_.no_room_for(*hello, line.address());
  if (refusal != Refusal::kNone) {
    static_cast<void>(write_hello(line, refusing_hello(refusal)));
    leave_out(line, *hello, why = words_of_limit(refusal, line.address()));
    return {};
  }
  if (way == ConnectionOrigin::kLook && table_.is_connected(hello->host, partner)) return {};
  if (called) table_.forget_replaced(*hello, line.address());
  const Result<std::uint64_t> number = table_.number_for(hello->host, line.address(), called ? partner : 0);
  if (!number || !write_hello(line, hello_with(*number))) return {};
  if (!called) {
    const Result<HostHello> second = read_hello(line, end);
    if (!second || second->host != hello->host || !objection(*second).empty() || second->session == 0) return {};
    partner = second->session;
  }
  const std::shared_ptr<Session> session = table_.session_of(*hello, *number, partner, line.address(), why);
  if (!session) {
    if (!why.empty()) leave_out(line, *hello, why);
    return {};
  }
  greeted();
  connection->dialed_by_smaller = called == (own_.host < hello->host);
  if (!session->attach(TrafficClass::kUrgent, connection)) return session->key();
  refusals_.remove(line.address());
  read(*session, TrafficClass::kUrgent, connection);
  return session->key();
}

void HostGreeter::shut_down() {
  const os::Lock lock(mutex_);
  ended_ = true;
  for (const auto& each : connections_) each->wire->shut_down();
}

void HostGreeter::turn_away(os::TcpSocket& socket) const {
  if (security_) {
    socket.try_write(kBusyAlert.data(), kBusyAlert.size());
  } else {
    const std::array<std::byte, kHelloBytes> hello = encode(refusing_hello(Refusal::kBusy));
    socket.try_write(hello.data(), hello.size());
  }
  socket.shut_down();
}

void HostGreeter::refresh_security() {
  if (!security_ || !security_->refresh()) return;
  std::list<std::shared_ptr<HostConnection>> connections;
  {
    const os::Lock lock(mutex_);
    connections = connections_;
  }
  for (const auto& each : connections) {
    const std::string why = each->wire->objection();
    if (why.empty()) continue;
    say_(About::kSecurity, Level::kWarning, Errc::protocol_violation,
         "the connection to '" + each->wire->certificate() + "' at " + each->wire->address() + " is ended: " + why);
    refuse(*each->wire, {}, why);
    each->end();
  }
}

void HostGreeter::leave_out(const Wire& line, const HostHello& hello, const std::string& why) {
  say_(About::kLimits, Level::kError, Errc::limit_reached, "host '" + hello.name + "' is left out: " + why);
  refuse(line, hello.name, why);
}

/// `name`: as the other side's hello has it, if there was a hello.
void HostGreeter::refuse(const Wire& line, const std::string& name, const std::string& why) {
  RefusedState refused;
  refused.address = line.address();
  refused.name = name;
  refused.why = why;
  refused.last_ns = os::monotonic_ns();
  refusals_.add(std::move(refused));
}

std::string HostGreeter::objection(const HostHello& hello) const {
  if (hello.version != kLinkVersion) {
    return "it speaks version " + std::to_string(hello.version) + " of the link, this host " +
           std::to_string(kLinkVersion) + "; install the same Baton on both";
  }
  if (hello.domain != own_.domain) {
    return "it is the link of domain " + std::to_string(hello.domain) + ", this one of domain " +
           std::to_string(own_.domain) + "; give both the same --domain";
  }
  return {};
}

HostHello HostGreeter::hello_with(std::uint64_t session, TrafficClass traffic_class) const {
  HostHello out = own_;
  out.session = session;
  out.traffic_class = traffic_class;
  return out;
}

HostHello HostGreeter::refusing_hello(Refusal refusal) const {
  HostHello out = own_;
  out.refusal = refusal;
  return out;
}

}  // namespace baton::link::stream
