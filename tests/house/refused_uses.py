#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Habits of ROS that mean something else in Baton's C++ API, or nothing: the compiler refuses them, or warns of their names, and says what to write.

Usage: refused_uses.py --compiler <c++> <include dir>...
"""

import sys

import refusals

PROLOGUE = """
#include "baton/msg/std_msgs/string.hpp"
#include "baton/node/node.hpp"
#include "baton/srv/std_srvs/set_bool.hpp"
using String = baton::msg::std_msgs::String;
using SetBool = baton::srv::std_srvs::SetBool;
"""

# source, the words of the compiler's message
CASES = [
    # `latched`; Baton's third argument is a size in bytes
    (
        'void f(baton::Node& node) { (void)node.advertise<String>("chatter", 1, true); }',
        r"what is 'latched' in ROS 1 is QoS\(n\)\.transient_local\(\)",
    ),
    (
        'bool on(SetBool::Request&, SetBool::Response&);\nvoid f(baton::Node& node) { (void)node.serve<SetBool>("x", on); }',
        r"a request is read-only: write the handler as void f\(const Request&, Response&\)",
    ),
    (
        'bool on(const SetBool::Request&, SetBool::Response&);\nvoid f(baton::Node& node) { (void)node.serve<SetBool>("x", on); }',
        "ROS 1's `return false` is a field of the response",
    ),
    ('void f() { BATON_INFO("hello %d", 1); }', "the first argument is a logger or a node, as in RCLCPP_INFO"),
    (
        'void f(baton::Node& node) { (void)node.subscribe<String>("chatter", 10, [](String::SharedPtr) {}); }',
        "let the callback take T::ConstSharedPtr",
    ),
    (
        'void f(baton::Node& node) { (void)node.subscribe("chatter", 10, [](const auto&) {}); }',
        r"write subscribe<T>\(topic, queue, callback\)",
    ),
    (
        "void f(baton::Publisher<String>& publisher) { auto loan = publisher.loan(); publisher.publish(loan); }",
        r"a loan is handed over: write publish\(std::move\(loan\)\)",
    ),
    (
        "void f(baton::Publisher<String>& publisher, const baton::Sample<String>& sample) { publisher.publish(sample); }",
        r"write publish\(\*sample\)",
    ),
    (
        "void f(baton::Node& node) { (void)node.create_timer(0.1, [] {}); }",
        r"a period has a unit: write create_timer\(100ms, callback\)",
    ),
    (
        "struct TimerEvent {};\nvoid on(const TimerEvent&);\n"
        "void f(baton::Node& node) { (void)node.create_timer(std::chrono::milliseconds(100), on); }",
        r"a timer's callback takes no argument: write void f\(\), and baton::now\(\)",
    ),
    (
        "void f(baton::Client<SetBool>& client) { auto loan = client.loan(); client.call(loan, std::chrono::seconds(1)); }",
        r"write call\(std::move\(loan\), timeout\)",
    ),
    (
        "void f(baton::Client<SetBool>& client) { auto loan = client.loan(); client.send(loan); }",
        r"write send\(std::move\(loan\)\)",
    ),
    # the names of ros_names.hpp, which are deprecated, in the order of the lines
    (
        '#pragma GCC diagnostic error "-Wdeprecated-declarations"\n'
        "void f(baton::NodeHandle&);\nvoid f(baton::Subscriber&);\nvoid f(baton::ServiceServer&);\nvoid f(baton::ServiceClient&);\n"
        "void f(baton::AsyncSpinner&);\nvoid f(baton::TimerEvent&);\nvoid f() { baton::spinOnce(); }\nvoid f(baton::TimerBase::SharedPtr&);\n"
        "void f(baton::executors::SingleThreadedExecutor&);\nvoid f(baton::executors::MultiThreadedExecutor&);\n",
        r"write baton::Node node.*or baton::Subscription<T>.*or baton::Service<S>.*or baton::Client<S>"
        r".*write baton::Executor executor\(4\), and let.*write void f\(\), and baton::now.*write baton::spin_some\(node\).*write baton::Timer"
        r".*write baton::Executor executor[^(].*write baton::Executor executor\(4\)[^,]",
    ),
    # right uses beside them
    (
        "void on(const SetBool::Request&, SetBool::Response&);\n"
        'void f(baton::Node& node) { (void)node.serve<SetBool>("x", on); (void)node.create_timer(std::chrono::milliseconds(100), [] {}); }',
        "",
    ),
]

if __name__ == "__main__":
    sys.exit(refusals.check(PROLOGUE, CASES))
