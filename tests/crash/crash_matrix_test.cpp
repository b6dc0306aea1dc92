// SPDX-License-Identifier: Apache-2.0
// Property 1: a process that is killed at any named step takes along only its own messages and memory. For every crash point and several passes a
// process of all roles (victim_main.cpp) is killed at the point, while two survivors exchange messages with it and with each other.
// The survivors must not hang, miss a message of each other, read a torn message, or keep memory of the killed process.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "crash_test_support.hpp"
#include "points.hpp"
#include "support/temporary_directory.hpp"

namespace baton::crash {
namespace {

using namespace std::chrono_literals;
using transport::Reader;
using transport::TakenSample;

const std::set<std::string> kParkingPoints{"hub.parked", "hub.reopened"};

TEST(CrashPoints, TheListNamesExactlyThoseInTheSources) {
  std::set<std::string> listed(std::begin(kPoints), std::end(kPoints)), found;
  const std::regex point("BATON_CRASH_POINT\\(\"([^\"]+)\"\\)");
  for (const char* room : {"core/memory", "core/transport"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::string(BATON_SOURCE_DIR) + "/" + room)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
      std::ifstream file(entry.path());
      const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      for (auto at = std::sregex_iterator(text.begin(), text.end(), point); at != std::sregex_iterator(); ++at) {
        // Objects without messages have their own matrix (core/objects/src/process_test.cpp, heap_process_test.cpp), and links are parked
        // among more processes than there are in this one (core/transport/src/hub_processes_test.cpp).
        const std::string name = (*at)[1];
        if (name.rfind("shared.", 0) != 0 && kParkingPoints.count(name) == 0) found.insert(name);
      }
    }
  }
  EXPECT_EQ(listed, found);
  EXPECT_EQ(listed.size(), std::size(kPoints)) << "a name occurs twice";
  std::ifstream page(std::string(BATON_SOURCE_DIR) + "/docs/concepts/crash-points.md");
  const std::string text((std::istreambuf_iterator<char>(page)), std::istreambuf_iterator<char>());
  listed.insert(kParkingPoints.begin(), kParkingPoints.end());
  for (const std::string& name : listed) EXPECT_NE(text.find("`" + name + "`"), std::string::npos) << name;
}

#ifdef BATON_CRASH_POINTS

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

constexpr std::uint64_t kLast = std::uint64_t{1} << 40;  // asks the survivor to end

/// The second survivor: takes everything of "between_survivors" in order and answers each on "answers".
[[noreturn]] void survive(const std::string& directory) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::alarm(250);
  const auto participant = join(directory);
  const auto reader = make_reader(*participant, "to_victim", QoS().keep_all(16));
  const auto writer = make_writer(*participant, "answers", QoS().keep_all());
  transport::WaitSet wait_set;
  wait_set.add(reader).or_throw();
  std::uint64_t expected = 0;
  for (;;) {
    wait_set.wait(1s).or_throw();
    for (;;) {
      const Result<TakenSample> sample = reader->take();
      if (!sample) ::_exit(3);
      if (!*sample) break;
      const std::uint64_t sent = intact_value(*sample);
      const std::uint64_t value = sent & ~kLast;
      if (sent == 0 || (expected != 0 && value != expected)) ::_exit(4);
      expected = value + 1;
      while (!publish(*writer, value)) std::this_thread::yield();
      if ((sent & kLast) != 0) ::_exit(writer->wait_for_all_acked(60s).ok() ? 0 : 5);
    }
  }
}

