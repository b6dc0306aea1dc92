// SPDX-License-Identifier: Apache-2.0
// In the place of tf2's header of this name, with its interface, for recompiled programs; the program links libtf2, as before.
// The transforms are libtf2's (baton/ros1/recompiled/stock/tf2.hpp), and its exceptions come through.
//
// tf2::BufferCore's functions have messages as results, of which the linker's names say nothing. So the class lies in an inline
// namespace: sources write tf2::BufferCore, and the linker sees tf2::baton_recompiled::BufferCore. (A source that declares
// `class BufferCore;` itself does not compile: the name is then ambiguous.)
//
// Thread rules: as the stock class.
#pragma once

#ifdef TF2_BUFFER_CORE_H
#error "tf2's own buffer_core.h was included before Baton's header of that name"
#endif
#define TF2_BUFFER_CORE_H

#include <geometry_msgs/TransformStamped.h>
#include <ros/duration.h>
#include <ros/time.h>
#include <tf2/transform_storage.h>

#include <baton/ros1/recompiled/stock/tf2.hpp>
#include <boost/function.hpp>
#include <boost/shared_ptr.hpp>
#include <boost/signals2.hpp>
#include <boost/thread/mutex.hpp>
#include <boost/unordered_map.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tf2 {

typedef std::pair<ros::Time, CompactFrameID> P_TimeAndFrameID;
typedef uint32_t TransformableCallbackHandle;
typedef uint64_t TransformableRequestHandle;

class TimeCacheInterface;
typedef boost::shared_ptr<TimeCacheInterface> TimeCacheInterfacePtr;

enum TransformableResult { TransformAvailable, TransformFailure };

