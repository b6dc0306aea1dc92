// SPDX-License-Identifier: Apache-2.0
// In the place of tf2_ros's header of this name, with its interface, for recompiled programs. The class lies in an inline
// namespace: <tf2/buffer_core.h> says why.
//
// Thread rules: as the stock class.
#pragma once

#ifdef TF2_ROS_BUFFER_CLIENT_H_
#error "tf2_ros's own buffer_client.h was included before Baton's header of that name"
#endif
#define TF2_ROS_BUFFER_CLIENT_H_

#include <actionlib/client/simple_action_client.h>
#include <tf2_msgs/LookupTransformAction.h>
#include <tf2_ros/buffer_interface.h>

#include <string>

namespace tf2_ros {
inline namespace baton_recompiled {

/// Asks a BufferServer, which may be in another process.
class BufferClient : public BufferInterface {
 public:
  typedef actionlib::SimpleActionClient<tf2_msgs::LookupTransformAction> LookupActionClient;

  /// `timeout_padding`: how much longer than a call's timeout the server's answer may take.
  BufferClient(std::string ns, double /*check_frequency*/ = 10.0,  // NOLINT(google-explicit-constructor)
               ros::Duration timeout_padding = ros::Duration(2.0))
      : client_(ns), timeout_padding_(timeout_padding) {}

  virtual geometry_msgs::TransformStamped lookupTransform(
      const std::string& target_frame, const std::string& source_frame, const ros::Time& time,
      const ros::Duration timeout = ros::Duration(0.0)) const override {
    tf2_msgs::LookupTransformGoal goal;
    goal.target_frame = target_frame;
    goal.source_frame = source_frame;
    goal.source_time = time;
    goal.timeout = timeout;
    goal.advanced = false;
    return ask(goal);
  }
  virtual geometry_msgs::TransformStamped lookupTransform(
      const std::string& target_frame, const ros::Time& target_time, const std::string& source_frame,
      const ros::Time& source_time, const std::string& fixed_frame,
      const ros::Duration timeout = ros::Duration(0.0)) const override {
    tf2_msgs::LookupTransformGoal goal;
    goal.target_frame = target_frame;
    goal.source_frame = source_frame;
    goal.source_time = source_time;
    goal.timeout = timeout;
    goal.target_time = target_time;
    goal.fixed_frame = fixed_frame;
    goal.advanced = true;
    return ask(goal);
  }

  virtual bool canTransform(const std::string& target_frame, const std::string& source_frame, const ros::Time& time,
                            const ros::Duration timeout = ros::Duration(0.0),
                            std::string* errstr = nullptr) const override {
    return try_to([&] { lookupTransform(target_frame, source_frame, time, timeout); }, errstr);
  }
  virtual bool canTransform(const std::string& target_frame, const ros::Time& target_time,
                            const std::string& source_frame, const ros::Time& source_time,
                            const std::string& fixed_frame, const ros::Duration timeout = ros::Duration(0.0),
                            std::string* errstr = nullptr) const override {
    return try_to([&] { lookupTransform(target_frame, target_time, source_frame, source_time, fixed_frame, timeout); },
                  errstr);
  }

  bool waitForServer(const ros::Duration& timeout = ros::Duration(0)) { return client_.waitForServer(timeout); }

 private:
  template <class Look>
  static bool try_to(Look&& look, std::string* error) {
    try {
      look();
      return true;
    } catch (const tf2::TransformException& exception) {
      if (error != nullptr) *error = exception.what();
      return false;
    }
  }

  geometry_msgs::TransformStamped ask(const tf2_msgs::LookupTransformGoal& goal) const {
    client_.sendGoal(goal);
    if (!client_.waitForResult(goal.timeout + timeout_padding_)) {
      client_.cancelGoal();
      throw tf2::TimeoutException(
          "The LookupTransform goal sent to the BufferServer did not come back in the specified time. Something is "
          "likely wrong with the server.");
    }
    if (client_.getState() != actionlib::SimpleClientGoalState::SUCCEEDED) {
      throw tf2::TimeoutException(
          "The LookupTransform goal sent to the BufferServer did not come back with SUCCEEDED status. Something is "
          "likely wrong with the server.");
    }
    const tf2_msgs::LookupTransformResultConstPtr result = client_.getResult();
    const std::string text = result->error.error_string;
    switch (result->error.error) {
      case tf2_msgs::TF2Error::NO_ERROR:
        return result->transform;
      case tf2_msgs::TF2Error::LOOKUP_ERROR:
        throw tf2::LookupException(text);
      case tf2_msgs::TF2Error::CONNECTIVITY_ERROR:
        throw tf2::ConnectivityException(text);
      case tf2_msgs::TF2Error::EXTRAPOLATION_ERROR:
        throw tf2::ExtrapolationException(text);
      case tf2_msgs::TF2Error::INVALID_ARGUMENT_ERROR:
        throw tf2::InvalidArgumentException(text);
      case tf2_msgs::TF2Error::TIMEOUT_ERROR:
        throw tf2::TimeoutException(text);
      default:
        throw tf2::TransformException(text);
    }
  }

  mutable LookupActionClient client_;
  ros::Duration timeout_padding_;
};

}  // namespace baton_recompiled
}  // namespace tf2_ros
