// SPDX-License-Identifier: Apache-2.0
// What the fingers of ROS users write: every row of docs/guides/from-ros.md compiles and does what the page says.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "baton/baton.hpp"
#include "baton/msg/builtin_interfaces/duration.hpp"
#include "baton/msg/std_msgs/header.hpp"
#include "baton/msg/std_msgs/string.hpp"
#include "baton/msg/std_msgs/u_int64.hpp"
#include "baton/srv/std_srvs/set_bool.hpp"
#include "node_test_support.hpp"

using namespace std::chrono_literals;
using Number = baton::msg::std_msgs::UInt64;
using SetBool = baton::srv::std_srvs::SetBool;
using String = baton::msg::std_msgs::String;

namespace {

class FromRos : public baton::test::DomainTest {
 protected:
  baton::Node node_{"n"};

  static Number number(std::uint64_t value) {
    Number message;
    message.data = value;
    return message;
  }
  /// Publishes one message to a subscription, and runs its callback.
  void deliver(baton::Subscription<Number>& subscription, std::uint64_t value) {
    auto publisher = node_.advertise<Number>(subscription.topic(), 10);
    baton::test::await_matched(node_, subscription);
    publisher.publish(number(value));
    baton::Executor executor;
    executor.add(node_);
    ASSERT_TRUE(executor.spin_once(60s));
  }
};

struct Listener {
  void on_message(const Number& message) { heard.push_back(message.data); }
  void on_shared(const Number::ConstSharedPtr& message) { heard.push_back(message->data); }
  void on_const(const Number::ConstPtr& message) const { last = message->data; }
  void on_sample(baton::Sample<Number> sample, const baton::MessageInfo& info) {
    heard.push_back(sample->data);
    sequence = info.sequence;
  }
  void on_timer() { ++ticks; }
  std::vector<std::uint64_t> heard;
  std::uint64_t sequence = 0;
  int ticks = 0;
  mutable std::uint64_t last = 0;
};

TEST_F(FromRos, ACallbackMayBeAMemberFunctionWithAnyOfTheSignatures) {
  Listener listener;
  auto a = node_.subscribe<Number>("a", 4, &Listener::on_message, &listener);
  deliver(a, 1);
  auto b = node_.subscribe<Number>("b", baton::QoS(4), &Listener::on_shared, &listener);
  deliver(b, 2);
  auto c = node_.subscribe<Number>("c", 4, &Listener::on_sample, &listener);
  deliver(c, 3);
  EXPECT_EQ(listener.heard, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(listener.sequence, 1U);
  const Listener constant;
  auto d = node_.subscribe<Number>("d", 4, &Listener::on_const, &constant);
  deliver(d, 4);
  EXPECT_EQ(constant.last, 4U);
}

TEST_F(FromRos, ACallbackGroupIsAnArgumentAlsoBesideAQueueLength) {
  auto group = std::make_shared<baton::CallbackGroup>();
  std::uint64_t heard = 0;
  auto numbers = node_.subscribe<Number>(
      "a", 4, [&](const Number& number) { heard = number.data; }, group);
  auto timer = node_.create_timer(
      1h, [] {}, nullptr, group);
  deliver(numbers, 7);
  EXPECT_EQ(heard, 7U);
}

TEST_F(FromRos, AGenericLambdaGetsASample) {
  std::uint64_t heard = 0;
  auto one = node_.subscribe<Number>("one", 4, [&](const auto& message) { heard = message->data; });
  deliver(one, 5);
  EXPECT_EQ(heard, 5U);
  auto two = node_.subscribe<Number>("two", 4, [&](auto message, const auto& info) {
    EXPECT_EQ(info.sequence, 1U);
    heard = message->data;
  });
  deliver(two, 6);
  EXPECT_EQ(heard, 6U);
}

TEST_F(FromRos, ASharedPointerToAReceivedMessageMayBeKept) {
  Number::ConstSharedPtr kept;
  auto subscription = node_.subscribe<Number>("kept", 4, [&](Number::ConstSharedPtr message) { kept = message; });
  deliver(subscription, 7);
  EXPECT_EQ(kept->data, 7U);
}

TEST_F(FromRos, PointersToMessagesArePublishedWithOneCopy) {
  auto subscription = node_.subscribe<Number>("numbers", 10);
  auto publisher = node_.advertise<Number>("numbers", 10);
  baton::test::await_matched(node_, subscription);
  const auto unique = std::make_unique<Number>(number(1));
  publisher.publish(unique);
  publisher.publish(std::make_unique<Number>(number(2)));
  const auto shared = std::make_shared<Number>(number(3));
  publisher.publish(shared);
  const Number::ConstSharedPtr constant = shared;
  publisher.publish(constant);
  for (const std::uint64_t expected : {1U, 2U, 3U, 3U}) EXPECT_EQ(subscription.take()->data, expected);
  EXPECT_EQ(publisher.counters().copied_messages, 4U);
  EXPECT_THROW(publisher.publish(Number::SharedPtr()), baton::Exception);
}

TEST_F(FromRos, BothGrammarsOfCommandLinesRenameNodesAndTopics) {
  const char* ros1[] = {"camera", "image:=photo", "__ns:=/left", "__name:=viewer", "file"};
  const char* ros2[] = {"camera",      "file", "--ros-args",    "-r", "image:=photo", "-r",
                        "__ns:=/left", "-r",   "__node:=viewer"};
  for (const auto& own : {baton::init(5, ros1), baton::init(9, ros2)})
    EXPECT_EQ(own, (std::vector<std::string>{"camera", "file"}));
  const baton::Node node("camera");
  EXPECT_EQ(node.fully_qualified_name(), "/left/viewer");
  EXPECT_EQ(node.resolve_topic_name("image"), "/left/photo");
  baton::init({"camera"});
  EXPECT_EQ(baton::Node("camera", "left").resolve_topic_name("image"), "/left/image");
}

TEST_F(FromRos, ParametersAreDeclaredReadAndSetInTheWordsOfBoth) {
  baton::init({"camera", "_rate:=20", "--ros-args", "-p", "gain:=0.5"});
  baton::Node node("camera");
  int rate = 0;
  node.param("rate", rate, 30);  // roscpp
  EXPECT_EQ(rate, 20);
  node.param("rate", rate, 40);
  EXPECT_EQ(rate, 20) << "declared already";
  EXPECT_EQ(node.param<std::string>("frame", "map"), "map");
  const double gain = node.declare_parameter("gain", 1.0);  // rclcpp
  EXPECT_EQ(gain, 0.5);
  EXPECT_TRUE(node.has_parameter("rate"));
  EXPECT_EQ(node.get_parameter("rate").as_int(), 20);
  EXPECT_TRUE(node.get_parameter("rate", rate));
  EXPECT_FALSE(node.get_parameter_or("depth", rate, 7));
  EXPECT_EQ(rate, 7);
  auto handle = node.add_on_set_parameters_callback([](const std::vector<baton::Parameter>&) {
    baton::SetParametersResult result;
    result.successful = false;
    result.reason = "busy";
    return result;
  });
  EXPECT_EQ(node.set_parameter(baton::Parameter("rate", 50)).reason, "busy");
  handle.reset();
  int changes = 0;
  auto after = node.add_post_set_parameters_callback([&](const std::vector<baton::Parameter>&) { ++changes; });
  EXPECT_TRUE(node.set_parameter(baton::Parameter("rate", 50)).successful);
  EXPECT_EQ(changes, 1);
  node.undeclare_parameter("rate");
  EXPECT_FALSE(node.has_parameter("rate"));
  baton::init({"camera"});
}

TEST_F(FromRos, SpinRunsTheCallbacksOfANodeUntilTheProcessIsAskedToEnd) {
  int ticks = 0;
  auto timer = node_.create_timer(1ms, [&] {
    if (++ticks == 3) throw std::runtime_error("as far as it goes in a test");
  });
  EXPECT_THROW(baton::spin(node_), std::runtime_error);
  EXPECT_EQ(ticks, 3);
}

TEST_F(FromRos, SpinSomeRunsWhatIsReadyAndReturns) {
  EXPECT_EQ(baton::spin_some(node_), 0U);
  Listener listener;
  auto subscription = node_.subscribe<Number>("numbers", 4, &Listener::on_message, &listener);
  auto publisher = node_.advertise<Number>("numbers", 4);
  baton::test::await_matched(node_, subscription);
  publisher.publish(number(1));
  EXPECT_EQ(baton::spin_some(node_), 1U);
  EXPECT_EQ(listener.heard.size(), 1U);
}

TEST_F(FromRos, ATimerCanBeCancelledAndReset) {
  Listener listener;
  auto timer = node_.create_timer(1ms, &Listener::on_timer, &listener);
  baton::Executor executor;
  executor.add(node_);
  EXPECT_FALSE(timer.is_canceled());
  EXPECT_TRUE(executor.spin_once(60s));
  timer.cancel();
  EXPECT_TRUE(timer.is_canceled());
  std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(executor.spin_once(20ms)) << "a cancelled timer is not called";
  EXPECT_EQ(listener.ticks, 1);
  // A reset wakes an executor that sleeps without an end.
  std::thread resetting([&] {
    std::this_thread::sleep_for(20ms);
    timer.reset();
  });
  EXPECT_TRUE(executor.spin_once(60s));
  resetting.join();
  EXPECT_EQ(listener.ticks, 2);
  EXPECT_FALSE(timer.is_canceled());
}

TEST_F(FromRos, ATimerThatIsResetBeginsANewPeriod) {
  auto time = std::make_shared<baton::SimulatedClock>();
  int calls = 0;
  auto timer = node_.create_timer(
      10s, [&] { ++calls; }, time);
  baton::Executor executor;
  executor.add(node_);
  time->set(9s);
  timer.reset();
  time->set(18s);
  EXPECT_EQ(executor.spin_some(), 0U);
  time->set(19s);
  EXPECT_EQ(executor.spin_some(), 1U);
  EXPECT_EQ(calls, 1);
}

TEST_F(FromRos, AnEmptyTimerSaysSo) {
  baton::Timer timer;
  EXPECT_FALSE(timer);
  EXPECT_THROW(timer.cancel(), baton::Exception);
}

TEST(Rate, SleepsToTheEndOfEachPeriodAndTellsWhenItWasMissed) {
  baton::Rate rate(100.0);
  EXPECT_EQ(rate.period(), 10ms);
  const auto begin = std::chrono::steady_clock::now();
  rate.reset();
  static_cast<void>(rate.sleep());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 10ms);
  std::this_thread::sleep_for(30ms);
  EXPECT_FALSE(rate.sleep()) << "the period was over";
  EXPECT_THROW(baton::Rate(0.0), baton::Exception);
  EXPECT_THROW(baton::Rate(-1.0), baton::Exception);
  EXPECT_GT(baton::Rate(1e-30).period(), std::chrono::hours(24 * 365));
}

static_assert(std::is_convertible_v<baton::msg::builtin_interfaces::Time, baton::Time>);
static_assert(!std::is_convertible_v<baton::msg::builtin_interfaces::Duration, baton::Time>, "no point in time");

TEST_F(FromRos, StampsAreMadeComparedAndSubtracted) {
  using namespace std::chrono;
  baton::msg::std_msgs::Header header;
  const auto before = system_clock::now();
  header.stamp = node_.now();
  EXPECT_GE(baton::Time(header.stamp), baton::Time(floor<milliseconds>(before)));
  EXPECT_LE(baton::Time(header.stamp), baton::now());

  header.stamp = baton::Time(nanoseconds(12'000'000'345));
  EXPECT_EQ(header.stamp.sec, 12);
  EXPECT_EQ(header.stamp.nanosec, 345U);
  const baton::Time later = baton::Time(header.stamp) + 1500ms;
  baton::msg::std_msgs::Header next;
  next.stamp = later;
  EXPECT_EQ(next.stamp - header.stamp, 1500ms);
  EXPECT_TRUE(header.stamp < next.stamp && next.stamp > header.stamp && header.stamp <= next.stamp &&
              !(header.stamp >= next.stamp));
  EXPECT_EQ(later - header.stamp, 1500ms);
  EXPECT_DOUBLE_EQ(baton::Time(13s + 500ms).seconds(), 13.5);
  EXPECT_TRUE(baton::Time(header.stamp) < later && later > baton::Time(header.stamp) &&
              later != baton::Time(header.stamp));
  header.stamp = baton::Time(system_clock::time_point(5s));
  EXPECT_EQ(header.stamp.sec, 5);
  header.stamp = baton::Time(-1ns);
  EXPECT_EQ(header.stamp.sec, -1);
  EXPECT_EQ(header.stamp.nanosec, 999'999'999U);
  EXPECT_THROW(header.stamp = baton::Time(hours(1'000'000)), baton::Exception);
}

TEST_F(FromRos, LinesAreLoggedInTheWordsOfBoth) {
  const baton::Logger driver = node_.get_logger().get_child("driver");
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) {
    BATON_INFO(node_, "info %d", i);  // RCLCPP_INFO(node->get_logger(), ...), ROS_INFO(...)
    BATON_INFO_STREAM(node_.get_logger(), "stream " << i);
    BATON_WARN(driver, "named %d", i);
    BATON_ERROR_ONCE(driver, "once %d", i);
    BATON_FATAL_SKIPFIRST(driver, "skipfirst %d", i);
    BATON_INFO_EXPRESSION(driver, i == 1, "expression %d", i);
    BATON_INFO_THROTTLE(driver, *baton::steady_clock(), 3'600'000, "throttle %d", i);
    driver.set_level(i == 0 ? baton::Logger::Level::kDebug : baton::Logger::Level::kUnset);
    BATON_DEBUG(driver, "debug %d", i);
  }
  std::istringstream output(::testing::internal::GetCapturedStderr());
  std::vector<std::string> lines;
  for (std::string line; std::getline(output, line);)
    lines.push_back(line.substr(line.find("] [", line.find("] [") + 1)));
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "] [n]: info 0", "] [n]: stream 0", "] [n.driver]: named 0", "] [n.driver]: once 0",
                       "] [n.driver]: throttle 0", "] [n.driver]: debug 0", "] [n]: info 1", "] [n]: stream 1",
                       "] [n.driver]: named 1", "] [n.driver]: skipfirst 1", "] [n.driver]: expression 1"}));
}

