// SPDX-License-Identifier: Apache-2.0
// The types of local endpoints, as their processes define them, with the codec to and from ROS 2's serialized form.
// Thread rules: one thread; a RosType is immutable but for `matches`, which that thread calls.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "baton/message/cdr_codec.hpp"
#include "type_cache.hpp"

namespace baton::link::ros2 {

using transport::Gid;

struct RosType {
  RosType(std::shared_ptr<const LocalType> type, message::CdrCodec compiled);
  /// Whether an endpoint with this hash has the same definition. An empty hash: the endpoint states none, and only its type's name is compared.
  bool matches(const std::string& hash) const;

  const std::shared_ptr<const LocalType> local_type;
  const transport::TypeInfo& info;
  const message::Definition& definition;
  const message::CdrCodec codec;
  const std::string hash;  ///< RIHS01

 private:
  mutable std::map<std::string, bool> compared_;
};

class RosTypes {
 public:
  RosTypes(std::shared_ptr<TypeCache> types, std::shared_ptr<LinkLog> log)
      : types_(std::move(types)), log_(std::move(log)) {}
  /// The type of a known endpoint of this domain. Null: not known yet (link::TypeCache), or ROS 2 has no such messages.
  std::shared_ptr<const RosType> of(const transport::EndpointInfo& endpoint);

 private:
  const std::shared_ptr<TypeCache> types_;
  const std::shared_ptr<LinkLog> log_;
  std::map<std::pair<std::string, TypeHash>, std::shared_ptr<const RosType>> known_;
};

}  // namespace baton::link::ros2
