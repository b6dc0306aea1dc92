// SPDX-License-Identifier: Apache-2.0
// Every row of docs/guides/from-ros.md compiles and does what the page says.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
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

namespace std_msgs = baton::msg::std_msgs;
namespace std_srvs {
using namespace baton::srv::std_srvs;
}

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

void on_number(const Number::ConstPtr& message) { EXPECT_EQ(message->data, 1U); }

TEST_F(FromRos, TheTypeOfASubscriptionMayBeLeftToItsCallback) {
  auto a = node_.subscribe("a", 4, on_number);
  static_assert(std::is_same_v<decltype(a), baton::Subscription<Number>>);
  deliver(a, 1);
  Listener listener;
  auto b = node_.subscribe("b", baton::QoS(4), &Listener::on_message, &listener);
  deliver(b, 2);
  auto c = node_.subscribe("c", 4, &Listener::on_sample, &listener);
  deliver(c, 3);
  auto d = node_.subscribe("d", 4, [&](const Number& message) { listener.heard.push_back(message.data); });
  deliver(d, 4);
  auto e = node_.subscribe("e", 4, std::function<void(Number::ConstSharedPtr)>([&](const auto& message) {
                             listener.heard.push_back(message->data);
                           }));
  deliver(e, 5);
  EXPECT_EQ(listener.heard, (std::vector<std::uint64_t>{2, 3, 4, 5}));
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

TEST_F(FromRos, SeveralParametersAreDeclaredAndReadTogetherAsInRclcpp) {
  EXPECT_EQ(node_.declare_parameters<double>("gains", {{"p", 1.0}, {"i.x", 0.5}}), (std::vector<double>{0.5, 1.0}));
  EXPECT_EQ(node_.declare_parameters<int>("", {{"rate", 30}}), std::vector<int>{30});
  const std::vector<baton::Parameter> read = node_.get_parameters({"rate", "gains.p"});
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].as_int(), 30);
  EXPECT_EQ(read[1].get_name(), "gains.p");
  EXPECT_THROW(static_cast<void>(node_.get_parameters({"rate", "none"})), baton::Exception);
  std::map<std::string, double> gains{{"d", 7.0}};
  EXPECT_TRUE(node_.get_parameters("gains", gains));
  EXPECT_EQ(gains, (std::map<std::string, double>{{"d", 7.0}, {"i.x", 0.5}, {"p", 1.0}}));
  EXPECT_FALSE(node_.get_parameters("gain", gains)) << "'gain' is no part of the name gains.p";
  std::map<std::string, int> all;
  EXPECT_THROW(static_cast<void>(node_.get_parameters("", all)), baton::Exception) << "gains.p is no integer";
  EXPECT_TRUE(all.empty());
}

TEST_F(FromRos, PointersToNodesGroupsAndParametersCallbacksHaveRclcppsNames) {
  struct Camera : baton::Node {
    Camera() : Node("camera") {
      handle = add_on_set_parameters_callback(std::bind(&Camera::on_set, this, std::placeholders::_1));
    }
    baton::SetParametersResult on_set(const std::vector<baton::Parameter>& parameters) {
      asked += parameters.size();
      return {};
    }
    std::size_t asked = 0;
    OnSetParametersCallbackHandle::SharedPtr handle;
    baton::node_interfaces::PostSetParametersCallbackHandle::SharedPtr after;
  } camera;
  camera.declare_parameter("rate", 30);
  EXPECT_EQ(camera.asked, 1U);
  baton::Node::SharedPtr node = baton::Node::make_shared("viewer", "left");
  baton::Node::ConstSharedPtr same = node;
  EXPECT_EQ(same->fully_qualified_name(), "/left/viewer");
  baton::CallbackGroup::SharedPtr group = std::make_shared<baton::CallbackGroup>();
  int called = 0;
  auto timer = node->create_timer(
      1ms, [&] { ++called; }, group);
  baton::Executor executor;
  executor.add(node);
  EXPECT_TRUE(executor.spin_once()) << "without a timeout it waits for a callback";
  EXPECT_EQ(called, 1);
}

