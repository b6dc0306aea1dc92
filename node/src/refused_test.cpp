// SPDX-License-Identifier: Apache-2.0
// Does not compile: habits of ROS that mean something else here, or nothing. A test reads the compiler's message for each value of REFUSED.
#include "baton/msg/std_msgs/string.hpp"
#include "baton/node/node.hpp"
#include "baton/srv/std_srvs/set_bool.hpp"

using SetBool = baton::srv::std_srvs::SetBool;

#if REFUSED == 1  // `latched`; Baton's third argument is a size in bytes
void refused(baton::Node& node) { static_cast<void>(node.advertise<baton::msg::std_msgs::String>("chatter", 1, true)); }
#elif REFUSED == 2
bool on_switch(SetBool::Request& request, SetBool::Response& response);
void refused(baton::Node& node) { static_cast<void>(node.serve<SetBool>("switch", on_switch)); }
#elif REFUSED == 3
bool on_switch(const SetBool::Request& request, SetBool::Response& response);
void refused(baton::Node& node) { static_cast<void>(node.serve<SetBool>("switch", on_switch)); }
#elif REFUSED == 4
void refused() { BATON_INFO("hello %d", 1); }
#elif REFUSED == 5  // rclcpp's names, which return pointers
void refused(baton::Node& node) { node.create_publisher<baton::msg::std_msgs::String>("chatter", 10); }
#elif REFUSED == 6
void refused(baton::Node& node) {
  node.create_subscription<baton::msg::std_msgs::String>("chatter", 10, [](const baton::msg::std_msgs::String&) {});
}
#elif REFUSED == 7
void refused(baton::Node& node) { node.create_client<SetBool>("switch"); }
#elif REFUSED == 8
void refused(baton::Node& node) {
  node.create_wall_timer(std::chrono::milliseconds(20), [] {});
}
#elif REFUSED == 9
void refused(baton::Node& node) {
  static_cast<void>(
      node.subscribe<baton::msg::std_msgs::String>("chatter", 10, [](baton::msg::std_msgs::String::SharedPtr) {}));
}
#endif
