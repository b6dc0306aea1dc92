// SPDX-License-Identifier: Apache-2.0
#include "hand_over.hpp"

#include <algorithm>
#include <cerrno>
#include <set>

#include "baton/os/clock.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/os/file_lock.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/futex.hpp"
#include "baton/os/process.hpp"
#include "baton/os/unix_socket.hpp"
#include "baton/os/wake_socket.hpp"
#include "baton/shared/deadline.hpp"

namespace baton::shared::detail {
namespace {

struct Hello {
  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t reserved = 0;
};

const std::string kPrefix = "heap-";
constexpr std::int64_t kPollNs = 2'000'000;  // between tries for the file's lock
constexpr std::int64_t kLeaveNs = 500'000'000;
constexpr std::chrono::milliseconds kAcceptAgain{50};

bool good_name(const std::string& name) {
  return !name.empty() && name.size() <= 48 && name[0] != '.' && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}
std::string hex(const std::array<std::uint8_t, 16>& id) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (std::uint8_t byte : id) (out += kDigits[byte >> 4]) += kDigits[byte & 15];
  return out;
}
void pause_until(std::int64_t deadline_ns) {
  std::atomic<std::uint32_t> never{0};
  const os::FutexWait wait{&never, 0};
  while (os::monotonic_ns() < deadline_ns && os::futex_waits(&wait, 1, deadline_ns) != os::WaitOutcome::kTimedOut) {
  }
}

/// The heap's file, locked. Empty: the time is over.
Result<os::UniqueFd> lock_file(const transport::DomainDirectory& directory, const std::string& name,
                               std::int64_t deadline_ns) {
  for (;;) {
    Result<os::UniqueFd> file = os::open_file_at(directory.fd.get(), name, directory.socket_mode, directory.gid);
    if (!file) return file;
    while (!os::try_lock_byte(file->get(), 0)) {
      const std::int64_t now = os::monotonic_ns();
      if (now >= deadline_ns) {
        return Error{Errc::timed_out, "another process is opening or closing the shared heap '" + name + "' in '" +
                                          directory.path + "' and does not come to an end (is it stopped?)"};
      }
      pause_until(now + kPollNs);
    }
    if (os::is_file_at(directory.fd.get(), name, file->get())) return file;  // not removed while we waited
  }
}

Result<transport::DomainDirectory> directory_of(const HeapOptions& options) {
  transport::DirectoryOptions where;
  where.runtime_directory = options.runtime_directory;
  Result<int> domain = transport::resolve_domain(options.domain, where);
  if (!domain) return domain.error();
  return transport::open_domain_directory(*domain, where);
}

std::vector<std::string> sockets_of(const transport::DomainDirectory& directory, const std::string& name) {
  std::vector<std::string> out;
  if (Result<std::vector<std::string>> names = os::list_directory(directory.fd.get())) {
    for (std::string& found : *names) {
      if (found.rfind(name + "@", 0) == 0) out.push_back(std::move(found));
    }
  }
  return out;
}

/// With the file locked: removes what dead processes left; true if nobody is left.
bool sweep(const transport::DomainDirectory& directory, const std::string& name, const std::string& but) {
  bool nobody = true;
  for (const std::string& socket : sockets_of(directory, name)) {
    if (socket == but) continue;
    os::UniqueFd probe;
    if (os::connect_at(directory.fd.get(), directory.path, socket, probe) == os::IoStatus::kRefused) {
      (void)os::remove_name(directory.fd.get(), socket);
    } else {
      nobody = false;
    }
  }
  return nobody;
}

/// Other heaps of the domain whose last process was killed.
void sweep_others(const transport::DomainDirectory& directory, const std::string& mine) {
  Result<std::vector<std::string>> names = os::list_directory(directory.fd.get());
  if (!names) return;
  for (const std::string& name : *names) {
    if (name.rfind(kPrefix, 0) != 0 || name.find('@') != std::string::npos || name == mine) continue;
    Result<os::UniqueFd> file = lock_file(directory, name, 0);
    if (file && sweep(directory, name, "")) (void)os::remove_name(directory.fd.get(), name);
  }
}

/// True if the other end of the link is gone.
bool is_over(os::IoStatus received, const os::ReceivedPacket& packet) {
  return received == os::IoStatus::kClosed || received == os::IoStatus::kReset ||
         (received == os::IoStatus::kDone && packet.size_bytes == 0);
}

/// What a member that answered gives. False: it died, or left, just now, or, if that is `lost`, something went wrong.
// Not inlined: gcc 12 then takes the packet's vector for `descriptor` and warns.
__attribute__((noinline)) bool take_descriptor(int socket, os::UniqueFd* descriptor, bool* lost) {
  Hello hello{0, 0, 0};
  os::ReceivedPacket packet;
  const os::IoStatus status = os::receive_packet(socket, &hello, sizeof hello, 1, packet);
  if (status != os::IoStatus::kDone || packet.size_bytes != sizeof hello || packet.fds.size() != 1 ||
      hello.magic != kMagic) {
    *lost = *lost || !is_over(status, packet);
    return false;
  }
  *descriptor = packet.fds[0].release();
  return true;
}

/// The descriptor from whoever answers first; the others' answers stay in their links. Empty: nobody did; then the links of those who went are
/// closed, and if others are left, the time is over. `lost`: a link was given up whose other end may live.
os::UniqueFd ask_all(std::vector<os::UniqueFd>* links, std::int64_t deadline_ns, bool* lost) {
  os::UniqueFd descriptor;
  Result<os::Poller> poller = os::Poller::create();
  if (!poller) return descriptor;
  for (std::size_t i = 0; i < links->size(); ++i) poller->add((*links)[i].get(), i);
  std::size_t left = links->size();
  std::vector<os::Poller::Event> events;
  while (left > 0 && os::monotonic_ns() < deadline_ns) {
    if (!poller->wait(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_ns)), events)) break;
    for (const os::Poller::Event& event : events) {
      os::UniqueFd& link = (*links)[event.token];
      if (take_descriptor(link.get(), &descriptor, lost)) return descriptor;
      poller->remove(link.get());
      link.reset();
      --left;
    }
  }
  return descriptor;
}

}  // namespace

