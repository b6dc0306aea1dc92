// SPDX-License-Identifier: Apache-2.0
#include "ros2/names.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "baton/os/hexadecimal.hpp"

namespace baton::link::ros2 {
namespace {

using message::Field;
using message::Kind;
using message::Shape;
using message::Type;

const std::string kTopicPrefix = "rt";
const std::string kMsg = "::msg::dds_::";
const std::string kVersion = "RIHS01_";
/// Hashes of 2^12 definitions are made in a fraction of a second.
constexpr std::size_t kMostGuesses = 12;

using FieldName = std::pair<std::string, std::string>;  // type, field

/// Of the standard packages.
bool is_byte(const FieldName& field) {
  static const std::set<FieldName> known = {{"diagnostic_msgs/DiagnosticStatus", "level"},
                                            {"rcl_interfaces/ParameterValue", "byte_array_value"},
                                            {"std_msgs/Byte", "data"},
                                            {"std_msgs/ByteMultiArray", "data"}};
  return known.count(field) != 0;
}

std::string ros_name(const std::string& type_name) {
  const std::size_t slash = type_name.find('/');
  return slash == std::string::npos ? type_name : type_name.substr(0, slash) + "/msg" + type_name.substr(slash);
}

/// The number of a single value in type_description_interfaces/msg/FieldType.
int kind_number(const Field& field, bool byte) {
  switch (field.kind) {
    case Kind::kMessage:
      return 1;
    case Kind::kInt8:
      return 2;
    case Kind::kUint8:
      return byte ? 16 : 3;
    case Kind::kInt16:
      return 4;
    case Kind::kUint16:
      return 5;
    case Kind::kInt32:
      return 6;
    case Kind::kUint32:
      return 7;
    case Kind::kInt64:
      return 8;
    case Kind::kUint64:
      return 9;
    case Kind::kFloat32:
      return 10;
    case Kind::kFloat64:
      return 11;
    case Kind::kBool:
      return 15;
    case Kind::kString:
      return field.string_bound != 0 ? 21 : 17;
    case Kind::kWString:
      return field.string_bound != 0 ? 22 : 18;
  }
  return 0;
}

int shape_number(const Field& field) {
  constexpr int kArray = 48, kBounded = 96, kUnbounded = 144;
  if (field.shape == Shape::kArray) return kArray;
  if (field.shape == Shape::kSingle) return 0;
  return field.count != 0 ? kBounded : kUnbounded;
}

/// ROS 2's std_msgs/Header has no seq.
std::uint32_t first_field(const Type& type) { return std::strcmp(type.name, "std_msgs/Header") == 0 ? 1 : 0; }

void add_types(const Type& type, std::map<std::string, const Type*>& types) {
  for (std::uint32_t i = 0; i < type.field_count; ++i) {
    const Type* inner = type.fields[i].type;
    if (inner != nullptr && types.emplace(ros_name(inner->name), inner).second) add_types(*inner, types);
  }
}

void describe(const Type& type, const std::set<FieldName>& bytes, std::string& out) {
  out += "{\"type_name\": \"" + ros_name(type.name) + "\", \"fields\": [";
  const auto field_text = [&out](const std::string& name, int number, std::uint32_t capacity, std::uint32_t bound,
                                 const std::string& nested) {
    out += "{\"name\": \"" + name + "\", \"type\": {\"type_id\": " + std::to_string(number) +
           ", \"capacity\": " + std::to_string(capacity) + ", \"string_capacity\": " + std::to_string(bound) +
           ", \"nested_type_name\": \"" + nested + "\"}}";
  };
  const std::uint32_t first = first_field(type);
  // rosidl gives a message without fields one, since C has no empty struct.
  if (type.field_count == first) field_text("structure_needs_at_least_one_member", 3, 0, 0, "");
  for (std::uint32_t i = first; i < type.field_count; ++i) {
    const Field& field = type.fields[i];
    if (i != first) out += ", ";
    const bool byte = bytes.count({type.name, field.name}) != 0;
    field_text(field.name, kind_number(field, byte) + shape_number(field), field.count, field.string_bound,
               field.type != nullptr ? ros_name(field.type->name) : std::string());
  }
  out += "]}";
}

std::string hash_of(const Type& type, const std::map<std::string, const Type*>& inner,
                    const std::set<FieldName>& bytes) {
  std::string text = "{\"type_description\": ";
  describe(type, bytes, text);
  text += ", \"referenced_type_descriptions\": [";
  bool first = true;
  for (const auto& [name, each] : inner) {
    if (!std::exchange(first, false)) text += ", ";
    describe(*each, bytes, text);
  }
  text += "]}";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) return {};
  return kVersion + os::hexadecimal(digest.data(), size);
}

std::vector<FieldName> uint8_fields(const Type& type, const std::map<std::string, const Type*>& inner) {
  std::vector<FieldName> found;
  const auto add = [&found](const Type& each) {
    for (std::uint32_t i = 0; i < each.field_count; ++i) {
      if (each.fields[i].kind == Kind::kUint8) found.emplace_back(each.name, each.fields[i].name);
    }
  };
  add(type);
  for (const auto& [name, each] : inner) add(*each);
  return found;
}

bool permitted(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '/';
}

}  // namespace

