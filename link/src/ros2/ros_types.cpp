// SPDX-License-Identifier: Apache-2.0
#include "ros2/types.hpp"

#include "ros2/names.hpp"

namespace baton::link::ros2 {
namespace {

constexpr std::chrono::milliseconds kAnswer{1000};
/// A process that is stopped does not answer, and must not hold the others up.
constexpr std::chrono::seconds kAskAgain{5};
constexpr std::size_t kMostSilent = 1000, kMostCompared = 100;

}  // namespace

RosType::RosType(transport::TypeInfo type, message::Definition defined, message::CdrCodec compiled)
    : info(std::move(type)), definition(std::move(defined)), codec(std::move(compiled)) {
  hash = type_hash(definition.type());
}

bool RosType::matches(const std::string& other) const {
  if (other.empty()) return true;
  const auto known = compared_.find(other);
  if (known != compared_.end()) return known->second;
  if (compared_.size() >= kMostCompared) compared_.clear();
  return compared_[other] = is_hash_of(definition.type(), other);
}

std::shared_ptr<const RosType> Types::of(const transport::EndpointInfo& endpoint, bool* again) {
  const auto known = known_.find({endpoint.type_name, endpoint.type_hash});
  if (known != known_.end()) return known->second;
  const auto now = std::chrono::steady_clock::now();
  const auto silent = silent_.find(endpoint.connection);  // one question waits for a process, not one for each endpoint
  if (silent != silent_.end() && now - silent->second < kAskAgain) {
    *again = true;
    return nullptr;
  }
  const std::string kind = "ROS 2 type " + endpoint.type_name;
  Result<transport::TypeInfo> info = participant_->type_of(endpoint.gid, kAnswer);
  if (!info) {
    *again = true;
    if (info.error().code == Errc::not_found) return nullptr;  // it has just left, or its process is only half known
    if (silent_.size() >= kMostSilent) silent_.clear();
    if (info.error().code == Errc::timed_out) silent_[endpoint.connection] = std::chrono::steady_clock::now();
    saying_->say_rarely(kind, Saying::Level::kWarning, info.error().code, info.error().message + "; trying again");
    return nullptr;
  }
  std::string why;
  std::shared_ptr<const RosType> type;
  Result<message::Definition> definition = message::Definition::parse(info->definition, endpoint.type_hash);
  if (!definition) {
    why = definition.error().message;
  } else if (definition->type().size != info->skeleton_bytes) {
    why = "its size is not that of its definition";
  } else {
    Result<message::CdrCodec> codec = message::CdrCodec::compile(definition->type());
    if (!codec) {
      why = codec.error().message;
    } else {
      info->fixed_size = definition->type().fixed;
      type = std::make_shared<const RosType>(std::move(*info), std::move(*definition), std::move(*codec));
    }
  }
  if (!type) {
    saying_->say_rarely(kind, Saying::Level::kError, Errc::malformed_message,
                        "messages of " + endpoint.type_name + " are not carried to or from ROS 2 nodes: " + why);
  }
  known_[{endpoint.type_name, endpoint.type_hash}] = type;
  return type;
}

}  // namespace baton::link::ros2
