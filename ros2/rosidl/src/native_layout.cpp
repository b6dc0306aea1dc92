// SPDX-License-Identifier: Apache-2.0
// check_layout(): three checks of a type, each of which relies on the previous one.
// 1. The introspection's structs. A library may have been built with another ROS 2. So the words are compared with
//    their possible values before any pointer is followed: kinds, flags and sizes in their ranges, padding zero,
//    functions present for arrays.
// 2. Sizes and offsets. Each follows from the kinds of the members before it; the introspection must say the same.
// 3. A trial message: it is made, filled by the introspection's own functions, compared with Baton's view of it, and
//    destroyed.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "baton/rosidl/introspection.hpp"
#include "baton/rosidl/ros2_version.hpp"
#include "rosidl_runtime_c/primitives_sequence.h"
#include "rosidl_runtime_c/string.h"
#include "rosidl_runtime_c/u16string.h"
#include "rosidl_typesupport_introspection_c/field_types.h"
#include "rosidl_typesupport_introspection_c/message_introspection.h"

namespace baton::rosidl {
namespace {

constexpr std::uint8_t kBoolean = rosidl_typesupport_introspection_c__ROS_TYPE_BOOLEAN;
constexpr std::uint8_t kString = rosidl_typesupport_introspection_c__ROS_TYPE_STRING;
constexpr std::uint8_t kWString = rosidl_typesupport_introspection_c__ROS_TYPE_WSTRING;
constexpr std::uint8_t kMessage = rosidl_typesupport_introspection_c__ROS_TYPE_MESSAGE;

// More members than any message has; a pointer mistaken for a number is greater.
constexpr std::size_t kMostMembers = 1U << 16;
constexpr std::size_t kMostBytes = std::size_t{1} << 31;
constexpr std::size_t kMostElements = std::numeric_limits<std::uint32_t>::max();
constexpr unsigned kMostNested = 100;

struct SizeAndAlignment {
  std::size_t size, alignment;
};

template <class T>
constexpr SizeAndAlignment extent_of() {
  return {sizeof(T), alignof(T)};
}

bool is_sequence(const Member& member) {
  return member.is_array_ && (member.array_size_ == 0 || member.is_upper_bound_);
}

/// The extent of one element of a kind that is no message; size 0: SFM does not have the kind.
SizeAndAlignment element_extent(std::uint8_t kind, bool c) {
  switch (kind) {
    case rosidl_typesupport_introspection_c__ROS_TYPE_BOOLEAN:
      return extent_of<bool>();
    case rosidl_typesupport_introspection_c__ROS_TYPE_CHAR:
    case rosidl_typesupport_introspection_c__ROS_TYPE_OCTET:
    case rosidl_typesupport_introspection_c__ROS_TYPE_UINT8:
    case rosidl_typesupport_introspection_c__ROS_TYPE_INT8:
      return extent_of<std::uint8_t>();
    case rosidl_typesupport_introspection_c__ROS_TYPE_UINT16:
    case rosidl_typesupport_introspection_c__ROS_TYPE_INT16:
      return extent_of<std::uint16_t>();
    case rosidl_typesupport_introspection_c__ROS_TYPE_UINT32:
    case rosidl_typesupport_introspection_c__ROS_TYPE_INT32:
      return extent_of<std::uint32_t>();
    case rosidl_typesupport_introspection_c__ROS_TYPE_UINT64:
    case rosidl_typesupport_introspection_c__ROS_TYPE_INT64:
      return extent_of<std::uint64_t>();
    case rosidl_typesupport_introspection_c__ROS_TYPE_FLOAT:
      return extent_of<float>();
    case rosidl_typesupport_introspection_c__ROS_TYPE_DOUBLE:
      return extent_of<double>();
    case kString:
      return c ? extent_of<rosidl_runtime_c__String>() : extent_of<std::string>();
    case kWString:
      return c ? extent_of<rosidl_runtime_c__U16String>() : extent_of<std::u16string>();
    default:
      return {0, 1};
  }
}

SizeAndAlignment sequence_extent(std::uint8_t kind, bool c) {
  if (c) return extent_of<rosidl_runtime_c__uint8__Sequence>();
  return kind == kBoolean ? extent_of<std::vector<bool>>() : extent_of<std::vector<std::uint8_t>>();
}

// The words of the introspection's structs. Between them is padding, which a compiler writes as zero.
struct StructWord {
  std::size_t offset, size;
  bool flag;
};
#define WORD(type, field) \
  StructWord { offsetof(type, field), sizeof(type::field), std::is_same_v<decltype(type::field), bool> }
constexpr StructWord kWordsOfMember[] = {WORD(Member, name_),
                                         WORD(Member, type_id_),
                                         WORD(Member, string_upper_bound_),
                                         WORD(Member, members_),
                                         WORD(Member, is_array_),
                                         WORD(Member, array_size_),
                                         WORD(Member, is_upper_bound_),
                                         WORD(Member, offset_),
                                         WORD(Member, default_value_),
                                         WORD(Member, size_function),
                                         WORD(Member, get_const_function),
                                         WORD(Member, get_function),
                                         WORD(Member, fetch_function),
                                         WORD(Member, assign_function),
                                         WORD(Member, resize_function),
                                         BATON_ROS2_SINCE_JAZZY(WORD(Member, is_key_))};
constexpr StructWord kWordsOfMembers[] = {
    WORD(Members, message_namespace_), WORD(Members, message_name_),
    WORD(Members, member_count_),      WORD(Members, size_of_),
    WORD(Members, members_),           WORD(Members, init_function),
    WORD(Members, fini_function),      BATON_ROS2_SINCE_JAZZY(WORD(Members, has_any_key_member_))};
#undef WORD

/// Whether `object` can be a struct of these words: flags are 0 or 1, padding is 0. Follows no pointer.
template <class Struct, std::size_t kCount>
bool has_words(const Struct* object, const StructWord (&words)[kCount]) {
  if (object == nullptr || reinterpret_cast<std::uintptr_t>(object) % alignof(Struct) != 0) return false;
  std::array<unsigned char, sizeof(Struct)> bytes{};
  std::memcpy(bytes.data(), static_cast<const void*>(object), sizeof(Struct));
  std::array<bool, sizeof(Struct)> used{};
  for (const StructWord& word : words) {
    if (word.flag && bytes[word.offset] > 1) return false;
    for (std::size_t i = 0; i < word.size; ++i) used[word.offset + i] = true;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (!used[i] && bytes[i] != 0) return false;
  return true;
}

bool can_be(const Members* members) {
  if (!has_words(members, kWordsOfMembers)) return false;
  return members->message_namespace_ != nullptr && members->message_name_ != nullptr && members->member_count_ != 0 &&
         members->member_count_ <= kMostMembers && members->size_of_ != 0 && members->size_of_ <= kMostBytes &&
         members->members_ != nullptr && members->init_function != nullptr && members->fini_function != nullptr;
}

bool can_be(const Member* member, std::size_t struct_bytes) {
  if (!has_words(member, kWordsOfMember)) return false;
  const bool text = member->type_id_ == kString || member->type_id_ == kWString;
  if (member->name_ == nullptr || member->type_id_ == 0 || member->type_id_ > kMessage) return false;
  if (member->string_upper_bound_ > (text ? kMostElements : 0)) return false;
  if ((member->members_ != nullptr) != (member->type_id_ == kMessage)) return false;
  if (member->array_size_ > (member->is_array_ ? kMostElements : 0)) return false;
  if (member->is_upper_bound_ && member->array_size_ == 0) return false;
  if (member->offset_ >= struct_bytes) return false;
  return member->is_array_ || (member->size_function == nullptr && member->get_const_function == nullptr &&
                               member->get_function == nullptr && member->fetch_function == nullptr &&
                               member->assign_function == nullptr && member->resize_function == nullptr);
}

/// The first function that Baton calls and the introspection lacks; null: none.
const char* missing_function(const Member& member, bool c) {
  if (!is_sequence(member)) return nullptr;
  if (member.size_function == nullptr) return "size_function";
  if (member.resize_function == nullptr) return "resize_function";
  if (is_packed(member, c)) {
    if (member.fetch_function == nullptr) return "fetch_function";
    return member.assign_function == nullptr ? "assign_function" : nullptr;
  }
  if (member.get_const_function == nullptr) return "get_const_function";
  return member.get_function == nullptr ? "get_function" : nullptr;
}

Error difference(const std::string& where, const std::string& text) {
  return {Errc::unsupported,
          where + " " + text +
              ": this ROS 2 lays messages out differently from the one that Baton knows (docs/concepts/ros2.md)"};
}

std::string number(std::size_t value) { return std::to_string(value); }

/// A message of the type for the third check.
class Trial {
 public:
  explicit Trial(const Members& members) : members_(members), words_(members.size_of_ / sizeof(std::max_align_t) + 1) {
    members.init_function(words_.data(), rosidl_runtime_cpp::MessageInitialization::ALL);
  }
  ~Trial() { members_.fini_function(words_.data()); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  std::byte* at(const Member& member) { return reinterpret_cast<std::byte*>(words_.data()) + member.offset_; }

 private:
  const Members& members_;
  std::vector<std::max_align_t> words_;  // zeroed: C's initialization leaves fields without a default unchanged
};

using Three = std::array<std::uintptr_t, 3>;

Three three_words(const std::byte* at) {
  Three words{};
  std::memcpy(words.data(), at, sizeof words);
  return words;
}

/// Whether the second word is the size: the sequence has as many elements as that word says, not as the third one says.
bool has_size_in_second_word(const Member& member, std::byte* at, std::size_t count) {
  const auto write = [at](std::size_t size) { std::memcpy(at + sizeof size, &size, sizeof size); };
  write(count - 1);
  const bool found = member.size_function(at) == count - 1;
  write(count);
  return found;
}

/// The fault in a string that was made by the type's initialization; empty: none.
template <class String>
std::string look_at_string(const std::byte* at) {
  const auto& text = *reinterpret_cast<const String*>(at);
  const bool right = text.data() != nullptr && text.size() <= text.capacity() && text.capacity() < kMostBytes;
  return right ? "" : "is no std::basic_string that this program's standard library knows";
}

std::string look_at_c_string(const std::byte* at) {
  const Three words = three_words(at);
  return words[0] != 0 && words[1] < words[2] && words[2] < kMostBytes ? "" : "is no {data, size, capacity}";
}

std::string look_at_array(const Member& member, std::byte* at, std::size_t element_bytes) {
  if (member.size_function != nullptr && member.size_function(at) != member.array_size_)
    return "has " + number(member.size_function(at)) + " elements by its size_function, and " +
           number(member.array_size_) + " by its array_size_";
  if (member.get_function == nullptr) return "";
  for (std::size_t i = 0; i<member.array_size_; i += member.array_size_> 1 ? member.array_size_ - 1 : 1)
    if (member.get_function(at, i) != at + i * element_bytes)
      return "has element " + number(i) + " at another place than byte " + number(i * element_bytes);
  return "";
}

std::string look_at_sequence(const Member& member, bool c, std::byte* at, std::size_t element_bytes) {
  const std::size_t count = member.is_upper_bound_ && member.array_size_ < 2 ? member.array_size_ : 2;
  if (c) {
    const auto resize =
        reinterpret_cast<const rosidl_typesupport_introspection_c__MessageMember&>(member).resize_function;
    if (!resize(at, count)) throw std::bad_alloc();
  } else {
    member.resize_function(at, count);
  }
  if (member.size_function(at) != count)
    return "was given " + number(count) + " elements and has " + number(member.size_function(at)) +
           " by its size_function";
  if (is_packed(member, c)) {
    bool value = true;
    member.assign_function(at, count - 1, &value);
    value = false;
    member.fetch_function(at, count - 1, &value);
    return value && (*reinterpret_cast<const std::vector<bool>*>(at))[count - 1] ? "" : "does not keep a value";
  }
  const auto* const first = static_cast<const std::byte*>(member.get_const_function(at, 0));
  if (member.get_function(at, 0) != first || member.get_function(at, count - 1) != first + (count - 1) * element_bytes)
    return "has elements that do not lie side by side, " + number(element_bytes) + " bytes each";
  const auto begin = reinterpret_cast<std::uintptr_t>(first);
  const Three words = three_words(at);
  const bool right = c ? words[0] == begin && words[1] == count && words[2] >= count && words[2] < kMostElements &&
                             has_size_in_second_word(member, at, count)
                       : words[0] == begin && words[1] == begin + count * element_bytes && words[2] >= words[1];
  if (right) return "";
  return c ? "is no {data, size, capacity}" : "is no std::vector of three pointers";
}

class LayoutCheck {
 public:
  Result<SizeAndAlignment> type(const Introspection& source, unsigned depth) {
    if (!can_be(source.members))
      return difference("a message type", "is described by a struct that is not the introspection's MessageMembers");
    const Members& members = *source.members;
    if (const auto known = known_.find(&members); known != known_.end()) return known->second;
    const std::string name = type_name(members);
    if (depth == kMostNested) return difference(name, "is nested too deep");
    std::vector<std::size_t> element_bytes;
    Result<SizeAndAlignment> extent = members_of(source, name, depth, element_bytes);
    if (!extent) return extent;
    if (Result<void> tried = try_out(source, name, element_bytes); !tried) return tried.error();
    known_.emplace(&members, *extent);
    return extent;
  }

 private:
  Result<SizeAndAlignment> members_of(const Introspection& source, const std::string& name, unsigned depth,
                                      std::vector<std::size_t>& element_bytes) {
    const Members& members = *source.members;
    SizeAndAlignment whole{0, 1};
    std::string before;  // the previous member, as text
    for (std::uint32_t i = 0; i < members.member_count_; ++i) {
      const Member* const member = members.members_ + i;
      if (!can_be(member, members.size_of_))
        return difference(name, "has a member " + number(i) + (before.empty() ? "" : ", behind '" + before + "',") +
                                    " whose description is not the introspection's MessageMember");
      const std::string where = name + "." + member->name_;
      if (const char* missing = missing_function(*member, source.c))
        return difference(where, std::string("has no ") + missing);
      Result<SizeAndAlignment> element = element_of(*member, where, source.c, depth);
      if (!element) return element;
      element_bytes.push_back(element->size);
      SizeAndAlignment extent = *element;
      if (is_sequence(*member))
        extent = sequence_extent(member->type_id_, source.c);
      else if (member->is_array_)
        extent.size *= member->array_size_;
      const std::size_t offset = (whole.size + extent.alignment - 1) / extent.alignment * extent.alignment;
      if (member->offset_ != offset)
        return difference(where, "lies at byte " + number(member->offset_) + " of the struct and is expected at byte " +
                                     number(offset) + (before.empty() ? "" : ", behind '" + before + "'"));
      whole = {offset + extent.size, extent.alignment > whole.alignment ? extent.alignment : whole.alignment};
      before = member->name_;
    }
    whole.size = (whole.size + whole.alignment - 1) / whole.alignment * whole.alignment;
    if (members.size_of_ != whole.size)
      return difference(name + "." + before, "is the last member of a struct of " + number(members.size_of_) +
                                                 " bytes, where " + number(whole.size) + " are expected");
    return whole;
  }

  Result<SizeAndAlignment> element_of(const Member& member, const std::string& where, bool c, unsigned depth) {
    if (member.type_id_ == kMessage) {
      Result<Introspection> nested = introspect(member.members_);
      if (!nested) return nested.error();
      if (nested->c != c) return difference(where, "is a C message inside a C++ message, or the reverse");
      return type(*nested, depth + 1);
    }
    const SizeAndAlignment extent = element_extent(member.type_id_, c);
    if (extent.size == 0) return Error{Errc::unsupported, where + " is of a kind that SFM does not have"};
    return extent;
  }

  static Result<void> try_out(const Introspection& source, const std::string& name,
                              const std::vector<std::size_t>& element_bytes) {
    try {
      Trial trial(*source.members);
      for (std::uint32_t i = 0; i < source.members->member_count_; ++i) {
        const Member& member = source.members->members_[i];
        if (std::string wrong = look_at(member, source.c, trial.at(member), element_bytes[i]); !wrong.empty())
          return difference(name + "." + member.name_, wrong);
      }
      return {};
    } catch (const std::bad_alloc&) {
      return Error{Errc::out_of_memory, "no memory to check the layout of type " + name};
    } catch (const std::exception& error) {
      return difference(name, std::string("cannot be made and filled (") + error.what() + ")");
    }
  }

  static std::string look_at(const Member& member, bool c, std::byte* at, std::size_t element_bytes) {
    if (is_sequence(member)) return look_at_sequence(member, c, at, element_bytes);
    if (member.is_array_) {
      if (std::string wrong = look_at_array(member, at, element_bytes); !wrong.empty()) return wrong;
    }
    if (member.type_id_ != kString && member.type_id_ != kWString) return "";
    if (c) return look_at_c_string(at);
    return member.type_id_ == kString ? look_at_string<std::string>(at) : look_at_string<std::u16string>(at);
  }

  std::map<const Members*, SizeAndAlignment> known_;
};

}  // namespace

Result<void> check_layout(const Introspection& type) {
  Result<SizeAndAlignment> extent = LayoutCheck().type(type, 0);
  if (!extent) return extent.error();
  return {};
}

}  // namespace baton::rosidl
