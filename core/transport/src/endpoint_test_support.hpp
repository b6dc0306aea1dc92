// SPDX-License-Identifier: Apache-2.0
// What the tests of endpoints share: a domain of their own, a tiny message type, real child processes.
// Thread rules: each object belongs to the test's thread, Diagnostics excepted.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "baton/transport/transport.hpp"
#include "participant.hpp"
#include "support/temporary_directory.hpp"

namespace baton::transport::test {

using namespace std::chrono_literals;

/// How long a failing test takes at most; a passing one never waits that long.
inline constexpr auto kPatience = std::chrono::seconds(60);

template <class Predicate>
bool eventually(Predicate&& predicate, std::chrono::nanoseconds patience = kPatience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!predicate()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(500us);
  }
  return true;
}

/// In child processes, where gtest cannot report.
#define BATON_CHECK(condition)                                                            \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: child: failed: %s\n", __FILE__, __LINE__, #condition); \
      ::_exit(1);                                                                         \
    }                                                                                     \
  } while (false)

struct Diagnostics {
  std::mutex mutex;
  std::vector<Diagnostic> list;
  bool has(Errc code) {
    const std::lock_guard<std::mutex> lock(mutex);
    for (const Diagnostic& entry : list) {
      if (entry.code == code) return true;
    }
    return false;
  }
  std::size_t count(Errc code) {
    const std::lock_guard<std::mutex> lock(mutex);
    return static_cast<std::size_t>(
        std::count_if(list.begin(), list.end(), [&](const Diagnostic& entry) { return entry.code == code; }));
  }
  std::string text(Errc code) {
    const std::lock_guard<std::mutex> lock(mutex);
    for (const Diagnostic& entry : list) {
      if (entry.code == code) return entry.text;
    }
    return "";
  }
};

/// A domain directory of its own, gone at the end.
class TestDomain : public ::baton::test::TemporaryDirectory {
 public:
  std::shared_ptr<Participant> join(int domain = 0) {
    ParticipantOptions options;
    options.domain = domain;
    options.runtime_directory = path();
    options.on_diagnostic = [log = diagnostics_](const Diagnostic& diagnostic) {
      if (std::getenv("BATON_TEST_VERBOSE") != nullptr) {
        std::fprintf(stderr, "[%d] %s: %s\n", ::getpid(), errc_name(diagnostic.code), diagnostic.text.c_str());
      }
      const std::lock_guard<std::mutex> lock(log->mutex);
      log->list.push_back(diagnostic);
    };
    return Participant::join(options).or_throw();
  }
  Diagnostics& diagnostics() { return *diagnostics_; }
  /// How many processes have their sockets there.
  std::size_t sockets() const {
    std::size_t count = 0;
    for (const std::string& name : names()) count += std::filesystem::is_socket(path() + "/0/" + name) ? 1 : 0;
    return count;
  }

 private:
  std::shared_ptr<Diagnostics> diagnostics_ = std::make_shared<Diagnostics>();
};

/// A test of endpoints of one process: its domain, and the process in it.
struct OneProcess : public ::testing::Test {
  TestDomain domain;
  std::shared_ptr<Participant> participant = domain.join();
};

/// struct { uint64 value; } and room for more bytes behind it.
inline TypeInfo number_type(std::uint8_t hash = 1) {
  TypeInfo type;
  type.name = "test/Number";
  type.hash[0] = hash;
  type.definition = "uint64 value\n";
  type.skeleton_bytes = 8;
  return type;
}

inline memory::PoolOptions small_pool() {
  memory::PoolOptions pool;
  pool.max_message_bytes = std::size_t{1} << 20;
  pool.memory_limit_bytes = std::size_t{64} << 20;
  return pool;
}

inline std::shared_ptr<Writer> make_writer(Participant& participant, const std::string& topic, const QoS& qos = QoS(),
                                           const TypeInfo& type = number_type(),
                                           const memory::PoolOptions& pool = small_pool(), bool seldom = false) {
  Participant::WriterOptions options;
  options.topic = topic;
  options.node = "test_writer";
  options.type = type;
  options.qos = qos;
  options.pool = pool;
  options.seldom = seldom;
  return participant.create_writer(options).or_throw();
}

inline std::shared_ptr<Writer> make_seldom_writer(Participant& participant, const std::string& topic,
                                                  const QoS& qos = QoS()) {
  return make_writer(participant, topic, qos, number_type(), small_pool(), true);
}

inline std::shared_ptr<Reader> make_reader(Participant& participant, const std::string& topic, const QoS& qos = QoS(),
                                           const TypeInfo& type = number_type()) {
  Participant::ReaderOptions options;
  options.topic = topic;
  options.node = "test_reader";
  options.type = type;
  options.qos = qos;
  return participant.create_reader(options).or_throw();
}

inline Result<std::uint64_t> publish(Writer& writer, std::uint64_t value, std::size_t bytes = 8) {
  Result<memory::Chunk> chunk = writer.loan_sized(bytes);
  if (!chunk) return chunk.error();
  std::memcpy(chunk->message(), &value, 8);
  Result<std::uint64_t> sequence = writer.publish(*chunk);
  if (!sequence) writer.abandon(*chunk);
  return sequence;
}

inline std::uint64_t value_of(const TakenSample& sample) {
  std::uint64_t value = 0;
  std::memcpy(&value, sample.message(), 8);
  return value;
}

