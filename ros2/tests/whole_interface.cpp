// SPDX-License-Identifier: Apache-2.0
// What no program of rclpy can ask of an RMW: services' qualities of service, policies as numbers, differing types, arguments that
// are refused (gtest, through rcl).
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "baton/rosidl/ros2_version.hpp"
#include "rcl.hpp"
#include "rcl/event.h"
#include "rcl/graph.h"
#include "rmw/get_topic_endpoint_info.h"
#include "rmw/rmw.h"
#include "rosidl_typesupport_cpp/message_type_support.hpp"
#include "rosidl_typesupport_cpp/service_type_support.hpp"
#include "sensor_msgs/msg/joy.hpp"
#include "sensor_msgs/msg/region_of_interest.hpp"
#include "sensor_msgs/srv/set_camera_info.hpp"

namespace {

using Service = sensor_msgs::srv::SetCameraInfo;
using sensor_msgs::msg::Joy;
using sensor_msgs::msg::RegionOfInterest;

template <class Message>
const rosidl_message_type_support_t* type() {
  return rosidl_typesupport_cpp::get_message_type_support_handle<Message>();
}

struct Server {
  explicit Server(Ros& ros, const rmw_qos_profile_t& qos = rmw_qos_profile_services_default) : node(ros.node) {
    rcl_service_options_t options = rcl_service_get_default_options();
    options.qos = qos;
    check(rcl_service_init(&it, &node, rosidl_typesupport_cpp::get_service_type_support_handle<Service>(), "ask",
                           &options),
          "service");
  }
  ~Server() { check(rcl_service_fini(&it, &node), "service's end"); }
  /// The numbers of the requests that wait, which are answered.
  std::vector<std::uint32_t> answer() {
    std::vector<std::uint32_t> numbers;
    rmw_service_info_t info{};
    for (Service::Request request; rcl_take_request_with_info(&it, &info, &request) == RCL_RET_OK;) {
      numbers.push_back(request.camera_info.height);
      Service::Response response;
      response.status_message = std::to_string(request.camera_info.height);
      check(rcl_send_response(&it, &info.request_id, &response), "response");
    }
    rcutils_reset_error();
    return numbers;
  }
  rcl_node_t& node;
  rcl_service_t it = rcl_get_zero_initialized_service();
};

struct Client {
  explicit Client(Ros& ros, const rmw_qos_profile_t& qos = rmw_qos_profile_services_default) : node(ros.node) {
    rcl_client_options_t options = rcl_client_get_default_options();
    options.qos = qos;
    check(rcl_client_init(&it, &node, rosidl_typesupport_cpp::get_service_type_support_handle<Service>(), "ask",
                          &options),
          "client");
  }
  ~Client() { check(rcl_client_fini(&it, &node), "client's end"); }
  bool available() {
    bool yes = false;
    check(rcl_service_server_is_available(&node, &it, &yes), "availability");
    return yes;
  }
  std::int64_t ask(std::uint32_t number) {
    Service::Request request;
    request.camera_info.height = number;
    std::int64_t sequence = 0;
    check(rcl_send_request(&it, &request, &sequence), "request");
    return sequence;
  }
  /// The responses that have come, each with its request's number.
  std::vector<std::pair<std::int64_t, std::string>> responses() {
    std::vector<std::pair<std::int64_t, std::string>> found;
    rmw_service_info_t info{};
    for (Service::Response response; rcl_take_response_with_info(&it, &info, &response) == RCL_RET_OK;)
      found.emplace_back(info.request_id.sequence_number, response.status_message);
    rcutils_reset_error();
    return found;
  }
  rcl_node_t& node;
  rcl_client_t it = rcl_get_zero_initialized_client();
};

void expect_same(const rmw_qos_profile_t* actual, const rmw_qos_profile_t& asked) {
  ASSERT_NE(actual, nullptr);
  EXPECT_EQ(actual->reliability, asked.reliability);
  EXPECT_EQ(actual->durability, asked.durability);
  EXPECT_EQ(actual->history, asked.history);
  EXPECT_EQ(actual->depth, asked.depth);
}

TEST(Services, HaveTheQualityOfServiceThatTheyAreGiven) {
  Ros ros("qos");
  rmw_qos_profile_t asked = rmw_qos_profile_services_default;
  asked.depth = 3;
  for (const auto reliability : {RMW_QOS_POLICY_RELIABILITY_RELIABLE, RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT}) {
    asked.reliability = reliability;
    const Server server(ros, asked);
    const Client client(ros, asked);
    expect_same(rcl_service_request_subscription_get_actual_qos(&server.it), asked);
    expect_same(rcl_service_response_publisher_get_actual_qos(&server.it), asked);
    expect_same(rcl_client_request_publisher_get_actual_qos(&client.it), asked);
    expect_same(rcl_client_response_subscription_get_actual_qos(&client.it), asked);
  }
}

TEST(Services, KeepAsManyRequestsAndResponsesAsTheirDepth) {
  Ros ros("depth");
  rmw_qos_profile_t two = rmw_qos_profile_services_default;
  two.depth = 2;
  Server server(ros, two);
  Client client(ros);
  until([&] { return client.available(); }, "a server");
  for (std::uint32_t i = 1; i <= 5; ++i) client.ask(i);
  EXPECT_EQ(server.answer(), (std::vector<std::uint32_t>{4, 5}));
  EXPECT_EQ(client.responses().size(), 2U);
}

TEST(Services, DoNotMeetWhereTheirQualitiesOfServiceExcludeEachOther) {
  Ros ros("excluded");
  rmw_qos_profile_t careless = rmw_qos_profile_services_default;
  careless.reliability = RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT;
  const Server server(ros, careless);  // its responses are best effort
  Client client(ros), other(ros, careless);
  until([&] { return other.available(); }, "a server");
  EXPECT_FALSE(client.available());
}

TEST(Services, EachClientGetsItsOwnResponsesOnly) {
  Ros ros("own");
  Server server(ros);
  Client one(ros), other(ros);
  until([&] { return one.available() && other.available(); }, "a server");
  const std::int64_t first = one.ask(1), second = one.ask(2), third = other.ask(3);
  EXPECT_EQ(server.answer().size(), 3U);
  using Responses = std::vector<std::pair<std::int64_t, std::string>>;
  EXPECT_EQ(one.responses(), (Responses{{first, "1"}, {second, "2"}}));
  EXPECT_EQ(other.responses(), (Responses{{third, "3"}}));
}

/// A publisher and a subscription of one topic, with an event of each.
template <class Status>
struct Pair {
  Pair(Ros& ros, const rosidl_message_type_support_t* written, const rosidl_message_type_support_t* read,
       const rmw_qos_profile_t& offered, const rmw_qos_profile_t& requested, rcl_publisher_event_type_t of_publisher,
       rcl_subscription_event_type_t of_subscription)
      : publisher(ros, written, "pair", offered), subscription(ros, read, "pair", requested) {
    check(rcl_publisher_event_init(&offers, &publisher.it, of_publisher), "event");
    check(rcl_subscription_event_init(&requests, &subscription.it, of_subscription), "event");
  }
  ~Pair() {
    check(rcl_event_fini(&offers), "event's end");
    check(rcl_event_fini(&requests), "event's end");
  }
  /// Of the event, once it has counted something.
  static Status status_of(rcl_event_t& event) {
    Status status{};
    until([&] { return rcl_take_event(&event, &status) == RCL_RET_OK && status.total_count != 0; }, "an event");
    return status;
  }
  Publisher publisher;
  Subscription subscription;
  rcl_event_t offers = rcl_get_zero_initialized_event(), requests = rcl_get_zero_initialized_event();
};

TEST(Events, NameThePolicyThatIsIncompatibleAsANumberAtBothEnds) {
  Ros ros("policies");
  const rmw_qos_profile_t usual = rmw_qos_profile_default;
  struct Case {
    rmw_qos_policy_kind_t policy;
    std::function<void(rmw_qos_profile_t&, rmw_qos_profile_t&)> change;
  };
  const Case cases[] = {
      {RMW_QOS_POLICY_RELIABILITY,
       [](auto& offered, auto&) { offered.reliability = RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT; }},
      {RMW_QOS_POLICY_DURABILITY,
       [](auto&, auto& requested) { requested.durability = RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL; }},
      {RMW_QOS_POLICY_DEADLINE,
       [](auto&, auto& requested) {
         requested.deadline = {1, 0};
       }},
      {RMW_QOS_POLICY_LIVELINESS,
       [](auto&, auto& requested) { requested.liveliness = RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC; }},
      {RMW_QOS_POLICY_LIVELINESS_LEASE_DURATION,
       [](auto&, auto& requested) {
         requested.liveliness_lease_duration = {1, 0};
       }},
  };
  for (const Case& each : cases) {
    rmw_qos_profile_t offered = usual, requested = usual;
    each.change(offered, requested);
    using Met = Pair<rmw_qos_incompatible_event_status_t>;
    Met pair(ros, type<Joy>(), type<Joy>(), offered, requested, RCL_PUBLISHER_OFFERED_INCOMPATIBLE_QOS,
             RCL_SUBSCRIPTION_REQUESTED_INCOMPATIBLE_QOS);
    EXPECT_EQ(Met::status_of(pair.offers).last_policy_kind, each.policy);
    EXPECT_EQ(Met::status_of(pair.requests).last_policy_kind, each.policy);
    EXPECT_EQ(pair.publisher.matched(), 0U);
  }
}

TEST(Endpoints, ThatMustHaveANetworkFlowOfTheirOwnAreRefused) {
  Ros ros("flows");
  rcl_publisher_t publisher = rcl_get_zero_initialized_publisher();
  rcl_publisher_options_t publishing = rcl_publisher_get_default_options();
  publishing.rmw_publisher_options.require_unique_network_flow_endpoints =
      RMW_UNIQUE_NETWORK_FLOW_ENDPOINTS_STRICTLY_REQUIRED;
  EXPECT_NE(rcl_publisher_init(&publisher, &ros.node, type<Joy>(), "flow", &publishing), RCL_RET_OK);
  EXPECT_NE(std::string(rcutils_get_error_string().str).find("no network flows"), std::string::npos);
  rcutils_reset_error();
  rcl_subscription_t subscription = rcl_get_zero_initialized_subscription();
  rcl_subscription_options_t subscribing = rcl_subscription_get_default_options();
  subscribing.rmw_subscription_options.require_unique_network_flow_endpoints =
      RMW_UNIQUE_NETWORK_FLOW_ENDPOINTS_STRICTLY_REQUIRED;
  EXPECT_NE(rcl_subscription_init(&subscription, &ros.node, type<Joy>(), "flow", &subscribing), RCL_RET_OK);
  rcutils_reset_error();  // rcl has replaced the text
}

TEST(Endpoints, SayThatAFilterAndADepthAreNotWhatTheyWereAskedFor) {
  Ros ros("asked");
  rcl_subscription_t subscription = rcl_get_zero_initialized_subscription();
  rcl_subscription_options_t options = rcl_subscription_get_default_options();
  options.qos.depth = 100'000;
  ASSERT_EQ(rcl_subscription_options_set_content_filter_options("x_offset = 1", 0, nullptr, &options), RCL_RET_OK);
  testing::internal::CaptureStderr();
  ASSERT_EQ(rcl_subscription_init(&subscription, &ros.node, type<RegionOfInterest>(), "asked", &options), RCL_RET_OK);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("gets all messages: rmw_baton_cpp has no content filters"), std::string::npos) << said;
  EXPECT_NE(said.find("a depth of 100000 is taken as 65536"), std::string::npos) << said;
  EXPECT_FALSE(rcl_subscription_is_cft_enabled(&subscription));
  EXPECT_EQ(rcl_subscription_get_actual_qos(&subscription)->depth, 65536U);
  check(rcl_subscription_fini(&subscription, &ros.node), "subscription's end");  // and that of the options
}

