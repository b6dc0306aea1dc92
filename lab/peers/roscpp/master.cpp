// SPDX-License-Identifier: Apache-2.0
#include "master.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace baton::perf {
namespace {

using namespace std::chrono_literals;

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::uint16_t free_port() {
  const os::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    fail("a free port");
  return ntohs(address.sin_port);
}

bool answers(std::uint16_t port) {
  const os::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

template <class Condition>
bool wait_for(Condition&& condition, std::chrono::milliseconds most) {
  for (const auto end = std::chrono::steady_clock::now() + most; !condition(); std::this_thread::sleep_for(5ms))
    if (std::chrono::steady_clock::now() > end) return false;
  return true;
}

}  // namespace

RosMaster::RosMaster(const RunPlan& plan) {
  const std::string& directory = plan.directory;
  users_ = os::UniqueFd(::open((directory + "/ros_users").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!users_ || ::flock(users_.get(), LOCK_SH) != 0) fail("ros_users");
  const std::string file = directory + "/ros_uri";
  const os::UniqueFd first(::open((directory + "/ros_starter").c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (first) {
    start(plan);
    std::ofstream(file + ".new") << uri_ << '\n';
    if (std::rename((file + ".new").c_str(), file.c_str()) != 0) fail(file);
  } else if (!wait_for([&] { return static_cast<bool>(std::ifstream(file) >> uri_); }, 30s)) {
    throw std::runtime_error("the run's rosmaster did not come up");
  }
}

void RosMaster::start(const RunPlan& plan) {
  const std::string &directory = plan.directory, address = plan.address();
  const std::uint16_t port = free_port();
  const std::string port_text = std::to_string(port);
  const char* const argv[] = {ROSMASTER_PROGRAM, "--core", "-p", port_text.c_str(), nullptr};
  // Make everything before fork() that is not safe between fork and exec.
  std::vector<std::string> settings = {"ROS_HOME=" + directory, "ROS_LOG_DIR=" + directory, "ROS_IP=" + address,
                                       "ROS_MASTER_URI=http://" + address + ":" + port_text, "PATH=/usr/bin:/bin"};
  std::vector<char*> environment;
  for (std::string& setting : settings) environment.push_back(setting.data());
  environment.push_back(nullptr);
  const std::string log = directory + "/rosmaster.log";
  std::promise<pid_t> started;
  keeper_ = std::thread([&] {
    const pid_t parent = ::getpid(), child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      ::dup2(out, 1);
      ::dup2(out, 2);
      ::execve(argv[0], const_cast<char* const*>(argv), environment.data());
      ::_exit(127);
    }
    started.set_value(child);
    // `environment` and the other locals are not used from here on.
    int status;
    while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  });
  child_ = started.get_future().get();
  if (child_ < 0 || !wait_for([&] { return answers(port); }, 25s)) {
    stop();
    throw std::runtime_error("rosmaster did not come up; see rosmaster.log in the run's directory");
  }
  uri_ = "http://" + address + ":" + port_text;
}

void RosMaster::stop() {
  if (child_ > 0) ::kill(child_, SIGKILL);
  if (keeper_.joinable()) keeper_.join();
}

RosMaster::~RosMaster() {
  if (child_ > 0) wait_for([&] { return ::flock(users_.get(), LOCK_EX | LOCK_NB) == 0; }, 5s);
  stop();
}

}  // namespace baton::perf
