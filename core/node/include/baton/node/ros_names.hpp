// SPDX-License-Identifier: Apache-2.0
// Names of roscpp and rclcpp that Baton does not have: using one is an error of the compiler, whose one sentence says
// what to write (docs/guides/from-ros.md). Nothing of this file runs. Thread rules: declarations only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "baton/node/refused.hpp"

/// A member function template of this name whose use is an error with this text. It takes any arguments, and explicit
/// types. The result's type is deduced, so that the text comes before what is wrong with the rest of the line.
#define BATON_REFUSED_AS(type, name, text)                 \
  template <class Refused = void, class... Arguments>      \
  auto name(const Arguments&...) const {                   \
    static_assert(::baton::detail::kNever<Refused>, text); \
    return type();                                         \
  }
#define BATON_REFUSED(name, text) BATON_REFUSED_AS(::baton::detail::Refusal, name, text)
/// The same for a function that is no member. The parentheses keep macros of ROS apart.
#define BATON_REFUSED_FUNCTION_AS(type, name, text)        \
  template <class Refused = void, class... Arguments>      \
  auto(name)(const Arguments&...) {                        \
    static_assert(::baton::detail::kNever<Refused>, text); \
    return type();                                         \
  }
#define BATON_REFUSED_FUNCTION(name, text) BATON_REFUSED_FUNCTION_AS(detail::Refusal, name, text)

