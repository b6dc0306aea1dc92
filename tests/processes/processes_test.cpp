// SPDX-License-Identifier: Apache-2.0
// Deaths and faults of other processes, through the user's API. The other processes are this program, started in another role.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "baton/baton.hpp"
#include "baton/msg/sensor_msgs/image.hpp"
#include "baton/msg/std_msgs/string.hpp"
#include "baton/os/child.hpp"
#include "support/own_domain.hpp"

using namespace std::chrono_literals;
using baton::msg::sensor_msgs::Image;
using baton::msg::std_msgs::String;

namespace {

constexpr auto kPatience = 60s;

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}
[[noreturn]] void sleep_forever() {
  for (;;) std::this_thread::sleep_for(1h);
}

// --- roles ----------------------------------------------------------------------------------------------------------

// Publishes "1", "2", ... every millisecond.
int talk() {
  baton::Node node("talker");
  auto pub = node.advertise<String>("chatter", baton::QoS(4));
  node.wait_for([&] { return pub.matched() > 0; }, kPatience);
  say("ready");
  for (int i = 1;; ++i) {
    auto loan = pub.loan();
    loan->data = std::to_string(i);
    pub.publish(std::move(loan));
    std::this_thread::sleep_for(1ms);
  }
}

// Publishes three messages and exits in an orderly way, unread.
int publish_and_exit() {
  baton::Node node("talker");
  auto pub = node.advertise<String>("chatter", baton::QoS(4));
  node.wait_for([&] { return pub.matched() > 0; }, kPatience);
  for (int i = 1; i <= 3; ++i) {
    String message;
    message.data = std::to_string(i);
    pub.publish(message);
  }
  say("published");
  return 0;
}

// Has a publisher and a forked child that lives on.
int fork_and_sleep() {
  baton::Node node("forker");
  auto pub = node.advertise<String>("chatter", baton::QoS(4));
  node.wait_for([&] { return pub.matched() > 0; }, kPatience);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(STDOUT_FILENO);
    sleep_forever();
  }
  say(std::to_string(child));
  sleep_forever();
}

int exec_away() {
  baton::Node node("execer");
  auto pub = node.advertise<String>("chatter", baton::QoS(4));
  node.wait_for([&] { return pub.matched() > 0; }, kPatience);
  say("going");
  ::execl("/proc/self/exe", "processes_tests", "--role", "sleep", static_cast<char*>(nullptr));
  return 1;
}

int sleep_role() {
  say("asleep");
  sleep_forever();
}

// Until it is sent a SIGSEGV.
int crash_with_core() {
  ::signal(SIGSEGV, SIG_DFL);  // sanitizers catch it otherwise
  baton::Node node("crasher");
  auto pub = node.advertise<String>("chatter", baton::QoS(4));
  node.wait_for([&] { return pub.matched() > 0; }, kPatience);
  say("ready");
  sleep_forever();
}

// Prints each message that it receives, and looks for messages once a second at least.
int listen_slowly() {
  baton::Node node("listener");
  auto sub = node.subscribe<String>("chatter", baton::QoS(4));
  node.wait_for([&] { return sub.matched() > 0; }, kPatience);
  say("ready");
  baton::transport::WaitSet wait_set;
  wait_set.add(sub.reader()).or_throw();
  for (;;) {
    while (auto sample = sub.take()) say(sample->data.str());
    (void)wait_set.wait(1s);
  }
}

// Listens with room for a window that is too small for a default publisher's segment.
int listen_in_little_space() {
#if defined(__SANITIZE_ADDRESS__)
  ::setenv("BATON_WINDOW", "64M", 1);  // its own mappings come and go
#else
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit little{pages * 4096 + (rlim_t{512} << 20), pages * 4096 + (rlim_t{512} << 20)};
  if (::setrlimit(RLIMIT_AS, &little) != 0) return 1;
#endif
  return listen_slowly();
}

// Backs 8 MiB, says so, sleeps.
int use_memory() {
  baton::Node node("user");
  auto pub = node.advertise<Image>("images", baton::QoS(1));
  auto loan = pub.loan();
  try {
    loan->data.resize(8 << 20);
  } catch (const baton::Exception& e) {
    say(e.what());
    return 0;
  }
  say("used");
  sleep_forever();
}

// Waits until it has heard of another process's memory, then takes as much.
int use_memory_second() {
  baton::Node node("second");
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (node.memory_account().domain_backed_bytes < (8u << 20)) {
    if (std::chrono::steady_clock::now() > deadline) {
      say("heard nothing");
      return 1;
    }
    std::this_thread::sleep_for(5ms);
  }
  return use_memory();
}

const std::map<std::string, std::function<int()>> kRoles = {{"talk", talk},
                                                            {"publish_and_exit", publish_and_exit},
                                                            {"fork_and_sleep", fork_and_sleep},
                                                            {"exec_away", exec_away},
                                                            {"sleep", sleep_role},
                                                            {"crash_with_core", crash_with_core},
                                                            {"listen_slowly", listen_slowly},
                                                            {"listen_in_little_space", listen_in_little_space},
                                                            {"use_memory", use_memory},
                                                            {"use_memory_second", use_memory_second}};

