// SPDX-License-Identifier: Apache-2.0
#include "rendezvous.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <set>
#include <string_view>
#include <thread>

#include "baton/objects/deadline.hpp"
#include "baton/os/clock.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/os/file_lock.hpp"
#include "baton/os/hexadecimal.hpp"
#include "baton/os/poller.hpp"
#include "baton/os/process.hpp"

namespace baton::objects::detail {
namespace {

const std::string kPrefix = "heap-";
constexpr std::chrono::milliseconds kPoll{2};  // between tries for the file's lock
constexpr std::int64_t kLeaveNs = 500'000'000;
/// Names of other heaps, and of their members, at which a process that opens a heap looks.
constexpr std::size_t kMostLookedAt = 256;

bool good_name(const std::string& name) {
  return !name.empty() && name.size() <= 48 && name[0] != '.' && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}
/// The heap's file, locked. Error: timed_out.
Result<os::UniqueFd> lock_file(const transport::DomainDirectory& directory, const std::string& name,
                               std::int64_t deadline_ns) {
  for (;;) {
    Result<os::UniqueFd> file = os::open_file_at(directory.fd.get(), name, directory.socket_mode, directory.gid);
    if (!file) return file;
    while (!os::try_lock_byte(file->get(), 0)) {
      if (os::monotonic_ns() >= deadline_ns) {
        return Error{Errc::timed_out, "another process is opening or closing the shared heap '" + name + "' in '" +
                                          directory.path + "' and does not come to an end (is it stopped?)"};
      }
      std::this_thread::sleep_for(kPoll);
    }
    if (os::is_file_at(directory.fd.get(), name, file->get())) return file;  // otherwise the file was removed meanwhile
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

/// With the file locked: removes the sockets of dead processes. True if no process except `but` is left.
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

/// Removes other heaps of the domain whose last process was killed. The names in the directory are of others, so it looks at a bounded number
/// of them, beginning anywhere.
void sweep_others(const transport::DomainDirectory& directory, const std::string& mine, std::size_t begin) {
  Result<std::vector<std::string>> names = os::list_directory(directory.fd.get());
  if (!names) return;
  std::vector<const std::string*> heaps;
  std::map<std::string_view, std::vector<const std::string*>> sockets;  // by heap
  for (const std::string& name : *names) {
    if (name.rfind(kPrefix, 0) != 0) continue;
    if (const std::size_t at = name.find('@'); at != std::string::npos) {
      sockets[std::string_view(name).substr(0, at)].push_back(&name);
    } else if (name != mine) {
      heaps.push_back(&name);
    }
  }
  std::size_t looked_at = 0;
  const auto lives = [&](const std::string* socket) {
    os::UniqueFd probe;
    return looked_at++ >= kMostLookedAt ||
           os::connect_at(directory.fd.get(), directory.path, *socket, probe) != os::IoStatus::kRefused;
  };
  for (std::size_t i = 0; i < heaps.size() && looked_at < kMostLookedAt; ++i) {
    const std::string& name = *heaps[(begin + i) % heaps.size()];
    const auto& of_heap = sockets[name];
    ++looked_at;
    if (std::any_of(of_heap.begin(), of_heap.end(), lives)) continue;
    // Looked at again with the lock, since a process may have come.
    Result<os::UniqueFd> file = lock_file(directory, name, 0);
    if (file && sweep(directory, name, "")) (void)os::remove_name(directory.fd.get(), name);
  }
}

/// Takes the descriptor from a member that answered. False: the member has just died or left, or an error occurred,
/// which sets *lost.
// Not inlined: gcc 12 then takes the packet's vector for `descriptor` and warns.
__attribute__((noinline)) bool take_descriptor(int socket, os::UniqueFd* descriptor, bool* lost) {
  HeapHello hello{0, 0, 0};
  os::ReceivedPacket packet;
  const os::IoStatus status = os::receive_packet(socket, &hello, sizeof hello, 1, packet);
  if (status != os::IoStatus::kDone || packet.size_bytes != sizeof hello || packet.fds.size() != 1 ||
      hello.magic != kHeapMagic) {
    *lost = *lost || !is_over(status, packet);
    return false;
  }
  *descriptor = packet.fds[0].release();
  return true;
}

/// The descriptor from the first member that answers; other answers stay in their links. If none answers, the links of
/// members that left are closed; a link that is left then means that the time is over. *lost: a link was given up, and
/// its other end may live.
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

Result<Meeting> meet(const HeapOptions& options) {
  if (!good_name(options.name)) {
    return Error{Errc::invalid_argument,
                 "'" + options.name + "' is no name for a shared heap: 1 to 48 letters, digits, '-', '_', '.'"};
  }
  const std::int64_t deadline = deadline_after(options.timeout);
  Result<transport::DomainDirectory> directory = directory_of(options);
  if (!directory) return directory.error();
  Meeting out;
  Presence& presence = out.presence;
  presence.directory = std::move(*directory);
  presence.name = kPrefix + options.name;
  Result<std::array<std::uint8_t, 16>> id = os::random_id();
  if (!id) return id.error();
  presence.socket_name = presence.name + "@" + os::hexadecimal(*id);
  sweep_others(presence.directory, presence.name, (*id)[0] * std::size_t{256} + (*id)[1]);

  Result<os::UniqueFd> lock = lock_file(presence.directory, presence.name, deadline);
  if (!lock) return lock.error();
  out.lock = std::move(*lock);
  BATON_CRASH_POINT("shared.rendezvous.locked");
  bool silent = false;
  for (const std::string& socket : sockets_of(presence.directory, presence.name)) {
    os::UniqueFd link;
    const os::IoStatus status = os::connect_at(presence.directory.fd.get(), presence.directory.path, socket, link);
    if (status == os::IoStatus::kRefused) (void)os::remove_name(presence.directory.fd.get(), socket);
    if (status == os::IoStatus::kWouldBlock) silent = true;
    if (status == os::IoStatus::kDone) {
      presence.links.push_back(std::move(link));
    } else if (status != os::IoStatus::kRefused && status != os::IoStatus::kAbsent) {
      out.unreached.push_back(socket);
    }
  }
  out.descriptor = ask_all(&presence.links, deadline, &out.lost);
  presence.links.erase(
      std::remove_if(presence.links.begin(), presence.links.end(), [](const os::UniqueFd& l) { return !l; }),
      presence.links.end());
  if (!out.descriptor && (silent || !presence.links.empty())) {
    return Error{Errc::timed_out,
                 "no process that has the shared heap '" + options.name + "' open answers (stopped?); try again"};
  }
  return out;
}

void connect_unreached(Meeting& meeting) {
  Presence& presence = meeting.presence;
  for (const std::string& socket : meeting.unreached) {
    os::UniqueFd link;
    if (os::connect_at(presence.directory.fd.get(), presence.directory.path, socket, link) == os::IoStatus::kDone)
      presence.links.push_back(std::move(link));
  }
}

Result<void> listen(Presence& presence) {
  const transport::DomainDirectory& directory = presence.directory;
  if (os::listen_at(directory.fd.get(), directory.path, presence.socket_name, directory.socket_mode, directory.gid,
                    presence.listener) != os::IoStatus::kDone) {
    return os::system_error("listen in '" + directory.path + "'", errno);
  }
  BATON_CRASH_POINT("shared.rendezvous.listening");
  return {};
}

void leave(const Presence& presence) noexcept {
  // If another process does not release the lock, the file is left to that process or to the next one.
  Result<os::UniqueFd> lock = lock_file(presence.directory, presence.name, os::monotonic_ns() + kLeaveNs);
  (void)os::remove_name(presence.directory.fd.get(), presence.socket_name);
  BATON_CRASH_POINT("shared.rendezvous.leaving");
  if (lock && sweep(presence.directory, presence.name, presence.socket_name))
    (void)os::remove_name(presence.directory.fd.get(), presence.name);
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
    os::UniqueFd probe;  // to the member, a newcomer that left
    if (os::connect_at(directory->fd.get(), directory->path, name, probe) == os::IoStatus::kRefused) continue;
    found.insert(name.substr(kPrefix.size(), at - kPrefix.size()));
  }
  return std::vector<std::string>(found.begin(), found.end());
}

}  // namespace baton::objects::detail