Result<std::shared_ptr<HeapState>> open_named(const HeapOptions& options) {
  if (!good_name(options.name)) {
    return Error{Errc::invalid_argument,
                 "'" + options.name + "' is no name for a shared heap: 1 to 48 letters, digits, '-', '_', '.'"};
  }
  const std::int64_t deadline = deadline_after(options.timeout);
  Result<transport::DomainDirectory> directory = directory_of(options);
  if (!directory) return directory.error();
  Membership::Parts parts;
  parts.directory = std::move(*directory);
  parts.name = kPrefix + options.name;
  Result<std::array<std::uint8_t, 16>> id = os::random_id();
  if (!id) return id.error();
  parts.socket_name = parts.name + "@" + hex(*id);
  sweep_others(parts.directory, parts.name);

  Result<os::UniqueFd> lock = lock_file(parts.directory, parts.name, deadline);
  if (!lock) return lock.error();
  BATON_CRASH_POINT("shared.name.locked");
  bool silent = false, lost = false;
  std::vector<std::string> unreached;
  for (const std::string& socket : sockets_of(parts.directory, parts.name)) {
    os::UniqueFd link;
    const os::IoStatus status = os::connect_at(parts.directory.fd.get(), parts.directory.path, socket, link);
    if (status == os::IoStatus::kRefused) (void)os::remove_name(parts.directory.fd.get(), socket);
    if (status == os::IoStatus::kWouldBlock) silent = true;
    if (status == os::IoStatus::kDone) {
      parts.links.push_back(std::move(link));
    } else if (status != os::IoStatus::kRefused && status != os::IoStatus::kAbsent) {
      unreached.push_back(socket);
    }
  }
  os::UniqueFd descriptor = ask_all(&parts.links, deadline, &lost);
  parts.links.erase(std::remove_if(parts.links.begin(), parts.links.end(), [](const os::UniqueFd& l) { return !l; }),
                    parts.links.end());
  silent = silent || !parts.links.empty();
  if (!descriptor && silent) {
    return Error{Errc::timed_out,
                 "nobody who has the shared heap '" + options.name + "' open answers (stopped?); try again"};
  }
  Result<std::shared_ptr<HeapState>> state =
      descriptor ? HeapState::attach(descriptor, options) : HeapState::create(options);
  if (!state) return state.error();
  if (lost || !unreached.empty()) {
    (*state)->set_unwatched();
    // One whose backlog is full comes round after this, and sees it; with room in it by now, it is reached.
    for (const std::string& socket : unreached) {
      os::UniqueFd link;
      if (os::connect_at(parts.directory.fd.get(), parts.directory.path, socket, link) == os::IoStatus::kDone)
        parts.links.push_back(std::move(link));
    }
  }
  BATON_CRASH_POINT("shared.name.opened");
  if (os::listen_at(parts.directory.fd.get(), parts.directory.path, parts.socket_name, parts.directory.socket_mode,
                    parts.directory.gid, parts.listener) != os::IoStatus::kDone) {
    return os::system_error("listen in '" + parts.directory.path + "'", errno);
  }
  BATON_CRASH_POINT("shared.name.listening");
  Result<std::unique_ptr<Membership>> membership = Membership::start(std::move(parts), **state);
  if (!membership) return membership.error();
  (*state)->set_membership(std::move(*membership));
  lock->reset();        // destructors and on_event may open heaps, too
  (*state)->collect();  // what died before we came
  return state;
}

