// SPDX-License-Identifier: Apache-2.0
// From ROS 2's introspection to the canonical definition and to the steps that native_walk.cpp takes.
#include "baton/rosidl/native_plan.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "baton/rosidl/introspection.hpp"
#include "native_steps.hpp"
#include "rosidl_runtime_c/string.h"
#include "rosidl_runtime_c/u16string.h"
#include "rosidl_typesupport_introspection_c/field_types.h"
#include "sha256.hpp"

namespace baton::rosidl {
namespace {

using message::Kind;
using message::Shape;

const char* primitive(std::uint8_t id) {
  switch (id) {
    case rosidl_typesupport_introspection_c__ROS_TYPE_FLOAT:
      return "float32";
    case rosidl_typesupport_introspection_c__ROS_TYPE_DOUBLE:
      return "float64";
    case rosidl_typesupport_introspection_c__ROS_TYPE_CHAR:
      return "uint8";
    case rosidl_typesupport_introspection_c__ROS_TYPE_OCTET:
      return "uint8";
    case rosidl_typesupport_introspection_c__ROS_TYPE_UINT8:
      return "uint8";
    case rosidl_typesupport_introspection_c__ROS_TYPE_BOOLEAN:
      return "bool";
    case rosidl_typesupport_introspection_c__ROS_TYPE_INT8:
      return "int8";
    case rosidl_typesupport_introspection_c__ROS_TYPE_UINT16:
      return "uint16";
    case rosidl_typesupport_introspection_c__ROS_TYPE_INT16:
      return "int16";
    case rosidl_typesupport_introspection_c__ROS_TYPE_UINT32:
      return "uint32";
    case rosidl_typesupport_introspection_c__ROS_TYPE_INT32:
      return "int32";
    case rosidl_typesupport_introspection_c__ROS_TYPE_UINT64:
      return "uint64";
    case rosidl_typesupport_introspection_c__ROS_TYPE_INT64:
      return "int64";
    case rosidl_typesupport_introspection_c__ROS_TYPE_STRING:
      return "string";
    case rosidl_typesupport_introspection_c__ROS_TYPE_WSTRING:
      return "wstring";
    default:
      return nullptr;
  }
}

/// Writes the section of every reachable type, by name. check_layout() has accepted the introspection.
Result<void> describe(const Members& members, std::map<std::string, std::string>& sections) {
  const std::string name = type_name(members);
  if (sections.count(name) != 0) return {};
  std::string& section = sections[name];
  std::string text = "message " + name + "\n";
  if (name == "std_msgs/Header") text += "uint32 seq\n";
  for (std::uint32_t i = 0; i < members.member_count_ && !is_placeholder(members); ++i) {
    const Member& member = members.members_[i];
    if (member.type_id_ == rosidl_typesupport_introspection_c__ROS_TYPE_MESSAGE) {
      Result<Introspection> nested = introspect(member.members_);
      if (!nested) return nested.error();
      if (Result<void> described = describe(*nested->members, sections); !described) return described;
      text += type_name(*nested->members);
    } else if (const char* base = primitive(member.type_id_)) {
      text += base;
      if (member.string_upper_bound_ != 0) text += "<=" + std::to_string(member.string_upper_bound_);
    } else {
      return Error{Errc::unsupported, name + "." + member.name_ + " is of a kind that SFM does not have"};
    }
    if (member.is_array_) {
      if (member.array_size_ == 0)
        text += "[]";
      else
        text += (member.is_upper_bound_ ? "[<=" : "[") + std::to_string(member.array_size_) + "]";
    }
    text += std::string(" ") + member.name_ + "\n";
  }
  section = std::move(text);
  return {};
}

std::shared_ptr<const Steps> steps_of(const Introspection& source, const message::Type& type);

/// Adds a step, or makes the last one longer.
void add_step(Steps& made, const Step& step) {
  if (!made.steps.empty() && (step.kind == Step::Kind::kBytes || step.kind == Step::Kind::kBools)) {
    Step& last = made.steps.back();
    if (last.kind == step.kind && last.native + last.bytes == step.native && last.place + last.bytes == step.place) {
      last.bytes += step.bytes;
      return;
    }
  }
  made.steps.push_back(step);
}

/// Adds the steps of a type that lies at `native` and at `place`.
void add_steps(const Introspection& source, const message::Type& type, std::uint32_t native, std::uint32_t place,
               Steps& made) {
  if (is_placeholder(*source.members)) return;
  const std::uint32_t first = type.field_count - source.members->member_count_;  // 1 for Header's seq, else 0
  for (std::uint32_t i = 0; i < source.members->member_count_; ++i) {
    const Member& member = source.members->members_[i];
    const message::Field& field = type.fields[first + i];
    const bool single = field.shape == Shape::kSingle, sequence = field.shape == Shape::kSequence;
    const std::uint32_t from = native + member.offset_, to = place + field.offset;
    if (field.kind == Kind::kMessage && single) {
      add_steps(introspect(member.members_).value(), *field.type, from, to, made);
      continue;
    }
    NativeField& added = made.fields.emplace_back();
    added = {&member, &field, nullptr, message::element_size(field), source.c};
    Step step{from, to, message::element_size(field), field.count, &added, Step::Kind::kOther, source.c};
    if (field.kind == Kind::kMessage) {
      made.owned.push_back(steps_of(introspect(member.members_).value(), *field.type));
      added.nested = made.owned.back().get();
      added.element_bytes = added.nested->native_bytes;
    } else if (field.kind == Kind::kString) {
      added.element_bytes = source.c ? sizeof(rosidl_runtime_c__String) : sizeof(std::string);
      if (single) step = {from, to, 1, field.string_bound, &added, Step::Kind::kString, source.c};
    } else if (field.kind == Kind::kWString) {
      added.element_bytes = source.c ? sizeof(rosidl_runtime_c__U16String) : sizeof(std::u16string);
    } else if (!sequence) {
      step.kind = field.kind == Kind::kBool ? Step::Kind::kBools : Step::Kind::kBytes;
      step.bytes *= message::inline_count(field);
    } else if (field.kind != Kind::kBool) {
      step.kind = Step::Kind::kScalars;
    }
    add_step(made, step);
  }
}

std::shared_ptr<const Steps> steps_of(const Introspection& source, const message::Type& type) {
  auto made = os::make_hot_shared<Steps>();
  made->native_bytes = source.members->size_of_;
  add_steps(source, type, 0, 0, *made);
  return made;
}

/// Whether all fields have the same places in the native struct (from `native`) and in the message (from `place`). Adds
/// the places of bools.
bool same_places(const Introspection& source, const message::Type& type, std::size_t native, std::size_t place,
                 std::vector<NativePlan::Places>& bools) {
  const Members& members = *source.members;
  const std::uint32_t member_count = is_placeholder(members) ? 0 : members.member_count_;
  if (members.size_of_ != type.size || type.field_count != member_count) return false;
  for (std::uint32_t n = 0; n < member_count; ++n) {
    const message::Field& field = type.fields[n];
    const Member& member = members.members_[n];
    if (field.shape == Shape::kSequence || field.kind == Kind::kString || field.kind == Kind::kWString) return false;
    const std::size_t from = native + member.offset_, to = place + field.offset;
    if (from != to) return false;
    const std::size_t count = message::inline_count(field), bytes = message::element_size(field);
    if (field.kind == Kind::kBool) bools.push_back({to, to + count});
    for (std::size_t i = 0; field.kind == Kind::kMessage && i < count; ++i) {
      const Introspection nested = introspect(member.members_).value();
      if (!same_places(nested, *field.type, from + i * nested.members->size_of_, to + i * bytes, bools)) return false;
    }
  }
  return true;
}

}  // namespace

message::TypeHash hash_of_definition(const std::string& text) {
  const std::array<std::uint8_t, 32> digest = sha256(text);
  message::TypeHash hash{};
  std::copy_n(digest.begin(), hash.size(), hash.begin());
  return hash;
}

Result<std::shared_ptr<const NativePlan>> NativePlan::compile(const rosidl_message_type_support_t* handle) {
  Result<Introspection> source = introspect(handle);
  if (!source) return source.error();
  if (Result<void> checked = check_layout(*source); !checked) return checked.error();
  std::map<std::string, std::string> sections;
  if (Result<void> described = describe(*source->members, sections); !described) return described.error();
  const std::string name = type_name(*source->members);
  std::string text = sections[name];
  for (const auto& [other, section] : sections) {
    if (other != name) text += section;
  }
  Result<message::Definition> definition = message::Definition::parse(text, hash_of_definition(text));
  if (!definition) return definition.error();
  std::shared_ptr<const Steps> steps = steps_of(*source, definition->type());
  std::vector<Places> bools;
  const bool same = definition->type().fixed && same_places(*source, definition->type(), 0, 0, bools);
  if (!same) bools.clear();
  return std::shared_ptr<const NativePlan>(
      new NativePlan(std::move(*definition), std::move(text), std::move(steps), same, std::move(bools)));
}

NativePlan::NativePlan(message::Definition definition, std::string text, std::shared_ptr<const Steps> steps,
                       bool same_layout, std::vector<Places> bools)
    : steps_(std::move(steps)),
      message_bytes_(definition.type().size),
      same_layout_(same_layout),
      bools_(std::move(bools)),
      definition_(std::move(definition)),
      text_(std::move(text)) {}

std::size_t NativePlan::native_bytes() const noexcept { return steps_->native_bytes; }

}  // namespace baton::rosidl
