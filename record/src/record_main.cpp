// SPDX-License-Identifier: Apache-2.0
// `baton record`'s program: records until a signal, the command "stop" or the end of the standard input ends it. Commands are lines on the standard
// input. Each state is a line of JSON on the standard output; a state is printed after each command. The verb `baton record` and baton.Recorder
// start the program (record/baton_record/).
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "baton/os/lock.hpp"
#include "baton/os/termination.hpp"
#include "progress_json.hpp"
#include "record_arguments.hpp"
#include "recorder.hpp"

namespace {

using baton::record::Recorder;

void print(const baton::transport::Diagnostic& diagnostic) {
  using Level = baton::transport::Diagnostic::Level;
  if (diagnostic.level == Level::kInfo) return;
  const std::string line =
      std::string(diagnostic.level == Level::kWarning ? "warning: " : "error: ") + diagnostic.text + "\n";
  std::fputs(line.c_str(), stderr);
}

/// Prints the state after so many commands, and whether it is the last one.
void say(const Recorder& recorder, std::uint64_t commands, bool last) {
  const std::string line = baton::record::progress_json(recorder.progress(), commands, last) + "\n";
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  baton::Result<baton::record::RecordArguments> arguments = baton::record::read_arguments(argc, argv);
  if (!arguments) {
    std::fprintf(stderr, "baton_record: %s\n", arguments.error().message.c_str());
    return 2;
  }
  if (arguments->help) {
    std::fputs(baton::record::kUsage, stdout);
    return 0;
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write
  std::signal(SIGPIPE, SIG_IGN);  // so that the bag is finished when nobody reads the states any more

  baton::os::Mutex mutex;
  std::condition_variable changed;
  bool ends = false;
  std::uint64_t obeyed = 0;
  const auto end = [&] {
    const baton::os::Lock lock(mutex);
    ends = true;
    changed.notify_all();
  };
  if (const baton::Result<void> handled = baton::os::on_termination(end); !handled) {
    std::fprintf(stderr, "baton_record: %s\n", handled.error().message.c_str());
    return 1;
  }
  arguments->options.on_diagnostic = print;
  baton::Result<std::unique_ptr<Recorder>> started = Recorder::start(arguments->options);
  if (!started) {
    std::fprintf(stderr, "baton_record: %s\n", started.error().message.c_str());
    return 1;
  }
  Recorder& recorder = **started;
  std::thread([&] {
    std::string command;
    while (std::getline(std::cin, command)) {
      if (command == "pause" || command == "resume") recorder.pause(command == "pause");
      if (command == "split") recorder.split();
      if (command == "snapshot") recorder.snapshot();
      if (command == "stop") break;
      const baton::os::Lock lock(mutex);
      ++obeyed;
      changed.notify_all();
    }
    end();
  }).detach();  // may wait for its input for ever
  std::uint64_t said = 0;
  say(recorder, said, false);
  {
    baton::os::UniqueLock lock(mutex);
    while (!ends) {
      changed.wait_for(lock.standard(), arguments->interval, [&] { return ends || obeyed != said; });
      if (ends || recorder.progress().writer.failure) break;
      said = obeyed;
      lock.unlock();
      say(recorder, said, false);
      lock.lock();
    }
    said = obeyed;
  }
  recorder.stop();
  say(recorder, said, true);
  const bool failed = recorder.progress().writer.failure.has_value();
  std::fflush(stdout);
  std::exit(failed ? 1 : 0);  // not a return: the thread of commands still uses objects of main()
}
