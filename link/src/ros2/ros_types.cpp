// SPDX-License-Identifier: Apache-2.0
#include "ros2/ros_types.hpp"

#include "ros2/names.hpp"

namespace baton::link::ros2 {
namespace {

constexpr std::size_t kMostCompared = 100, kMostKnown = 8192;

}  // namespace

RosType::RosType(std::shared_ptr<const LocalType> type, message::CdrCodec compiled)
    : local_type(std::move(type)),
      info(local_type->info),
      definition(local_type->definition),
      codec(std::move(compiled)),
      hash(type_hash(definition.type())) {}

bool RosType::matches(const std::string& other) const {
  if (other.empty()) return true;
  const auto known = compared_.find(other);
  if (known != compared_.end()) return known->second;
  if (compared_.size() >= kMostCompared) compared_.clear();
  return compared_[other] = is_hash_of(definition.type(), other);
}

std::shared_ptr<const RosType> RosTypes::of(const transport::EndpointInfo& endpoint) {
  const auto known = known_.find({endpoint.type_name, endpoint.type_hash});
  if (known != known_.end()) return known->second;
  std::shared_ptr<const LocalType> local_type =
      types_->of(endpoint.gid, endpoint.connection, endpoint.type_name, endpoint.type_hash);
  if (!local_type) return nullptr;
  Result<message::CdrCodec> codec = message::CdrCodec::compile(local_type->definition.type());
  std::shared_ptr<const RosType> type;
  if (codec) {
    type = std::make_shared<const RosType>(std::move(local_type), std::move(*codec));
  } else {
    log_->write(
        About::kTypes, LinkLog::Level::kError, Errc::malformed_message,
        "messages of " + endpoint.type_name + " are not carried to or from ROS 2 nodes: " + codec.error().message);
  }
  if (known_.size() >= kMostKnown) known_.clear();
  known_[{endpoint.type_name, endpoint.type_hash}] = type;
  return type;
}

}  // namespace baton::link::ros2
