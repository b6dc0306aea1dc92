// SPDX-License-Identifier: Apache-2.0
#include "baton/ros1/recompiled/stock/tf2.hpp"

#include <tf2/buffer_core.h>

#include <utility>

namespace baton::ros1::recompiled::stock {

class Tf2Buffer::Core : public tf2::BufferCore {
 public:
  using tf2::BufferCore::BufferCore;
};

Tf2Buffer::Tf2Buffer(ros::Duration cache_time) : core_(std::make_unique<Core>(cache_time)) {}
Tf2Buffer::~Tf2Buffer() = default;

void Tf2Buffer::clear() { core_->clear(); }

bool Tf2Buffer::set_transform(const Bytes& transform, const std::string& authority, bool is_static) {
  return core_->setTransform(from_bytes<geometry_msgs::TransformStamped>(transform), authority, is_static);
}

Bytes Tf2Buffer::lookup_transform(const std::string& target_frame, const std::string& source_frame,
                                  const ros::Time& time) const {
  return to_bytes(core_->lookupTransform(target_frame, source_frame, time));
}
Bytes Tf2Buffer::lookup_transform(const std::string& target_frame, const ros::Time& target_time,
                                  const std::string& source_frame, const ros::Time& source_time,
                                  const std::string& fixed_frame) const {
  return to_bytes(core_->lookupTransform(target_frame, target_time, source_frame, source_time, fixed_frame));
}

bool Tf2Buffer::can_transform(const std::string& target_frame, const std::string& source_frame, const ros::Time& time,
                              std::string* error) const {
  return core_->canTransform(target_frame, source_frame, time, error);
}
bool Tf2Buffer::can_transform(const std::string& target_frame, const ros::Time& target_time,
                              const std::string& source_frame, const ros::Time& source_time,
                              const std::string& fixed_frame, std::string* error) const {
  return core_->canTransform(target_frame, target_time, source_frame, source_time, fixed_frame, error);
}

std::string Tf2Buffer::all_frames_as_yaml(double current_time) const { return core_->allFramesAsYAML(current_time); }
std::string Tf2Buffer::all_frames_as_yaml() const { return core_->allFramesAsYAML(); }
std::string Tf2Buffer::all_frames_as_string() const { return core_->allFramesAsString(); }
std::string Tf2Buffer::all_frames_as_dot(double current_time) const { return core_->_allFramesAsDot(current_time); }
std::string Tf2Buffer::all_frames_as_dot() const { return core_->_allFramesAsDot(); }

std::uint32_t Tf2Buffer::add_transformable_callback(const Callback& callback) {
  return core_->addTransformableCallback(callback);
}
void Tf2Buffer::remove_transformable_callback(std::uint32_t handle) { core_->removeTransformableCallback(handle); }
std::uint64_t Tf2Buffer::add_transformable_request(std::uint32_t handle, const std::string& target_frame,
                                                   const std::string& source_frame, ros::Time time) {
  return core_->addTransformableRequest(handle, target_frame, source_frame, time);
}
void Tf2Buffer::cancel_transformable_request(std::uint64_t handle) { core_->cancelTransformableRequest(handle); }

boost::signals2::connection Tf2Buffer::add_transforms_changed_listener(boost::function<void()> callback) {
  return core_->_addTransformsChangedListener(std::move(callback));
}
void Tf2Buffer::remove_transforms_changed_listener(boost::signals2::connection connection) {
  core_->_removeTransformsChangedListener(std::move(connection));
}

bool Tf2Buffer::frame_exists(const std::string& frame) const { return core_->_frameExists(frame); }
bool Tf2Buffer::get_parent(const std::string& frame, ros::Time time, std::string& parent) const {
  return core_->_getParent(frame, time, parent);
}
void Tf2Buffer::get_frame_strings(std::vector<std::string>& frames) const { core_->_getFrameStrings(frames); }
std::uint32_t Tf2Buffer::lookup_frame_number(const std::string& frame) const {
  return core_->_lookupFrameNumber(frame);
}
std::uint32_t Tf2Buffer::lookup_or_insert_frame_number(const std::string& frame) {
  return core_->_lookupOrInsertFrameNumber(frame);
}
int Tf2Buffer::get_latest_common_time(std::uint32_t target_frame, std::uint32_t source_frame, ros::Time& time,
                                      std::string* error) const {
  return core_->_getLatestCommonTime(target_frame, source_frame, time, error);
}
std::uint32_t Tf2Buffer::validate_frame_id(const char* function, const std::string& frame) const {
  return core_->_validateFrameId(function, frame);
}
ros::Duration Tf2Buffer::cache_length() const { return core_->getCacheLength(); }
void Tf2Buffer::chain_as_vector(const std::string& target_frame, ros::Time target_time, const std::string& source_frame,
                                ros::Time source_time, const std::string& fixed_frame,
                                std::vector<std::string>& chain) const {
  core_->_chainAsVector(target_frame, target_time, source_frame, source_time, fixed_frame, chain);
}
int Tf2Buffer::walk_to_top_parent(ros::Time time, std::uint32_t target_frame, std::uint32_t source_frame,
                                  std::string* error, std::vector<std::uint32_t>* chain) {
  return tf2::TestBufferCore()._walkToTopParent(*core_, time, target_frame, source_frame, error, chain);
}
const std::string& Tf2Buffer::lookup_frame_string(std::uint32_t frame) {
  return tf2::TestBufferCore()._lookupFrameString(*core_, frame);
}

}  // namespace baton::ros1::recompiled::stock
