// SPDX-License-Identifier: Apache-2.0
// Names of roscpp and rclcpp that Baton does not have: using one is an error of the compiler, whose one sentence says
// what to write (docs/guides/from-ros.md). Nothing of this file runs. Thread rules: declarations only.
#pragma once

#include <cstddef>

#include "baton/node/refused.hpp"

/// A function template of this name whose use is an error with this text. It takes any arguments, and explicit types.
#define BATON_REFUSED_AS(type, name, text)                 \
  template <class Refused = void, class... Arguments>      \
  type name(const Arguments&...) const {                   \
    static_assert(::baton::detail::kNever<Refused>, text); \
    return {};                                             \
  }
#define BATON_REFUSED(name, text) BATON_REFUSED_AS(Refusal, name, text)
/// The same for a function that is no member.
#define BATON_REFUSED_FUNCTION(name, text)                 \
  template <class Refused = void, class... Arguments>      \
  detail::Refusal name(const Arguments&...) {              \
    static_assert(::baton::detail::kNever<Refused>, text); \
    return {};                                             \
  }

namespace baton {
namespace detail {

/// Stands for any value, so that a refusal is the only error.
struct Refusal {
  template <class Value>
  operator Value() const;
};

struct RefusedOfNode {
  // rclcpp's
  BATON_REFUSED(create_publisher, "write node.advertise<T>(topic, qos): it returns a Publisher, which is no pointer")
  BATON_REFUSED(create_subscription,
                "write node.subscribe<T>(topic, qos, callback): it returns a Subscription, which is no pointer")
  BATON_REFUSED(create_client, "write node.client<S>(name): it returns a Client, which is no pointer")
  BATON_REFUSED(create_wall_timer,
                "write node.create_timer(period, callback): its clock is the wall's unless it gets another")
  BATON_REFUSED(create_callback_group,
                "write std::make_shared<baton::CallbackGroup>(), an argument of subscribe() etc.")
  BATON_REFUSED(get_clock, "write node.now() for the time, and *baton::steady_clock() as a clock")
  BATON_REFUSED(get_name, "write node.name()")
  BATON_REFUSED(get_namespace, "write node.ns()")
  BATON_REFUSED(get_fully_qualified_name, "write node.fully_qualified_name()")
  BATON_REFUSED(get_topic_names_and_types, "write node.topics()")
  BATON_REFUSED(get_node_names, "write node.nodes()")
  BATON_REFUSED_AS(std::size_t, count_subscribers, "write node.count_subscriptions(topic)")
  BATON_REFUSED(get_node_topics_interface, "write node.resolve_topic_name(name)")
  // roscpp's
  BATON_REFUSED(createTimer, "write node.create_timer(period, callback), as create_timer(100ms, callback)")
  BATON_REFUSED(createWallTimer, "write node.create_timer(period, callback), as create_timer(100ms, callback)")
  BATON_REFUSED(advertiseService,
                "write node.serve<S>(name, handler), with void handler(const S::Request&, S::Response&)")
  BATON_REFUSED(serviceClient, "write node.client<S>(name), and client.call(request, timeout)")
  BATON_REFUSED(resolveName, "write node.resolve_topic_name(name)")
  BATON_REFUSED(getNamespace, "write node.ns()")
  BATON_REFUSED_AS(bool, getParam,
                   "write node.param(name, value, fallback), which declares the parameter and reads the command line; "
                   "node.get_parameter(name, value) reads one that is declared")
  BATON_REFUSED(setParam, "write node.set_parameter({name, value}), for a parameter that is declared")
  BATON_REFUSED_AS(bool, hasParam, "write node.has_parameter(name): true if this node declared the parameter")
  BATON_REFUSED(deleteParam, "write node.undeclare_parameter(name)")
  BATON_REFUSED(searchParam, "write node.param(name, value, fallback): a node reads its own parameters alone")
  BATON_REFUSED(getParamNames, "write node.list_parameters().names")
};

struct RefusedOfExecutor {
  BATON_REFUSED(add_node, "write executor.add(node)")
  BATON_REFUSED(remove_node, "write executor.remove(node)")
  BATON_REFUSED(spin_all, "write while (executor.spin_some() > 0) {}")
  BATON_REFUSED(spin_until_future_complete, "write client.call(request, timeout), which needs no executor")
};

struct RefusedOfPublisher {
  BATON_REFUSED_AS(std::size_t, getNumSubscribers, "write publisher.matched()")
  BATON_REFUSED_AS(std::size_t, get_subscription_count, "write publisher.matched()")
  BATON_REFUSED(getTopic, "write publisher.topic()")
  BATON_REFUSED(get_topic_name, "write publisher.topic()")
  BATON_REFUSED(borrow_loaned_message, "write publisher.loan()")
  BATON_REFUSED(shutdown, "write publisher = {}: a publisher ends with its last copy")
  BATON_REFUSED(isLatched, "a latched topic is advertised with QoS(1).transient_local(), on both ends")
};

struct RefusedOfSubscription {
  BATON_REFUSED_AS(std::size_t, getNumPublishers, "write subscription.matched()")
  BATON_REFUSED_AS(std::size_t, get_publisher_count, "write subscription.matched()")
  BATON_REFUSED(getTopic, "write subscription.topic()")
  BATON_REFUSED(get_topic_name, "write subscription.topic()")
  BATON_REFUSED(shutdown, "write subscription = {}: a subscription ends with its last copy")
};

struct RefusedOfTimer {
  BATON_REFUSED(stop, "write timer.cancel()")
  BATON_REFUSED(start, "write timer.reset()")
  BATON_REFUSED(setPeriod, "write timer = node.create_timer(period, callback)")
};

struct RefusedOfClient {
  BATON_REFUSED(async_send_request,
                "write client.call(request, timeout), which waits, or client.send(request) with a callback at "
                "node.client<S>(name, callback), which does not")
  BATON_REFUSED_AS(bool, exists, "write client.available()")
  BATON_REFUSED_AS(bool, service_is_ready, "write client.available()")
  BATON_REFUSED_AS(bool, waitForExistence, "write client.wait_for_service(timeout)")
};

}  // namespace detail

BATON_REFUSED_FUNCTION(spinOnce, "write baton::spin_some(node): of each subscription the oldest message")
BATON_REFUSED_FUNCTION(spin_all, "write while (baton::spin_some(node) > 0) {}")
BATON_REFUSED_FUNCTION(waitForShutdown, "write baton::spin(node), which returns when the process is asked to end")
BATON_REFUSED_FUNCTION(spin_until_future_complete, "write client.call(request, timeout), which needs no executor")
BATON_REFUSED_FUNCTION(removeROSArgs, "write std::vector<std::string> own = baton::init(argc, argv)")
BATON_REFUSED_FUNCTION(remove_ros_arguments, "write std::vector<std::string> own = baton::init(argc, argv)")

// Types: a warning has the sentence, and the error says that the type is incomplete.
struct [[deprecated("write auto, or baton::Subscription<T>")]] Subscriber;
struct [[deprecated("write auto, or baton::Service<S>")]] ServiceServer;
struct [[deprecated("write auto, or baton::Client<S>")]] ServiceClient;
struct [[deprecated("write baton::Node node(\"camera\"); with a namespace: Node(\"camera\", \"left\")")]] NodeHandle;
struct [[deprecated("write baton::Executor executor(4), and let a std::thread call its spin()")]] AsyncSpinner;
struct [[deprecated("write baton::Executor executor(4)")]] MultiThreadedSpinner;
struct [[deprecated("write baton::Executor executor(4)")]] MultiThreadedExecutor;
struct [[deprecated("write baton::Executor")]] SingleThreadedExecutor;
struct [[deprecated("write baton::Rate rate(10.0)")]] WallRate;
struct [[deprecated("a timer's callback takes no argument: write void f(), and baton::now() in it")]] TimerEvent;

}  // namespace baton

#undef BATON_REFUSED
#undef BATON_REFUSED_AS
#undef BATON_REFUSED_FUNCTION