#if !BATON_ROS2_HUMBLE  // which has neither of these events
TEST(Events, CountATypeThatIsIncompatibleAtBothEnds) {
  Ros ros("types");
  const rmw_qos_profile_t usual = rmw_qos_profile_default;
  using Met = Pair<rmw_incompatible_type_status_t>;
  Met pair(ros, type<Joy>(), type<RegionOfInterest>(), usual, usual, RCL_PUBLISHER_INCOMPATIBLE_TYPE,
           RCL_SUBSCRIPTION_INCOMPATIBLE_TYPE);
  EXPECT_EQ(Met::status_of(pair.offers).total_count, 1);
  EXPECT_EQ(Met::status_of(pair.requests).total_count, 1);
}

TEST(Events, NotifyOfEachPartnerThatComesAndOfEachThatGoes) {
  Ros ros("partners");
  const Publisher publisher(ros, type<Joy>(), "partners");
  rcl_event_t event = rcl_get_zero_initialized_event();
  check(rcl_publisher_event_init(&event, &publisher.it, RCL_PUBLISHER_MATCHED), "event");
  std::atomic<std::size_t> notified{0};
  const auto count = [](const void* total, std::size_t more) {
    *const_cast<std::atomic<std::size_t>*>(static_cast<const std::atomic<std::size_t>*>(total)) += more;
  };
  check(rcl_event_set_callback(&event, count, &notified), "callback");
  std::deque<Subscription> subscriptions;
  for (int i = 0; i < 2; ++i) subscriptions.emplace_back(ros, type<Joy>(), "partners");
  until([&] { return notified == 2; }, "the news of two that came");
  rmw_matched_status_t status{};
  check(rcl_take_event(&event, &status), "take");
  EXPECT_EQ(status.current_count_change, 2);
  subscriptions.clear();
  until([&] { return notified == 4; }, "the news of two that went");
  check(rcl_take_event(&event, &status), "take");
  EXPECT_EQ(status.current_count_change, -2);
  EXPECT_EQ(status.total_count_change, 0U);
  check(rcl_event_fini(&event), "event's end");
}
#endif