namespace baton {
namespace detail {

/// Stands for any value, so that a refusal is the only error.
struct Refusal {
  template <class Value>
  operator Value() const;
  template <class Stream>
  friend Stream& operator<<(Stream& stream, const Refusal&);
};

struct RefusedTypesOfHandle {
  struct [[deprecated(
      "write the type without ::SharedPtr: a copy of it is one more owner, as of a std::shared_ptr")]] SharedPtr;
};

/// The base of a handle: what it stands for is behind a std::shared_ptr in ROS 2.
template <class Handle>
struct RefusedOfHandle : RefusedTypesOfHandle {
  template <class Refused = void>
  auto operator->() const {
    static_assert(kNever<Refused>,
                  "publishers, subscriptions, timers, services and clients are no pointers: write a dot instead of ->");
    return static_cast<Handle*>(nullptr);
  }
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
  BATON_REFUSED(get_node_base_interface, "write the node itself: executor.add(node), baton::spin(node)")
  BATON_REFUSED(get_effective_namespace, "write node.ns()")
  BATON_REFUSED(create_sub_node,
                "write the namespace in the names, as in node.advertise<T>(\"left/image\"), or a node "
                "of its own: baton::Node(\"camera\", \"left\")")
  BATON_REFUSED(create_generic_publisher,
                "write node.make_publisher(topic, type, qos, options), for a message::Type "
                "that is known at run time; Python has types by name: baton.message(name)")
  BATON_REFUSED(create_generic_subscription,
                "write node.make_reader(topic, type, qos), for a message::Type that is "
                "known at run time; Python has types by name: baton.message(name)")
  BATON_REFUSED(get_publishers_info_by_topic,
                "write node.endpoints(): all publishers and subscriptions, with their QoS")
  BATON_REFUSED(get_subscriptions_info_by_topic,
                "write node.endpoints(): all publishers and subscriptions, with their QoS")
  BATON_REFUSED(get_service_names_and_types,
                "write node.topics(): a service has the topics NAME/_request and "
                "NAME/_response")
  BATON_REFUSED(get_graph_event, "write node.wait_for(condition, timeout), which looks again after every change")
  BATON_REFUSED(wait_for_graph_change, "write node.wait_for(condition, timeout), which looks again after every change")
  BATON_REFUSED(add_pre_set_parameters_callback,
                "write node.add_on_set_parameters_callback(f), which may refuse a set, or "
                "add_post_set_parameters_callback(f), which may set other parameters")
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
  BATON_REFUSED_AS(bool, getParamCached, "write node.get_parameter(name, value): a node has its parameters itself")
  BATON_REFUSED(setCallbackQueue, "write baton::Executor executor, and executor.add(node)")
  BATON_REFUSED_AS(bool, ok, "write baton::ok()")
  BATON_REFUSED(shutdown, "write baton::shutdown(), which ends every spin()")
  BATON_REFUSED(getParamNames, "write node.list_parameters().names")
};

struct RefusedOfExecutor {
  BATON_REFUSED(add_node, "write executor.add(node)")
  BATON_REFUSED(remove_node, "write executor.remove(node)")
  BATON_REFUSED(spin_all, "write while (executor.spin_some() > 0) {}")
  BATON_REFUSED(spin_until_future_complete, "write client.call(request, timeout), which needs no executor")
  BATON_REFUSED(get_number_of_threads, "baton::Executor executor(4) has the number that its program wrote")
  BATON_REFUSED(add_callback_group,
                "write the group at subscribe(), serve(), client() or create_timer(): the executor of "
                "the node runs it")
  BATON_REFUSED(spin_node_some, "write baton::spin_some(node)")
  BATON_REFUSED(spin_node_once, "write executor.add(node) and executor.spin_once(timeout)")
};

struct RefusedOfPublisher {
  BATON_REFUSED_AS(std::size_t, getNumSubscribers, "write publisher.matched()")
  BATON_REFUSED_AS(std::size_t, get_subscription_count, "write publisher.matched()")
  BATON_REFUSED(getTopic, "write publisher.topic()")
  BATON_REFUSED(get_topic_name, "write publisher.topic()")
  BATON_REFUSED(borrow_loaned_message, "write publisher.loan()")
  BATON_REFUSED(shutdown, "write publisher = {}: a publisher ends with its last copy")
  BATON_REFUSED(isLatched, "a latched topic is advertised with QoS(1).transient_local(), on both ends")
  BATON_REFUSED_AS(bool, can_loan_messages, "every publisher lends, whatever its type: write publisher.loan()")
  BATON_REFUSED_AS(std::size_t, get_intra_process_subscription_count,
                   "write publisher.matched(): subscriptions of all processes read the same memory")
  BATON_REFUSED(get_actual_qos, "write node.endpoints(), which has the QoS of each publisher and subscription")
  BATON_REFUSED(get_gid, "write publisher.gid()")
  BATON_REFUSED(reset, "write publisher = {}: a publisher ends with its last copy")
};

struct RefusedOfSubscription {
  BATON_REFUSED_AS(std::size_t, getNumPublishers, "write subscription.matched()")
  BATON_REFUSED_AS(std::size_t, get_publisher_count, "write subscription.matched()")
  BATON_REFUSED(getTopic, "write subscription.topic()")
  BATON_REFUSED(get_topic_name, "write subscription.topic()")
  BATON_REFUSED(shutdown, "write subscription = {}: a subscription ends with its last copy")
  BATON_REFUSED(reset, "write subscription = {}: a subscription ends with its last copy")
  BATON_REFUSED(get_actual_qos, "write node.endpoints(), which has the QoS of each publisher and subscription")
  BATON_REFUSED(take_serialized, "write subscription.take(): there are no serialized messages here")
};

struct RefusedOfTimer {
  BATON_REFUSED(stop, "write timer.cancel()")
  BATON_REFUSED(start, "write timer.reset()")
  BATON_REFUSED_AS(bool, hasStarted, "write !timer.is_canceled()")
  BATON_REFUSED(setPeriod, "write timer = node.create_timer(period, callback)")
  BATON_REFUSED(time_until_trigger,
                "a timer says its next time to its executor alone; write baton::now() in the callback")
};

struct RefusedOfWaitSet {
  BATON_REFUSED(add_subscription, "write wait_set.add(subscription)")
  BATON_REFUSED(remove_subscription, "write wait_set.remove(subscription)")
  BATON_REFUSED(add_guard_condition, "write wait_set.wake(), which any thread may call")
  BATON_REFUSED(add_timer,
                "write the timeout of wait_set.wait(timeout), or node.create_timer(period, callback) with an "
                "executor")
};

struct RefusedOfParameter {
  BATON_REFUSED(get_type_name, "write parameter.type(), a baton::ParameterType")
  BATON_REFUSED(value_to_string, "write parameter.value().to_yaml()")
  BATON_REFUSED(get_parameter_value, "write parameter.value()")
};

struct RefusedOfRate {
  BATON_REFUSED(cycleTime, "measure with baton::now(), before and after the work")
  BATON_REFUSED(expectedCycleTime, "write rate.period()")
};

struct RefusedOfService {
  BATON_REFUSED(shutdown, "write service = {}: a service ends with its last copy")
};

struct RefusedOfClient {
  BATON_REFUSED_AS(bool, isValid, "write client.available()")
  BATON_REFUSED(async_send_request,
                "write client.call(request, timeout), which waits, or client.send(request) with a callback at "
                "node.client<S>(name, callback), which does not")
  BATON_REFUSED_AS(bool, exists, "write client.available()")
  BATON_REFUSED_AS(bool, service_is_ready, "write client.available()")
  BATON_REFUSED_AS(bool, waitForExistence, "write client.wait_for_service(timeout)")
  BATON_REFUSED(prune_pending_requests, "nothing is pending here: call() forgets its request after its timeout")
  BATON_REFUSED(remove_pending_request, "nothing is pending here: call() forgets its request after its timeout")
  struct [[deprecated(
      "write client.call(request, timeout), which returns the response, or client.send(request) with a "
      "callback at node.client<S>(name, callback)")]] SharedFuture;
};

}  // namespace detail

BATON_REFUSED_FUNCTION(spinOnce, "write baton::spin_some(node): of each subscription the oldest message")
BATON_REFUSED_FUNCTION(isShuttingDown, "write !baton::ok()")
BATON_REFUSED_FUNCTION(requestShutdown, "write baton::shutdown()")
BATON_REFUSED_FUNCTION(start, "write nothing: a node is there when it is made")
BATON_REFUSED_FUNCTION(getGlobalCallbackQueue, "write baton::Executor executor, and executor.add(node)")
BATON_REFUSED_FUNCTION(spin_all, "write while (baton::spin_some(node) > 0) {}")
BATON_REFUSED_FUNCTION(waitForShutdown, "write baton::spin(node), which returns when the process is asked to end")
BATON_REFUSED_FUNCTION(spin_until_future_complete, "write client.call(request, timeout), which needs no executor")
BATON_REFUSED_FUNCTION(removeROSArgs, "write std::vector<std::string> own = baton::init(argc, argv)")
BATON_REFUSED_FUNCTION(remove_ros_arguments, "write std::vector<std::string> own = baton::init(argc, argv)")
BATON_REFUSED_FUNCTION(init_and_remove_ros_arguments, "write std::vector<std::string> own = baton::init(argc, argv)")
BATON_REFUSED_FUNCTION(on_shutdown, "write what should happen behind baton::spin(node), which returns then")
BATON_REFUSED_FUNCTION(sleep_for, "write std::this_thread::sleep_for(duration), or baton::Rate")
BATON_REFUSED_FUNCTION_AS(bool, wait_for_message,
                          "write auto subscription = node.subscribe<T>(topic); and node.wait_for([&] { return "
                          "subscription.has_data(); }, timeout), then subscription.take()")
BATON_REFUSED_FUNCTION(create_timer, "write node.create_timer(period, callback, clock)")
BATON_REFUSED_FUNCTION(uninstall_signal_handlers,
                       "signals are left alone by a program that does not call baton::init() "
                       "and baton::shutdown_on_signals()")
BATON_REFUSED_FUNCTION_AS(std::uint32_t, KeepLast, "write baton::QoS(10)")
BATON_REFUSED_FUNCTION_AS(std::uint32_t, KeepAll, "write baton::QoS().keep_all(1000): a queue has a bound")
// rclcpp's macros, found by the logger or node that is their first argument.
BATON_REFUSED_FUNCTION(RCLCPP_DEBUG, "write BATON_DEBUG(logger, ...), which takes the same arguments")
BATON_REFUSED_FUNCTION(RCLCPP_INFO, "write BATON_INFO(logger, ...), which takes the same arguments")
BATON_REFUSED_FUNCTION(RCLCPP_WARN, "write BATON_WARN(logger, ...), which takes the same arguments")
BATON_REFUSED_FUNCTION(RCLCPP_ERROR, "write BATON_ERROR(logger, ...), which takes the same arguments")
BATON_REFUSED_FUNCTION(RCLCPP_FATAL, "write BATON_FATAL(logger, ...), which takes the same arguments")

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
struct [[deprecated("write baton::Executor executor, and executor.add(node)")]] CallbackQueue;
struct [[deprecated("write nothing in its place: messages pass no socket")]] TransportHints;
struct [[deprecated("write baton::Time")]] WallTime;
struct [[deprecated("write baton::Duration::from_seconds(0.5), or 500ms")]] WallDuration;
struct [[deprecated("a timer's callback takes no argument: write void f(), and baton::now() in it")]] TimerEvent;
struct [[deprecated("a timer's callback takes no argument: write void f(), and baton::now() in it")]] WallTimerEvent;
template <class T>
struct [[deprecated("a callback takes (const T&, const baton::MessageInfo&)")]] MessageEvent;

// rclcpp's. What is written before a :: is there, because compilers warn of the last name alone.
struct TimerBase {
  struct [[deprecated("write baton::Timer")]] SharedPtr;
};
struct PublisherBase {
  struct [[deprecated("write baton::Publisher<T>")]] SharedPtr;
};
struct SubscriptionBase {
  struct [[deprecated("write baton::Subscription<T>")]] SharedPtr;
};
enum class CallbackGroupType : std::uint8_t {
  MutuallyExclusive [[deprecated("write std::make_shared<baton::CallbackGroup>()")]],
  Reentrant [[deprecated("write std::make_shared<baton::CallbackGroup>(baton::CallbackGroup::Kind::kReentrant)")]],
};
enum class FutureReturnCode : std::uint8_t {
  SUCCESS [[deprecated("client.call(request, timeout) returns the response")]],
  TIMEOUT [[deprecated("client.call(request, timeout) returns an empty sample after its timeout")]],
  INTERRUPTED [[deprecated("client.call(request, timeout) returns an empty sample, and baton::ok() is false")]],
};
enum class WaitResultKind : std::uint8_t {
  Ready [[deprecated("write if (wait_set.wait(timeout)): true before the timeout")]],
  Timeout [[deprecated("write if (!wait_set.wait(timeout)): false after the timeout")]],
};
enum class ReliabilityPolicy : std::uint8_t {
  Reliable [[deprecated("write qos.reliable(), or qos.reliability = baton::Reliability::kReliable")]],
  BestEffort [[deprecated("write qos.best_effort(), or qos.reliability = baton::Reliability::kBestEffort")]],
};
enum class DurabilityPolicy : std::uint8_t {
  Volatile [[deprecated("write qos.durability_volatile(), or qos.durability = baton::Durability::kVolatile")]],
  TransientLocal [[deprecated("write qos.transient_local(), or qos.durability = baton::Durability::kTransientLocal")]],
};
enum class HistoryPolicy : std::uint8_t {
  KeepLast [[deprecated("write qos.keep_last(10)")]],
  KeepAll [[deprecated("write qos.keep_all(1000): a queue has a bound")]],
};
enum class LivelinessPolicy : std::uint8_t {
  Automatic [[deprecated("write qos.liveliness = baton::Liveliness::kAutomatic")]],
  ManualByTopic [[deprecated("write qos.liveliness = baton::Liveliness::kManualByTopic")]],
};
namespace node_interfaces {
/// What keeps a callback of parameters, in rclcpp's words.
struct OnSetParametersCallbackHandle {
  using SharedPtr = std::shared_ptr<void>;
};
using PostSetParametersCallbackHandle = OnSetParametersCallbackHandle;
}  // namespace node_interfaces
struct [[deprecated(
    "write the callback group behind the callback: node.subscribe<T>(topic, qos, callback, group); "
    "subscription.on_event(f) has the events")]] SubscriptionOptions;
struct [[deprecated("write wait_set.wake(), executor.cancel(), or a std::condition_variable")]] GuardCondition;
struct [[deprecated("write baton::Executor executor(4): the number of its threads")]] ExecutorOptions;
struct [[deprecated("write baton::QoS(), which is reliable and keeps the last 10")]] SystemDefaultsQoS;
struct [[deprecated("write nothing: services have a QoS that loses no request")]] ServicesQoS;
struct [[deprecated("write nothing: the services of parameters have their QoS")]] ParametersQoS;
struct [[deprecated("write baton::QoS(1).best_effort()")]] ClockQoS;
struct [[deprecated("write the QoS of the publisher, which `baton topic info -v` prints")]] BestAvailableQoS;
struct [[deprecated("write publisher.on_event(f) and publisher.statuses()")]] QOSDeadlineOfferedInfo;
struct [[deprecated("write publisher.on_event(f) and publisher.statuses()")]] QOSOfferedIncompatibleQoSInfo;
struct [[deprecated("write subscription.on_event(f) and subscription.statuses()")]] QOSDeadlineRequestedInfo;
struct [[deprecated("write subscription.on_event(f) and subscription.statuses()")]] QOSRequestedIncompatibleQoSInfo;
struct [[deprecated(
    "there are no serialized messages here: write node.make_reader(topic, type, qos) for types that are "
    "known at run time")]] SerializedMessage;
struct [[deprecated(
    "write baton::Client<SetParameters> of rcl_interfaces, for the service NODE/set_parameters, or `baton param "
    "set`")]] AsyncParametersClient;
struct [[deprecated(
    "write baton::Client<GetParameters> of rcl_interfaces, for the service NODE/get_parameters, or `baton param "
    "get`")]] SyncParametersClient;
struct [[deprecated(
    "write node.subscribe<ParameterEvent>(\"/parameter_events\", 100, callback)")]] ParameterEventHandler;
struct [[deprecated("there is one context: baton::init(), baton::ok(), baton::shutdown()")]] Context;
struct [[deprecated("write baton::init(argc, argv); NodeOptions::domain has the domain")]] InitOptions;
struct [[deprecated(
    "there are no lifecycle nodes: write a baton::Node that advertises and subscribes when it is to be "
    "active")]] LifecycleNode;
namespace executors {
struct [[deprecated("write baton::Executor executor;")]] SingleThreadedExecutor;
struct [[deprecated("write baton::Executor executor;")]] StaticSingleThreadedExecutor;
struct [[deprecated("write baton::Executor executor(4);")]] MultiThreadedExecutor;
}  // namespace executors
namespace exceptions {
struct [[deprecated("write baton::Exception, whose code() is baton::Errc::not_found")]] ParameterNotDeclaredException;
struct [[deprecated(
    "write baton::Exception, whose code() is baton::Errc::already_exists")]] ParameterAlreadyDeclaredException;
struct [[deprecated(
    "write baton::Exception, whose code() is baton::Errc::type_mismatch")]] InvalidParameterTypeException;
struct [[deprecated(
    "write baton::Exception, whose code() is baton::Errc::invalid_argument")]] InvalidParameterValueException;
}  // namespace exceptions

}  // namespace baton

#undef BATON_REFUSED_FUNCTION
#undef BATON_REFUSED_FUNCTION_AS
