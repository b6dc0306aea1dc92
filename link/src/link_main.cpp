// SPDX-License-Identifier: Apache-2.0
// `baton link`: the program that is the link of a domain until a signal ends it.
#include <CLI/CLI.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "baton/link/link.hpp"
#include "baton/os/termination.hpp"

namespace {

constexpr std::chrono::seconds kEnd{5};

void print(const baton::transport::Diagnostic& diagnostic) {
  using Level = baton::transport::Diagnostic::Level;
  const char* level = diagnostic.level == Level::kInfo      ? ""
                      : diagnostic.level == Level::kWarning ? "warning: "
                                                            : "error: ";
  const std::string line = std::string("baton link: ") + level + diagnostic.text + "\n";
  std::fputs(line.c_str(), stderr);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Connects the topics of this host's domain to those of other hosts."};
  baton::link::Options options;
  app.add_option("--peer", options.peers,
                 "Another host, HOST or HOST:PORT; may be repeated. One of two hosts is enough.");
  app.add_option("--interface", options.interface, "Network interface to use, its name or address. Default: chosen.");
  app.add_option("--port", options.port, "TCP port on which this host listens. Default: 22700 + domain.");
  app.add_option("--domain", options.domain, "Default: BATON_DOMAIN, ROS_DOMAIN_ID, or 0.")->check(CLI::Range(0, 9999));
  app.add_option("--host-name", options.host_name,
                 "By which the other hosts know this one. Default: the machine's name.");
  CLI11_PARSE(app, argc, argv);
  options.on_diagnostic = print;

  std::mutex mutex;
  std::condition_variable changed;
  bool ends = false;
  const baton::Result<void> handled = baton::os::on_termination([&] {
    const std::lock_guard<std::mutex> lock(mutex);
    ends = true;
    changed.notify_all();
  });
  if (!handled) {
    std::fprintf(stderr, "baton link: %s\n", handled.error().message.c_str());
    return 1;
  }
  baton::Result<std::unique_ptr<baton::link::Link>> link = baton::link::Link::start(options);
  if (!link) {
    std::fprintf(stderr, "baton link: %s\n", link.error().message.c_str());
    return 1;
  }
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return ends; });
  lock.unlock();
  // Cyclone DDS 0.10's TCP may wait for itself forever when a connection closes (docs/guides/machines.md). The kernel gives up the role
  // and the memory of a process that ends without it.
  std::thread([] {
    std::this_thread::sleep_for(kEnd);
    std::fputs("baton link: error: the network does not end; ended without it\n", stderr);
    std::_Exit(1);
  }).detach();
  link->reset();
  return 0;
}