TEST(Endpoints, OfOneProcessAreCountedAsSoonAsTheyAreMade) {
  Ros ros("counted");
  const Publisher publisher(ros, type<Joy>(), "counted");
  std::deque<Subscription> subscriptions;
  for (std::size_t i = 0; i < 20; ++i) {
    const Subscription& made = subscriptions.emplace_back(ros, type<Joy>(), "counted");
    std::size_t count = 0;
    if (i % 2 == 0) {
      EXPECT_EQ(publisher.matched(), i + 1);
    } else {
      check(rcl_subscription_get_publisher_count(&made.it, &count), "count");
      EXPECT_EQ(count, 1U);
    }
  }
}

TEST(Contexts, EndAfterTheirShutdownAloneAndMakeNoNodeThen) {
  Ros ros("shut");
  rmw_context_t* const context = rcl_context_get_rmw_context(&ros.context);
  EXPECT_EQ(rmw_context_fini(context), RMW_RET_INVALID_ARGUMENT);
  rcutils_reset_error();
  check(rcl_shutdown(&ros.context), "shutdown");
  ros.is_shut_down = true;
  EXPECT_EQ(rmw_create_node(context, "late", "/"), nullptr);
  EXPECT_NE(std::string(rcutils_get_error_string().str).find("is shut down"), std::string::npos);
  rcutils_reset_error();
  EXPECT_EQ(rmw_shutdown(context), RMW_RET_OK);  // a second time
}

