// SPDX-License-Identifier: Apache-2.0
// The types of local endpoints, as their processes define them, with the codec to and from ROS 2's serialized form.
// Thread rules: one thread; a RosType is immutable but for `matches`, which that thread calls.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "baton/message/cdr_codec.hpp"
#include "baton/message/definition.hpp"
#include "baton/transport/transport.hpp"
#include "saying.hpp"

namespace baton::link::ros2 {

using transport::Gid;

struct RosType {
  RosType(transport::TypeInfo type, message::Definition defined, message::CdrCodec compiled);
  /// Whether an endpoint with this hash has the same definition; empty: it does not say one, and its name counts.
  bool matches(const std::string& hash) const;

  transport::TypeInfo info;
  message::Definition definition;
  message::CdrCodec codec;
  std::string hash;  ///< RIHS01

 private:
  mutable std::map<std::string, bool> compared_;
};

class Types {
 public:
  Types(std::shared_ptr<transport::Participant> participant, std::shared_ptr<Saying> saying)
      : participant_(std::move(participant)), saying_(std::move(saying)) {}
  /// The type of a known endpoint of this domain, whose process is asked for it, for a second at most. Null: it does not answer, or
  /// its answer is no definition; `*again` is set if it is to be asked again.
  std::shared_ptr<const RosType> of(const transport::EndpointInfo& endpoint, bool* again);

 private:
  const std::shared_ptr<transport::Participant> participant_;
  const std::shared_ptr<Saying> saying_;
  std::map<std::pair<std::string, std::array<std::uint8_t, 16>>, std::shared_ptr<const RosType>> known_;
  std::map<std::uint64_t, std::chrono::steady_clock::time_point> silent_;
};

}  // namespace baton::link::ros2