inline constexpr std::uint64_t kNothing = ~std::uint64_t{0};

/// The next value, or kNothing. Throws on errors.
inline std::uint64_t take(Reader& reader) {
  const TakenSample sample = reader.take().or_throw();
  return sample ? value_of(sample) : kNothing;
}

/// The next sample, waiting for it (a new publisher's first message waits for its segment).
inline TakenSample take_sample(Reader& reader) {
  TakenSample sample;
  eventually([&] { return static_cast<bool>(sample = reader.take().or_throw()); });
  if (!sample) throw std::runtime_error("no message came");
  return sample;
}

inline bool matched(const Writer& writer, std::uint32_t count) {
  return eventually([&] { return writer.matched() == count; });
}
inline bool matched(const Reader& reader, std::uint32_t count) {
  return eventually([&] { return reader.matched() == count; });
}

/// Returns when the background thread has done what it had to do: also the frames of this process to itself, which it may have begun
/// to read before.
inline void settle(Participant& participant) {
  for (int i = 0; i < 2; ++i) {
    const auto done = std::make_shared<std::atomic<bool>>(false);
    participant.impl().post([done] { *done = true; });
    if (!eventually([&] { return done->load(); })) throw std::runtime_error("the background thread does not answer");
  }
}

/// Leaves this process `spare` descriptors until release(): lowers RLIMIT_NOFILE, and takes the others. Also takes those that
/// the background thread has in use at the moment and closes soon.
class NoDescriptors {
 public:
  explicit NoDescriptors(std::size_t spare = 0) {
    const int first = ::dup(2);
    if (first < 0 || ::getrlimit(RLIMIT_NOFILE, &before_) != 0) throw std::runtime_error("no descriptor to begin with");
    taken_.push_back(first);
    const rlimit low{static_cast<rlim_t>(first) + 30, before_.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &low) != 0) throw std::runtime_error("setrlimit");
    for (int quiet_ms = 0; quiet_ms < 20; ++quiet_ms) {
      for (int fd = ::dup(2); fd >= 0; fd = ::dup(2)) {
        taken_.push_back(fd);
        quiet_ms = 0;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (std::size_t i = 0; i < spare; ++i) {
      ::close(taken_.back());
      taken_.pop_back();
    }
  }
  ~NoDescriptors() { release(); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  void release() {
    if (taken_.empty()) return;
    for (const int fd : taken_) ::close(fd);
    taken_.clear();
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

/// A forked process with a pipe in each direction, forked while this process has no Participant (checked): the sanitizers'
/// allocators do not survive a fork beside a second thread. A child that is to act later begins with hear(). Killed at
/// destruction; dies with the test.
class Child {
 public:
  explicit Child(const std::function<void(Child&)>& body) {
    // A thread that was joined is gone from /proc a moment later.
    if (!eventually([] { return !background_thread(); })) {
      throw std::logic_error("this test forks while it has a participant");
    }
    if (::pipe(to_child_) != 0 || ::pipe(to_parent_) != 0) throw std::runtime_error("pipe");
    std::fflush(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::alarm(280);  // sooner than the test's own limit
      in_child_ = true;
      try {
        body(*this);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "child: %s\n", error.what());
        ::_exit(1);
      }
      ::_exit(0);
    }
    ::close(std::exchange(to_parent_[1], -1));  // hear() ends when the child does
  }
  ~Child() {
    if (in_child_) return;
    if (pid_ > 0 && !reaped_) {
      ::kill(pid_, SIGKILL);
      ::kill(pid_, SIGCONT);
      ::waitpid(pid_, nullptr, 0);
    }
    for (const int fd : {to_child_[0], to_child_[1], to_parent_[0]}) ::close(fd);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// One byte to the other side.
  void say(char what = '.') { static_cast<void>(!::write(in_child_ ? to_parent_[1] : to_child_[1], &what, 1)); }
  /// One byte from the other side; '\0' if it does not come (a dead parent kills the child anyway).
  char hear() {
    char what = '\0';
    const int fd = in_child_ ? to_child_[0] : to_parent_[0];
    const bool came = in_child_ || readable(fd);
    return came && ::read(fd, &what, 1) == 1 ? what : '\0';
  }
  void kill(int signal = SIGKILL) { ::kill(pid_, signal); }
  /// Returns when all its threads have stopped: until then a thread of it may still receive.
  void stop() const {
    ::kill(pid_, SIGSTOP);
    ::waitpid(pid_, nullptr, WUNTRACED);
  }
  /// Exit status, or -signal; -1000 if it does not end.
  int wait() {
    int status = 0;
    const bool ended = eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; });
    if (!ended) return -1000;
    reaped_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  pid_t pid() const { return pid_; }

 private:
  static bool background_thread() {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name;
      std::getline(std::ifstream(task.path() / "comm"), name);
      if (name == "baton-bg") return true;
    }
    return false;
  }
  static bool readable(int fd);
  pid_t pid_ = -1;
  bool in_child_ = false, reaped_ = false;
  int to_child_[2]{}, to_parent_[2]{};
};

}  // namespace baton::transport::test

#include <poll.h>

inline bool baton::transport::test::Child::readable(int fd) {
  ::pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, 200'000) == 1;  // longer than the child waits for anything
}
