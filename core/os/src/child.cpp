// SPDX-License-Identifier: Apache-2.0
#include "baton/os/child.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "baton/os/process.hpp"

extern char** environ;

namespace baton::os {

Result<Child> Child::start(const std::string& program, const std::vector<std::string>& arguments) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("pipe2", errno);
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return system_error("posix_spawn of " + program, failed);
  Child child;
  child.pid_ = pid;
  child.output_ = std::move(read_end);
  return Result<Child>(std::move(child));
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), output_(std::move(other.output_)), buffer_(std::move(other.buffer_)) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(output_, other.output_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

Child::~Child() {
  if (pid_ < 0) return;
  send_signal(SIGKILL);
  wait();
}

bool Child::read_line(std::string* line) {
  for (;;) {
    const std::size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      *line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return true;
    }
    char chunk[65536];
    const ssize_t got = ::read(output_.get(), chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    buffer_.append(chunk, static_cast<std::size_t>(got));
  }
}

void Child::send_signal(int number) const noexcept {
  if (pid_ > 0) ::kill(pid_, number);
}

int Child::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Result<UniqueFd> open_descriptor_of(std::int32_t pid, int fd) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
  UniqueFd opened(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!opened) return system_error("open " + path, errno);
  return Result<UniqueFd>(std::move(opened));
}

bool pin_to_processor(unsigned index) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(index, &set);
  return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

}  // namespace baton::os
