// SPDX-License-Identifier: Apache-2.0
// Parameters of nodes: from the command line into a declaration, and through the services of ROS 2.
#include <gtest/gtest.h>

#include <thread>

#include "baton/baton.hpp"
#include "baton/msg/rcl_interfaces/parameter_event.hpp"
#include "baton/srv/rcl_interfaces/describe_parameters.hpp"
#include "baton/srv/rcl_interfaces/get_parameter_types.hpp"
#include "baton/srv/rcl_interfaces/get_parameters.hpp"
#include "baton/srv/rcl_interfaces/list_parameters.hpp"
#include "baton/srv/rcl_interfaces/set_parameters.hpp"
#include "baton/srv/rcl_interfaces/set_parameters_atomically.hpp"
#include "node_test_support.hpp"

using namespace std::chrono_literals;
using namespace baton::srv::rcl_interfaces;
using baton::Parameter;
using baton::ParameterValue;
using Event = baton::msg::rcl_interfaces::ParameterEvent;

namespace {

class NodeParameters : public baton::test::DomainTest {
 protected:
  static baton::NodeOptions options(std::vector<std::string> arguments) {
    baton::NodeOptions made;
    made.arguments = {"--ros-args"};
    made.arguments.insert(made.arguments.end(), arguments.begin(), arguments.end());
    return made;
  }
};

TEST_F(NodeParameters, TheCommandLineGivesValuesToDeclarations) {
  baton::init(
      {"program", "--ros-args", "-p", "rate:=30", "-p", "other:rate:=1", "-p", "camera:gain:=0.5", "-p", "name:=a"});
  baton::NodeOptions given = options({"-p", "name:=b"});
  given.parameter_overrides = {{"top", 1}};
  baton::Node node("camera", "left", given);
  EXPECT_EQ(node.declare_parameter("rate", 10), 30);
  EXPECT_EQ(node.declare_parameter("gain", 1.0), 0.5);
  EXPECT_EQ(node.declare_parameter("name", "default"), "b");
  EXPECT_EQ(node.declare_parameter<int>("top"), 1);
  EXPECT_EQ(node.declare_parameter("plain", true), true);
  baton::NodeOptions none;
  none.use_global_arguments = false;
  EXPECT_EQ(baton::Node("camera", none).declare_parameter("rate", 10), 10);
  baton::init({"program"});
}

TEST_F(NodeParameters, ValuesAreReadInTheWaysOfRclcpp) {
  baton::Node node("camera");
  node.declare_parameter("rate", 10);
  EXPECT_EQ(node.get_parameter("rate").as_int(), 10);
  int rate = 0;
  EXPECT_TRUE(node.get_parameter("rate", rate));
  EXPECT_EQ(rate, 10);
  EXPECT_FALSE(node.get_parameter_or("absent", rate, 7));
  EXPECT_EQ(rate, 7);
  EXPECT_EQ(node.get_parameter_or<std::string>("absent", "x"), "x");
  EXPECT_THROW(node.get_parameter("absent"), baton::Exception);
  EXPECT_THROW(node.get_parameter("rate").as_double(), baton::Exception);
  const auto results = node.set_parameters({{"rate", 20}, {"rate", "text"}});
  EXPECT_TRUE(results.at(0).successful);
  EXPECT_FALSE(results.at(1).successful);
  EXPECT_EQ(node.get_parameter("rate").as_int(), 20);
}

TEST_F(NodeParameters, ANodeWithoutParametersServesNothing) {
  baton::Node node("camera");
  EXPECT_TRUE(node.endpoints().empty());
  node.declare_parameter("rate", 10);
  std::vector<std::string> topics;
  for (const auto& [name, types] : node.topics()) topics.push_back(name);
  EXPECT_EQ(topics.size(), 13U);
  EXPECT_EQ(node.count_publishers("/parameter_events"), 1U);
  EXPECT_EQ(node.count_subscriptions("/camera/get_parameters/_request"), 1U);
}

TEST_F(NodeParameters, OtherNodesReadAndSetThemThroughTheServicesOfRos2) {
  baton::Node node("camera", "left"), caller("caller");
  baton::ParameterDescriptor descriptor;
  descriptor.description = "frames a second";
  descriptor.integer_range = {1, 100, 1};
  node.declare_parameter("rate", 10, descriptor);
  node.declare_parameter("roi.size", std::vector<int>{1, 2});
  auto events = caller.subscribe<Event>("/parameter_events", 10);
  baton::test::await_matched(caller, events);
  baton::Executor executor;
  executor.add(node);
  std::thread thread([&] { executor.spin(); });

  auto get = caller.client<GetParameters>("/left/camera/get_parameters");
  auto types = caller.client<GetParameterTypes>("/left/camera/get_parameter_types");
  auto set = caller.client<SetParameters>("/left/camera/set_parameters");
  auto all = caller.client<SetParametersAtomically>("/left/camera/set_parameters_atomically");
  auto describe = caller.client<DescribeParameters>("/left/camera/describe_parameters");
  auto list = caller.client<ListParameters>("/left/camera/list_parameters");
  ASSERT_TRUE(get.wait_for_service(60s) && types.wait_for_service(60s) && set.wait_for_service(60s) &&
              all.wait_for_service(60s) && describe.wait_for_service(60s) && list.wait_for_service(60s));

  SetParameters::Request wanted;
  wanted.parameters.resize(3);
  wanted.parameters[0].name = "rate";
  wanted.parameters[0].value.type = 2;
  wanted.parameters[0].value.integer_value = 30;
  wanted.parameters[1].name = "rate";
  wanted.parameters[1].value.type = 2;
  wanted.parameters[1].value.integer_value = 1000;
  wanted.parameters[2].name = "rate";
  wanted.parameters[2].value.type = 200;  // of no known type
  const auto results = set.call(wanted, 60s);
  ASSERT_TRUE(results);
  ASSERT_EQ(results->results.size(), 3U);
  EXPECT_TRUE(results->results[0].successful);
  EXPECT_FALSE(results->results[1].successful);
  EXPECT_NE(std::string(results->results[1].reason).find("from 1 to 100"), std::string::npos);
  EXPECT_FALSE(results->results[2].successful);

  GetParameters::Request names;
  names.names = {"rate", "absent", "roi.size"};
  const auto values = get.call(names, 60s);
  ASSERT_TRUE(values);
  ASSERT_EQ(values->values.size(), 3U);
  EXPECT_EQ(values->values[0].integer_value, 30);
  EXPECT_EQ(values->values[1].type, 0);
  EXPECT_EQ(values->values[2].integer_array_value, (std::vector<std::int64_t>{1, 2}));

  GetParameterTypes::Request of;
  of.names = {"rate", "absent"};
  const auto found = types.call(of, 60s);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->types, (std::vector<std::uint8_t>{2, 0}));

