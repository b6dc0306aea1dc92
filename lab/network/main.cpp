// SPDX-License-Identifier: Apache-2.0
// A line between two hosts with delay, loss and packets out of order, for kernels without netem: a TUN device in each of
// two network namespaces, and this process between them. Prints "ready" when both devices exist; at SIGTERM or SIGINT it
// prints the counts of both directions as JSON and ends. The devices end with it. lab/baton_perf/network.py and
// link/tests/link_hosts.py start it.
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "baton/os/clock.hpp"
#include "baton/os/unique_fd.hpp"
#include "line.hpp"

namespace baton::perf {
namespace {

constexpr std::size_t kLargest = 65536;  // a packet of IP
constexpr int kAtOnce = 64;              // packets that are read from one side before the other side has its turn

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

/// Makes the device in the network namespace of that path. The calling thread stays there.
os::UniqueFd make_device(const std::string& space, const std::string& name) {
  const os::UniqueFd place(::open(space.c_str(), O_RDONLY | O_CLOEXEC));
  if (!place) fail(space);
  if (::setns(place.get(), CLONE_NEWNET) != 0) fail("setns " + space);
  os::UniqueFd device(::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!device) fail("delay and loss without netem need /dev/net/tun, which root, or this user, must be able to open");
  ifreq request{};
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (name.size() >= sizeof request.ifr_name) throw std::runtime_error("the name of a device is too long: " + name);
  std::memcpy(request.ifr_name, name.c_str(), name.size());
  if (::ioctl(device.get(), TUNSETIFF, &request) != 0) fail("TUNSETIFF " + name);
  return device;
}

/// Puts the packets that have come from `device` into the line.
void read_some(int device, Line& line) {
  static std::array<std::byte, kLargest> packet;
  for (int i = 0; i < kAtOnce; ++i) {
    const ssize_t bytes = ::read(device, packet.data(), packet.size());
    if (bytes < 0) {
      if (errno == EAGAIN || errno == EINTR || errno == EIO) return;  // EIO: the device is not up yet
      fail("read");
    }
    line.push(packet.data(), static_cast<std::size_t>(bytes), os::monotonic_ns());
  }
}

void write_due(int device, Line& line) {
  for (;;) {
    const std::int64_t now = os::monotonic_ns();
    const Line::Packet* const packet = line.front(now);
    if (packet == nullptr) return;
    if (::write(device, packet->data.data(), packet->data.size()) < 0) {
      if (errno == EAGAIN || errno == EINTR) return;       // tried again
      if (errno != EIO && errno != EINVAL) fail("write");  // EIO: the device is not up; the kernel refuses the packet
    }
    line.pop(now);
  }
}

nlohmann::json described(const LineCounts& counts) {
  return {{"entered", counts.entered},           {"lost", counts.lost},
          {"refused", counts.refused},           {"passed", counts.passed},
          {"passed_bytes", counts.passed_bytes}, {"least_held_ns", counts.passed == 0 ? 0 : counts.least_held_ns},
          {"most_held_ns", counts.most_held_ns}, {"overtook", counts.overtook}};
}

int run(int argc, char** argv) {
  CLI::App app("A line with delay and loss between two network namespaces; started by `baton perf`.");
  std::string name = "eth0";
  std::array<std::string, 2> spaces;
  LineSettings settings;
  std::int64_t delay_us = 0;
  app.add_option("--device", name, "name of the device in both namespaces");
  app.add_option("--delay-us", delay_us, "of each packet, each way")->check(CLI::Range(0, 10'000'000));
  app.add_option("--loss", settings.loss, "probability, each way")->check(CLI::Range(0.0, 1.0));
  app.add_option("--overtaking", settings.overtaking, "probability that a packet overtakes those under way, each way")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--packets", settings.packets, "that are under way at most, each way")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--seed", settings.seed, "of the losses");
  app.add_option("first", spaces[0], "path of a network namespace")->required();
  app.add_option("second", spaces[1], "path of the other")->required();
  CLI11_PARSE(app, argc, argv);
  settings.delay_ns = delay_us * 1000;

  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  const os::UniqueFd signals(::signalfd(-1, &ends, SFD_CLOEXEC));
  if (!signals) fail("signalfd");
  const std::array<os::UniqueFd, 2> devices{make_device(spaces[0], name), make_device(spaces[1], name)};
  LineSettings other = settings;
  other.seed += 1;
  std::array<Line, 2> lines{Line(settings), Line(other)};  // one for each side on which packets enter
  std::printf("ready\n");
  std::fflush(stdout);

  std::array<pollfd, 3> polled{
      {{devices[0].get(), POLLIN, 0}, {devices[1].get(), POLLIN, 0}, {signals.get(), POLLIN, 0}}};
  while (polled[2].revents == 0) {
    const std::int64_t next = std::min(lines[0].next_ns(), lines[1].next_ns());
    timespec left{};
    if (next != Line::kNever) {
      const std::int64_t wait = std::max<std::int64_t>(0, next - os::monotonic_ns());
      left = {static_cast<time_t>(wait / 1'000'000'000), static_cast<long>(wait % 1'000'000'000)};
    }
    if (::ppoll(polled.data(), polled.size(), next == Line::kNever ? nullptr : &left, nullptr) < 0 && errno != EINTR)
      fail("ppoll");
    for (std::size_t side = 0; side < 2; ++side)
      if (polled[side].revents != 0) read_some(devices[side].get(), lines[side]);
    for (std::size_t side = 0; side < 2; ++side) write_due(devices[1 - side].get(), lines[side]);
  }
  const nlohmann::json counts = {described(lines[0].counts()), described(lines[1].counts())};
  std::printf("%s\n", counts.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace baton::perf

int main(int argc, char** argv) {
  try {
    return baton::perf::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
    return 1;
  }
}
