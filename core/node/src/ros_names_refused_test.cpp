// SPDX-License-Identifier: Apache-2.0
// Does not compile: each line has a name of ROS that Baton does not have, and what the compiler then says. ros_names_refused.cmake compares.
// clang-format off
#include "baton/baton.hpp"
#include "baton/msg/std_msgs/string.hpp"
#include "baton/srv/std_srvs/set_bool.hpp"

using baton::msg::std_msgs::String;
using baton::srv::std_srvs::SetBool;

void refused(baton::Node& node, baton::Executor& executor, baton::Publisher<String>& publisher,
             baton::Subscription<String>& subscription, baton::Timer& timer, baton::Client<SetBool>& client,
             baton::Service<SetBool>& service, baton::WaitSet& wait_set, baton::Parameter& parameter, baton::NodeOptions& options,
             const String& descriptor, String& text, baton::MessageInfo& info) {
  node.create_publisher<String>("chatter", 10);  // says: write node.advertise<T>(topic, qos): it returns a Publisher, which is no pointer
  node.create_subscription<String>("chatter", 10, 0);  // says: write node.subscribe<T>(topic, qos, callback): it returns a Subscription, which is no pointer
  node.create_client<SetBool>("switch");  // says: write node.client<S>(name): it returns a Client, which is no pointer
  node.create_wall_timer(0.1, 0);  // says: write node.create_timer(period, callback): its clock is the wall's unless it gets another
  node.create_callback_group();  // says: write std::make_shared<baton::CallbackGroup>(), an argument of subscribe() etc.
  node.get_clock();  // says: write node.now() for the time, and *baton::steady_clock() as a clock
  node.get_name();  // says: write node.name()
  node.get_namespace();  // says: write node.ns()
  node.get_fully_qualified_name();  // says: write node.fully_qualified_name()
  node.get_topic_names_and_types();  // says: write node.topics()
  node.get_node_names();  // says: write node.nodes()
  node.count_subscribers();  // says: write node.count_subscriptions(topic)
  node.get_node_topics_interface();  // says: write node.resolve_topic_name(name)
  node.createTimer(0.1, 0);  // says: write node.create_timer(period, callback), as create_timer(100ms, callback)
  node.createWallTimer();  // says: write node.create_timer(period, callback), as create_timer(100ms, callback)
  node.advertiseService("switch", 0);  // says: write node.serve<S>(name, handler), with void handler(const S::Request&, S::Response&)
  node.serviceClient<SetBool>("switch");  // says: write node.client<S>(name), and client.call(request, timeout)
  node.resolveName();  // says: write node.resolve_topic_name(name)
  node.getNamespace();  // says: write node.ns()
  node.getParam("rate", 30);  // says: write node.param(name, value, fallback), which declares the parameter and reads the command line; node.get_parameter(name, value) reads one that is declared
  node.setParam("rate", 30);  // says: write node.set_parameter({name, value}), for a parameter that is declared
  node.hasParam();  // says: write node.has_parameter(name): true if this node declared the parameter
  node.deleteParam();  // says: write node.undeclare_parameter(name)
  node.searchParam();  // says: write node.param(name, value, fallback): a node reads its own parameters alone
  node.getParamCached();  // says: write node.get_parameter(name, value): a node has its parameters itself
  node.setCallbackQueue();  // says: write baton::Executor executor, and executor.add(node)
  node.ok();  // says: write baton::ok()
  node.shutdown();  // says: write baton::shutdown(), which ends every spin()
  node.set_parameter("rate", 50);  // says: write node.set_parameter({name, value})
  const baton::Node copy = node;  // says: a node is one object: pass baton::Node&, or std::shared_ptr<baton::Node>
  node.getParamNames();  // says: write node.list_parameters().names
  executor.add_node();  // says: write executor.add(node)
  executor.remove_node();  // says: write executor.remove(node)
  executor.spin_all();  // says: write while (executor.spin_some() > 0) {}
  executor.spin_until_future_complete();  // says: write client.call(request, timeout), which needs no executor
  publisher.getNumSubscribers();  // says: write publisher.matched()
  publisher.get_subscription_count();  // says: write publisher.matched()
  publisher.getTopic();  // says: write publisher.topic()
  publisher.get_topic_name();  // says: write publisher.topic()
  publisher.borrow_loaned_message();  // says: write publisher.loan()
  publisher.shutdown();  // says: write publisher = {}: a publisher ends with its last copy
  publisher.isLatched();  // says: a latched topic is advertised with QoS(1).transient_local(), on both ends
  subscription.getNumPublishers();  // says: write subscription.matched()
  subscription.get_publisher_count();  // says: write subscription.matched()
  subscription.getTopic();  // says: write subscription.topic()
  subscription.get_topic_name();  // says: write subscription.topic()
  subscription.shutdown();  // says: write subscription = {}: a subscription ends with its last copy
  timer.stop();  // says: write timer.cancel()
  timer.start();  // says: write timer.reset()
  timer.hasStarted();  // says: write !timer.is_canceled()
  timer.setPeriod();  // says: write timer = node.create_timer(period, callback)
  client.async_send_request();  // says: write client.call(request, timeout), which waits, or client.send(request) with a callback at node.client<S>(name, callback), which does not
  client.isValid();  // says: write client.available()
  SetBool switched;
  client.call(switched);  // says: a call has an end: write call(request, timeout), e.g. call(request, 1s)
  client.call(switched.request, switched.response);  // says: write auto response = client.call(request, 1s); it is empty after the timeout
  baton::Service<SetBool>().shutdown();  // says: write service = {}: a service ends with its last copy
  baton::Rate(10.0).cycleTime();  // says: measure with baton::now(), before and after the work
  baton::Rate(10.0).expectedCycleTime();  // says: write rate.period()
  baton::Time(0);  // says: a time has a unit: write baton::Time() for zero, or baton::Time::from_seconds(1.5)
  client.exists();  // says: write client.available()
  client.service_is_ready();  // says: write client.available()
  client.waitForExistence();  // says: write client.wait_for_service(timeout)
  node.get_node_base_interface();  // says: write the node itself: executor.add(node), baton::spin(node)
  node.get_effective_namespace();  // says: write node.ns()
  node.create_sub_node();  // says: write the namespace in the names, as in node.advertise<T>("left/image"), or a node of its own: baton::Node("camera", "left")
  node.create_generic_publisher();  // says: write node.make_publisher(topic, type, qos, options), for a message::Type that is known at run time; Python has types by name: baton.message(name)
  node.create_generic_subscription();  // says: write node.make_reader(topic, type, qos), for a message::Type that is known at run time; Python has types by name: baton.message(name)
  node.get_publishers_info_by_topic();  // says: write node.endpoints(): all publishers and subscriptions, with their QoS
  node.get_subscriptions_info_by_topic();  // says: write node.endpoints(): all publishers and subscriptions, with their QoS
  node.get_service_names_and_types();  // says: write node.topics(): a service has the topics NAME/_request and NAME/_response
  node.get_graph_event();  // says: write node.wait_for(condition, timeout), which looks again after every change
  node.wait_for_graph_change();  // says: write node.wait_for(condition, timeout), which looks again after every change
  node.add_pre_set_parameters_callback();  // says: write node.add_on_set_parameters_callback(f), which may refuse a set, or add_post_set_parameters_callback(f), which may set other parameters
  executor.get_number_of_threads();  // says: baton::Executor executor(4) has the number that its program wrote
  executor.add_callback_group();  // says: write the group at subscribe(), serve(), client() or create_timer(): the executor of the node runs it
  executor.spin_node_some();  // says: write baton::spin_some(node)
  executor.spin_node_once();  // says: write executor.add(node) and executor.spin_once(timeout)
  publisher.can_loan_messages();  // says: every publisher lends, whatever its type: write publisher.loan()
  publisher.get_intra_process_subscription_count();  // says: write publisher.matched(): subscriptions of all processes read the same memory
  publisher.get_actual_qos();  // says: write node.endpoints(), which has the QoS of each publisher and subscription
  publisher.get_gid();  // says: write publisher.gid()
  publisher.reset();  // says: write publisher = {}: a publisher ends with its last copy
  subscription.reset();  // says: write subscription = {}: a subscription ends with its last copy
  subscription.get_actual_qos();  // says: write node.endpoints(), which has the QoS of each publisher and subscription
  subscription.take_serialized();  // says: write subscription.take(): there are no serialized messages here
  timer.time_until_trigger();  // says: a timer says its next time to its executor alone; write baton::now() in the callback
  wait_set.add_subscription();  // says: write wait_set.add(subscription)
  wait_set.remove_subscription();  // says: write wait_set.remove(subscription)
  wait_set.add_guard_condition();  // says: write wait_set.wake(), which any thread may call
  wait_set.add_timer();  // says: write the timeout of wait_set.wait(timeout), or node.create_timer(period, callback) with an executor
  parameter.get_type_name();  // says: write parameter.type(), a baton::ParameterType
  parameter.value_to_string();  // says: write parameter.value().to_yaml()
  parameter.get_parameter_value();  // says: write parameter.value()
  client.prune_pending_requests();  // says: nothing is pending here: call() forgets its request after its timeout
  client.remove_pending_request();  // says: nothing is pending here: call() forgets its request after its timeout
  options.allow_undeclared_parameters();  // says: write node.declare_parameter(name, value) for what the program reads
  options.automatically_declare_parameters_from_overrides();  // says: write node.declare_parameter(name, value) for what the program reads
  options.append_parameter_override();  // says: write options.parameter_overrides.emplace_back(name, value)
  options.use_intra_process_comms();  // says: write nothing: a message is not copied within a process, either
  options.start_parameter_services();  // says: write nothing: a node without parameters has no services for them
  publisher->publish(String());  // says: publishers, subscriptions, timers, services and clients are no pointers: write a dot instead of ->
  subscription->take();  // says: write a dot instead of ->
  timer->cancel();  // says: write a dot instead of ->
  client->available();  // says: write a dot instead of ->
  service->name();  // says: write a dot instead of ->
  node.declare_parameter("rate", 30, descriptor);  // says: write baton::ParameterDescriptor: description, read_only, dynamic_typing, integer_range = {from, to}, floating_point_range = {from, to}
  node.add_on_set_parameters_callback([](const std::vector<baton::Parameter>&) { return String(); });  // says: the callback returns a baton::SetParametersResult: successful, reason
  subscription.take(text, info);  // says: write auto sample = subscription.take(): it is empty if no message is there; sample.info()
  RCLCPP_INFO(node.get_logger(), "%d", 3);  // says: write BATON_INFO(logger, ...), which takes the same arguments
  baton::spinOnce();  // says: write baton::spin_some(node): of each subscription the oldest message
  baton::isShuttingDown();  // says: write !baton::ok()
  baton::requestShutdown();  // says: write baton::shutdown()
  baton::start();  // says: write nothing: a node is there when it is made
  baton::getGlobalCallbackQueue();  // says: write baton::Executor executor, and executor.add(node)
  baton::spin_all();  // says: write while (baton::spin_some(node) > 0) {}
  baton::waitForShutdown();  // says: write baton::spin(node), which returns when the process is asked to end
  baton::spin_until_future_complete();  // says: write client.call(request, timeout), which needs no executor
  baton::removeROSArgs();  // says: write std::vector<std::string> own = baton::init(argc, argv)
  baton::remove_ros_arguments();  // says: write std::vector<std::string> own = baton::init(argc, argv)
  baton::init_and_remove_ros_arguments();  // says: write std::vector<std::string> own = baton::init(argc, argv)
  baton::on_shutdown();  // says: write what should happen behind baton::spin(node), which returns then
  baton::sleep_for();  // says: write std::this_thread::sleep_for(duration), or baton::Rate
  baton::wait_for_message();  // says: write auto subscription = node.subscribe<T>(topic); and node.wait_for([&] { return subscription.has_data(); }, timeout), then subscription.take()
  baton::uninstall_signal_handlers();  // says: signals are left alone by a program that does not call baton::init() and baton::shutdown_on_signals()
  baton::KeepLast();  // says: write baton::QoS(10)
  baton::KeepAll();  // says: write baton::QoS().keep_all(1000): a queue has a bound
  baton::RCLCPP_DEBUG();  // says: write BATON_DEBUG(logger, ...), which takes the same arguments
  baton::RCLCPP_INFO();  // says: write BATON_INFO(logger, ...), which takes the same arguments
  baton::RCLCPP_WARN();  // says: write BATON_WARN(logger, ...), which takes the same arguments
  baton::RCLCPP_ERROR();  // says: write BATON_ERROR(logger, ...), which takes the same arguments
  baton::RCLCPP_FATAL();  // says: write BATON_FATAL(logger, ...), which takes the same arguments
}

