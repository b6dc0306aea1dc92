// SPDX-License-Identifier: Apache-2.0
// Becoming visible, finding other processes, accepting them, and removing the names of the dead.
#include <cerrno>

#include "baton/os/clock.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/os/disposal.hpp"
#include "baton/os/hexadecimal.hpp"
#include "baton/os/process.hpp"
#include "hub_impl.hpp"

namespace baton::transport {
namespace {

constexpr auto kFirstRetry = std::chrono::milliseconds(10);
constexpr unsigned kMaxDoublings = 9;  // 10 ms, 20 ms ... 5 s
constexpr int kMaxAcceptsPerRound = 64;
constexpr auto kShortagePause = std::chrono::milliseconds(100);
constexpr auto kRescanDelay = std::chrono::seconds(1);
/// So long a process waits for another one to connect that started later, or in the same tick of the kernel's clock.
constexpr std::chrono::milliseconds kTheirTurn{2000}, kSameTickWait{20};
// A temporary name lives for microseconds. Removing a living one is harmless (its owner takes another), so this time
// only keeps newcomers from disturbing each other.
constexpr std::int64_t kTemporaryNameSeconds = 2;

}  // namespace

std::string name_of(const ProcessId& process) { return "p-" + os::hexadecimal(process); }

// Listen first, then appear: a name "p-..." that refuses a connection is therefore dead for ever, and any process may
// remove it.
Result<void> Hub::Impl::publish_name() {
  for (int attempt = 0; attempt < 100; ++attempt) {
    const auto random = os::random_id();
    if (!random) return random.error();
    const std::string temporary = "t-" + os::hexadecimal(*random);
    switch (
        os::listen_at(directory.fd.get(), directory.path, temporary, directory.socket_mode, directory.gid, listener)) {
      case os::IoStatus::kDone:
        break;
      case os::IoStatus::kAbsent: {
        // Either the new name was swept before it got its mode, or the directory is gone.
        if (os::open_directory(-1, directory.path).error_number == 0) continue;
        return Error{Errc::no_runtime_directory,
                     "'" + directory.path + "' was removed while this process joined; start again"};
      }
      case os::IoStatus::kNoDescriptors:
        return os::system_error("socket in '" + directory.path + "'", EMFILE);
      default: {
        const int failed = errno;
        Error error = os::system_error("cannot listen in '" + directory.path + "'", failed);
        if (failed == EACCES || failed == EPERM || failed == EROFS) {
          error.code = Errc::no_runtime_directory;
          error.message += "; set BATON_RUNTIME_DIR to a directory that this process may write";
        }
        return error;
      }
    }
    BATON_CRASH_POINT("hub.listening");
    const int failed = os::rename_name(directory.fd.get(), temporary, socket_name);
    if (failed == 0) {
      BATON_CRASH_POINT("hub.visible");
      return {};
    }
    listener.reset();
    if (failed == ENOENT) continue;  // swept: this process was delayed for long between bind and rename
    (void)os::remove_name(directory.fd.get(), temporary);
    return os::system_error("cannot rename a socket in '" + directory.path + "'", failed);
  }
  return Error{Errc::no_runtime_directory, "another process keeps removing the sockets in '" + directory.path + "'"};
}

void Hub::Impl::scan(bool again) {
  Result<std::vector<std::string>> names = [this] {
    const os::Lock lock(mutex());
    return os::list_directory(directory.fd.get());
  }();
  if (!names) {
    diagnose(Diagnostic::Level::kError, names.error().code,
             "cannot read '" + directory.path + "': " + names.error().message + "; trying again");
    schedule(Clock::now() + kShortagePause * 5, [this, again] { scan(again); });
    return;
  }
  make_room_for_routes();
  const std::int64_t named_ns = os::socket_changed_ns(directory.fd.get(), socket_name);
  for (const std::string& name : *names) {
    ProcessId process{};
    if (name == socket_name || name.size() < 2 || !os::from_hexadecimal(name.substr(2), process)) continue;
    if (name[0] == 'p') {
      if (!may_remember(process)) continue;
      const std::int64_t changed_ns = os::socket_changed_ns(directory.fd.get(), name);
      if (again || !comes_by_itself(process, changed_ns, named_ns)) connect_to(process, changed_ns != 0);
    } else if (name[0] == 't' && os::seconds_since_change(directory.fd.get(), name) >= kTemporaryNameSeconds) {
      os::UniqueFd probe;
      const os::Lock lock(mutex());
      if (os::connect_at(directory.fd.get(), directory.path, name, probe) == os::IoStatus::kRefused) sweep(name);
    }
  }
}

/// The other process connects, unless its clock was set, or it died before it read the directory: so this process waits only for a while.
bool Hub::Impl::comes_by_itself(const ProcessId& process, std::int64_t changed_ns, std::int64_t named_ns) {
  // A name of the future is of before the clock was set back: its process has read the directory long ago.
  if (named_ns == 0 || changed_ns > os::realtime_ns() || connects_first(self, named_ns, process, changed_ns))
    return false;
  Route& route = routes[process];
  if (route.up != 0) return false;
  if (route.refused || route.mine != 0 || route.retry != 0) return true;
  route.retry = schedule(Clock::now() + (changed_ns == named_ns ? kSameTickWait : kTheirTurn),
                         [this, process] { connect_to(process); });
  return true;
}

void Hub::Impl::scan_later() {
  if (std::exchange(scan_planned, true)) return;
  schedule(Clock::now() + kRescanDelay, [this] {
    scan_planned = false;
    scan(true);
  });
}

void Hub::Impl::sweep(const std::string& name) {
  if (os::socket_changed_ns(directory.fd.get(), name) == 0) return;  // not Baton's: a user's file
  BATON_CRASH_POINT("hub.sweep");
  (void)os::remove_name(directory.fd.get(), name);
}

void Hub::Impl::connect_to(const ProcessId& process, bool is_socket) {
  Route& route = routes[process];
  if (route.retry != 0) cancel(std::exchange(route.retry, 0));
  if (route.refused || route.has_socket() || route.mine != 0) return;
  const std::string name = name_of(process);
  LinkId made = 0;
  os::IoStatus status{};
  int failed = 0;
  {
    const os::Lock lock(mutex());
    os::UniqueFd socket;
    // A symbolic link would lead to a process that has a name of its own.
    is_socket = is_socket || os::socket_changed_ns(directory.fd.get(), name) != 0;
    status = is_socket ? os::connect_at(directory.fd.get(), directory.path, name, socket) : os::IoStatus::kAbsent;
    failed = errno;
    if (status == os::IoStatus::kRefused) sweep(name);
    if (status == os::IoStatus::kDone) {
      PeerLink& link = add_link(std::move(socket), true);
      link.process = process;
      made = link.id;
    }
  }
  switch (status) {
    case os::IoStatus::kDone:
      break;
    case os::IoStatus::kRefused:
    case os::IoStatus::kAbsent:
      met_its_end(process);
      return;
    case os::IoStatus::kWouldBlock:  // its backlog is full: many processes start at once, or it is stopped
      retry_later(process);
      return;
    case os::IoStatus::kNoDescriptors:
      tell_shortage("cannot connect to another process");
      retry_later(process);
      return;
    default: {
      Error error = os::system_error("cannot connect to '" + directory.path + "/" + name + "'", failed);
      // The kind and permissions of a name do not change; a lack of memory does.
      route.refused =
          status == os::IoStatus::kDenied || failed == EPROTOTYPE || failed == ENAMETOOLONG || failed == ELOOP;
      if (status == os::IoStatus::kDenied)
        error.message += "; its process belongs to a user without access to the directory";
      if (!route.refused) error.message += "; trying again";
      if (route.refused || route.attempts == 0) diagnose(Diagnostic::Level::kWarning, error.code, error.message);
      retry_later(process);
      return;
    }
  }
  route.mine = made;
  const bool greeted = attempt([&] {
    PeerLink* link = find(made);
    if (!welcome(*link)) {
      turn_away(*link);
      return;
    }
    BATON_CRASH_POINT("hub.connected");
    Hello hello;
    hello.pid = os::process_id();
    hello.process_id = self;
    hello.name = self_name;
    if (const Route& known = routes[process]; known.parked) {
      const os::Lock lock(mutex());
      hello.counts = find(known.up)->acquaintance.counts();
    }
    {
      const os::Lock lock(mutex());
      send_now(*link, encode_hello(hello));
    }
    BATON_CRASH_POINT("hub.hello_sent");
    link->handshake_timer =
        schedule(Clock::now() + options.handshake_timeout, [this, made] { on_handshake_timeout(made); });
  });
  if (!greeted) end_for_want_of_memory(made);
}

void Hub::Impl::retry_later(const ProcessId& process) {
  Route& route = routes[process];
  if (route.refused || route.retry != 0 || route.has_socket() || route.mine != 0) return;
  const auto delay = kFirstRetry * (1U << std::min(route.attempts, kMaxDoublings));
  ++route.attempts;
  route.retry = schedule(Clock::now() + delay, [this, process] { connect_to(process); });
}

void Hub::Impl::on_listener() {
  for (int i = 0; i < kMaxAcceptsPerRound; ++i) {
    LinkId made = 0;
    os::IoStatus status{};
    {
      const os::Lock lock(mutex());
      os::UniqueFd socket;
      status = os::accept_one(listener.get(), socket);
      if (status == os::IoStatus::kDone) made = add_link(std::move(socket), false).id;
    }
    if (status == os::IoStatus::kWouldBlock) return;
    if (status == os::IoStatus::kNoDescriptors) {
      if (accept_without_descriptors()) continue;
      pause_listening();
      return;
    }
    if (status != os::IoStatus::kDone) {
      pause_listening();  // the kernel is short of memory, for example
      return;
    }
    BATON_CRASH_POINT("hub.accepted");
    const bool handled = attempt([&] {
      while (!silent.empty() && (find(silent.front()) == nullptr || !find(silent.front())->silent)) silent.pop_front();
      silent.push_back(made);
      ++silent_count;
      find(made)->silent = find(made)->unjudged = true;
      find(made)->handshake_timer =
          schedule(Clock::now() + options.handshake_timeout, [this, made] { on_handshake_timeout(made); });
      // An honest peer has already sent HELLO.
      on_readable(made);
      if (PeerLink* link = find(made); link != nullptr && link->unjudged) judge(*link);
    });
    if (!handled) end_for_want_of_memory(made);
    if (silent_count > kMaxSilentLinks) evict_silent_link();
  }
}

void Hub::Impl::evict_silent_link() {
  while (!silent.empty()) {
    PeerLink* link = find(silent.front());
    silent.pop_front();
    if (link == nullptr || !link->silent) continue;
    end_link(
        *link,
        {{Errc::timed_out, "too many connections wait without a HELLO; the oldest was ended"}, Bye::kTimeout, true});
    return;
  }
}

// A connection that cannot be accepted would keep the listener readable and the thread busy. One spare descriptor makes
// room to accept, to send the reason, and to close. The other side tries again later.
bool Hub::Impl::accept_without_descriptors() {
  bool refused = false;
  LinkMachine::Step first;
  {
    const os::Lock lock(mutex());
    reserve.reset();
    os::UniqueFd socket;
    if (os::accept_one(listener.get(), socket) == os::IoStatus::kDone) {
      os::ReceivedPacket packet;  // GONE is not said again
      if (os::receive_packet(socket.get(), buffer.get(), kMaxPacketBytes, 0, packet) == os::IoStatus::kDone &&
          !packet.fds_lost)
        first = LinkMachine().on_packet(buffer.get(), packet.size_bytes, std::move(packet.fds));
      const auto bye = encode_bye(Bye::kNoDescriptors, "process '" + self_name + "' has no file descriptor left");
      (void)os::send_packet(socket.get(), bye.data(), bye.size(), nullptr, 0, nullptr, 0);
      refused = true;
    }
    os::close_socket(std::move(socket));
    reserve = os::reserve_descriptor();
  }
  tell_shortage("cannot accept another process");
  // Of all tellers together: without a link it is not known which of them this is.
  check_whether_gone(first.processes, alarms_in_shortage);
  return refused;
}

void Hub::Impl::tell_shortage(const std::string& what) {
  park_soon();
  if (!shortage_lines.once()) return;
  diagnose(Diagnostic::Level::kError, Errc::out_of_descriptors,
           os::system_error(what, EMFILE).message + "; trying again until it works");
}

void Hub::Impl::pause_listening() {
  {
    const os::Lock lock(mutex());
    poller.remove(listener.get());
  }
  schedule(Clock::now() + kShortagePause, [this] {
    const os::Lock lock(mutex());
    if (!reserve) reserve = os::reserve_descriptor();
    (void)poller.add(listener.get(), kListenerToken);
  });
}

}  // namespace baton::transport