struct Switch {
  void on_references(const SetBool::Request& request, SetBool::Response& response) const {
    response.message = request.data ? "on" : "off";
  }
  void on_pointers(std::shared_ptr<SetBool::Request> request, std::shared_ptr<SetBool::Response> response) {
    kept = request;
    response->message = request->data ? "on" : "off";
  }
  SetBool::Response call(baton::Node& node, const std::string& name) {
    baton::Executor executor;
    executor.add(node);
    std::thread serving([&] { executor.spin(); });
    auto client = node.client<SetBool>(name);
    SetBool::Response response;
    if (client.wait_for_service(60s)) {
      SetBool::Request request;
      request.data = true;
      if (auto sample = client.call(request, 60s)) response = *sample;
    }
    executor.cancel();
    serving.join();
    executor.remove(node);
    return response;
  }
  std::shared_ptr<SetBool::Request> kept;
};

TEST_F(FromRos, AServiceMayHaveAMemberFunctionOrPointersAsRclcpp) {
  using std::placeholders::_1, std::placeholders::_2;
  Switch one;
  auto a = node_.serve<SetBool>("a", &Switch::on_references, &one);
  EXPECT_EQ(one.call(node_, "a").message, "on");
  auto b = node_.create_service<SetBool>("b", &Switch::on_pointers, &one);
  EXPECT_EQ(one.call(node_, "b").message, "on");
  EXPECT_TRUE(one.kept->data) << "the request may be kept";
  auto c = node_.create_service<SetBool>("c", std::bind(&Switch::on_pointers, &one, _1, _2));
  EXPECT_EQ(one.call(node_, "c").message, "on");
  auto d = node_.create_service<SetBool>(
      "d", [](const std::shared_ptr<const SetBool::Request> request, std::shared_ptr<SetBool::Response> response) {
        response->message = request->data ? "on" : "off";
      });
  EXPECT_EQ(one.call(node_, "d").message, "on");
}