TEST(Arguments, OfTheGraphsFunctionsThatAreFullAreInvalid) {
  Ros ros("full");
  const rmw_node_t* const node = rcl_node_get_rmw_handle(&ros.node);
  rcutils_allocator_t allocator = rcutils_get_default_allocator();
  rcutils_string_array_t full = rcutils_get_zero_initialized_string_array(), empty = full;
  ASSERT_EQ(rcutils_string_array_init(&full, 1, &allocator), RCUTILS_RET_OK);
  EXPECT_EQ(rmw_get_node_names(node, &full, &empty), RMW_RET_INVALID_ARGUMENT);
  rcutils_reset_error();
  EXPECT_EQ(rmw_get_node_names_with_enclaves(node, &empty, &empty, &full), RMW_RET_INVALID_ARGUMENT);
  rcutils_reset_error();
  ASSERT_EQ(rcutils_string_array_fini(&full), RCUTILS_RET_OK);
  rmw_topic_endpoint_info_array_t infos = rmw_get_zero_initialized_topic_endpoint_info_array();
  ASSERT_EQ(rmw_topic_endpoint_info_array_init_with_size(&infos, 1, &allocator), RMW_RET_OK);
  EXPECT_EQ(rmw_get_publishers_info_by_topic(node, &allocator, "/rosout", false, &infos), RMW_RET_INVALID_ARGUMENT);
  rcutils_reset_error();
  ASSERT_EQ(rmw_topic_endpoint_info_array_fini(&infos, &allocator), RMW_RET_OK);
}