// --- tests ----------------------------------------------------------------------------------------------------------

bool g_own_shm = false;  // /dev/shm is this test's alone (main)

/// The files in /dev/shm; where other programs have files there, too, only those with Baton's names.
std::set<std::string> shm_names() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename().string();
    if (g_own_shm || name.find("baton") != std::string::npos) names.insert(name);
  }
  return names;
}

class Processes : public baton::test::DomainTest {
 protected:
  void SetUp() override { shm_before_ = shm_names(); }
  void TearDown() override {
    // A new process sweeps what the killed ones left: soon only its own name is there, and after it none. The thread that removes a name may
    // end behind the last node.
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    const auto await_at_most = [&](std::size_t count) {
      while (sockets().size() > count && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(5ms);
    };
    {
      baton::Node sweeper("sweeper");
      await_at_most(1);
    }
    await_at_most(0);
    EXPECT_EQ(sockets(), std::set<std::string>());
    EXPECT_EQ(shm_names(), shm_before_);
  }
  std::set<std::string> sockets() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_))
      if (entry.is_socket()) names.insert(entry.path());
    return names;
  }
  static baton::os::Child start(const std::string& role) {
    return baton::os::Child::start("/proc/self/exe", {"--role", role}).or_throw();
  }
  static std::string line(baton::os::Child& child) {
    std::string text;
    return child.read_line(&text) ? text : "(ended)";
  }
  std::set<std::string> shm_before_;
};

template <class Endpoint>
void await(baton::Node& node, Endpoint& endpoint, std::uint32_t count) {
  ASSERT_TRUE(node.wait_for([&] { return endpoint.matched() == count; }, kPatience))
      << endpoint.topic() << " has " << endpoint.matched() << " of " << count;
}

TEST_F(Processes, UnreadMessagesOfAPublisherThatExitedStayReadable) {
  baton::Node node("n");
  auto sub = node.subscribe<String>("chatter", baton::QoS(4));
  auto child = start("publish_and_exit");
  EXPECT_EQ(line(child), "published");
  EXPECT_EQ(child.wait(), 0);
  EXPECT_TRUE(node.wait_for([&] { return sub.has_data(); }, kPatience));
  await(node, sub, 0);
  for (const char* expected : {"1", "2", "3"}) {
    auto sample = sub.take();
    ASSERT_TRUE(sample) << expected;
    EXPECT_EQ(sample->data, expected);
  }
  EXPECT_FALSE(sub.take());
}

TEST_F(Processes, SamplesOfAKilledPublisherStayValid) {
  baton::Node node("n");
  auto sub = node.subscribe<String>("chatter", baton::QoS(4));
  auto child = start("talk");
  EXPECT_EQ(line(child), "ready");
  baton::Sample<String> sample;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!(sample = sub.take()) && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
  ASSERT_TRUE(sample);
  const std::string before = sample->data.str();
  child.send_signal(SIGKILL);
  EXPECT_EQ(child.wait(), 128 + SIGKILL);
  await(node, sub, 0);
  EXPECT_EQ(sample->data, before);
}

TEST_F(Processes, AForkedChildDoesNotKeepItsKilledParentAlive) {
  baton::Node node("n");
  auto sub = node.subscribe<String>("chatter", baton::QoS(4));
  auto parent = start("fork_and_sleep");
  const pid_t grandchild = std::stoi(line(parent));
  await(node, sub, 1);
  parent.send_signal(SIGKILL);
  parent.wait();
  await(node, sub, 0);
  EXPECT_EQ(::kill(grandchild, 0), 0) << "the child lives on";
  ::kill(grandchild, SIGKILL);
}

TEST_F(Processes, InAForkedChildObjectsOfTheParentAreInertAndANewNodeWorks) {
  baton::Node node("n");
  auto sub = node.subscribe<String>("chatter", baton::QoS(4));
  auto pub = node.advertise<String>("chatter", baton::QoS(4));
  await(node, sub, 1);
  String message;
  message.data = "mine";
  pub.publish(message);
  auto sample = sub.take();
  ASSERT_TRUE(sample);
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 0;
    if (sample->data != "mine") code |= 1;  // readable
    auto refused = pub.try_loan();
    if (refused.ok() || refused.error().code != baton::Errc::forked) code |= 2;  // not usable
    { baton::Sample<String> gone = std::move(sample); }                          // releases nothing
    try {
      baton::Node own("child");
      auto own_pub = own.advertise<String>("chatter", baton::QoS(4));
      if (!own.wait_for([&] { return own_pub.matched() == 1; }, kPatience)) code |= 4;  // meets the parent
      message.data = "from the child";
      own_pub.publish(message);
      if (!own_pub.wait_for_all_acked(kPatience)) code |= 16;  // an exit without destructors drops what is not sent yet
    } catch (const std::exception&) {
      code |= 8;
    }
    ::_exit(code);
  }
  baton::Sample<String> second;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!(second = sub.take()) && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(sample->data, "mine");
  EXPECT_EQ(pub.memory_account().published_slots, 1u) << "the child released nothing";
  ASSERT_TRUE(second);
  EXPECT_EQ(second->data, "from the child");
}

