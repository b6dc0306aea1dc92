// SPDX-License-Identifier: Apache-2.0
// Every process of the run holds the writing end of a named pipe. The keeper reads until the last is closed, by exit or
// by death.
#include "keeper.hpp"

#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <tuple>

namespace baton::perf {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kStart = 40s;  // for a daemon to serve, and for the former run to end its daemon

std::string read_all(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void say(const std::string& path, const std::string& text) {
  std::ofstream(path + ".new") << text;
  std::rename((path + ".new").c_str(), path.c_str());
}

/// An abstract socket's name is free again when its holder ends, in whatever way.
bool hold_name(const std::string& name) {
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = "baton-perf-" + name;
  std::memcpy(address.sun_path + 1, text.data(), std::min(text.size(), sizeof address.sun_path - 2));
  const auto end = Clock::now() + kStart;
  while (::bind(fd, reinterpret_cast<const sockaddr*>(&address),
                static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size())) != 0) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;  // the descriptor stays open until the keeper exits
}

pid_t start_daemon(const std::vector<std::string>& command, const std::string& output) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  const int fd = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(fd, 1);
  ::dup2(fd, 2);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  const std::string problem = "cannot start " + command[0] + ": " + std::strerror(errno) + "\n";
  (void)!::write(2, problem.data(), problem.size());
  ::_exit(127);
}

void end_daemon(pid_t pid) {
  ::kill(pid, SIGTERM);
  for (const auto end = Clock::now() + 5s; ::waitpid(pid, nullptr, WNOHANG) == 0; std::this_thread::sleep_for(2ms)) {
    if (Clock::now() < end) continue;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return;
  }
}

std::vector<std::string> paths_like(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  return paths;
}

/// Collects the last column of a file of /proc, if it is a path.
void collect_paths(const std::string& file_name, std::set<std::string>& paths) {
  std::ifstream file(file_name);
  for (std::string line; std::getline(file, line);)
    if (const std::size_t at = line.find('/'); at != std::string::npos) paths.insert(line.substr(at));
}

/// Paths that a process maps or has open, or to which a socket is bound.
std::set<std::string> in_use() {
  std::set<std::string> used;
  collect_paths("/proc/net/unix", used);
  for (const std::string& process : paths_like("/proc/[0-9]*")) {
    collect_paths(process + "/maps", used);
    std::error_code ignored;
    for (std::filesystem::directory_iterator fd(process + "/fd", ignored), end; !ignored && fd != end;
         fd.increment(ignored))
      used.insert(std::filesystem::read_symlink(fd->path(), ignored).string());
  }
  return used;
}

void sweep(const RunPlan& plan, const KeeperTask& task) {
  std::error_code ignored;
  for (const std::string& pattern : task.own)
    for (const std::string& path : paths_like(pattern)) std::filesystem::remove_all(path, ignored);
  if (task.leftovers.empty() || !plan.hosts.empty()) return;  // a host of two has a /dev/shm of its own
  // Files that the next run has just made and not mapped yet are younger.
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);  // the clock of files' times
  const auto older = [&](const timespec& time) {
    return std::tie(time.tv_sec, time.tv_nsec) < std::tie(now.tv_sec, now.tv_nsec);
  };
  std::vector<std::string> candidates;
  for (const std::string& pattern : task.leftovers)
    for (const std::string& path : paths_like(pattern)) {
      struct stat state {};
      if (::lstat(path.c_str(), &state) == 0 && state.st_uid == ::geteuid() && older(state.st_ctim))
        candidates.push_back(path);
    }
  if (candidates.empty()) return;
  const std::set<std::string> used = in_use();
  for (const std::string& path : candidates)
    if (used.count(path) == 0) std::filesystem::remove(path, ignored);
}

/// The keeper's main function; never returns.
[[noreturn]] void keep(const RunPlan& plan, const KeeperTask& task) {
  ::setsid();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  ::close_range(3, ~0U, 0);
  ::unsetenv("LD_PRELOAD");  // otherwise the library would count the daemon's copies
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);
  ::sched_setaffinity(0, sizeof all, &all);  // pinning is for the run's ends
  const std::string base = plan.directory + "/keeper";
  const int members = ::open((base + "_members").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  pid_t daemon = 0;
  std::string problem;
  if (!task.only_one.empty() && !hold_name(task.only_one)) problem = "another run's " + task.only_one + " does not end";
  if (problem.empty() && !task.daemon.empty()) {
    const std::string output = base + "_daemon";
    daemon = start_daemon(task.daemon, output);
    const auto end = Clock::now() + kStart;
    while (read_all(output).find(task.ready) == std::string::npos) {
      if (::waitpid(daemon, nullptr, WNOHANG) != 0) {
        problem = task.daemon[0] + " ended at once: " + read_all(output);
        daemon = 0;
      } else if (Clock::now() > end) {
        problem = task.daemon[0] + " does not start: " + read_all(output);
      }
      if (!problem.empty()) break;
      std::this_thread::sleep_for(2ms);
    }
  }
  say(base + "_state", problem.empty() ? "ready" : problem);
  pollfd pipe{members, 0, 0};
  while (::poll(&pipe, 1, -1) < 0 || !(pipe.revents & (POLLHUP | POLLERR | POLLNVAL))) {
  }
  if (daemon > 0) end_daemon(daemon);
  sweep(plan, task);
  ::_exit(0);
}

}  // namespace

void join_keeper(const RunPlan& plan, const KeeperTask& task) {
  static std::mutex mutex;
  static int membership = -1;
  const std::lock_guard<std::mutex> lock(mutex);
  if (membership >= 0) return;
  const std::string base = plan.directory + "/keeper";
  if (::mkfifo((base + "_members").c_str(), 0600) == 0) {
    const pid_t pid = ::fork();
    if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (pid == 0) keep(plan, task);
  } else if (errno != EEXIST) {
    throw std::system_error(errno, std::generic_category(), base);
  }
  const auto end = Clock::now() + kStart + 5s;
  // Fails until the keeper has its end open.
  while ((membership = ::open((base + "_members").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0) {
    if (errno != ENXIO || Clock::now() > end) throw std::system_error(errno, std::generic_category(), base);
    std::this_thread::sleep_for(1ms);
  }
  for (std::string state;; std::this_thread::sleep_for(1ms)) {
    state = read_all(base + "_state");
    if (state == "ready") return;
    if (!state.empty()) throw std::runtime_error(state);
    if (Clock::now() > end) throw std::runtime_error("the run's keeper does not answer");
  }
}

std::string run_id(const RunPlan& plan) {
  std::string id = std::filesystem::path(plan.directory).filename().string();
  for (char& letter : id)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return id.size() <= 40 ? id : id.substr(id.size() - 40);
}

unsigned run_number(const RunPlan& plan, unsigned limit) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char letter : plan.directory) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  return (hash ^ (hash >> 15)) % limit;
}

}  // namespace baton::perf
