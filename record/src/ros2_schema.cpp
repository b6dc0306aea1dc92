// SPDX-License-Identifier: Apache-2.0
#include "ros2_schema.hpp"

#include <cstring>

#include "baton/os/hexadecimal.hpp"

namespace baton::record {
namespace {

using message::Field;
using message::Kind;
using message::Shape;
using message::Type;

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kBool:
      return "bool";
    case Kind::kInt8:
      return "int8";
    case Kind::kUint8:
      return "uint8";
    case Kind::kInt16:
      return "int16";
    case Kind::kUint16:
      return "uint16";
    case Kind::kInt32:
      return "int32";
    case Kind::kUint32:
      return "uint32";
    case Kind::kInt64:
      return "int64";
    case Kind::kUint64:
      return "uint64";
    case Kind::kFloat32:
      return "float32";
    case Kind::kFloat64:
      return "float64";
    case Kind::kString:
      return "string";
    case Kind::kWString:
      return "wstring";
    case Kind::kMessage:
      break;
  }
  return "";
}

void append_fields(const Type& type, std::string& out, std::vector<const Type*>& reached) {
  const bool is_header = std::strcmp(type.name, "std_msgs/Header") == 0;
  for (std::uint32_t i = 0; i < type.field_count; ++i) {
    const Field& field = type.fields[i];
    if (is_header && std::strcmp(field.name, "seq") == 0) continue;  // not in ROS 2, and not in CDR
    out += field.kind == Kind::kMessage ? field.type->name : name_of(field.kind);
    if (field.string_bound != 0) out += "<=" + std::to_string(field.string_bound);
    if (field.shape == Shape::kArray) out += "[" + std::to_string(field.count) + "]";
    if (field.shape == Shape::kSequence) out += field.count == 0 ? "[]" : "[<=" + std::to_string(field.count) + "]";
    out += std::string(" ") + field.name + "\n";
    if (field.kind != Kind::kMessage) continue;
    bool known = false;
    for (const Type* other : reached) known = known || std::strcmp(other->name, field.type->name) == 0;
    if (!known) reached.push_back(field.type);
  }
}

std::string seconds(os::Nanoseconds value) {
  const std::int64_t ns = value.count();  // kInfinite is rmw's number, too
  return "\n    sec: " + std::to_string(ns / 1'000'000'000) + "\n    nsec: " + std::to_string(ns % 1'000'000'000);
}

}  // namespace

std::string ros2_type_name(const std::string& name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) return name;
  // Interfaces that people define have no underscore in their names.
  const std::size_t underscore = name.find('_', slash);
  const std::string part = underscore == std::string::npos ? "" : name.substr(underscore);
  const bool action = part == "_FeedbackMessage" || part.rfind("_SendGoal", 0) == 0 || part.rfind("_GetResult", 0) == 0;
  const bool service = part == "_Request" || part == "_Response" || part == "_Event";
  return name.substr(0, slash) + (action ? "/action" : service ? "/srv" : "/msg") + name.substr(slash);
}

std::string ros2_schema(const Type& type) {
  std::string out;
  std::vector<const Type*> reached;
  append_fields(type, out, reached);
  for (std::size_t i = 0; i < reached.size(); ++i) {
    out += std::string(80, '=') + "\nMSG: " + reached[i]->name + "\n";
    append_fields(*reached[i], out, reached);
  }
  return out;
}

std::string ros2_qos(const std::vector<QoS>& offered) {
  std::string out;
  for (const QoS& qos : offered) {
    out += out.empty() ? "" : "\n";
    out += "- history: " + std::string(qos.history == History::kKeepLast ? "1" : "2");
    out += "\n  depth: " + std::to_string(qos.depth);
    out += "\n  reliability: " + std::string(qos.reliability == Reliability::kReliable ? "1" : "2");
    out += "\n  durability: " + std::string(qos.durability == Durability::kTransientLocal ? "1" : "2");
    out += "\n  deadline:" + seconds(qos.deadline);
    out += "\n  lifespan:" + seconds(qos.lifespan);
    out += "\n  liveliness: " + std::string(qos.liveliness == Liveliness::kAutomatic ? "1" : "3");
    out += "\n  liveliness_lease_duration:" + seconds(qos.lease);
    out += "\n  avoid_ros_namespace_conventions: false";
  }
  return out;
}

std::string ros2_type_hash(const transport::RosTypeHash& hash) {
  if (hash.version != 1) return "";
  return "RIHS01_" + os::hexadecimal(hash.value.data(), hash.value.size());
}

}  // namespace baton::record