TEST_F(FromRos, AWaitSetWaitsForSeveralSubscriptionsAndThrows) {
  auto a = node_.subscribe<Number>("a", 4), b = node_.subscribe<Number>("b", 4);
  auto publisher = node_.advertise<Number>("b", 4);
  baton::WaitSet waits;
  waits.add(a);
  waits.add(b);
  EXPECT_THROW(waits.add(baton::Subscription<Number>()), baton::Exception);
  EXPECT_THROW(waits.remove(baton::Subscription<Number>()), baton::Exception);
  baton::WaitSet other;
  EXPECT_THROW(other.add(a), baton::Exception);
  EXPECT_FALSE(waits.wait(1ms));
  baton::test::await_matched(node_, b);
  publisher.publish(number(1));
  while (!b.has_data()) EXPECT_TRUE(waits.wait(60s));
  EXPECT_EQ(b.take()->data, 1U);
  waits.wake();
  EXPECT_TRUE(waits.wait(60s));
  waits.remove(a);
  other.add(a);
}

TEST_F(FromRos, SensorDataIsTheProfileOfROS2) {
  const baton::QoS sensor = baton::SensorDataQoS();
  EXPECT_EQ(sensor.depth, 5U);
  EXPECT_EQ(sensor.reliability, baton::Reliability::kBestEffort);
  EXPECT_EQ(sensor.durability, baton::Durability::kVolatile);
  auto subscription = node_.subscribe<Number>("numbers", baton::SensorDataQoS());
  auto publisher = node_.advertise<Number>("numbers", baton::SensorDataQoS().keep_last(1));
  baton::test::await_matched(node_, subscription);
  const baton::Statuses statuses = subscription.statuses();
  EXPECT_EQ(statuses.matched_now, 1U);
  const baton::Account account = publisher.memory_account();
  EXPECT_EQ(account.published_slots, 0U);
}

}  // namespace