TEST_F(FromRos, TheFallbackOfAParameterHasTheTypeOfItsVariable) {
  baton::Node node("camera");
  std::string device;
  node.param("device", device, "/dev/video0");
  EXPECT_EQ(device, "/dev/video0");
  double gain = 0;
  node.param("gain", gain, 2);
  EXPECT_EQ(gain, 2.0);
  EXPECT_EQ(node.get_parameter("gain").type(), baton::ParameterType::kDouble);
  EXPECT_EQ(node.param("frame", "map"), "map");
  EXPECT_EQ(node.param<double>("offset", 1), 1.0);
  EXPECT_FALSE(node.get_parameter_or("none", device, "/dev/null"));
  EXPECT_EQ(device, "/dev/null");
}

TEST_F(FromRos, AParameterThatIsReadAsAnotherTypeIsNamed) {
  baton::Node node("camera");
  node.declare_parameter("gain", 0.5);
  node.declare_parameter("depth", 300);
  std::string text;
  std::uint8_t small = 0;
  for (const std::function<void()>& read : std::initializer_list<std::function<void()>>{
           [&] { node.get_parameter("gain").as_int(); }, [&] { node.get_parameter("gain", text); }}) {
    try {
      read();
      ADD_FAILURE();
    } catch (const baton::Exception& refused) {
      EXPECT_EQ(
          std::string(refused.what()).find("type_mismatch: parameter 'gain': the parameter's value is of type double"),
          0U)
          << refused.what();
    }
  }
  try {
    node.get_parameter("depth", small);
    ADD_FAILURE();
  } catch (const baton::Exception& refused) {
    EXPECT_EQ(refused.code(), baton::Errc::invalid_argument);
    EXPECT_NE(std::string(refused.what()).find("parameter 'depth': the integer 300 does not fit"), std::string::npos)
        << refused.what();
  }
}

TEST_F(FromRos, ATimerTakesEveryDurationOfChrono) {
  auto time = std::make_shared<baton::SimulatedClock>();
  int calls = 0;
  const auto count = [&] { ++calls; };
  auto a = node_.create_timer(std::chrono::duration<double>(0.1), count, time);
  auto b = node_.create_timer(100ms, count, time);
  auto c = node_.create_timer(baton::Duration::from_seconds(0.1), count, time);
  auto group = std::make_shared<baton::CallbackGroup>();
  auto d = node_.create_timer(1h, count, group);
  baton::Executor executor;
  executor.add(node_);
  time->set(99ms);
  EXPECT_EQ(executor.spin_some(), 0U);
  time->set(100ms);
  EXPECT_EQ(executor.spin_some(), 3U);
  EXPECT_EQ(calls, 3);
  EXPECT_THROW(static_cast<void>(node_.create_timer(std::chrono::duration<double>(0.0), count)), baton::Exception);
  EXPECT_THROW(static_cast<void>(node_.create_timer(std::chrono::duration<double>(NAN), count)), baton::Exception);
}

TEST_F(FromRos, ATimerForOneCallCancelsItself) {
  int calls = 0;
  baton::Timer timer;
  timer = node_.create_timer(1ms, [&] {
    ++calls;
    timer.cancel();
  });
  baton::Executor executor;
  executor.add(node_);
  EXPECT_TRUE(executor.spin_once(60s));
  EXPECT_FALSE(executor.spin_once(20ms));
  EXPECT_EQ(calls, 1);
}

TEST_F(FromRos, ANodesNameHasNoNamespaceInIt) {
  for (const char* name : {"~", "a/b", "/camera", "~camera"}) {
    try {
      const baton::Node node(name);
      ADD_FAILURE() << name;
    } catch (const baton::Exception& refused) {
      EXPECT_NE(std::string(refused.what()).find("A namespace is given beside the name"), std::string::npos)
          << refused.what();
    }
  }
}

TEST_F(FromRos, SpinRunsTheCallbacksOfANodeUntilTheProcessIsAskedToEnd) {
  int ticks = 0;
  auto timer = node_.create_timer(1ms, [&] {
    if (++ticks == 3) throw std::runtime_error("as far as it goes in a test");
  });
  EXPECT_THROW(baton::spin(node_), std::runtime_error);
  EXPECT_EQ(ticks, 3);
}

/// The node of rclcpp's tutorial.
class Ticker : public baton::Node {
 public:
  Ticker() : Node("ticker") { timer_ = create_timer(1ms, std::bind(&Ticker::on_timer, this)); }
  int ticks = 0;

