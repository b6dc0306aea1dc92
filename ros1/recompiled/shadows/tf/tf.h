// SPDX-License-Identifier: Apache-2.0
// In the place of tf's header of this name, with its interface, for recompiled programs; the program links libtf, as before. The
// class lies in an inline namespace: <tf2/buffer_core.h> says why. Functions that know no message are libtf's.
//
// Thread rules: as the stock class.
#pragma once

#ifdef TF_TF_H
#error "tf's own tf.h was included before Baton's header of that name"
#endif
#define TF_TF_H

#include <geometry_msgs/Quaternion.h>
#include <geometry_msgs/Twist.h>
#include <geometry_msgs/TwistStamped.h>
#include <ros/macros.h>
#include <ros/ros.h>
#include <tf/exceptions.h>
#include <tf/time_cache.h>
#include <tf/transform_datatypes.h>
#include <tf2_ros/buffer.h>

#include <algorithm>
#include <boost/function.hpp>
#include <boost/signals2.hpp>
#include <boost/unordered_map.hpp>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace tf {

std::string resolve(const std::string& prefix, const std::string& frame_name);
std::string strip_leading_slash(const std::string& frame_name);
ROS_DEPRECATED static inline std::string remap(const std::string& prefix, const std::string& frame_name) {
  return tf::resolve(prefix, frame_name);
}

enum ErrorValues { NO_ERROR = 0, LOOKUP_ERROR, CONNECTIVITY_ERROR, EXTRAPOLATION_ERROR };

typedef struct {
  std::vector<TransformStorage> inverseTransforms;
  std::vector<TransformStorage> forwardTransforms;
} TransformLists;