Result<std::vector<std::string>> names_of_heaps(const HeapOptions& options) {
  Result<transport::DomainDirectory> directory = directory_of(options);
  if (!directory) return directory.error();
  Result<std::vector<std::string>> names = os::list_directory(directory->fd.get());
  if (!names) return names.error();
  std::set<std::string> found;
  for (const std::string& name : *names) {
    const std::size_t at = name.find('@');
    if (name.rfind(kPrefix, 0) != 0 || at == std::string::npos) continue;
    os::UniqueFd probe;  // a member takes it for a newcomer that left
    if (os::connect_at(directory->fd.get(), directory->path, name, probe) == os::IoStatus::kRefused) continue;
    found.insert(name.substr(kPrefix.size(), at - kPrefix.size()));
  }
  return std::vector<std::string>(found.begin(), found.end());
}

Result<std::unique_ptr<Membership>> Membership::start(Parts parts, HeapState& state) {
  Result<os::Poller> poller = os::Poller::create();
  if (!poller) return poller.error();
  std::unique_ptr<Membership> out(new Membership(std::move(parts), state, std::move(*poller)));
  out->generation_ = os::fork_generation();
  bool added = out->poller_.add(out->parts_.listener.get(), 0);
  for (std::size_t i = 0; i < out->parts_.links.size(); ++i)
    added = out->poller_.add(out->parts_.links[i].get(), i + 1) && added;
  if (!added) state.set_unwatched();
  Result<pthread_t> thread = os::start_thread("baton-heap", 256 * 1024, [m = out.get()] { m->run(); });
  if (!thread) return thread.error();
  out->thread_ = *thread;
  out->running_ = true;
  return out;
}