TEST_F(Processes, AProcessThatExecsAnotherProgramHasLeft) {
  baton::Node node("n");
  auto sub = node.subscribe<String>("chatter", baton::QoS(4));
  auto child = start("exec_away");
  EXPECT_EQ(line(child), "going");
  EXPECT_EQ(line(child), "asleep");
  await(node, sub, 0);
}

TEST_F(Processes, ASegmentationFaultOfAPeerIsNoticed) {
  baton::Node node("n");
  auto sub = node.subscribe<String>("chatter", baton::QoS(4));
  auto child = start("crash_with_core");
  EXPECT_EQ(line(child), "ready");
  await(node, sub, 1);
  child.send_signal(SIGSEGV);
  EXPECT_EQ(child.wait(), 128 + SIGSEGV);
  await(node, sub, 0);
}

TEST_F(Processes, AStoppedSubscriberHoldsUpNobodyAndFindsTheNewestMessagesWhenItGoesOn) {
  baton::Node node("n");
  auto pub = node.advertise<String>("chatter", baton::QoS(4));
  auto other = node.subscribe<String>("chatter", baton::QoS(4));
  auto child = start("listen_slowly");
  EXPECT_EQ(line(child), "ready");
  await(node, pub, 2);
  await(node, other, 1);
  child.send_signal(SIGSTOP);
  ::waitpid(child.pid(), nullptr, WUNTRACED);  // all its threads have stopped
  String message;
  for (int i = 1; i <= 1000; ++i) {
    message.data = std::to_string(i);
    pub.publish(message);
    auto sample = other.take();
    ASSERT_TRUE(sample) << i;
    ASSERT_EQ(sample->data, message.data);
  }
  EXPECT_EQ(pub.matched(), 2u);
  child.send_signal(SIGCONT);
  std::string heard;
  while (heard != "1000") {
    heard = line(child);
    ASSERT_NE(heard, "(ended)");
  }
}

TEST_F(Processes, ASubscriberWithoutAddressSpaceForASegmentCopiesItsMessages) {
  baton::Node node("n");
  auto pub = node.advertise<String>("chatter", baton::QoS(200));
  auto child = start("listen_in_little_space");
  ASSERT_EQ(line(child), "ready");
  await(node, pub, 1);
  String message;
  for (int i = 1; i <= 100; ++i) {
    message.data = std::to_string(i);
    pub.publish(message);
    ASSERT_EQ(line(child), message.data);
  }
  EXPECT_EQ(pub.matched(), 1u);
}

TEST_F(Processes, ADomainsMemoryLimitHoldsAcrossProcesses) {
  ::setenv("BATON_DOMAIN_MEMORY_LIMIT", "12M", 1);
  auto first = start("use_memory");
  EXPECT_EQ(line(first), "used");
  auto second = start("use_memory_second");
  const std::string answer = line(second);
  ::unsetenv("BATON_DOMAIN_MEMORY_LIMIT");
  EXPECT_EQ(answer.rfind("limit_reached", 0), 0u) << answer;
  EXPECT_NE(answer.find("BATON_DOMAIN_MEMORY_LIMIT"), std::string::npos) << answer;
}

TEST_F(Processes, SurvivorsOfRandomKillsMissNothingOfTheOthers) {
  baton::Node node("n");
  auto sub = node.subscribe<String>("chatter", baton::QoS(8));
  auto steady = node.advertise<String>("steady", baton::QoS(100));
  auto steady_sub = node.subscribe<String>("steady", baton::QoS(100));
  await(node, steady_sub, 1);
  unsigned sequence = 0;
  for (int round = 0; round < 15; ++round) {
    auto child = start("talk");
    ASSERT_EQ(line(child), "ready");
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(1000 + 777 * round);
    while (std::chrono::steady_clock::now() < end) {
      while (sub.take()) {
      }
      String message;
      message.data = std::to_string(++sequence);
      steady.publish(message);
      auto sample = steady_sub.take();
      ASSERT_TRUE(sample);
      ASSERT_EQ(sample->data, message.data);
    }
    child.send_signal(SIGKILL);
    child.wait();
    await(node, sub, 0);
  }
  EXPECT_EQ(steady.memory_account().published_slots, 0u) << "nothing leaked";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--role") {
    ::alarm(280);  // whatever happens, no role outlives its test for long
    return kRoles.at(argv[2])();
  }
  ::testing::InitGoogleTest(&argc, argv);
  g_own_shm = ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
              ::mount("tmpfs", "/dev/shm", "tmpfs", 0, nullptr) == 0;
  return RUN_ALL_TESTS();
}