inline namespace baton_recompiled {

namespace detail {

/// Throws InvalidArgument unless it is a rotation.
inline void check_quaternion(double x, double y, double z, double w) {
  std::ostringstream text;
  const double square = x * x + y * y + z * z + w * w;
  if (std::isnan(square)) {
    text << "Quaternion contains a NaN" << std::endl;
  } else if (std::fabs(square - 1) > 0.01) {
    text << "Quaternion malformed, magnitude: " << square << " should be 1.0" << std::endl;
  } else {
    return;
  }
  throw tf::InvalidArgument(text.str());
}

}  // namespace detail

inline void assertQuaternionValid(const tf::Quaternion& q) { detail::check_quaternion(q.x(), q.y(), q.z(), q.w()); }
inline void assertQuaternionValid(const geometry_msgs::Quaternion& q) { detail::check_quaternion(q.x, q.y, q.z, q.w); }

class Transformer {
 public:
  static constexpr unsigned int MAX_GRAPH_DEPTH = 100UL;
  static constexpr double DEFAULT_CACHE_TIME = 10.0;
  static constexpr int64_t DEFAULT_MAX_EXTRAPOLATION_DISTANCE = 0ULL;

  Transformer(bool /*interpolating*/ = true,  // NOLINT(google-explicit-constructor)
              ros::Duration cache_time_ = ros::Duration(DEFAULT_CACHE_TIME))
      : fall_back_to_wall_time_(false), tf2_buffer_ptr_(std::make_shared<tf2_ros::Buffer>(cache_time_)) {}
  virtual ~Transformer() {}

  void clear() { tf2_buffer_ptr_->clear(); }
  bool setTransform(const StampedTransform& transform, const std::string& authority = "default_authority") {
    geometry_msgs::TransformStamped message;
    transformStampedTFToMsg(transform, message);
    return tf2_buffer_ptr_->setTransform(message, authority);
  }

  void lookupTransform(const std::string& target_frame, const std::string& source_frame, const ros::Time& time,
                       StampedTransform& transform) const {
    transformStampedMsgToTF(
        tf2_buffer_ptr_->lookupTransform(strip_leading_slash(target_frame), strip_leading_slash(source_frame), time),
        transform);
  }
  void lookupTransform(const std::string& target_frame, const ros::Time& target_time, const std::string& source_frame,
                       const ros::Time& source_time, const std::string& fixed_frame,
                       StampedTransform& transform) const {
    transformStampedMsgToTF(tf2_buffer_ptr_->lookupTransform(strip_leading_slash(target_frame), target_time,
                                                             strip_leading_slash(source_frame), source_time,
                                                             strip_leading_slash(fixed_frame)),
                            transform);
  }

  /// The mean twist of `tracking_frame` in an interval around `time` that ends with the latest transform at most.
  void lookupTwist(const std::string& tracking_frame, const std::string& observation_frame,
                   const std::string& reference_frame, const tf::Point& reference_point,
                   const std::string& reference_point_frame, const ros::Time& time,
                   const ros::Duration& averaging_interval, geometry_msgs::Twist& twist) const {
    ros::Time latest;
    getLatestCommonTime(observation_frame, tracking_frame, latest, nullptr);
    const ros::Time middle = time.isZero() ? latest : time;
    const ros::Time end = std::min(middle + averaging_interval * 0.5, latest);
    // Not before time 0, which would be the latest transform.
    const ros::Time begin = std::max(ros::Time(0.00001) + averaging_interval, end) - averaging_interval;
    const double seconds = (end - begin).toSec();
    StampedTransform first, last, in_reference;
    lookupTransform(observation_frame, tracking_frame, begin, first);
    lookupTransform(observation_frame, tracking_frame, end, last);

    tf::Quaternion turned;
    (first.getBasis().inverse() * last.getBasis()).getRotation(turned);
    const tf::Vector3 turning = first.getBasis() * turned.getAxis() * (turned.getAngle() / seconds);
    const tf::Vector3 moved = last.getOrigin() - first.getOrigin();
    const tf::Vector3 moving(moved.x() / seconds, moved.y() / seconds, moved.z() / seconds);

    lookupTransform(reference_frame, tracking_frame, middle, in_reference);
    const tf::Vector3 angular = in_reference.getBasis() * turning;
    tf::Vector3 linear = in_reference.getBasis() * moving + in_reference.getOrigin().cross(angular);
    tf::Stamped<tf::Point> from(tf::Point(0, 0, 0), middle, tracking_frame);
    transformPoint(reference_frame, from, from);
    tf::Stamped<tf::Point> to(reference_point, middle, reference_point_frame);
    transformPoint(reference_frame, to, to);
    linear += angular * (to - from);  // by elements, as tf has it
    vector3TFToMsg(linear, twist.linear);
    vector3TFToMsg(angular, twist.angular);
  }
  void lookupTwist(const std::string& tracking_frame, const std::string& observation_frame, const ros::Time& time,
                   const ros::Duration& averaging_interval, geometry_msgs::Twist& twist) const {
    lookupTwist(tracking_frame, observation_frame, observation_frame, tf::Point(0, 0, 0), tracking_frame, time,
                averaging_interval, twist);
  }

  bool waitForTransform(const std::string& target_frame, const std::string& source_frame, const ros::Time& time,
                        const ros::Duration& timeout,
                        const ros::Duration& /*polling_sleep_duration*/ = ros::Duration(0.01),
                        std::string* error_msg = nullptr) const {
    return tf2_buffer_ptr_->canTransform(strip_leading_slash(target_frame), strip_leading_slash(source_frame), time,
                                         timeout, error_msg);
  }
  bool waitForTransform(const std::string& target_frame, const ros::Time& target_time, const std::string& source_frame,
                        const ros::Time& source_time, const std::string& fixed_frame, const ros::Duration& timeout,
                        const ros::Duration& /*polling_sleep_duration*/ = ros::Duration(0.01),
                        std::string* error_msg = nullptr) const {
    return tf2_buffer_ptr_->canTransform(strip_leading_slash(target_frame), target_time,
                                         strip_leading_slash(source_frame), source_time,
                                         strip_leading_slash(fixed_frame), timeout, error_msg);
  }
  bool canTransform(const std::string& target_frame, const std::string& source_frame, const ros::Time& time,
                    std::string* error_msg = nullptr) const {
    return tf2_buffer_ptr_->canTransform(strip_leading_slash(target_frame), strip_leading_slash(source_frame), time,
                                         error_msg);
  }
  bool canTransform(const std::string& target_frame, const ros::Time& target_time, const std::string& source_frame,
                    const ros::Time& source_time, const std::string& fixed_frame,
                    std::string* error_msg = nullptr) const {
    return tf2_buffer_ptr_->canTransform(strip_leading_slash(target_frame), target_time,
                                         strip_leading_slash(source_frame), source_time,
                                         strip_leading_slash(fixed_frame), error_msg);
  }
  int getLatestCommonTime(const std::string& source_frame, const std::string& target_frame, ros::Time& time,
                          std::string* error_string) const {
    const tf2_ros::Buffer& buffer = *tf2_buffer_ptr_;
    return buffer._getLatestCommonTime(buffer._lookupFrameNumber(strip_leading_slash(source_frame)),
                                       buffer._lookupFrameNumber(strip_leading_slash(target_frame)), time,
                                       error_string);
  }

  void transformQuaternion(const std::string& target_frame, const Stamped<tf::Quaternion>& stamped_in,
                           Stamped<tf::Quaternion>& stamped_out) const {
    tf::assertQuaternionValid(stamped_in);
    turn(lookup(target_frame, stamped_in), target_frame, stamped_in, stamped_out);
  }
  void transformVector(const std::string& target_frame, const Stamped<tf::Vector3>& stamped_in,
                       Stamped<tf::Vector3>& stamped_out) const {
    turn_vector(lookup(target_frame, stamped_in), target_frame, stamped_in, stamped_out);
  }
  void transformPoint(const std::string& target_frame, const Stamped<tf::Point>& stamped_in,
                      Stamped<tf::Point>& stamped_out) const {
    turn(lookup(target_frame, stamped_in), target_frame, stamped_in, stamped_out);
  }
  void transformPose(const std::string& target_frame, const Stamped<tf::Pose>& stamped_in,
                     Stamped<tf::Pose>& stamped_out) const {
    turn(lookup(target_frame, stamped_in), target_frame, stamped_in, stamped_out);
  }
  void transformQuaternion(const std::string& target_frame, const ros::Time& target_time,
                           const Stamped<tf::Quaternion>& stamped_in, const std::string& fixed_frame,
                           Stamped<tf::Quaternion>& stamped_out) const {
    tf::assertQuaternionValid(stamped_in);
    turn(lookup(target_frame, target_time, stamped_in, fixed_frame), target_frame, stamped_in, stamped_out);
  }
  void transformVector(const std::string& target_frame, const ros::Time& target_time,
                       const Stamped<tf::Vector3>& stamped_in, const std::string& fixed_frame,
                       Stamped<tf::Vector3>& stamped_out) const {
    turn_vector(lookup(target_frame, target_time, stamped_in, fixed_frame), target_frame, stamped_in, stamped_out);
  }
  void transformPoint(const std::string& target_frame, const ros::Time& target_time,
                      const Stamped<tf::Point>& stamped_in, const std::string& fixed_frame,
                      Stamped<tf::Point>& stamped_out) const {
    turn(lookup(target_frame, target_time, stamped_in, fixed_frame), target_frame, stamped_in, stamped_out);
  }
  void transformPose(const std::string& target_frame, const ros::Time& target_time, const Stamped<tf::Pose>& stamped_in,
                     const std::string& fixed_frame, Stamped<tf::Pose>& stamped_out) const {
    turn(lookup(target_frame, target_time, stamped_in, fixed_frame), target_frame, stamped_in, stamped_out);
  }

  void chainAsVector(const std::string& target_frame, ros::Time target_time, const std::string& source_frame,
                     ros::Time source_time, const std::string& fixed_frame, std::vector<std::string>& output) const {
    tf2_buffer_ptr_->_chainAsVector(target_frame, target_time, source_frame, source_time, fixed_frame, output);
  }
  std::string allFramesAsString() const { return tf2_buffer_ptr_->allFramesAsString(); }
  std::string allFramesAsDot(double current_time = 0) const { return tf2_buffer_ptr_->_allFramesAsDot(current_time); }
  void getFrameStrings(std::vector<std::string>& ids) const { tf2_buffer_ptr_->_getFrameStrings(ids); }
  bool getParent(const std::string& frame_id, ros::Time time, std::string& parent) const {
    return tf2_buffer_ptr_->_getParent(strip_leading_slash(frame_id), time, parent);
  }
  bool frameExists(const std::string& frame_id_str) const {
    return tf2_buffer_ptr_->_frameExists(strip_leading_slash(frame_id_str));
  }
  void setExtrapolationLimit(const ros::Duration&) {
    ROS_WARN("Transformer::setExtrapolationLimit is deprecated and does not do anything");
  }
  ros::Duration getCacheLength() { return tf2_buffer_ptr_->getCacheLength(); }
  boost::signals2::connection addTransformsChangedListener(boost::function<void(void)> callback) {
    return tf2_buffer_ptr_->_addTransformsChangedListener(callback);
  }
  void removeTransformsChangedListener(boost::signals2::connection c) {
    tf2_buffer_ptr_->_removeTransformsChangedListener(c);
  }
  std::string getTFPrefix() const { return tf_prefix_; }
  void setUsingDedicatedThread(bool value) { tf2_buffer_ptr_->setUsingDedicatedThread(value); }
  bool isUsingDedicatedThread() { return tf2_buffer_ptr_->isUsingDedicatedThread(); }
  std::shared_ptr<tf2_ros::Buffer> getTF2BufferPtr() { return tf2_buffer_ptr_; }

 protected:
  std::string tf_prefix_;

 public:
  bool fall_back_to_wall_time_;

 protected:
  ros::Time now() const {
    if (!fall_back_to_wall_time_) return ros::Time::now();
    const ros::WallTime wall = ros::WallTime::now();
    return ros::Time(wall.sec, wall.nsec);
  }
  virtual bool ok() const { return true; }

  std::shared_ptr<tf2_ros::Buffer> tf2_buffer_ptr_;

 private:
  template <class T>
  StampedTransform lookup(const std::string& target_frame, const Stamped<T>& in) const {
    StampedTransform result;
    lookupTransform(target_frame, in.frame_id_, in.stamp_, result);
    return result;
  }
  template <class T>
  StampedTransform lookup(const std::string& target_frame, const ros::Time& target_time, const Stamped<T>& in,
                          const std::string& fixed_frame) const {
    StampedTransform result;
    lookupTransform(target_frame, target_time, in.frame_id_, in.stamp_, fixed_frame, result);
    return result;
  }
  template <class T>
  static void turn(const StampedTransform& by, const std::string& target_frame, const Stamped<T>& in, Stamped<T>& out) {
    out.setData(by * static_cast<const T&>(in));
    out.stamp_ = by.stamp_;
    out.frame_id_ = target_frame;
  }
  static void turn_vector(const StampedTransform& by, const std::string& target_frame, const Stamped<tf::Vector3>& in,
                          Stamped<tf::Vector3>& out) {
    out.setData(by * static_cast<const tf::Vector3&>(in) - by * tf::Vector3(0, 0, 0));
    out.stamp_ = by.stamp_;
    out.frame_id_ = target_frame;
  }
};

}  // namespace baton_recompiled
}  // namespace tf
