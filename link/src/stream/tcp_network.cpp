// SPDX-License-Identifier: Apache-2.0
// The network over TCP: listens, calls the peers that were named and those that multicast finds, and keeps the sessions. One thread accepts and
// forgets, one seeks, one per peer calls it, one per connection reads it.
#include "host_network.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <list>
#include <map>
#include <optional>
#include <utility>

#include "baton/os/clock.hpp"
#include "baton/os/lock.hpp"
#include "baton/os/multicast.hpp"
#include "baton/os/process.hpp"
#include "host_limits.hpp"
#include "receiver_table.hpp"
#include "refusals.hpp"
#include "security.hpp"
#include "session.hpp"

namespace baton::link::stream {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Level = transport::Diagnostic::Level;

constexpr milliseconds kTurn{200};         // of the accepting thread
constexpr milliseconds kCallPause{500};    // between two calls of a peer
constexpr milliseconds kAnswer{1000};      // a line that was down may have lost the call's first packet
constexpr milliseconds kLongAnswer{5000};  // every fourth call, for lines with a long delay
constexpr milliseconds kSelfPause{10000};
constexpr milliseconds kHelloLimit{3000};
/// How long a host without a connection is remembered, with its publishers and the chunks that it has not acknowledged.
constexpr std::chrono::seconds kForgotten{20};
/// Connections without a hello. One more ends the oldest of the network that has most of them.
constexpr std::size_t kMostStrangers = 64;
/// Numbers of sessions that are kept for hosts that have not connected yet.
constexpr std::size_t kMostNumbers = 1024;
/// Long enough to notice that a connection has just ended.
constexpr milliseconds kNoticed{200};
/// The pause between two checks whether the host of an id is at another address than the host that is connected with this id.
constexpr std::chrono::seconds kLookAgain{5};
constexpr std::size_t kStackBytes = std::size_t{256} << 10;
/// An administratively scoped address (RFC 2365): routers keep it inside a site. Hosts announce themselves with this period.
constexpr const char* kGroup = "239.255.66.84";
constexpr milliseconds kPresence{1000};
constexpr int kRefreshEvery = 5;  // of these
/// Hosts that are called at the same time because they announced themselves.
constexpr std::size_t kMostCalls = 32;
constexpr std::size_t kMostCallsOfAddress = 4;
/// First bytes of a host with security (RFC 8446, section 5.1).
constexpr std::byte kTlsAlert{21}, kTlsHandshake{22};

struct NamedPeer {
  std::string text;  // as it was named
  std::string host;
  std::uint16_t port = 0;
};

/// The state of the calls to a named peer.
struct Calls {
  NamedPeer peer;
  bool reached = false;
  PeerState state;
  Gid host{};                          // that answered last
  std::vector<std::string> addresses;  // of the peer
};

/// HOST, HOST:PORT, [IPv6] or [IPv6]:PORT.
Result<NamedPeer> parse_peer(const std::string& text, std::uint16_t port) {
  const Error wrong{Errc::invalid_argument, "peer '" + text + "' is no HOST or HOST:PORT ([ADDRESS]:PORT for IPv6)"};
  NamedPeer out{text, text, port};
  std::string tail;
  if (!text.empty() && text.front() == '[') {
    const std::size_t end = text.find(']');
    if (end == std::string::npos) return wrong;
    out.host = text.substr(1, end - 1);
    tail = text.substr(end + 1);
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    out.host = text.substr(0, text.find(':'));
    tail = text.substr(text.find(':'));
  }
  if (!tail.empty()) {
    const std::string digits = tail.substr(1);
    if (tail[0] != ':' || digits.empty() || digits.size() > 5 ||
        digits.find_first_not_of("0123456789") != std::string::npos || std::stoul(digits) == 0 ||
        std::stoul(digits) > 65535)
      return wrong;
    out.port = static_cast<std::uint16_t>(std::stoul(digits));
  }
  if (out.host.empty() || out.host.find_first_of(" /\t\n") != std::string::npos) return wrong;
  return out;
}

Result<void> write_hello(Wire& wire, const HostHello& hello) {
  std::array<std::byte, kHelloBytes> bytes = encode(hello);
  const os::IoPart part{bytes.data(), bytes.size()};
  return wire.write(&part, 1);
}

Result<HostHello> read_hello(Wire& wire) {
  std::array<std::byte, kHelloBytes> bytes;
  const auto end = steady_clock::now() + kHelloLimit;
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

class TcpNetwork final : public HostNetwork {
 public:
  TcpNetwork(const HostNetworkOptions& options, std::shared_ptr<HostListener> listener)
      : options_(options), listener_(std::move(listener)) {
    own_.domain = static_cast<std::uint32_t>(options.domain);
    own_.host = options.host;
    own_.name = options.host_name;
  }

  Result<void> start() {
    os::TcpPlace place;
    place.interface = options_.interface;
    place.port = options_.port != 0 ? options_.port : default_port(options_.domain);
    std::vector<NamedPeer> peers;
    for (const std::string& text : options_.peers) {
      Result<NamedPeer> peer = parse_peer(text, default_port(options_.domain));
      if (!peer) return peer.error();
      peers.push_back(std::move(*peer));
    }
    if (!options_.security.empty()) {
      Result<std::unique_ptr<Security>> security = make_security(options_.security, [this](std::string text) {
        say(About::kSecurity, Level::kWarning, Errc{}, std::move(text));
      });
      if (!security) return security.error();
      security_ = std::move(*security);
    }
    Result<os::TcpListener> listening = os::TcpListener::open(place);
    if (!listening) return listening.error();
    tcp_ = std::make_unique<os::TcpListener>(std::move(*listening));
    own_.port = tcp_->port();
    for (const NamedPeer& peer : peers) {  // before the first thread, which reads them
      Calls& calls = calls_.emplace_back();
      calls.peer = peer;
      calls.state = {peer.text, os::monotonic_ns(), {}};
    }
    Result<pthread_t> accepting = os::start_thread("baton-link-acc", kStackBytes, [this] { accept(); });
    if (!accepting) return accepting.error();
    threads_.push_back(*accepting);
    if (options_.multicast) {
      Result<os::Multicast> multicast = os::Multicast::open(kGroup, default_port(options_.domain), options_.interface);
      if (!multicast) return multicast.error();
      multicast_ = std::make_unique<os::Multicast>(std::move(*multicast));
      Result<pthread_t> seeking = os::start_thread("baton-link-seek", kStackBytes, [this] { seek(); });
      if (!seeking) return seeking.error();
      threads_.push_back(*seeking);
    }
    for (Calls& calls : calls_) {
      Result<pthread_t> calling = os::start_thread("baton-link-call", kStackBytes, [this, &calls] { call(calls); });
      if (!calling) return calling.error();
      threads_.push_back(*calling);
    }
    return {};
  }

  ~TcpNetwork() override {
    std::map<Gid, std::shared_ptr<Session>> sessions;
    {
      const os::Lock lock(mutex_);
      stop_ = true;
      sessions.swap(sessions_);
      for (const auto& each : connections_) each->wire->shut_down();
    }
    stopped_.notify_all();
    for (const auto& [host, session] : sessions) session->end();
    for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
    for (const Reading& each : reading_) pthread_join(each.thread, nullptr);
    for (const Reading& each : calling_) pthread_join(each.thread, nullptr);
  }

  std::unique_ptr<Flow> open_flow(const Gid& host, const std::string& channel,
                                  std::shared_ptr<ChunkSource> source) override {
    const std::shared_ptr<Session> session = find(host);
    return session ? session->open_flow(channel, std::move(source)) : nullptr;
  }
  Result<std::shared_ptr<void>> open_receiver(const std::string& channel,
                                              std::shared_ptr<ChunkReceiver> receiver) override {
    return channels_->add(channel, std::move(receiver));
  }
  /// Before start(): one that is there as long as the network.
  Result<void> keep_receiver(const std::string& channel, std::shared_ptr<ChunkReceiver> receiver) {
    Result<std::shared_ptr<void>> added = channels_->add(channel, std::move(receiver));
    if (!added) return added.error();
    kept_receivers_.push_back(std::move(*added));
    return {};
  }
  std::vector<HostState> hosts() const override {
    std::vector<std::shared_ptr<Session>> sessions;
    {
      const os::Lock lock(mutex_);
      for (const auto& [host, session] : sessions_) sessions.push_back(session);
    }
    std::vector<HostState> out;
    for (const auto& session : sessions) out.push_back(session->state());
    return out;
  }
  std::vector<PeerState> peers() const override {
    std::vector<PeerState> out;
    const os::Lock lock(mutex_);
    for (const Calls& calls : calls_) {
      if (calls.reached || calls.state.why.empty() || sessions_.count(calls.host) != 0) continue;
      // It may be connected although this host cannot call it, because it has called this one.
      const bool has_called = std::any_of(sessions_.begin(), sessions_.end(), [&](const auto& each) {
        return each.second->hello().port == calls.peer.port &&
               std::count(calls.addresses.begin(), calls.addresses.end(), each.second->address()) != 0;
      });
      if (!has_called) out.push_back(calls.state);
    }
    return out;
  }
  std::vector<RefusedState> refused() const override { return refusals_.all(os::monotonic_ns()); }
  std::uint16_t port() const override { return own_.port; }

 private:
  /// A thread that reads a connection, one that another host has made or one to a host that multicast has found.
  struct Reading {
    pthread_t thread{};
    std::shared_ptr<std::atomic<bool>> done;
    Gid host{};                                  ///< of a call, as it says
    std::string address;                         ///< the same
    std::shared_ptr<std::atomic<bool>> greeted;  ///< the same: the other side is a link. A flag: orders nothing
  };

  std::shared_ptr<Session> find(const Gid& host) const {
    const os::Lock lock(mutex_);
    const auto found = sessions_.find(host);
    return found == sessions_.end() ? nullptr : found->second;
  }
  bool stopped() const {
    const os::Lock lock(mutex_);
    return stop_;
  }
  void pause(milliseconds duration) {
    os::UniqueLock lock(mutex_);
    stopped_.wait_for(lock.standard(), duration, [this]() BATON_REQUIRES(mutex_) { return stop_; });
  }
  void say(About about, Level level, Errc code, std::string text) const {
    if (options_.say) options_.say(about, level, code, std::move(text));
  }

  /// `name`: as the other side's hello has it, if there was a hello.
  void refuse(const Wire& line, const std::string& name, const std::string& why) {
    RefusedState refused;
    refused.address = line.address();
    refused.name = name;
    refused.why = why;
    refused.last_ns = os::monotonic_ns();
    refusals_.add(std::move(refused));
  }

  static Result<std::uint64_t> random_number() {
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
  static Result<std::uint64_t> kept(std::map<Key, std::uint64_t>& numbers, const Key& key) {
    if (const auto known = numbers.find(key); known != numbers.end()) return known->second;
    if (numbers.size() >= kMostNumbers) numbers.clear();  // of hosts that did not come
    const Result<std::uint64_t> made = random_number();
    if (made) numbers.emplace(key, *made);
    return made;
  }

  /// Of the sessions with hosts of this id, the most likely one for a connection from `address`, before the other side's number is
  /// known. Prefers a session without a connection, and one of this address.
  std::shared_ptr<Session> likely(const Gid& id, const std::string& address) const BATON_REQUIRES(mutex_) {
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
  std::shared_ptr<Session> partner_of(const Gid& id, std::uint64_t partner) const BATON_REQUIRES(mutex_) {
    for (const auto& [key, session] : sessions_)
      if (session->hello().host == id && session->partner() == partner) return session;
    return nullptr;
  }

  /// This side's number of the session with the host at `address` with this `id`, or of the next session with it. It is the same for all
  /// connections that are being made at the same time. `partner`: that host's number; 0: not known yet.
  Result<std::uint64_t> number_for(const Gid& id, const std::string& address, std::uint64_t partner) {
    const os::Lock lock(mutex_);
    if (const auto apart = apart_.find({id, address}); partner == 0 && apart != apart_.end()) return apart->second;
    const std::shared_ptr<Session> session = partner != 0 ? partner_of(id, partner) : likely(id, address);
    if (session) return session->number();
    // A host with the id of another host must not get that host's session.
    if (partner != 0 && likely(id, address)) return kept(apart_, std::pair(id, address));
    return kept(numbers_, id);
  }

  /// The session with these two numbers; made if there is none. Null: refused for the reason `why`, which is empty if the other host is to try again.
  std::shared_ptr<Session> session_of(const HostHello& hello, std::uint64_t number, std::uint64_t partner,
                                      const std::string& address, std::string& why) {
    std::shared_ptr<Session> made, other;
    make_room_for(hello, partner, address);
    {
      const os::Lock telling(telling_);
      {
        const os::Lock lock(mutex_);
        if (stop_) return nullptr;
        const std::shared_ptr<Session> known = partner_of(hello.host, partner);
        if (known) return known->number() == number ? known : nullptr;
        // The number may belong to a session that was forgotten since the number was sent. The other host still remembers that session.
        const auto next = numbers_.find(hello.host);
        const auto apart = apart_.find({hello.host, address});
        const bool is_next = next != numbers_.end() && next->second == number;
        const bool is_apart = apart != apart_.end() && apart->second == number;
        other = likely(hello.host, address);
        if (is_next || is_apart) {
          why = room_for({address, hello.port});
          if (!why.empty()) return nullptr;
          Gid key = hello.host;
          if (sessions_.count(key) != 0) {
            const Result<std::array<std::uint8_t, 16>> id = os::random_id();
            if (!id) return nullptr;
            key = *id;
          }
          made = std::make_shared<Session>(
              key, hello, number, partner, address, channels_,
              [listener = listener_, key](bool connected) { listener->connected(key, connected); });
          if (const Result<void> started = made->start(); !started) {
            say(About::kNetwork, Level::kError, started.error().code, started.error().message);
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

  /// Why not one more host; empty: there is room.
  std::string room_for(const ListenAddress& newcomer) const BATON_REQUIRES(mutex_) {
    std::vector<ListenAddress> taken;
    for (const auto& [key, session] : sessions_) taken.emplace_back(session->address(), session->hello().port);
    std::set<ListenAddress> named;
    for (const Calls& calls : calls_)
      for (const std::string& address : calls.addresses) named.emplace(address, calls.peer.port);
    return why_no_room(taken, newcomer, std::move(named));
  }

  /// Two hosts have one id, with different sessions. One of them may be a stranger, but this host cannot know which. Both are served, each as a
  /// host of its own. A host that has lost its memory and begins anew looks the same; its old session ends.
  void contested(const HostHello& hello, const std::string& address, const std::shared_ptr<Session>& other,
                 bool again) {
    if (again && !other->disconnected_since()) pause(kNoticed);
    const bool is_connected = !other->disconnected_since();
    if (again && !is_connected && is_replaced(*other, hello, address)) return forget(other);
    if (again) {
      const os::Lock lock(mutex_);
      static_cast<void>(kept(apart_, std::pair(hello.host, address)));
    }
    if (!is_connected) return;
    say(About::kIdentities, Level::kWarning, Errc::already_exists,
        "host '" + hello.name + "' at " + address + " says the id of host '" + other->hello().name + "' at " +
            other->address() +
            ": one of them is not what it says; they are kept apart. With --security only hosts of your CA are let in");
  }

  /// Whether the host that sent `hello` is the host of `session`, started again on the same port of the same machine.
  static bool is_replaced(const Session& session, const HostHello& hello, const std::string& address) {
    return hello.name == session.hello().name && hello.port == session.hello().port && address == session.address();
  }

  /// The host that was called begins anew, and has no connection: forgets its old session now.
  void forget_replaced(const HostHello& hello, const std::string& address) {
    std::shared_ptr<Session> before;
    {
      const os::Lock lock(mutex_);
      if (!partner_of(hello.host, hello.session)) before = likely(hello.host, address);
    }
    if (before && before->disconnected_since() && is_replaced(*before, hello, address)) forget(before);
  }

  /// Where there is no room, a host that comes with a new session replaces its own former run, which has no connection any more. Else that
  /// former run stays until it is forgotten: it knows which kept messages this host has given out.
  void make_room_for(const HostHello& hello, std::uint64_t partner, const std::string& address) {
    std::shared_ptr<Session> before;
    {
      const os::Lock lock(mutex_);
      if (partner_of(hello.host, partner) || room_for({address, hello.port}).empty()) return;
      for (const auto& [key, session] : sessions_) {
        // Not a session that was just made, and gets its connection now.
        if (session->disconnected_since() && session->was_connected() && session->hello().host != hello.host &&
            is_replaced(*session, hello, address))
          before = session;
      }
    }
    if (before) forget(before);
  }

  void forget(const std::shared_ptr<Session>& session) {
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

  void forget_some() {
    std::vector<std::shared_ptr<Session>> sessions;
    {
      const os::Lock lock(mutex_);
      for (const auto& [host, session] : sessions_) sessions.push_back(session);
    }
    for (const auto& session : sessions) {
      const auto since = session->disconnected_since();
      if (!since) continue;
      // A link that was started again: its former run has ended.
      const bool replaced = std::any_of(sessions.begin(), sessions.end(), [&](const auto& other) {
        return other != session && !other->disconnected_since() &&
               is_replaced(*session, other->hello(), other->address());
      });
      if (replaced || steady_clock::now() - *since > kForgotten) forget(session);
    }
  }

  /// Why the other side is refused; empty: it is accepted.
  std::string objection(const HostHello& hello) const {
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

  HostHello hello_with(std::uint64_t session) const {
    HostHello out = own_;
    out.session = session;
    return out;
  }

  std::unique_ptr<Wire> wire(std::shared_ptr<os::TcpSocket> socket, bool called) const {
    if (security_) return security_->wire(std::move(socket), called);
    return std::make_unique<PlainWire>(std::move(socket));
  }

  /// Which side made the connection, and why.
  enum class ConnectionOrigin : std::uint8_t {
    kTaken,   ///< made by the other side
    kCalled,  ///< made by this host, to a named peer or a host of the multicast group
    kLook     ///< the same; only if the other end is not a host that is connected already
  };
  /// Exchanges hellos, then reads the connection until it ends. Returns the key that the host got, if any, or this host's own id. `why`: why the
  /// other side was refused.
  Gid serve(std::unique_ptr<Wire> wire, ConnectionOrigin way, const std::string& whom,
            const std::function<void()>& greeted, std::string& why) {
    const bool called = way != ConnectionOrigin::kTaken;
    auto connection = std::make_shared<HostConnection>();
    connection->wire = std::move(wire);
    Wire& line = *connection->wire;
    {
      const os::Lock lock(mutex_);
      if (stop_) return {};
      connections_.push_back(connection);
    }
    const Gid host = [&]() -> Gid {
      const Result<void> opened = line.open(kHelloLimit);
      // The reason why the other side refuses this host comes instead of its hello: so after a failed write the answer is still read.
      if (opened && called) static_cast<void>(write_hello(line, hello_with(0)));
      const Result<HostHello> hello = opened ? read_hello(line) : Result<HostHello>(opened.error());
      if (!hello) {
        why = hello.error().message;
        if (called || hello.error().code == Errc::protocol_violation)
          say(About::kStrangers, Level::kWarning, hello.error().code, whom + " is not connected: " + why);
        // A connection that just ends is no refusal, except during a TLS handshake, which a host without security ends in this way.
        if (hello.error().code == Errc::protocol_violation || (called && !opened)) refuse(line, {}, why);
        return {};
      }
      if (why = objection(*hello); !why.empty()) {
        if (!called)
          static_cast<void>(write_hello(line, hello_with(0)));  // so that the other side can report the reason, too
        say(About::kVersions, Level::kError, Errc::unsupported, whom + " is not connected: " + why);
        refuse(line, hello->name, why);
        return {};
      }
      if (hello->host == own_.host) {
        if (!called)
          static_cast<void>(
              write_hello(line, hello_with(0)));  // so that the calling side learns which host it has called
        return hello->host;
      }
      std::uint64_t partner = hello->session;
      if (called && partner == 0) {  // the other side refuses
        why = "it refuses this host; its log says why";
        refuse(line, hello->name, why);
        return {};
      }
      if (way == ConnectionOrigin::kLook && is_connected(hello->host, partner)) return {};
      if (called) forget_replaced(*hello, line.address());
      const Result<std::uint64_t> number = number_for(hello->host, line.address(), called ? partner : 0);
      if (!number || !write_hello(line, hello_with(*number))) return {};
      if (!called) {
        const Result<HostHello> second = read_hello(line);
        if (!second || second->host != hello->host || second->session == 0) return {};
        partner = second->session;
      }
      const std::shared_ptr<Session> session = session_of(*hello, *number, partner, line.address(), why);
      if (!session) {
        if (!why.empty()) {
          say(About::kLimits, Level::kError, Errc::limit_reached, "host '" + hello->name + "' is left out: " + why);
          refuse(line, hello->name, why);
        }
        return {};
      }
      greeted();
      connection->dialed_by_smaller = called == (own_.host < hello->host);
      if (!session->attach(connection)) return session->key();
      refusals_.remove(line.address());
      const Error reason = session->read(connection);
      if (reason.code == Errc::protocol_violation) {
        say(About::kViolations, Level::kError, reason.code,
            "the connection to host '" + hello->name + "' is ended: " + reason.message);
      }
      return session->key();
    }();
    line.shut_down();
    const os::Lock lock(mutex_);
    connections_.remove(connection);
    return host;
  }

  void call(Calls& calls) {
    const NamedPeer& peer = calls.peer;
    Gid known{};
    const auto note = [&](bool reached, const std::string& why) {
      const os::Lock lock(mutex_);
      if (calls.reached && !reached) calls.state.since_ns = os::monotonic_ns();
      calls.reached = reached;
      calls.state.why = why;
      calls.host = known;
    };
    const auto stop = [](void* self) { return static_cast<TcpNetwork*>(self)->stopped(); };
    os::TcpPlace from;
    from.interface = options_.interface;
    for (int tries = 0; !stopped();) {
      if (known == own_.host) {
        pause(kSelfPause);  // a name of this host, which may later name another host
        known = {};
        continue;
      }
      const std::shared_ptr<Session> session = find(known);
      if (session && !session->disconnected_since()) {
        note(true, {});
        pause(kCallPause);
        continue;
      }
      std::vector<std::string> addresses;
      Result<std::unique_ptr<os::TcpSocket>> socket = os::tcp_connect(
          peer.host, peer.port, from, ++tries % 4 == 0 ? kLongAnswer : kAnswer, kUnsentBytes, stop, this, &addresses);
      {
        const os::Lock lock(mutex_);
        calls.addresses = std::move(addresses);
      }
      if (socket) {
        std::string why;
        known = serve(
            wire(std::move(*socket), true), ConnectionOrigin::kCalled, "peer '" + peer.host + "'",
            [&] { note(true, {}); }, why);
        note(known == own_.host, why.empty() ? "the connection has ended" : why);
      } else if (!stopped()) {
        note(false, socket.error().message);
        say(About::kPeers, Level::kInfo, socket.error().code,
            "peer '" + peer.host + ":" + std::to_string(peer.port) + "' is not reached: " + socket.error().message +
                "; trying again");
      }
      pause(kCallPause);
    }
  }

  static void reap(std::list<Reading>& threads) {
    for (auto at = threads.begin(); at != threads.end();) {
      if (at->done->load(std::memory_order_acquire)) {  // pairs with the thread's release: it touches nothing any more
        pthread_join(at->thread, nullptr);
        at = threads.erase(at);
      } else {
        ++at;
      }
    }
  }

  /// Announces this host on the network, and calls hosts that announce themselves and are not connected.
  void seek() {
    const std::array<std::byte, kHelloBytes> presence = encode(own_);
    auto next = steady_clock::now(), next_look = next;
    std::size_t before = 1;
    for (int said = 0; !stopped();) {
      if (steady_clock::now() >= next) {
        const std::size_t interfaces = said++ % kRefreshEvery == 0 ? multicast_->refresh() : before;
        if (std::exchange(before, interfaces) != 0 && interfaces == 0) {
          say(About::kNetwork, Level::kInfo, Errc{},
              "no network interface can multicast now: other hosts are found by --peer alone");
        }
        multicast_->send(presence.data(), presence.size());
        next = steady_clock::now() + kPresence;
      }
      reap(calling_);
      std::array<std::byte, kHelloBytes> bytes;
      const std::optional<os::Multicast::Packet> packet = multicast_->receive(bytes.data(), bytes.size(), kTurn);
      if (!packet || packet->size != bytes.size()) continue;
      const Result<HostHello> hello = decode_hello(bytes.data());
      // A host of another version or domain is ignored.
      if (!hello || !objection(*hello).empty() || hello->host == own_.host || hello->port == 0) continue;
      const Reach reach = reach_of(hello->host, packet->address);
      if (reach == Reach::kThere) continue;
      if (reach == Reach::kElsewhere) {  // or another host has come with its id, and keeps this host from being called
        if (steady_clock::now() < next_look) continue;
        next_look = steady_clock::now() + kLookAgain;
      }
      const bool called = std::any_of(calling_.begin(), calling_.end(), [&](const Reading& each) {
        return each.host == hello->host && each.address == packet->address;
      });
      // A thread that has received a hello serves its connection.
      std::size_t strangers = 0, of_address = 0;
      for (const Reading& each : calling_) {
        if (each.greeted->load(std::memory_order_relaxed)) continue;
        ++strangers;
        if (each.address == packet->address) ++of_address;
      }
      if (!called && strangers < kMostCalls && of_address < kMostCallsOfAddress && calling_.size() < kMostHosts)
        call_once(*hello, packet->address,
                  reach == Reach::kElsewhere ? ConnectionOrigin::kLook : ConnectionOrigin::kCalled);
    }
  }

  /// Whether a host of this id is connected.
  enum class Reach : std::uint8_t { kNone, kThere, kElsewhere /* at another address: it may have several */ };
  Reach reach_of(const Gid& id, const std::string& address) const {
    Reach out = Reach::kNone;
    const os::Lock lock(mutex_);
    for (const auto& [key, session] : sessions_) {
      if (session->hello().host != id || session->disconnected_since()) continue;
      if (session->address() == address) return Reach::kThere;
      out = Reach::kElsewhere;
    }
    return out;
  }
  bool is_connected(const Gid& id, std::uint64_t partner) const {
    const os::Lock lock(mutex_);
    const std::shared_ptr<Session> session = partner_of(id, partner);
    return session && !session->disconnected_since();
  }

  void call_once(const HostHello& hello, const std::string& address, ConnectionOrigin way) {
    auto done = std::make_shared<std::atomic<bool>>(false), greeted = std::make_shared<std::atomic<bool>>(false);
    Result<pthread_t> thread = os::start_thread(
        "baton-link-call", kStackBytes, [this, done, greeted, address, way, port = hello.port, name = hello.name] {
          os::TcpPlace from;
          from.interface = options_.interface;
          const auto stop = [](void* self) { return static_cast<TcpNetwork*>(self)->stopped(); };
          Result<std::unique_ptr<os::TcpSocket>> socket =
              os::tcp_connect(address, port, from, kAnswer, kUnsentBytes, stop, this);
          if (socket) {
            std::string why;
            serve(
                wire(std::move(*socket), true), way, "host '" + name + "'",
                [&] { greeted->store(true, std::memory_order_relaxed); }, why);
          } else if (!stopped()) {
            say(About::kPeers, Level::kWarning, socket.error().code,
                "host '" + name + "' says that it is there, and is not reached: " + socket.error().message +
                    "; trying again (is its TCP port " + std::to_string(port) + " open?)");
          }
          done->store(true, std::memory_order_release);
        });
    if (thread) calling_.push_back({*thread, std::move(done), hello.host, address, std::move(greeted)});
  }

  void accept() {
    auto next = steady_clock::now();
    while (!stopped()) {
      if (steady_clock::now() >= next) {
        forget_some();
        next = steady_clock::now() + kTurn;
      }
      reap(reading_);
      Result<std::unique_ptr<os::TcpSocket>> socket = tcp_->accept(kTurn, kUnsentBytes);
      if (!socket) {
        say(About::kNetwork, Level::kError, socket.error().code, "no host can connect now: " + socket.error().message);
        pause(kTurn);
        continue;
      }
      if (*socket) receive(std::move(*socket));
    }
  }

  void receive(std::unique_ptr<os::TcpSocket> socket) {
    const std::shared_ptr<os::TcpSocket> watched(std::move(socket));
    {
      const os::Lock lock(mutex_);
      strangers_.push_back(watched);
      if (strangers_.size() > kMostStrangers) {
        std::map<std::string, std::size_t> of_network;
        std::size_t most = 0;
        for (const auto& each : strangers_) most = std::max(most, ++of_network[os::network_of(each->address())]);
        const auto victim = std::find_if(strangers_.begin(), strangers_.end(), [&](const auto& each) {
          return of_network[os::network_of(each->address())] == most;
        });
        (*victim)->shut_down();
        strangers_.erase(victim);
      }
    }
    auto done = std::make_shared<std::atomic<bool>>(false);
    const std::string whom = "a program at " + watched->address();
    Result<pthread_t> thread = os::start_thread("baton-link-in", kStackBytes, [this, watched, whom, done] {
      const auto known = [&] {
        const os::Lock lock(mutex_);
        strangers_.remove(watched);
      };
      std::string why;
      serve(wire(watched, false), ConnectionOrigin::kTaken, whom, known, why);
      known();
      done->store(true, std::memory_order_release);
    });
    if (thread) {
      reading_.push_back({*thread, std::move(done), {}, {}, {}});
      return;
    }
    say(About::kNetwork, Level::kError, thread.error().code, "no host can connect now: " + thread.error().message);
    const os::Lock lock(mutex_);
    strangers_.remove(watched);
  }

  const HostNetworkOptions options_;
  const std::shared_ptr<HostListener> listener_;
  const std::shared_ptr<ReceiverTable> channels_ = std::make_shared<ReceiverTable>();
  std::vector<std::shared_ptr<void>> kept_receivers_;
  HostHello own_;
  std::unique_ptr<const Security> security_;  // null: bytes as they are
  std::unique_ptr<os::TcpListener> tcp_;
  Refusals refusals_;
  std::list<Calls> calls_;  // of the peers; its length does not change once threads run
  std::vector<pthread_t> threads_;
  std::unique_ptr<os::Multicast> multicast_;
  // Of the accepting and of the seeking thread, and of the destructor when those have ended.
  std::list<Reading> reading_, calling_;

  /// Held, before mutex_, while a session comes or goes and the listener is called. Else the listener could learn of a host's end after its
  /// return, or of an advertisement before its host.
  os::Mutex telling_;
  mutable os::Mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ BATON_GUARDED_BY(mutex_) = false;
  /// By their keys: the id of the host, or another one if an earlier host has the same id.
  std::map<Gid, std::shared_ptr<Session>> sessions_ BATON_GUARDED_BY(mutex_);
  std::map<Gid, std::uint64_t> numbers_ BATON_GUARDED_BY(mutex_);  // of sessions to come, by the hosts' ids
  std::map<std::pair<Gid, std::string>, std::uint64_t> apart_
      BATON_GUARDED_BY(mutex_);  // hosts whose id another host has, too, with their addresses
  std::list<std::shared_ptr<HostConnection>> connections_ BATON_GUARDED_BY(mutex_);
  std::list<std::shared_ptr<os::TcpSocket>> strangers_ BATON_GUARDED_BY(mutex_);
};

}  // namespace
}  // namespace baton::link::stream

namespace baton::link {

Result<std::unique_ptr<HostNetwork>> make_host_network(
    const HostNetworkOptions& options, std::shared_ptr<HostListener> listener,
    const std::map<std::string, std::shared_ptr<ChunkReceiver>>& receivers) {
  auto network = std::make_unique<stream::TcpNetwork>(options, std::move(listener));
  for (const auto& [channel, receiver] : receivers) {
    if (Result<void> kept = network->keep_receiver(channel, receiver); !kept) return kept.error();
  }
  if (Result<void> started = network->start(); !started) return started.error();
  return std::unique_ptr<HostNetwork>(std::move(network));
}

}  // namespace baton::link
