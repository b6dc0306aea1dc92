// SPDX-License-Identifier: Apache-2.0
// In the place of actionlib's header of this name, with its interface, for recompiled programs. generateID() returns a message, of
// which the linker's name says nothing, so the class lies in an inline namespace: the linker sees
// actionlib::baton_recompiled::GoalIDGenerator. actionlib's other classes are templates of the action, and its headers are compiled
// as they are; <actionlib/client/connection_monitor.h> says what is left.
//
// Thread rules: generateID() may be called at the same time for several objects.
#pragma once

#ifdef ACTIONLIB__GOAL_ID_GENERATOR_H_
#error "actionlib's own goal_id_generator.h was included before Baton's header of that name"
#endif
#define ACTIONLIB__GOAL_ID_GENERATOR_H_

#include <actionlib/decl.h>
#include <actionlib_msgs/GoalID.h>
#include <ros/this_node.h>
#include <ros/time.h>

#include <atomic>
#include <cstdint>
#include <sstream>
#include <string>

namespace actionlib {
inline namespace baton_recompiled {

class GoalIDGenerator {
 public:
  /// With the node's name.
  GoalIDGenerator() : name_(ros::this_node::getName()) {}
  GoalIDGenerator(const std::string& name) : name_(name) {}  // NOLINT(google-explicit-constructor)
  void setName(const std::string& name) { name_ = name; }

  /// The name, a number that is this process's next, and the time.
  actionlib_msgs::GoalID generateID() {
    static std::atomic<std::uint32_t> count{0};
    actionlib_msgs::GoalID result;
    result.stamp = ros::Time::now();
    std::ostringstream text;
    text << name_ << '-' << ++count << '-' << result.stamp.sec << '.' << result.stamp.nsec;
    result.id = text.str();
    return result;
  }

 private:
  std::string name_;
};

}  // namespace baton_recompiled
}  // namespace actionlib