// Tokens: 0 the listener, i + 1 links[i]. A link that ended leaves an empty place, which the next one takes.
// Whoever cannot be heard, as a link to him could not be kept, makes the heap one with `unwatched`; errors only, but for attach().
void Membership::run() {
  HeapState::background() = &state_;
  Inside::serve(&state_);
  using Clock = std::chrono::steady_clock;
  std::vector<os::Poller::Event> events;
  std::optional<Clock::time_point> again;            // no descriptor was left for a newcomer: not listened until then
  bool told = false;                                 // the others of `unwatched`
  while (!ended_.load(std::memory_order_acquire)) {  // pairs with the release in stop()
    if (state_.unwatched() && !told) {
      told = true;
      state_.notify_waiters();
      send_unwatched();
    }
    if (!again) state_.watch_deaths();
    if (!poller_.wait(again, events)) break;
    if (again && Clock::now() >= *again) {
      again.reset();
      if (!poller_.add(parts_.listener.get(), 0)) state_.set_unwatched();
    }
    bool hung_up = false;
    for (const os::Poller::Event& event : events) {
      if (event.token != 0) {
        os::UniqueFd& link = parts_.links[event.token - 1];
        Hello hello;
        os::ReceivedPacket packet;
        const os::IoStatus status = os::receive_packet(link.get(), &hello, sizeof hello, 1, packet);
        if (status == os::IoStatus::kWouldBlock || (status == os::IoStatus::kDone && packet.size_bytes != 0))
          continue;  // a hello, or a hint to look at `unwatched`
        if (!is_over(status, packet)) state_.set_unwatched();
        poller_.remove(link.get());
        link.reset();
        hung_up = true;
        continue;
      }
      os::UniqueFd link;
      if (const os::IoStatus status = os::accept_one(parts_.listener.get(), link); status != os::IoStatus::kDone) {
        if (status == os::IoStatus::kWouldBlock) continue;
        poller_.remove(parts_.listener.get());
        again = Clock::now() + kAcceptAgain;
        state_.notify_waiters();  // whoever waits there for us is not heard until then
        continue;
      }
      const Hello hello;
      const int fd = state_.descriptor().get();
      if (const os::IoStatus status = os::send_packet(link.get(), &hello, sizeof hello, nullptr, 0, &fd, 1);
          status != os::IoStatus::kDone) {
        if (status != os::IoStatus::kClosed) state_.set_unwatched();
        hung_up = true;  // it has died since, or given up; it may have been in the heap
        continue;
      }
      auto place = std::find_if(parts_.links.begin(), parts_.links.end(), [](const os::UniqueFd& l) { return !l; });
      if (place == parts_.links.end()) place = parts_.links.emplace(parts_.links.end());
      *place = std::move(link);
      if (!poller_.add(place->get(), static_cast<std::uint64_t>(place - parts_.links.begin()) + 1))
        state_.set_unwatched();
    }
    if (!hung_up) continue;
    state_.notify_waiters();  // and deaf while it collects
    state_.collect();
    if (std::shared_ptr<HeapState> last = state_.take_parked()) {
      last.reset();  // with *this
      return;
    }
  }
  state_.notify_waiters();
}

// A packet that cannot be sent meets a link that has others to be read, or none that lives.
void Membership::send_unwatched() noexcept {
  const Hello hello;
  for (const os::UniqueFd& link : parts_.links) {
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
  stop();  // where the heap could not be opened
  // A lock that somebody does not give up leaves the file to him or to the next one.
  Result<os::UniqueFd> lock = lock_file(parts_.directory, parts_.name, os::monotonic_ns() + kLeaveNs);
  (void)os::remove_name(parts_.directory.fd.get(), parts_.socket_name);
  BATON_CRASH_POINT("shared.name.leaving");
  if (lock && sweep(parts_.directory, parts_.name, parts_.socket_name))
    (void)os::remove_name(parts_.directory.fd.get(), parts_.name);
}

void Membership::after_fork_in_child() noexcept {
  parts_.listener.reset();
  for (os::UniqueFd& link : parts_.links) link.reset();
  parts_.directory.fd.reset();
  parts_.directory.runtime.reset();
  poller_.close_after_fork();
}

}  // namespace baton::shared::detail