TEST(Types, AreReadAgainWhereAnotherOneLiesAtTheSameAddress) {
  rosidl_message_type_support_t support = *type<Joy>();
  rcutils_allocator_t allocator = rcutils_get_default_allocator();
  rmw_serialized_message_t bytes = rmw_get_zero_initialized_serialized_message();
  ASSERT_EQ(rmw_serialized_message_init(&bytes, 0, &allocator), RMW_RET_OK);
  const Joy joy;
  ASSERT_EQ(rmw_serialize(&joy, &support, &bytes), RMW_RET_OK);
  support = *type<RegionOfInterest>();
  const RegionOfInterest region;
  ASSERT_EQ(rmw_serialize(&region, &support, &bytes), RMW_RET_OK);
  EXPECT_EQ(bytes.buffer_length, 4U + 4 * 4 + 1);
  support.typesupport_identifier = "of nobody";
  EXPECT_EQ(rmw_serialize(&region, &support, &bytes), RMW_RET_UNSUPPORTED);
  rcutils_reset_error();
  ASSERT_EQ(rmw_serialized_message_fini(&bytes), RMW_RET_OK);
}

const rosidl_message_type_support_t* g_built;

const rosidl_message_type_support_t* of_what_was_built(const rosidl_message_type_support_t*, const char* identifier) {
  return g_built->func(g_built, identifier);
}

TEST(Types, AreReadAgainWhereALibraryWasBuiltAnewAndLiesAtTheSameAddresses) {
  rosidl_message_type_support_t support = *type<Joy>();
  support.func = of_what_was_built;
  rcutils_allocator_t allocator = rcutils_get_default_allocator();
  rmw_serialized_message_t bytes = rmw_get_zero_initialized_serialized_message();
  ASSERT_EQ(rmw_serialized_message_init(&bytes, 0, &allocator), RMW_RET_OK);
  g_built = type<Joy>();
  const Joy joy;
  ASSERT_EQ(rmw_serialize(&joy, &support, &bytes), RMW_RET_OK);
  g_built = type<RegionOfInterest>();
  const RegionOfInterest region;
  ASSERT_EQ(rmw_serialize(&region, &support, &bytes), RMW_RET_OK);
  EXPECT_EQ(bytes.buffer_length, 4U + 4 * 4 + 1);
  ASSERT_EQ(rmw_serialized_message_fini(&bytes), RMW_RET_OK);
}

TEST(Types, OfServicesThatHaveNoIntrospectionAreRefused) {
  Ros ros("foreign");
  const rmw_node_t* const node = rcl_node_get_rmw_handle(&ros.node);
  rosidl_service_type_support_t support = *rosidl_typesupport_cpp::get_service_type_support_handle<Service>();
  support.typesupport_identifier = "of nobody";
  EXPECT_EQ(rmw_create_service(node, &support, "/ask", &rmw_qos_profile_services_default), nullptr);
  rcutils_reset_error();
  EXPECT_EQ(rmw_create_client(node, &support, "/ask", &rmw_qos_profile_services_default), nullptr);
  rcutils_reset_error();
}

}  // namespace
