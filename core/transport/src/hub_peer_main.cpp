// SPDX-License-Identifier: Apache-2.0
// A process with nothing but a hub, for tests: prints events on standard output and obeys commands from standard input,
// one per line. hub_peer <runtime directory> <name> [tell|quiet|parks [<uid> <gid>]]; "parks": quiet, and idle links are parked soon.
#include <fcntl.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "hub.hpp"

using namespace baton;
using namespace baton::transport;

namespace {

void say(const std::string& text) {
  const std::string line = text + "\n";
  (void)!::write(STDOUT_FILENO, line.data(), line.size());
}

class Teller final : public HubHandler {
 public:
  Teller(bool quiet, bool parks) : quiet_(quiet), parks_(parks) {}
  void on_peer_up(PeerId peer, const PeerInfo& info) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      up_.insert(peer);
    }
    if (!quiet_) say("up " + info.name + " " + std::to_string(info.pid));
  }
  void on_peer_down(PeerId peer, const Error& reason) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      up_.erase(peer);
    }
    if (!quiet_) say("down " + reason.message);
  }
  Need needs_link(PeerId) override { return parks_ ? Need::kNone : Need::kConnections; }
  Result<void> on_frame(PeerId, Frame&& frame) override {
    if (!quiet_) say("frame " + std::to_string(frame.payload.size()) + " " + std::to_string(frame.fds.size()));
    return {};
  }
  std::set<PeerId> up() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return up_;
  }

 private:
  const bool quiet_, parks_;
  mutable std::mutex mutex_;
  std::set<PeerId> up_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const bool parks = argc > 3 && std::string(argv[3]) == "parks";
  const bool quiet = parks || (argc > 3 && std::string(argv[3]) == "quiet");
  if (argc > 5) {
    const auto gid = static_cast<gid_t>(std::atoi(argv[5]));
    if (::setgroups(0, nullptr) != 0 || ::setgid(gid) != 0 || ::setuid(static_cast<uid_t>(std::atoi(argv[4]))) != 0)
      return 3;
  }
  Teller teller(quiet, parks);
  HubOptions options;
  options.domain = 0;
  options.runtime_directory = argv[1];
  options.name = argv[2];
  if (parks) options.idle_time = std::chrono::milliseconds(20);
  options.on_diagnostic = [](const Diagnostic& d) {
    say(std::string("diagnostic ") + errc_name(d.code) + " " + d.text);
  };
  auto hub = Hub::create(options, teller);
  if (!hub) {
    say("failed " + hub.error().message);
    return 1;
  }
  if (auto started = (*hub)->start(); !started) {
    say("failed " + started.error().message);
    return 1;
  }
  say("ready " + std::to_string(::getpid()));

  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string verb;
    std::size_t number = 0;
    words >> verb >> number;
    if (verb == "quit") {
      hub->reset();
      say("bye");
      return 0;
    }
    if (verb == "count") say("count " + std::to_string((*hub)->peer_count()));
    if (verb == "name") {
      std::string name = "p-";
      for (const std::uint8_t byte : (*hub)->process_id()) {
        constexpr const char* kDigits = "0123456789abcdef";
        name += {kDigits[byte >> 4], kDigits[byte & 15]};
      }
      say(name);
    }
    if (verb == "parked") {
      std::size_t parked = 0;
      for (const PeerId peer : teller.up()) parked += (*hub)->is_parked(peer) ? 1 : 0;
      say("parked " + std::to_string(parked) + " of " + std::to_string((*hub)->peer_count()));
    }
    if (verb == "send") {  // to all peers: `number` bytes and one descriptor
      const auto fd = std::make_shared<os::UniqueFd>(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
      for (const PeerId peer : teller.up()) (*hub)->send(peer, 0x100, std::vector<std::uint8_t>(number), {fd});
      say("sent");
    }
    if (verb == "fork" || verb == "clone") {
      const pid_t child = verb == "fork"
                              ? ::fork()
                              : static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
      if (child == 0) {
        if (verb == "fork") {
          (*hub)->post([] { std::abort(); });
          (*hub)->send(1, 0x100, {});
          const bool right = (*hub)->forked() && (*hub)->peer_count() == 0;
          hub->reset();
          say(right ? "child well" : "child ill");
        }
        for (;;) ::pause();
      }
      say("child " + std::to_string(child));
    }
    if (verb == "core") {  // a death by signal leaves a core in the runtime directory
      const rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
      ::setrlimit(RLIMIT_CORE, &limit);
      say(::chdir(argv[1]) == 0 ? "core" : "no core");
    }
    if (verb == "exec") ::execl("/bin/sleep", "sleep", "1000", static_cast<char*>(nullptr));
    if (verb == "limit") {
      rlimit limit{};
      ::getrlimit(RLIMIT_NOFILE, &limit);
      limit.rlim_cur = number;
      ::setrlimit(RLIMIT_NOFILE, &limit);
      say("limited");
    }
  }
  // Standard input closed: the test is over or dead.
  return 0;
}
