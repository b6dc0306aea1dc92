// SPDX-License-Identifier: Apache-2.0
// `baton link`: the program that is the link of a domain until a signal ends it.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "baton/link/link.hpp"
#include "baton/os/lock.hpp"
#include "baton/os/termination.hpp"
#include "link_arguments.hpp"

namespace {

/// Longer than the last messages may take (link.cpp, kLastWords).
constexpr std::chrono::seconds kEnd{10};

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
  baton::Result<baton::link::LinkArguments> arguments = baton::link::read_arguments(argc, argv);
  if (!arguments) {
    std::fprintf(stderr, "baton link: %s\n", arguments.error().message.c_str());
    return 2;
  }
  if (arguments->help) {
    std::fputs(baton::link::kUsage, stdout);
    return 0;
  }
  baton::link::Options& options = arguments->options;
  options.on_diagnostic = print;

  baton::os::Mutex mutex;
  std::condition_variable changed;
  bool endpoints = false;
  const baton::Result<void> handled = baton::os::on_termination([&] {
    const baton::os::Lock lock(mutex);
    endpoints = true;
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
  baton::os::UniqueLock lock(mutex);
  changed.wait(lock.standard(), [&] { return endpoints; });
  lock.unlock();
  // The name of a peer is looked up by the C library, which may wait long for a server of names and cannot be interrupted. The kernel
  // releases the leader lock and the memory of a process that ends without it.
  std::thread([] {
    std::this_thread::sleep_for(kEnd);
    std::fputs(
        "baton link: error: does not end in time, perhaps because a name server does not answer; ended at once\n",
        stderr);
    std::_Exit(1);
  }).detach();
  link->reset();
  return 0;
}