std::string dds_topic(const std::string& topic) {
  return kTopicPrefix + (topic.empty() || topic[0] != '/' ? "/" : "") + topic;
}

std::optional<std::string> topic_of(const std::string& dds_topic) {
  if (dds_topic.compare(0, kTopicPrefix.size() + 1, kTopicPrefix + "/") != 0) return std::nullopt;
  return dds_topic.substr(kTopicPrefix.size());
}

std::string dds_type(const std::string& type_name) {
  const std::size_t slash = type_name.find('/');
  if (slash == std::string::npos) return type_name;
  return type_name.substr(0, slash) + kMsg + type_name.substr(slash + 1) + "_";
}

std::string type_of(const std::string& dds_type) {
  const std::size_t found = dds_type.find(kMsg);
  if (found == std::string::npos || dds_type.back() != '_') return dds_type;
  const std::size_t name = found + kMsg.size();
  return dds_type.substr(0, found) + "/" + dds_type.substr(name, dds_type.size() - name - 1);
}

std::pair<std::string, std::string> node_name(const std::string& node) {
  std::string name = node;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !permitted(c); }, '_');
  const std::size_t slash = name.rfind('/');
  if (slash == std::string::npos) return {"/", name};
  return {slash == 0 ? "/" : name.substr(0, slash), name.substr(slash + 1)};
}

std::map<std::string, std::string> parse_user_data(const std::string& text) {
  std::map<std::string, std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    const std::size_t equal = text.find('=', at);
    if (equal < end) out[text.substr(at, equal - at)] = text.substr(equal + 1, end - equal - 1);
    at = end + 1;
  }
  return out;
}

std::optional<transport::Gid> gid_of(const std::string& hexadecimal) {
  transport::Gid gid{};
  return os::from_hexadecimal(hexadecimal, gid) ? std::optional(gid) : std::nullopt;
}

std::string type_hash(const Type& type) {
  std::map<std::string, const Type*> inner;
  add_types(type, inner);
  std::set<FieldName> bytes;
  for (const FieldName& field : uint8_fields(type, inner)) {
    if (is_byte(field)) bytes.insert(field);
  }
  return hash_of(type, inner, bytes);
}

bool is_hash_of(const Type& type, const std::string& hash) {
  if (hash.compare(0, kVersion.size(), kVersion) != 0 || hash == type_hash(type)) return true;
  std::map<std::string, const Type*> inner;
  add_types(type, inner);
  const std::vector<FieldName> fields = uint8_fields(type, inner);
  if (fields.size() > kMostGuesses) return true;
  for (std::uint32_t guess = 0; guess < std::uint32_t{1} << fields.size(); ++guess) {
    std::set<FieldName> bytes;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if ((guess >> i & 1U) != 0) bytes.insert(fields[i]);
    }
    if (hash == hash_of(type, inner, bytes)) return true;
  }
  return false;
}

}  // namespace baton::link::ros2
