// SPDX-License-Identifier: Apache-2.0
#include "baton/os/process.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <future>
#include <thread>
#include <vector>

#include "baton/os/fork_listener.hpp"
#include "baton/os/poller.hpp"
#include "baton/os/unix_socket.hpp"

namespace baton::os {
namespace {

TEST(Process, RandomIdsDiffer) {
  const auto a = random_id();
  const auto b = random_id();
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(*a, *b);
}

TEST(Process, AThreadStaysOnTheCpusItIsToldAndRefusesOthers) {
  std::thread([] {
    const std::vector<int> all = allowed_cpus();
    ASSERT_FALSE(all.empty());
    ASSERT_TRUE(stay_on_cpus({all.back()}));
    EXPECT_EQ(allowed_cpus(), (std::vector<int>{all.back()}));
    EXPECT_FALSE(stay_on_cpus({-1}));
    EXPECT_FALSE(stay_on_cpus({1023}).ok() && all.back() < 1023);
    ASSERT_TRUE(stay_on_cpus(all));
    EXPECT_EQ(allowed_cpus(), all);
  }).join();
}

TEST(Process, ItsEndMakesTheWatchReadable) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const UniqueFd watch = watch_process(child);
  ASSERT_TRUE(watch) << "pidfd_open needs Linux 5.3";
  pollfd state{watch.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&state, 1, 0), 0);
  ::kill(child, SIGKILL);
  EXPECT_EQ(::poll(&state, 1, 20000), 1) << "before anybody reaps it";
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(watch_process(child));
}

TEST(Process, ErrorsOfDescriptorsAndMemoryHaveCodesOfTheirOwn) {
  EXPECT_EQ(system_error("open", EMFILE).code, Errc::out_of_descriptors);
  EXPECT_EQ(system_error("open", ENFILE).code, Errc::out_of_descriptors);
  EXPECT_EQ(system_error("mmap", ENOMEM).code, Errc::out_of_memory);
  EXPECT_EQ(system_error("open", EIO).code, Errc::system);
  EXPECT_EQ(system_error("open", EIO).message.rfind("open: ", 0), 0U);
}

TEST(Thread, ReceivesNoSignalsAndCarriesItsName) {
  std::promise<bool> blocked;
  std::promise<std::string> name;
  auto thread = start_thread("a-name", 64 * 1024, [&] {
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked.set_value(::sigismember(&mask, SIGTERM) == 1 && ::sigismember(&mask, SIGUSR1) == 1);
    std::array<char, 16> text{};
    // The name is set by the starter, perhaps a moment later.
    for (int i = 0; i < 20000 && std::string(text.data()) != "a-name"; ++i) {
      ::pthread_getname_np(::pthread_self(), text.data(), text.size());
      ::usleep(1000);
    }
    name.set_value(text.data());
  });
  ASSERT_TRUE(thread);
  EXPECT_TRUE(blocked.get_future().get());
  EXPECT_EQ(name.get_future().get(), "a-name");
  ::pthread_join(*thread, nullptr);
}

TEST(Process, TheSoftLimitOfDescriptorsIsRaisedOnceUnlessTheUserForbidsIt) {
  rlimit all{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &all), 0);
  if (all.rlim_max < 128) GTEST_SKIP() << "hardly any descriptors here";
  for (const bool forbidden : {false, true}) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto soft = [](rlim_t count) {
        rlimit limit{};
        ::getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = count;
        ::setrlimit(RLIMIT_NOFILE, &limit);
      };
      if (forbidden) {
        ::setenv("BATON_KEEP_NOFILE", "1", 1);
      } else {
        ::unsetenv("BATON_KEEP_NOFILE");
      }
      soft(64);
      raise_descriptor_limit();
      const std::size_t raised = descriptor_limit();
      soft(64);
      raise_descriptor_limit();
      const std::size_t expected = forbidden ? 64 : std::min<rlim_t>(all.rlim_max, 65536);
      ::_exit(raised == expected && descriptor_limit() == 64 ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << forbidden;
  }
}

TEST(Poller, SleepsUntilItsDeadlineAndWakesWhenRung) {
  auto poller = Poller::create();
  ASSERT_TRUE(poller);
  std::vector<Poller::Event> events;
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(poller->wait(start + std::chrono::milliseconds(20), events));
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(20)) << "never early: that would spin";
  EXPECT_TRUE(events.empty());
  poller->wake();
  ASSERT_TRUE(poller->wait(std::nullopt, events));
  EXPECT_TRUE(events.empty());
}

TEST(Poller, ReportsReadinessWithTheTokenUntilRemoved) {
  auto poller = Poller::create();
  ASSERT_TRUE(poller);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  ASSERT_TRUE(poller->add(reader.get(), 77));
  ASSERT_TRUE(poller->add(writer.get(), 78));
  poller->modify(writer.get(), 78, Poller::Interest::kReadWrite);
  ASSERT_EQ(::write(writer.get(), "x", 1), 1);
  std::vector<Poller::Event> events;
  ASSERT_TRUE(poller->wait(std::nullopt, events));
  ASSERT_EQ(events.size(), 2U);
  for (const Poller::Event& event : events) {
    EXPECT_EQ(event.readable, event.token == 77);
    EXPECT_EQ(event.writable, event.token == 78);
  }
  poller->modify(writer.get(), 78, Poller::Interest::kRead);
  poller->remove(reader.get());
  ASSERT_TRUE(poller->wait(std::chrono::steady_clock::now(), events));
  EXPECT_TRUE(events.empty());
}

TEST(Poller, ThatWaitsForTheHangUpAloneReportsNoDataButTheEndBehindIt) {
  auto poller = Poller::create();
  ASSERT_TRUE(poller);
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd here(ends[0]);
  UniqueFd there(ends[1]);
  ASSERT_TRUE(poller->add(here.get(), 5));
  poller->modify(here.get(), 5, Poller::Interest::kHangUp);
  ASSERT_EQ(::send(there.get(), "x", 1, 0), 1);
  std::vector<Poller::Event> events;
  ASSERT_TRUE(poller->wait(std::chrono::steady_clock::now(), events));
  EXPECT_TRUE(events.empty());
  EXPECT_FALSE(hung_up_now(here.get()));
  end_sending(there.get());
  ASSERT_TRUE(poller->wait(std::nullopt, events));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(events[0].hung_up);
  EXPECT_TRUE(hung_up_now(here.get()));
  EXPECT_FALSE(closed_now(here.get())) << "the other end may still read";
  there.reset();
  EXPECT_TRUE(closed_now(here.get()));
}

struct ForkLog final : ForkListener {
  ForkLog() { start_listening(); }
  ~ForkLog() { stop_listening(); }
  void before_fork() override { order += 'b'; }
  void after_fork_in_parent() override { order += 'p'; }
  void after_fork_in_child() override { order += 'c'; }
  std::string order;
};

TEST(ForkListener, HearsOfTheForkOnBothSidesAndOnlyWhileItListens) {
  {
    ForkLog listener;
    const pid_t child = ::fork();
    if (child == 0) ::_exit(listener.order == "bc" ? 0 : 1);
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(listener.order, "bp");
  }
  const pid_t child = ::fork();  // nobody listens any more: nothing dangles
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace baton::os