// Types that a program may name, and not make.
void incomplete(baton::Subscriber&);  // says: write auto, or baton::Subscription<T>
void incomplete(baton::ServiceServer&);  // says: write auto, or baton::Service<S>
void incomplete(baton::ServiceClient&);  // says: write auto, or baton::Client<S>
void incomplete(baton::NodeHandle&);  // says: write baton::Node node("camera"); with a namespace: Node("camera", "left")
void incomplete(baton::AsyncSpinner&);  // says: write baton::Executor executor(4), and let a std::thread call its spin()
void incomplete(baton::MultiThreadedSpinner&);  // says: write baton::Executor executor(4)
void incomplete(baton::MultiThreadedExecutor&);  // says: write baton::Executor executor(4)
void incomplete(baton::SingleThreadedExecutor&);  // says: write baton::Executor
void incomplete(baton::WallRate&);  // says: write baton::Rate rate(10.0)
void incomplete(baton::CallbackQueue&);  // says: write baton::Executor executor, and executor.add(node)
void incomplete(baton::TransportHints&);  // says: write nothing in its place: messages pass no socket
void incomplete(baton::WallTime&);  // says: write baton::Time
void incomplete(baton::WallDuration&);  // says: write baton::Duration::from_seconds(0.5), or 500ms
void incomplete(baton::WallTimerEvent&);  // says: a timer's callback takes no argument: write void f(), and baton::now() in it
void incomplete(baton::MessageEvent<const String>&);  // says: a callback takes (const T&, const baton::MessageInfo&)
void incomplete(baton::TimerEvent&);  // says: a timer's callback takes no argument: write void f(), and baton::now() in it
void incomplete(baton::SubscriptionOptions&);  // says: write the callback group behind the callback: node.subscribe<T>(topic, qos, callback, group); subscription.on_event(f) has the events
void incomplete(baton::GuardCondition&);  // says: write wait_set.wake(), executor.cancel(), or a std::condition_variable
void incomplete(baton::ExecutorOptions&);  // says: write baton::Executor executor(4): the number of its threads
void incomplete(baton::SystemDefaultsQoS&);  // says: write baton::QoS(), which is reliable and keeps the last 10
void incomplete(baton::ServicesQoS&);  // says: write nothing: services have a QoS that loses no request
void incomplete(baton::ParametersQoS&);  // says: write nothing: the services of parameters have their QoS
void incomplete(baton::ClockQoS&);  // says: write baton::QoS(1).best_effort()
void incomplete(baton::BestAvailableQoS&);  // says: write the QoS of the publisher, which `baton topic info -v` prints
void incomplete(baton::QOSDeadlineOfferedInfo&);  // says: write publisher.on_event(f) and publisher.statuses()
void incomplete(baton::QOSOfferedIncompatibleQoSInfo&);  // says: write publisher.on_event(f) and publisher.statuses()
void incomplete(baton::QOSDeadlineRequestedInfo&);  // says: write subscription.on_event(f) and subscription.statuses()
void incomplete(baton::QOSRequestedIncompatibleQoSInfo&);  // says: write subscription.on_event(f) and subscription.statuses()
void incomplete(baton::SerializedMessage&);  // says: there are no serialized messages here: write node.make_reader(topic, type, qos) for types that are known at run time
void incomplete(baton::AsyncParametersClient&);  // says: write baton::Client<SetParameters> of rcl_interfaces, for the service NODE/set_parameters, or `baton param set`
void incomplete(baton::SyncParametersClient&);  // says: write baton::Client<GetParameters> of rcl_interfaces, for the service NODE/get_parameters, or `baton param get`
void incomplete(baton::ParameterEventHandler&);  // says: write node.subscribe<ParameterEvent>("/parameter_events", 100, callback)
void incomplete(baton::Context&);  // says: there is one context: baton::init(), baton::ok(), baton::shutdown()
void incomplete(baton::InitOptions&);  // says: write baton::init(argc, argv); NodeOptions::domain has the domain
void incomplete(baton::LifecycleNode&);  // says: there are no lifecycle nodes: write a baton::Node that advertises and subscribes when it is to be active
void incomplete(baton::executors::SingleThreadedExecutor&);  // says: write baton::Executor executor;
void incomplete(baton::executors::StaticSingleThreadedExecutor&);  // says: write baton::Executor executor;
void incomplete(baton::executors::MultiThreadedExecutor&);  // says: write baton::Executor executor(4);
void incomplete(baton::exceptions::ParameterNotDeclaredException&);  // says: write baton::Exception, whose code() is baton::Errc::not_found
void incomplete(baton::exceptions::ParameterAlreadyDeclaredException&);  // says: write baton::Exception, whose code() is baton::Errc::already_exists
void incomplete(baton::exceptions::InvalidParameterTypeException&);  // says: write baton::Exception, whose code() is baton::Errc::type_mismatch
void incomplete(baton::exceptions::InvalidParameterValueException&);  // says: write baton::Exception, whose code() is baton::Errc::invalid_argument
void incomplete(baton::Publisher<String>::SharedPtr&);  // says: write the type without ::SharedPtr: a copy of it is one more owner, as of a std::shared_ptr
void incomplete(baton::Client<SetBool>::SharedFuture&);  // says: write client.call(request, timeout), which returns the response, or client.send(request) with a callback at node.client<S>(name, callback)
void incomplete(baton::TimerBase::SharedPtr&);  // says: write baton::Timer
void incomplete(baton::PublisherBase::SharedPtr&);  // says: write baton::Publisher<T>
void incomplete(baton::SubscriptionBase::SharedPtr&);  // says: write baton::Subscription<T>
void incomplete1(int = static_cast<int>(baton::CallbackGroupType::MutuallyExclusive));  // says: write std::make_shared<baton::CallbackGroup>()
void incomplete2(int = static_cast<int>(baton::CallbackGroupType::Reentrant));  // says: write std::make_shared<baton::CallbackGroup>(baton::CallbackGroup::Kind::kReentrant)
void incomplete3(int = static_cast<int>(baton::FutureReturnCode::SUCCESS));  // says: client.call(request, timeout) returns the response
void incomplete4(int = static_cast<int>(baton::FutureReturnCode::TIMEOUT));  // says: client.call(request, timeout) returns an empty sample after its timeout
void incomplete5(int = static_cast<int>(baton::FutureReturnCode::INTERRUPTED));  // says: client.call(request, timeout) returns an empty sample, and baton::ok() is false
void incomplete6(int = static_cast<int>(baton::WaitResultKind::Ready));  // says: write if (wait_set.wait(timeout)): true before the timeout
void incomplete7(int = static_cast<int>(baton::WaitResultKind::Timeout));  // says: write if (!wait_set.wait(timeout)): false after the timeout
void incomplete8(int = static_cast<int>(baton::ReliabilityPolicy::Reliable));  // says: write qos.reliable(), or qos.reliability = baton::Reliability::kReliable
void incomplete9(int = static_cast<int>(baton::ReliabilityPolicy::BestEffort));  // says: write qos.best_effort(), or qos.reliability = baton::Reliability::kBestEffort
void incomplete10(int = static_cast<int>(baton::DurabilityPolicy::Volatile));  // says: write qos.durability_volatile(), or qos.durability = baton::Durability::kVolatile
void incomplete11(int = static_cast<int>(baton::DurabilityPolicy::TransientLocal));  // says: write qos.transient_local(), or qos.durability = baton::Durability::kTransientLocal
void incomplete12(int = static_cast<int>(baton::HistoryPolicy::KeepLast));  // says: write qos.keep_last(10)
void incomplete13(int = static_cast<int>(baton::HistoryPolicy::KeepAll));  // says: write qos.keep_all(1000): a queue has a bound
void incomplete14(int = static_cast<int>(baton::LivelinessPolicy::Automatic));  // says: write qos.liveliness = baton::Liveliness::kAutomatic
void incomplete15(int = static_cast<int>(baton::LivelinessPolicy::ManualByTopic));  // says: write qos.liveliness = baton::Liveliness::kManualByTopic

void logs(baton::Node& node) {
  BATON_INFO_STREAM("text " << 3);  // says: the first argument is a logger or a node: BATON_INFO_STREAM(node, "text " << x)
  BATON_WARN_NAMED("driver", "text");  // says: BATON_INFO(node.get_logger().get_child(
  BATON_ERROR_COND(true, "text");  // says: and _COND is _EXPRESSION
  BATON_INFO_THROTTLE(node, 1.0, 1000, "text");  // says: a clock and milliseconds stand before the text
}
