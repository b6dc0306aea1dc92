// SPDX-License-Identifier: Apache-2.0
// Durations at the ends of their ranges, in every function that takes one. What saturated() makes of them is in
// core/os/src/duration_test.cpp.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <optional>
#include <thread>

#include "baton/msg/std_msgs/string.hpp"
#include "baton/node/node.hpp"
#include "baton/srv/std_srvs/trigger.hpp"
#include "node_test_support.hpp"

namespace baton {
namespace {

using namespace std::chrono;
using Seconds = duration<double>;
using baton::msg::std_msgs::String;
using baton::srv::std_srvs::Trigger;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Calls `use` with a duration of every unit that is for ever.
template <class Use>
void with_endless(Use use) {
  use("nanoseconds::max()", nanoseconds::max());
  use("milliseconds::max()", milliseconds::max());
  use("seconds::max()", seconds::max());
  use("hours::max()", hours::max());
  use("hours(2562048)", hours(2562048));
  use("hours(5200000)", hours(5200000));
  use("1e300 s", Seconds(1e300));
  use("infinite", Seconds(kInf));
}

/// Calls `use` with durations that are over when they begin.
template <class Use>
void with_past(Use use) {
  use("0", seconds(0));
  use("-1 s", seconds(-1));
  use("nanoseconds::min()", nanoseconds::min());
  use("hours::min()", hours::min());
  use("-1e300 s", Seconds(-1e300));
  use("-infinite", Seconds(-kInf));
  use("not a number", Seconds(kNan));
}

class Durations : public test::DomainTest {
 protected:
  Node node_{"durations"};
};

TEST_F(Durations, PeriodsOfTimersAreRefusedOrKept) {
  const auto clock = std::make_shared<SimulatedClock>();
  const auto calls_until = [&](auto period, auto end) {
    int calls = 0;
    clock->set(seconds(0));
    Executor executor;
    executor.add(node_);
    const Timer timer = node_.create_timer(
        period, [&] { ++calls; }, clock);
    clock->set(end);
    while (executor.spin_some() != 0) {
    }
    executor.remove(node_);
    return calls;
  };
  with_past(
      [&](const char* what, auto period) { EXPECT_THROW((void)node_.create_timer(period, [] {}), Exception) << what; });
  with_endless(
      [&](const char* what, auto period) { EXPECT_EQ(calls_until(period, hours(24 * 365 * 200)), 0) << what; });
  EXPECT_EQ(calls_until(nanoseconds(1), nanoseconds(1)), 1);
  EXPECT_EQ(calls_until(Seconds(1e-12), nanoseconds(1)), 1) << "not zero, so a nanosecond";
  EXPECT_EQ(calls_until(Seconds(0.1), milliseconds(99)), 0);
  EXPECT_EQ(calls_until(Seconds(0.1), milliseconds(100)), 1);
  EXPECT_EQ(calls_until(hours(2562047), hours(2562047)), 1);
}

TEST_F(Durations, WaitsThatAreOverEndAtOnce) {
  Executor executor;
  executor.add(node_);
  WaitSet wait_set;
  auto publisher = node_.advertise<String>("topic");
  auto client = node_.client<Trigger>("no_server");
  with_past([&](const char* what, auto timeout) {
    while (executor.spin_once(timeout)) {
    }
    EXPECT_FALSE(node_.wait_for([] { return false; }, timeout)) << what;
    EXPECT_FALSE(wait_set.wait(timeout)) << what;
    EXPECT_FALSE(client.wait_for_service(timeout)) << what;
    EXPECT_FALSE(client.call(Trigger::Request(), timeout)) << what;
    EXPECT_TRUE(publisher.wait_for_all_acked(timeout)) << what << ": nobody reads";
    EXPECT_TRUE(Duration(timeout).sleep()) << what;
  });
}

TEST_F(Durations, EndlessWaitsEndWhenTheirReasonComes) {
  with_endless([&](const char* what, auto timeout) {
    Executor executor;
    executor.add(node_);
    int calls = 0;
    const Timer timer = node_.create_timer(milliseconds(1), [&] { ++calls; });
    while (calls == 0) EXPECT_TRUE(executor.spin_once(timeout)) << what;
    executor.remove(node_);
    int looks = 0;
    EXPECT_TRUE(node_.wait_for([&] { return ++looks > 1; }, timeout)) << what;
    WaitSet wait_set;
    std::thread waker([&] { wait_set.wake(); });
    EXPECT_TRUE(wait_set.wait(timeout)) << what;
    waker.join();
    executor.set_spin(timeout);
    wait_set.set_spin(timeout);
    wait_set.wake();
    EXPECT_TRUE(wait_set.wait(timeout)) << what << ", spinning";
    EXPECT_EQ(Rate(timeout).period(), nanoseconds::max()) << what;
    QoS qos;
    qos.deadline = timeout;
    qos.lifespan = timeout;
    qos.lease = timeout;
    EXPECT_EQ(qos.deadline, kInfinite) << what;
    EXPECT_EQ(qos.lifespan, kInfinite) << what;
    EXPECT_EQ(qos.lease, kInfinite) << what;
  });
}

TEST_F(Durations, RatesThatAreTooSlowToCountHaveAPeriodWithoutEnd) {
  EXPECT_EQ(Rate(1e-300).period(), nanoseconds::max());
  for (const double hertz : {kInf, kNan, 0.0, -1.0}) EXPECT_THROW(Rate{hertz}, Exception) << hertz;
  with_past([](const char* what, auto period) { EXPECT_THROW(Rate{period}, Exception) << what; });
}

TEST_F(Durations, TimesStayAtTheEndsOfTheirRange) {
  const Time last(nanoseconds::max());
  const Time first(nanoseconds::min());
  EXPECT_EQ(last + seconds(1), last);
  EXPECT_EQ(first - hours::max(), first);
  EXPECT_EQ(Time(1, 0) + hours::max(), last);
  EXPECT_EQ(last - first, nanoseconds::max());
  EXPECT_EQ(first - last, nanoseconds::min());
}

}  // namespace
}  // namespace baton