 private:
  void on_timer() {
    if (++ticks == 3) throw std::runtime_error("as far as it goes in a test");
  }
  baton::Timer timer_;
};

TEST_F(FromRos, ANodeBehindASharedPointerIsSpunAsInRclcpp) {
  EXPECT_THROW(baton::spin(std::make_shared<Ticker>()), std::runtime_error);
  const auto ticker = std::make_shared<Ticker>();
  while (baton::spin_some(ticker) == 0) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(ticker->ticks, 1);
  baton::Executor executor;
  executor.add(ticker);
  EXPECT_TRUE(executor.spin_once(60s));
  EXPECT_EQ(ticker->ticks, 2);
  executor.remove(ticker);
  EXPECT_THROW(baton::spin(std::shared_ptr<baton::Node>()), baton::Exception);
}

TEST_F(FromRos, AQueueWithoutABoundIsRefusedInWords) {
  try {
    static_cast<void>(node_.advertise<Number>("numbers", 0));
    ADD_FAILURE();
  } catch (const baton::Exception& refused) {
    EXPECT_NE(std::string(refused.what()).find("What is 0 in ROS 1, a queue without a bound, is a long one here"),
              std::string::npos)
        << refused.what();
  }
}

TEST_F(FromRos, MembersOfMessageTypesAndRos1sNamesOfPointersAreTheSame) {
  using baton::msg::std_msgs::StringConstPtr;
  static_assert(std::is_same_v<StringConstPtr, String::ConstPtr> &&
                std::is_same_v<String::ConstPtr, String::ConstSharedPtr>);
  static_assert(std::is_same_v<baton::msg::std_msgs::StringPtr, std::shared_ptr<String>>);
  const StringConstPtr message = std::make_shared<String>();
  EXPECT_EQ(message->data, "");
}

TEST_F(FromRos, TwoTopicsAreJoinedByTheirStamps) {
  using Header = baton::msg::std_msgs::Header;
  std::map<baton::Time, Header::ConstPtr> left;
  std::vector<std::string> pairs;
  auto a = node_.subscribe<Header>("left", 4, [&](const Header::ConstPtr& header) {
    left[header->stamp] = header;
    if (left.size() > 4) left.erase(left.begin());
  });
  auto b = node_.subscribe<Header>("right", 4, [&](const Header& right) {
    if (const auto pair = left.find(right.stamp); pair != left.end())
      pairs.push_back(std::string(pair->second->frame_id) + " " + std::string(right.frame_id));
  });
  auto lefts = node_.advertise<Header>("left", 4);
  auto rights = node_.advertise<Header>("right", 4);
  baton::test::await_matched(node_, a);
  baton::test::await_matched(node_, b);
  baton::Executor executor;
  executor.add(node_);
  for (int i = 0; i < 6; ++i) {
    Header header;
    header.stamp = baton::Time(std::chrono::seconds(i));
    header.frame_id = "l" + std::to_string(i);
    lefts.publish(header);
    ASSERT_TRUE(executor.spin_once(60s));
    header.stamp = baton::Time(std::chrono::seconds(i % 2 == 0 ? i : 100));
    header.frame_id = "r" + std::to_string(i);
    rights.publish(header);
    ASSERT_TRUE(executor.spin_once(60s));
  }
  EXPECT_EQ(pairs, (std::vector<std::string>{"l0 r0", "l2 r2", "l4 r4"}));
}

TEST_F(FromRos, APrivateTopicIsNamedWithATilde) {
  baton::init({"camera"});
  const baton::Node node("camera", "left");
  EXPECT_EQ(node.resolve_topic_name("~/image"), "/left/camera/image");
}

