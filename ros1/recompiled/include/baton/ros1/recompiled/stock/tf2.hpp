// SPDX-License-Identifier: Apache-2.0
// libtf2's buffer of transforms, for <tf2/buffer_core.h> of recompiled programs. Functions do what those of tf2::BufferCore with
// the same names do, and throw the same exceptions; messages are geometry_msgs/TransformStamped.
//
// Thread rules: as tf2::BufferCore.
#pragma once

#include <ros/duration.h>
#include <ros/time.h>

#include <boost/function.hpp>
#include <boost/signals2/connection.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "baton/ros1/recompiled/stock/bytes.hpp"

namespace baton::ros1::recompiled::stock {

class Tf2Buffer {
 public:
  /// The number is a tf2::TransformableResult.
  using Callback = boost::function<void(std::uint64_t request, const std::string& target_frame,
                                        const std::string& source_frame, ros::Time time, int result)>;

  explicit Tf2Buffer(ros::Duration cache_time);
  ~Tf2Buffer();
  Tf2Buffer(const Tf2Buffer&) = delete;
  Tf2Buffer& operator=(const Tf2Buffer&) = delete;

  void clear();
  bool set_transform(const Bytes& transform, const std::string& authority, bool is_static);
  Bytes lookup_transform(const std::string& target_frame, const std::string& source_frame, const ros::Time& time) const;
  Bytes lookup_transform(const std::string& target_frame, const ros::Time& target_time, const std::string& source_frame,
                         const ros::Time& source_time, const std::string& fixed_frame) const;
  bool can_transform(const std::string& target_frame, const std::string& source_frame, const ros::Time& time,
                     std::string* error) const;
  bool can_transform(const std::string& target_frame, const ros::Time& target_time, const std::string& source_frame,
                     const ros::Time& source_time, const std::string& fixed_frame, std::string* error) const;
  std::string all_frames_as_yaml(double current_time) const;
  std::string all_frames_as_yaml() const;
  std::string all_frames_as_string() const;
  std::string all_frames_as_dot(double current_time) const;
  std::string all_frames_as_dot() const;
  std::uint32_t add_transformable_callback(const Callback& callback);
  void remove_transformable_callback(std::uint32_t handle);
  std::uint64_t add_transformable_request(std::uint32_t handle, const std::string& target_frame,
                                          const std::string& source_frame, ros::Time time);
  void cancel_transformable_request(std::uint64_t handle);
  boost::signals2::connection add_transforms_changed_listener(boost::function<void()> callback);
  void remove_transforms_changed_listener(boost::signals2::connection connection);
  bool frame_exists(const std::string& frame) const;
  bool get_parent(const std::string& frame, ros::Time time, std::string& parent) const;
  void get_frame_strings(std::vector<std::string>& frames) const;
  std::uint32_t lookup_frame_number(const std::string& frame) const;
  std::uint32_t lookup_or_insert_frame_number(const std::string& frame);
  int get_latest_common_time(std::uint32_t target_frame, std::uint32_t source_frame, ros::Time& time,
                             std::string* error) const;
  std::uint32_t validate_frame_id(const char* function, const std::string& frame) const;
  ros::Duration cache_length() const;
  void chain_as_vector(const std::string& target_frame, ros::Time target_time, const std::string& source_frame,
                       ros::Time source_time, const std::string& fixed_frame, std::vector<std::string>& chain) const;
  // tf2::TestBufferCore's.
  int walk_to_top_parent(ros::Time time, std::uint32_t target_frame, std::uint32_t source_frame, std::string* error,
                         std::vector<std::uint32_t>* chain);
  const std::string& lookup_frame_string(std::uint32_t frame);

 private:
  class Core;
  const std::unique_ptr<Core> core_;
};

}  // namespace baton::ros1::recompiled::stock
