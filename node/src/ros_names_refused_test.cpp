// SPDX-License-Identifier: Apache-2.0
// Does not compile: each line has a name of ROS that Baton does not have, and what the compiler then says. ros_names_refused.cmake compares.
// clang-format off
#include "baton/baton.hpp"
#include "baton/msg/std_msgs/string.hpp"
#include "baton/srv/std_srvs/set_bool.hpp"

using baton::msg::std_msgs::String;
using baton::srv::std_srvs::SetBool;

void refused(baton::Node& node, baton::Executor& executor, baton::Publisher<String>& publisher,
             baton::Subscription<String>& subscription, baton::Timer& timer, baton::Client<SetBool>& client) {
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
  timer.setPeriod();  // says: write timer = node.create_timer(period, callback)
  client.async_send_request();  // says: write client.call(request, timeout), which waits, or client.send(request) with a callback at node.client<S>(name, callback), which does not
  client.exists();  // says: write client.available()
  client.service_is_ready();  // says: write client.available()
  client.waitForExistence();  // says: write client.wait_for_service(timeout)
  baton::spinOnce();  // says: write baton::spin_some(node): of each subscription the oldest message
  baton::spin_all();  // says: write while (baton::spin_some(node) > 0) {}
  baton::waitForShutdown();  // says: write baton::spin(node), which returns when the process is asked to end
  baton::spin_until_future_complete();  // says: write client.call(request, timeout), which needs no executor
  baton::removeROSArgs();  // says: write std::vector<std::string> own = baton::init(argc, argv)
  baton::remove_ros_arguments();  // says: write std::vector<std::string> own = baton::init(argc, argv)
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
void incomplete(baton::TimerEvent&);  // says: a timer's callback takes no argument: write void f(), and baton::now() in it