  SetParametersAtomically::Request both;
  both.parameters.resize(2);
  both.parameters[0] = wanted.parameters[0];
  both.parameters[0].value.integer_value = 50;
  both.parameters[1].name = "absent";
  const auto none = all.call(both, 60s);
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->result.successful);
  EXPECT_EQ(node.get_parameter("rate").as_int(), 30);

  DescribeParameters::Request about;
  about.names = {"rate"};
  const auto said = describe.call(about, 60s);
  ASSERT_TRUE(said);
  ASSERT_EQ(said->descriptors.size(), 1U);
  EXPECT_EQ(said->descriptors[0].description, "frames a second");
  EXPECT_EQ(said->descriptors[0].integer_range[0].to_value, 100);

  const auto listed = list.call(ListParameters::Request{}, 60s);
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->result.names.size(), 2U);
  EXPECT_EQ(listed->result.prefixes[0], "roi");

  auto event = events.take();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->node, "/left/camera");
  EXPECT_EQ(event->changed_parameters[0].value.integer_value, 30);
  executor.cancel();
  thread.join();
}

TEST_F(NodeParameters, ARequestThatIsTooLargeToAnswerEndsNothing) {
  baton::Node node("camera"), caller("caller");
  node.declare_parameter("text", std::string(100'000, 'x'));
  baton::Executor executor;
  executor.add(node);
  std::thread thread([&] { EXPECT_NO_THROW(executor.spin()); });
  auto get = caller.client<GetParameters>("/camera/get_parameters");
  ASSERT_TRUE(get.wait_for_service(60s));
  GetParameters::Request many;  // 400 MB of values
  many.names.resize(4'000);
  for (auto& name : many.names) name = "text";
  get.send(many);
  GetParameters::Request one;
  one.names = {"text"};
  const auto answered = get.call(one, 60s);
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->values[0].string_value.size(), 100'000U);
  executor.cancel();
  thread.join();
}

TEST_F(NodeParameters, OtherProcessesCannotMakeAParameterKeepMuchMemory) {
  baton::Node node("camera"), caller("caller");
  node.declare_parameter("text", "short");
  node.declare_parameter("rate", 1);
  baton::Executor executor;
  executor.add(node);
  std::thread thread([&] { executor.spin(); });
  baton::PublisherOptions room;
  room.max_message_bytes = std::size_t{16} << 20;
  auto set = caller.client<SetParameters>("/camera/set_parameters", room);
  ASSERT_TRUE(set.wait_for_service(60s));
  SetParameters::Request large;
  large.parameters.resize(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    large.parameters[i].name = i < 2 ? "text" : "rate";
    large.parameters[i].value.type = 4;
    large.parameters[i].value.string_value = std::string((4U << 20U) + (i == 0 ? 1 : 0), 'x');
  }
  const auto results = set.call(large, 60s);
  ASSERT_TRUE(results);
  EXPECT_EQ(results->results[0].reason, "parameter 'text': other processes set values of 4 MiB at most");
  EXPECT_TRUE(results->results[1].successful);
  EXPECT_LT(results->results[2].reason.size(), 300U) << "the value of another type is cut";
  EXPECT_EQ(node.get_parameter("text").as_string().size(), 4U << 20U);
  executor.cancel();
  thread.join();
}

/// What was sent before gets no response, and what follows gets one.
template <class S>
void expect_only_the_second_is_answered(const baton::Client<S>& client, std::uint64_t second) {
  const auto& responses = client.core()->responses();
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (responses->unread() == 0 && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
  const auto response = responses->take_next().or_throw();
  ASSERT_TRUE(response);
  EXPECT_EQ(response.header().correlation_sequence, second);
}

template <class S, class Fill>
void expect_names_to_be_bounded(baton::Node& caller, const std::string& name, const Fill& fill) {
  constexpr std::size_t kNamesMax = 4096, kRequestMaxBytes = std::size_t{16} << 20;  // in parameter_services.cpp
  SCOPED_TRACE(name);
  baton::PublisherOptions room;
  room.max_message_bytes = 2 * kRequestMaxBytes;
  auto client = caller.client<S>("/camera/" + name, room);
  ASSERT_TRUE(client.wait_for_service(60s));
  typename S::Request many, most, large;
  fill(many, kNamesMax + 1, "rate");
  client.send(many);
  fill(most, kNamesMax, "rate");
  expect_only_the_second_is_answered(client, client.send(most));
  fill(large, 2, std::string(kRequestMaxBytes / 2, 'x'));
  client.send(large);
  expect_only_the_second_is_answered(client, client.send(most));
}

TEST_F(NodeParameters, ARequestWithMoreNamesOrBytesThanOtherProcessesMaySendIsRefusedBeforeItIsCopied) {
  baton::Node node("camera"), caller("caller");
  node.declare_parameter("rate", 1);
  baton::Executor executor;
  executor.add(node);
  std::thread thread([&] { EXPECT_NO_THROW(executor.spin()); });
  const auto names = [](auto& request, std::size_t count, const std::string& name) {
    request.names.assign(count, name);
  };
  const auto parameters = [](auto& request, std::size_t count, const std::string& name) {
    request.parameters.resize(static_cast<std::uint32_t>(count));
    for (auto& parameter : request.parameters) {
      parameter.name = name;
      parameter.value.type = 2;
    }
  };
  expect_names_to_be_bounded<GetParameters>(caller, "get_parameters", names);
  expect_names_to_be_bounded<GetParameterTypes>(caller, "get_parameter_types", names);
  expect_names_to_be_bounded<DescribeParameters>(caller, "describe_parameters", names);
  expect_names_to_be_bounded<ListParameters>(
      caller, "list_parameters",
      [](auto& request, std::size_t count, const std::string& name) { request.prefixes.assign(count, name); });
  expect_names_to_be_bounded<SetParameters>(caller, "set_parameters", parameters);
  expect_names_to_be_bounded<SetParametersAtomically>(caller, "set_parameters_atomically", parameters);
  executor.cancel();
  thread.join();
}

TEST_F(NodeParameters, AValueForWhichThereIsNoMemoryGetsNoResponseAndABadAllocOfACallbackIsTheProgramsError) {
  constexpr std::size_t kLength = 256 << 10;
  baton::Node node("camera"), caller("caller");
  node.declare_parameter("text", "short");
  auto client = caller.client<SetParameters>("/camera/set_parameters");
  ASSERT_TRUE(client.wait_for_service(60s));
  baton::Executor executor;
  executor.add(node);
  SetParameters::Request request;
  request.parameters.resize(1);
  request.parameters[0].name = "text";
  request.parameters[0].value.type = 4;
  request.parameters[0].value.string_value = std::string(kLength, 'x');
  client.send(request);
  {
    const baton::test::MissingMemory missing(kLength / 2);
    EXPECT_NO_THROW(executor.spin_once(60s));
  }
  EXPECT_EQ(node.get_parameter("text").as_string(), "short");
  const std::uint64_t second = client.send(request);
  EXPECT_TRUE(executor.spin_once(60s));
  expect_only_the_second_is_answered(client, second);
  EXPECT_EQ(node.get_parameter("text").as_string().size(), kLength);
  auto callback = node.add_on_set_parameters_callback(
      [](const std::vector<Parameter>&) -> baton::SetParametersResult { throw std::bad_alloc(); });
  client.send(request);
  EXPECT_THROW(executor.spin_once(60s), std::bad_alloc);
}

}  // namespace
