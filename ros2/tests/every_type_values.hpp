// SPDX-License-Identifier: Apache-2.0
// Messages of any type, filled with values that every_type.py makes too, and compared field by field: C++ structs by introspection.
// The values are a chain of SplitMix64 from a name; the order is that of the fields.
// Thread rules: pure functions.
#pragma once

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "rosidl_runtime_cpp/message_initialization.hpp"
#include "rosidl_typesupport_introspection_cpp/field_types.hpp"
#include "rosidl_typesupport_introspection_cpp/identifier.hpp"
#include "rosidl_typesupport_introspection_cpp/message_introspection.hpp"

namespace every_type {

namespace introspection = rosidl_typesupport_introspection_cpp;
using Members = introspection::MessageMembers;
using Member = introspection::MessageMember;

class Source {
 public:
  explicit Source(const std::string& name) {
    for (const char c : name) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;  // FNV-1a
  }
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325U;
};

inline const Members& members_of(const rosidl_message_type_support_t* type) {
  const rosidl_message_type_support_t* found =
      get_message_typesupport_handle(type, introspection::typesupport_identifier);
  if (found == nullptr) throw std::runtime_error("a type without introspection");
  return *static_cast<const Members*>(found->data);
}

/// One value, as wide as any scalar.
union Scalar {
  std::uint64_t bits;
  float f;
  double d;
};
inline std::size_t width(std::uint8_t type) {
  using namespace introspection;
  switch (type) {
    case ROS_TYPE_INT16:
    case ROS_TYPE_UINT16:
      return 2;
    case ROS_TYPE_INT32:
    case ROS_TYPE_UINT32:
    case ROS_TYPE_FLOAT:
      return 4;
    case ROS_TYPE_INT64:
    case ROS_TYPE_UINT64:
    case ROS_TYPE_DOUBLE:
      return 8;
    case ROS_TYPE_LONG_DOUBLE:
    case ROS_TYPE_WCHAR:
      throw std::runtime_error("no standard type has such a field");
    default:
      return 1;
  }
}
inline Scalar scalar(std::uint8_t type, Source& source) {
  Scalar value{source.next()};
  const double eighths = (static_cast<double>(value.bits % 2001) - 1000) / 8;
  if (type == introspection::ROS_TYPE_BOOLEAN) value.bits &= 1;
  if (type == introspection::ROS_TYPE_FLOAT) value.f = static_cast<float>(eighths);
  if (type == introspection::ROS_TYPE_DOUBLE) value.d = eighths;
  return value;
}
inline std::string text(std::size_t bound, Source& source) {
  static const char* const kLetters[] = {"a", "b", "c", "\xc3\xa4", "\xc3\xb6"};
  const std::size_t length = source.below((bound != 0 && bound < 19 ? bound : 19) + 1);
  std::string made;
  for (std::size_t i = 0; i < length; ++i) made += kLetters[source.below(bound != 0 ? 3 : 5)];
  return made;
}
inline std::u16string wide_text(std::size_t bound, Source& source) {
  static const char16_t kLetters[] = u"abc\u00e4\u4e2d";
  const std::size_t length = source.below((bound != 0 && bound < 19 ? bound : 19) + 1);
  std::u16string made;
  for (std::size_t i = 0; i < length; ++i) made += kLetters[source.below(5)];
  return made;
}

inline bool placeholder(const Member& member) {
  return std::strcmp(member.name_, "structure_needs_at_least_one_member") == 0;
}

inline void fill(const Members& type, void* message, Source& source) {
  for (std::uint32_t i = 0; i < type.member_count_; ++i) {
    const Member& member = type.members_[i];
    if (placeholder(member)) continue;
    void* field = static_cast<std::byte*>(message) + member.offset_;
    std::size_t count = 1;
    if (member.is_array_) {
      const bool sequence = member.array_size_ == 0 || member.is_upper_bound_;
      count = member.array_size_;
      if (sequence) {
        count = source.below((member.is_upper_bound_ && member.array_size_ < 4 ? member.array_size_ : 4) + 1);
        member.resize_function(field, count);
      }
    }
    for (std::size_t j = 0; j < count; ++j) {
      if (member.type_id_ == introspection::ROS_TYPE_MESSAGE) {
        fill(members_of(member.members_), member.is_array_ ? member.get_function(field, j) : field, source);
      } else if (member.type_id_ == introspection::ROS_TYPE_STRING) {
        const std::string value = text(member.string_upper_bound_, source);
        if (member.is_array_) {
          member.assign_function(field, j, &value);
        } else {
          *static_cast<std::string*>(field) = value;
        }
      } else if (member.type_id_ == introspection::ROS_TYPE_WSTRING) {
        const std::u16string value = wide_text(member.string_upper_bound_, source);
        if (member.is_array_) {
          member.assign_function(field, j, &value);
        } else {
          *static_cast<std::u16string*>(field) = value;
        }
      } else {
        const Scalar value = scalar(member.type_id_, source);
        if (member.is_array_) {
          member.assign_function(field, j, &value);
        } else {
          std::memcpy(field, &value, width(member.type_id_));
        }
      }
    }
  }
}

/// The path of the first field that differs; empty: none.
inline std::string difference(const Members& type, const void* left, const void* right) {
  for (std::uint32_t i = 0; i < type.member_count_; ++i) {
    const Member& member = type.members_[i];
    if (placeholder(member)) continue;
    const void* a = static_cast<const std::byte*>(left) + member.offset_;
    const void* b = static_cast<const std::byte*>(right) + member.offset_;
    const std::size_t count = member.is_array_ ? member.size_function(a) : 1;
    if (member.is_array_ && member.size_function(b) != count) return std::string(member.name_) + ".size";
    for (std::size_t j = 0; j < count; ++j) {
      std::string inside;
      bool same = true;
      if (member.type_id_ == introspection::ROS_TYPE_MESSAGE) {
        inside = difference(members_of(member.members_), member.is_array_ ? member.get_const_function(a, j) : a,
                            member.is_array_ ? member.get_const_function(b, j) : b);
        same = inside.empty();
      } else if (member.type_id_ == introspection::ROS_TYPE_STRING) {
        std::string x, y;
        if (member.is_array_) {
          member.fetch_function(a, j, &x);
          member.fetch_function(b, j, &y);
        } else {
          x = *static_cast<const std::string*>(a);
          y = *static_cast<const std::string*>(b);
        }
        same = x == y;
      } else if (member.type_id_ == introspection::ROS_TYPE_WSTRING) {
        std::u16string x, y;
        if (member.is_array_) {
          member.fetch_function(a, j, &x);
          member.fetch_function(b, j, &y);
        } else {
          x = *static_cast<const std::u16string*>(a);
          y = *static_cast<const std::u16string*>(b);
        }
        same = x == y;
      } else {
        Scalar x{}, y{};
        if (member.is_array_) {
          member.fetch_function(a, j, &x);
          member.fetch_function(b, j, &y);
          same = std::memcmp(&x, &y, sizeof x) == 0;
        } else {
          same = std::memcmp(a, b, width(member.type_id_)) == 0;
        }
      }
      if (!same) return std::string(member.name_) + "[" + std::to_string(j) + "]." + inside;
    }
  }
  return "";
}

struct Free {
  const Members* type;
  void operator()(std::byte* message) const {
    type->fini_function(message);
    ::operator delete(message, std::align_val_t(16));
  }
};
using Message = std::unique_ptr<std::byte, Free>;

inline Message make(const Members& type) {
  auto* raw = static_cast<std::byte*>(::operator new(type.size_of_, std::align_val_t(16)));
  type.init_function(raw, rosidl_runtime_cpp::MessageInitialization::ALL);
  return Message(raw, Free{&type});
}
inline Message make(const Members& type, const std::string& seed) {
  Message message = make(type);
  Source source(seed);
  fill(type, message.get(), source);
  return message;
}

}  // namespace every_type