TEST_F(FromRos, AnEmptyEndpointTakesThePlaceOfOneThatShallEnd) {
  auto publisher = node_.advertise<Number>("numbers", 4);
  auto subscription = node_.subscribe<Number>("numbers", 4);
  baton::test::await_matched(node_, subscription);
  EXPECT_EQ(node_.count_publishers("/numbers"), 1U);
  publisher = {};
  subscription = {};
  EXPECT_TRUE(node_.wait_for(
      [&] { return node_.count_publishers("/numbers") + node_.count_subscriptions("/numbers") == 0; }, 60s));
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
static_assert(std::is_convertible_v<baton::msg::builtin_interfaces::Duration, baton::Duration>);
static_assert(!std::is_convertible_v<baton::msg::builtin_interfaces::Time, baton::Duration>, "no duration");
static_assert(!std::is_convertible_v<baton::msg::builtin_interfaces::Duration, baton::Time>, "no point in time");

TEST_F(FromRos, StampsAreMadeComparedAndSubtracted) {
  using namespace std::chrono;
  baton::msg::std_msgs::Header header;
  const auto before = system_clock::now();
  header.stamp = node_.now();
  EXPECT_GE(baton::Time(header.stamp), baton::Time(floor<milliseconds>(before)));
  EXPECT_LE(baton::Time(header.stamp), baton::now());
  EXPECT_LE(baton::Time(header.stamp), baton::Time::now());

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

TEST_F(FromRos, DurationsAreMadeReadAndSentInTheWordsOfBoth) {
  baton::msg::std_msgs::Header header;
  header.stamp = baton::Time(10s);
  EXPECT_EQ((baton::Time(11s + 500ms) - header.stamp).seconds(), 1.5);
  EXPECT_EQ((baton::Time(11s + 500ms) - header.stamp).toSec(), 1.5);
  EXPECT_EQ((baton::Time(11s) - header.stamp).nanoseconds(), 1'000'000'000);
  EXPECT_EQ(header.stamp.toSec(), 10.0);
  EXPECT_FALSE(header.stamp.isZero());
  EXPECT_EQ(header.stamp + 500ms, baton::Time(10s + 500ms));
  EXPECT_EQ(header.stamp - baton::Duration(1, 500'000'000), baton::Time(8s + 500ms));
  baton::msg::builtin_interfaces::Duration sent;
  sent = baton::Duration::from_seconds(-0.5);
  EXPECT_EQ(sent.sec, -1);
  EXPECT_EQ(sent.nanosec, 500'000'000U);
  EXPECT_EQ(baton::Duration(sent), -500ms);
  EXPECT_EQ(header.stamp + baton::Duration(sent), baton::Time(9s + 500ms));
  EXPECT_EQ(std::chrono::duration_cast<std::chrono::milliseconds>(baton::Duration::from_nanoseconds(1'500'000)), 1ms);
  EXPECT_EQ(baton::Duration(1, 999'999'999).to_chrono<std::chrono::seconds>(), 1s);
  EXPECT_EQ(baton::Time(3, 5), baton::Time(3s + 5ns));
  EXPECT_THROW(static_cast<void>(baton::Duration::from_seconds(1e10)), baton::Exception);
  EXPECT_THROW(sent = baton::Duration(std::chrono::hours(1'000'000)), baton::Exception);
}

TEST_F(FromRos, TimesAndDurationsHaveTheWordsOfRoscpp) {
  const baton::Time t(12, 500);
  EXPECT_EQ(t.toNSec(), 12'000'000'500);
  EXPECT_FALSE(t.isZero());
  EXPECT_TRUE(baton::Time().isZero());
  EXPECT_EQ(baton::Time::from_seconds(12.5).nanoseconds(), 12'500'000'000);
  const baton::Duration half = baton::Duration::from_seconds(1) * 0.5;
  EXPECT_EQ(half.toNSec(), 500'000'000);
  EXPECT_TRUE((half - half == 0ns) && baton::Duration().isZero());
  std::ostringstream out;
  out << t << ' ' << half << ' ' << baton::Duration(-half) << ' ' << baton::Time(-1ns);
  EXPECT_EQ(out.str(), "12.000000500 0.500000000 -0.500000000 -0.000000001");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(baton::Duration(20ms).sleep());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
  EXPECT_TRUE(baton::Duration().sleep() && baton::Duration(-1s).sleep());
}

TEST_F(FromRos, ParamTellsWhetherSomebodyGaveTheValue) {
  const std::vector<std::string> own = baton::init({"camera", "_rate:=30"});
  baton::Node node("camera");
  int rate = 0, gain = 0;
  EXPECT_TRUE(node.param("rate", rate, 30));  // the same as the fallback, and given
  EXPECT_FALSE(node.param("gain", gain, 2));
  EXPECT_TRUE(node.param("gain", gain, 3));  // declared by now
  EXPECT_EQ(gain, 2);
}

TEST_F(FromRos, AServicesRequestAndResponseAreOneObjectAsInRoscpp) {
  const auto service = node_.serve<SetBool>("switch", [](const SetBool::Request& request, SetBool::Response& response) {
    response.success = request.data;
    response.message = "switched";
  });
  baton::Executor executor;
  executor.add(node_);
  std::thread spin([&] { executor.spin(); });
  baton::Node caller("caller");
  auto client = caller.client<SetBool>("switch");
  ASSERT_TRUE(client.wait_for_service(30s));
  std_srvs::SetBool srv;
  srv.request.data = true;
  EXPECT_TRUE(client.call(srv, 30s));
  EXPECT_TRUE(srv.response.success);
  EXPECT_EQ(srv.response.message, "switched");
  executor.cancel();
  spin.join();
  srv.response.message = "kept";
  EXPECT_FALSE(client.call(srv, 1ms));
  EXPECT_EQ(srv.response.message, "kept");
  static_assert(std::is_same_v<baton::srv::std_srvs::SetBoolRequest, SetBool::Request>);
  static_assert(std::is_same_v<baton::srv::std_srvs::SetBoolResponse, SetBool::Response>);
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
      if (auto sample = client.call(std::make_shared<SetBool::Request>(request), 60s)) response = *sample;
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

TEST_F(FromRos, AHandlerThatThrowsEndsSpinAndItsCallersWaitForTheirTimeout) {
  bool fail = true;
  auto service = node_.serve<SetBool>("switch", [&](const SetBool::Request&, SetBool::Response& response) {
    if (std::exchange(fail, false)) throw std::runtime_error("no lamp");
    response.message = "on";
  });
  baton::Node callers("callers");
  auto client = callers.client<SetBool>("switch");
  ASSERT_TRUE(client.wait_for_service(60s));
  std::string thrown;
  std::thread serving([&] {
    baton::Executor executor;
    executor.add(node_);
    try {
      executor.spin();
    } catch (const std::runtime_error& error) {
      thrown = error.what();
    }
  });
  SetBool::Request request;
  EXPECT_FALSE(client.call(request, 100ms)) << "no response, and no endless wait";
  serving.join();
  EXPECT_EQ(thrown, "no lamp");
  // The service itself is unharmed: a program that catches the exception spins again.
  Switch one;
  EXPECT_EQ(one.call(node_, "switch").message, "on");
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

TEST_F(FromRos, FormsThatWouldMeanSomethingElseDoNotCompile) {
  constexpr auto make_timer = [](auto&... given) -> decltype(std::declval<baton::Node&>().create_timer(given...)) {
    return {};
  };
  constexpr auto call = [](auto&... given) -> decltype(std::declval<baton::Client<SetBool>&>().call(given...)) {
    return {};
  };
  constexpr auto spin = [](auto&... given) -> decltype(baton::spin(given...)) {};
  constexpr auto init = [](auto&... given) -> decltype(baton::init(given...)) { return {}; };
  using Period = std::chrono::milliseconds;
  using Function = void (*)();
  static_assert(std::is_invocable_v<decltype(make_timer), Period&, Function&>);
  static_assert(!std::is_invocable_v<decltype(make_timer), Period&, Function&, bool&>, "roscpp's oneshot");
  static_assert(std::is_invocable_v<decltype(call), SetBool&, Period&>);
  static_assert(!std::is_invocable_v<decltype(call), SetBool&>, "a call has a timeout");
  static_assert(!std::is_invocable_v<decltype(call), SetBool::Request&, SetBool::Response&>);
  static_assert(std::is_invocable_v<decltype(spin), baton::Node&> && !std::is_invocable_v<decltype(spin)>);
  static_assert(std::is_invocable_v<decltype(init), int&, char**&>);
  static_assert(!std::is_invocable_v<decltype(init), int&, char**&, const char[7]>, "the name is the node's");
  static_assert(!std::is_constructible_v<baton::Time, int> && !std::is_constructible_v<baton::Time, double>);
  static_assert(!std::is_constructible_v<baton::Duration, int> && !std::is_constructible_v<baton::Duration, double>);
}

TEST_F(FromRos, SensorDataIsTheProfileOfROS2) {
  const baton::QoS sensor = baton::SensorDataQoS();
  EXPECT_EQ(baton::QoS(1).transient_local().durability_volatile().durability, baton::Durability::kVolatile);
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
