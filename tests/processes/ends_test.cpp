// SPDX-License-Identifier: Apache-2.0
// How a process ends that a signal has asked to: the ways that docs/guides/guide.md offers, with real processes, at any moment of
// their work. This program started again is the process. Its nodes are static, as the destructors of static objects are where a wrong way hangs.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "baton/baton.hpp"
#include "baton/msg/std_msgs/string.hpp"
#include "baton/os/child.hpp"
#include "baton/srv/std_srvs/set_bool.hpp"
#include "support/own_domain.hpp"

using namespace std::chrono_literals;
using baton::msg::std_msgs::String;
using baton::srv::std_srvs::SetBool;

namespace {

constexpr int kEndedInOrder = 7;

struct Talker {
  baton::Node node{"talker"};
  baton::Publisher<String> publisher = node.advertise<String>("chatter");
  baton::Subscription<String> subscription = node.subscribe<String>("chatter");
};
std::optional<Talker> g_talker;  // ends after main()

// Locks, memory and frames all the time: a signal comes in the midst of them.
void work() {
  String text;
  text.data = "a text that needs memory of its own";
  g_talker->publisher.publish(text);
  while (g_talker->subscription.take()) {
  }
  const auto another = g_talker->node.subscribe<String>("another");
}

void ready() {
  std::puts("ready");
  std::fflush(stdout);
}

int work_while_ok() {
  ready();
  while (baton::ok()) work();
  return kEndedInOrder;
}

int spin(unsigned threads) {
  baton::Executor executor(threads);
  executor.add(g_talker->node);
  const auto timer = g_talker->node.create_timer(100us, work);
  ready();
  executor.spin();
  return baton::ok() ? 1 : kEndedInOrder;
}

extern "C" void request(int) { baton::request_shutdown(); }

void install(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  for (const int number : {SIGINT, SIGHUP, SIGUSR1}) ::sigaction(number, &action, nullptr);
}

const std::map<std::string, std::function<int()>> kRoles = {
    {"signals_loop",
     [] {
       baton::shutdown_on_signals();
       return work_while_ok();
     }},
    {"signals_spin",
     [] {
       baton::shutdown_on_signals();
       return spin(1);
     }},
    {"chosen_signals_spin",
     [] {
       baton::shutdown_on_signals({SIGINT, SIGUSR2});
       return spin(3);
     }},
    {"request_loop",
     [] {
       baton::shutdown_on_signals({});
       install(request);
       return work_while_ok();
     }},
    {"request_spin",
     [] {
       baton::shutdown_on_signals({});
       install(request);
       return spin(1);
     }},
    {"request_spin_threads",
     [] {
       baton::shutdown_on_signals();
       install(request);
       return spin(3);
     }},
    {"request_asleep",
     [] {
       baton::shutdown_on_signals({});
       install(request);
       baton::Executor executor;
       executor.add(g_talker->node);
       ready();
       executor.spin();  // asleep, without work
       return kEndedInOrder;
     }},
    {"signals_call",
     [] {
       baton::shutdown_on_signals();
       const auto server = g_talker->node.serve<SetBool>("nobody_spins", [](const auto&, auto&) {});
       auto client = g_talker->node.client<SetBool>("nobody_spins");
       if (!client.wait_for_service(60s)) return 1;
       ready();
       return client.call(SetBool::Request(), 1h) ? 1 : kEndedInOrder;
     }},
    {"signals_wait_for_service",
     [] {
       baton::shutdown_on_signals();
       const auto client = g_talker->node.client<SetBool>("not_there");
       ready();
       return client.wait_for_service(1h) ? 1 : kEndedInOrder;
     }},
    {"request_wait_for",
     [] {
       install(request);
       ready();
       return g_talker->node.wait_for([] { return false; }, 1h) ? 1 : kEndedInOrder;
     }},
    {"request_without_thread",
     [] {
       install(request);  // no shutdown_on_signals(): ok() turns false all the same
       return work_while_ok();
     }},
    // main() returns while another thread works on nodes that nobody ends.
    {"return_while_others_work",
     [] {
       std::atexit(
           [] { std::this_thread::sleep_for(50ms); });  // runs after the destructors of what is made from here on
       std::thread([] {
         auto& others = *new Talker;
         for (bool first = true;; first = false) {
           baton::Executor executor;
           baton::Node node("short");
           executor.add(node);
           executor.add(others.node);
           const auto timer = node.create_timer(1us, [] {});
           executor.spin_some();
           if (first) ready();
         }
       }).detach();
       std::this_thread::sleep_for(200ms);
       return kEndedInOrder;
     }},
};

/// An orderly end within the time limit of the test, at a random moment.
void expect_an_orderly_end(const std::string& role, int signal, int repetitions = 5) {
  std::mt19937 random(static_cast<unsigned>(signal));
  for (int i = 0; i < repetitions; ++i) {
    baton::os::Child child = baton::os::Child::start("/proc/self/exe", {"--role", role}).or_throw();
    std::string line;
    ASSERT_TRUE(child.read_line(&line)) << role;
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
    child.send_signal(signal);
    EXPECT_EQ(child.wait(), kEndedInOrder) << role << ", signal " << signal;
  }
}

using Ends = baton::test::DomainTest;

TEST_F(Ends, AProgramThatTurnsSignalsIntoAShutdownEndsInOrderAtAnyMoment) {
  for (const int signal : {SIGINT, SIGTERM}) {
    expect_an_orderly_end("signals_loop", signal);
    expect_an_orderly_end("signals_spin", signal);
  }
  expect_an_orderly_end("chosen_signals_spin", SIGUSR2);
}

TEST_F(Ends, AHandlerOfTheProgramsOwnMayRequestAShutdownAtAnyMoment) {
  for (const int signal : {SIGINT, SIGHUP, SIGUSR1}) {
    expect_an_orderly_end("request_loop", signal);
    expect_an_orderly_end("request_spin", signal);
    expect_an_orderly_end("request_spin_threads", signal);
  }
}

TEST_F(Ends, ASignalEndsCallsAndWaits) {
  expect_an_orderly_end("signals_call", SIGINT);
  expect_an_orderly_end("signals_wait_for_service", SIGTERM);
  expect_an_orderly_end("request_wait_for", SIGHUP);
}

TEST_F(Ends, AShutdownThatAHandlerRequestsWakesAnExecutorThatSleeps) {
  expect_an_orderly_end("request_asleep", SIGHUP);
}

TEST_F(Ends, WithoutItsThreadARequestStillTurnsOkFalse) { expect_an_orderly_end("request_without_thread", SIGHUP); }

TEST_F(Ends, ThreadsMayUseNodesWhileStaticObjectsAreDestroyed) {
  for (int i = 0; i < 3; ++i) {
    baton::os::Child child =
        baton::os::Child::start("/proc/self/exe", {"--role", "return_while_others_work"}).or_throw();
    EXPECT_EQ(child.wait(), kEndedInOrder);
  }
}

TEST_F(Ends, ASignalThatCannotBeCaughtIsRefused) {
  EXPECT_THROW(baton::shutdown_on_signals({SIGKILL}), baton::Exception);
  EXPECT_THROW(baton::shutdown_on_signals({-1}), baton::Exception);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--role") {
    ::alarm(120);  // a process that hangs is ended by a signal, which is not what the test expects
    g_talker.emplace();
    return kRoles.at(argv[2])();
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