class CrashMatrix : public ::testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(CrashMatrix, SurvivorsNeitherHangNorMissNorLeak) {
  const auto [point, pass] = GetParam();
  const ::baton::test::TemporaryDirectory temporary;
  const std::string& directory = temporary.path();
  // A dead name, for hub.sweep.
  const pid_t dead = ::fork();
  if (dead == 0) {
    const auto participant = join(directory);
    ::_exit(0);  // without good-bye
  }
  ::waitpid(dead, nullptr, 0);
  const pid_t other = ::fork();
  if (other == 0) survive(directory);
  {
    const auto participant = join(directory);
    const auto to_victim = make_writer(*participant, "to_victim", QoS().keep_all(8).transient_local());
    const auto answers = make_reader(*participant, "answers", QoS().keep_all(16));
    const auto from_victim = make_reader(*participant, "from_victim", QoS(8).hold(2));
    const auto polled = make_reader(*participant, "from_victim", QoS(2).hold(2));
    const auto unread = make_reader(*participant, "unread", QoS(20));
    const int polled_fd = polled->pollable_fd().or_throw();
    transport::WaitSet wait_set;
    wait_set.add(answers).or_throw();
    wait_set.add(from_victim).or_throw();
    wait_set.add(unread).or_throw();
    ASSERT_TRUE(wait_for([&] { return to_victim->matched() == 1 && answers->matched() == 1; }));

    std::uint64_t answered = 0;
    TakenSample kept;  // a sample of the victim, which must stay intact when the victim dies
    const auto look = [&](Reader& reader, bool is_answers) {
      for (;;) {
        Result<TakenSample> sample = reader.take();
        ASSERT_TRUE(sample.ok()) << sample.error().message;
        if (!*sample) return;
        const std::uint64_t value = intact_value(*sample);
        ASSERT_NE(value, 0U) << "torn";
        if (is_answers) {
          ASSERT_EQ(value, answered + 1);
          answered = value;
        } else if (!kept && &reader != unread.get()) {  // of that one a single sample may be held
          kept = std::move(*sample);
        }
      }
    };
    const auto step = [&](std::uint64_t value, std::uint64_t flag = 0) {
      while (!publish(*to_victim, value | flag).ok()) std::this_thread::yield();
      const auto end = std::chrono::steady_clock::now() + 60s;
      while (answered != value) {
        ASSERT_LT(std::chrono::steady_clock::now(), end) << "a survivor misses a message";
        wait_set.wait(1s).or_throw();
        look(*answers, true);
        look(*from_victim, false);
        pollfd entry{polled_fd, POLLIN, 0};
        if (::poll(&entry, 1, 0) > 0) look(*polled, false);
        if (::testing::Test::HasFatalFailure()) return;
      }
    };
    for (std::uint64_t i = 1; i <= 5; ++i) step(i);
    const std::size_t descriptors = open_descriptors();

    const pid_t victim = ::fork();
    if (victim == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const std::string at = std::string(point) + ":" + std::to_string(pass);
      ::setenv("BATON_CRASH_AT", at.c_str(), 1);
      ::execl(BATON_VICTIM, BATON_VICTIM, directory.c_str(), nullptr);
      ::_exit(127);
    }
    int status = 0;
    std::uint64_t i = 6;
    const auto end = std::chrono::steady_clock::now() + 40s;
    while (::waitpid(victim, &status, WNOHANG) == 0) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "the victim hangs";
      step(i++);
      if (HasFatalFailure()) break;
    }
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    // Others may be faster in sweeping a dead name.
    if (pass == 1 && std::string(point) != "hub.sweep") {
      EXPECT_TRUE(killed) << "the point was not reached: status " << status;
    } else {
      EXPECT_TRUE(killed || status == 0) << status;
    }

    // Life goes on, and nothing of the dead is left.
    for (int round = 0; round < 20 && !HasFatalFailure(); ++round) step(i++);
    EXPECT_TRUE(wait_for([&] { return to_victim->matched() == 1 && from_victim->matched() == 0; }));
    if (kept) {
      EXPECT_NE(intact_value(kept), 0U);
    }
    kept.release();
    look(*from_victim, false);
    kept.release();
    look(*polled, false);
    kept.release();
    look(*unread, false);
    kept.release();
    wait_set.wait(0s).or_throw();  // a wait set drops connections that have ended at its next wait
    EXPECT_TRUE(wait_for([&] { return open_descriptors() <= descriptors; }))
        << open_descriptors() << " descriptors, before " << descriptors;
    EXPECT_TRUE(wait_for([&] { return to_victim->memory_account().published_slots <= 8; }, 60s))
        << to_victim->memory_account().published_slots << " published, of which 8 are history";
    step(i++, kLast);
  }
  int status = 0;
  ::waitpid(other, &status, 0);
  EXPECT_EQ(status, 0);
  // The survivor ends without good-bye; names of the dead (a temporary one too) wait for the next newcomer.
  EXPECT_LE(temporary.names().size(), 3U);
}

INSTANTIATE_TEST_SUITE_P(Points, CrashMatrix,
                         ::testing::Combine(::testing::ValuesIn(kPoints), ::testing::Values(1, 2, 9)),
                         [](const auto& test) {
                           std::string name = std::get<0>(test.param);
                           for (char& c : name) {
                             if (c == '.') c = '_';
                           }
                           return name + "_pass_" + std::to_string(std::get<1>(test.param));
                         });

#else

TEST(CrashMatrix, NeedsABuildWithCrashPoints) { GTEST_SKIP() << "configure with -DBATON_CRASH_POINTS=ON"; }

#endif

}  // namespace
}  // namespace baton::crash
