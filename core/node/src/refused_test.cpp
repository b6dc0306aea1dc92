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
#elif REFUSED == 5
void refused(baton::Node& node) {
  static_cast<void>(
      node.subscribe<baton::msg::std_msgs::String>("chatter", 10, [](baton::msg::std_msgs::String::SharedPtr) {}));
}
#elif REFUSED == 6
void refused(baton::Node& node) {
  static_cast<void>(node.subscribe("chatter", 10, [](const auto&) {}));
}
#elif REFUSED == 7
void refused(baton::Publisher<baton::msg::std_msgs::String>& publisher) {
  auto loan = publisher.loan();
  publisher.publish(loan);
}
#elif REFUSED == 8
void refused(baton::Publisher<baton::msg::std_msgs::String>& publisher,
             const baton::Sample<baton::msg::std_msgs::String>& sample) {
  publisher.publish(sample);
}
#elif REFUSED == 9
void refused(baton::Node& node) {
  static_cast<void>(node.create_timer(0.1, [] {}));
}
#elif REFUSED == 10
struct TimerEvent {};
void on_timer(const TimerEvent&);
void refused(baton::Node& node) { static_cast<void>(node.create_timer(std::chrono::milliseconds(100), on_timer)); }
#elif REFUSED == 11
void refused(baton::Client<SetBool>& client) {
  auto loan = client.loan();
  client.call(loan, std::chrono::seconds(1));
}
#elif REFUSED == 12
void refused(baton::Client<SetBool>& client) {
  auto loan = client.loan();
  client.send(loan);
}
#elif REFUSED == 13
void refused(baton::NodeHandle&);
void refused(baton::Subscriber&);
void refused(baton::ServiceServer&);
void refused(baton::ServiceClient&);
void refused(baton::AsyncSpinner&);
void refused(baton::TimerEvent&);
void refused() { baton::spinOnce(); }
void refused(baton::TimerBase::SharedPtr&);
void refused(baton::executors::SingleThreadedExecutor&);
void refused(baton::executors::MultiThreadedExecutor&);
#endif