inline namespace baton_recompiled {

class BufferCore {
 public:
  static constexpr int DEFAULT_CACHE_TIME = 10;
  static constexpr uint32_t MAX_GRAPH_DEPTH = 1000UL;

  BufferCore(ros::Duration cache_time_ = ros::Duration(DEFAULT_CACHE_TIME))  // NOLINT(google-explicit-constructor)
      : stock_(cache_time_) {}
  virtual ~BufferCore() {}

  void clear() { stock_.clear(); }
  bool setTransform(const geometry_msgs::TransformStamped& transform, const std::string& authority,
                    bool is_static = false) {
    return stock_.set_transform(::baton::ros1::recompiled::stock::to_bytes(transform), authority, is_static);
  }

  geometry_msgs::TransformStamped lookupTransform(const std::string& target_frame, const std::string& source_frame,
                                                  const ros::Time& time) const {
    return read(stock_.lookup_transform(target_frame, source_frame, time));
  }
  geometry_msgs::TransformStamped lookupTransform(const std::string& target_frame, const ros::Time& target_time,
                                                  const std::string& source_frame, const ros::Time& source_time,
                                                  const std::string& fixed_frame) const {
    return read(stock_.lookup_transform(target_frame, target_time, source_frame, source_time, fixed_frame));
  }
  bool canTransform(const std::string& target_frame, const std::string& source_frame, const ros::Time& time,
                    std::string* error_msg = nullptr) const {
    return stock_.can_transform(target_frame, source_frame, time, error_msg);
  }
  bool canTransform(const std::string& target_frame, const ros::Time& target_time, const std::string& source_frame,
                    const ros::Time& source_time, const std::string& fixed_frame,
                    std::string* error_msg = nullptr) const {
    return stock_.can_transform(target_frame, target_time, source_frame, source_time, fixed_frame, error_msg);
  }

  std::string allFramesAsYAML(double current_time) const { return stock_.all_frames_as_yaml(current_time); }
  std::string allFramesAsYAML() const { return stock_.all_frames_as_yaml(); }
  std::string allFramesAsString() const { return stock_.all_frames_as_string(); }

  typedef boost::function<void(TransformableRequestHandle request_handle, const std::string& target_frame,
                               const std::string& source_frame, ros::Time time, TransformableResult result)>
      TransformableCallback;
  TransformableCallbackHandle addTransformableCallback(const TransformableCallback& cb) {
    return stock_.add_transformable_callback([cb](TransformableRequestHandle request, const std::string& target_frame,
                                                  const std::string& source_frame, ros::Time time, int result) {
      cb(request, target_frame, source_frame, time, static_cast<TransformableResult>(result));
    });
  }
  void removeTransformableCallback(TransformableCallbackHandle handle) { stock_.remove_transformable_callback(handle); }
  TransformableRequestHandle addTransformableRequest(TransformableCallbackHandle handle,
                                                     const std::string& target_frame, const std::string& source_frame,
                                                     ros::Time time) {
    return stock_.add_transformable_request(handle, target_frame, source_frame, time);
  }
  void cancelTransformableRequest(TransformableRequestHandle handle) { stock_.cancel_transformable_request(handle); }

  void setUsingDedicatedThread(bool value) { using_dedicated_thread_ = value; }
  bool isUsingDedicatedThread() const { return using_dedicated_thread_; }

  boost::signals2::connection _addTransformsChangedListener(boost::function<void(void)> callback) {
    return stock_.add_transforms_changed_listener(std::move(callback));
  }
  void _removeTransformsChangedListener(boost::signals2::connection c) {
    stock_.remove_transforms_changed_listener(std::move(c));
  }
  bool _frameExists(const std::string& frame_id_str) const { return stock_.frame_exists(frame_id_str); }
  bool _getParent(const std::string& frame_id, ros::Time time, std::string& parent) const {
    return stock_.get_parent(frame_id, time, parent);
  }
  void _getFrameStrings(std::vector<std::string>& ids) const { stock_.get_frame_strings(ids); }
  CompactFrameID _lookupFrameNumber(const std::string& frameid_str) const {
    return stock_.lookup_frame_number(frameid_str);
  }
  CompactFrameID _lookupOrInsertFrameNumber(const std::string& frameid_str) {
    return stock_.lookup_or_insert_frame_number(frameid_str);
  }
  int _getLatestCommonTime(CompactFrameID target_frame, CompactFrameID source_frame, ros::Time& time,
                           std::string* error_string) const {
    return stock_.get_latest_common_time(target_frame, source_frame, time, error_string);
  }
  CompactFrameID _validateFrameId(const char* function_name_arg, const std::string& frame_id) const {
    return stock_.validate_frame_id(function_name_arg, frame_id);
  }
  ros::Duration getCacheLength() { return stock_.cache_length(); }
  std::string _allFramesAsDot(double current_time) const { return stock_.all_frames_as_dot(current_time); }
  std::string _allFramesAsDot() const { return stock_.all_frames_as_dot(); }
  void _chainAsVector(const std::string& target_frame, ros::Time target_time, const std::string& source_frame,
                      ros::Time source_time, const std::string& fixed_frame, std::vector<std::string>& output) const {
    stock_.chain_as_vector(target_frame, target_time, source_frame, source_time, fixed_frame, output);
  }

 private:
  static geometry_msgs::TransformStamped read(const ::baton::ros1::recompiled::stock::Bytes& bytes) {
    return ::baton::ros1::recompiled::stock::from_bytes<geometry_msgs::TransformStamped>(bytes);
  }

  friend class TestBufferCore;

  ::baton::ros1::recompiled::stock::Tf2Buffer stock_;
  bool using_dedicated_thread_ = false;
};

class TestBufferCore {
 public:
  int _walkToTopParent(BufferCore& buffer, ros::Time time, CompactFrameID target_id, CompactFrameID source_id,
                       std::string* error_string, std::vector<CompactFrameID>* frame_chain) const {
    return buffer.stock_.walk_to_top_parent(time, target_id, source_id, error_string, frame_chain);
  }
  const std::string& _lookupFrameString(BufferCore& buffer, CompactFrameID frame_id_num) const {
    return buffer.stock_.lookup_frame_string(frame_id_num);
  }
};

}  // namespace baton_recompiled
}  // namespace tf2
