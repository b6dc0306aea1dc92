// SPDX-License-Identifier: Apache-2.0
// Introspections that are off in each way: Baton has to refuse the type, and to name it, the member and the difference.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "baton/rosidl/introspection.hpp"
#include "baton/rosidl/native_plan.hpp"
#include "rosidl_typesupport_introspection_c/field_types.h"
#include "rosidl_typesupport_introspection_c/identifier.h"
#include "rosidl_typesupport_introspection_c/message_introspection.h"
#include "rosidl_typesupport_introspection_cpp/identifier.hpp"
#include "rosidl_typesupport_introspection_cpp/message_type_support_decl.hpp"
#include "sensor_msgs/msg/image.hpp"
#include "test_msgs/msg/arrays.hpp"
#include "test_msgs/msg/bounded_sequences.hpp"
#include "test_msgs/msg/unbounded_sequences.hpp"

extern "C" const rosidl_message_type_support_t*
rosidl_typesupport_introspection_c__get_message_type_support_handle__test_msgs__msg__UnboundedSequences();
extern "C" const rosidl_message_type_support_t*
rosidl_typesupport_introspection_c__get_message_type_support_handle__test_msgs__msg__Arrays();

namespace baton::rosidl {
namespace {

/// Whether `text` has each of the parts.
template <class... Parts>
testing::AssertionResult says(const std::string& text, const Parts&... parts) {
  if ((... && (text.find(parts) != std::string::npos))) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "it says: " << text;
}

constexpr std::uint8_t kUint8 = rosidl_typesupport_introspection_c__ROS_TYPE_UINT8;
constexpr std::uint8_t kUint32 = rosidl_typesupport_introspection_c__ROS_TYPE_UINT32;
constexpr std::uint8_t kString = rosidl_typesupport_introspection_c__ROS_TYPE_STRING;

const rosidl_message_type_support_t* only_itself(const rosidl_message_type_support_t* handle, const char* identifier) {
  return std::strcmp(handle->typesupport_identifier, identifier) == 0 ? handle : nullptr;
}

// As in static objects, padding is zero: what is assigned to zeroed memory word by word.
void assign(Member& to, const Member& from) {
  to.name_ = from.name_;
  to.type_id_ = from.type_id_;
  to.string_upper_bound_ = from.string_upper_bound_;
  to.members_ = from.members_;
  to.is_key_ = from.is_key_;
  to.is_array_ = from.is_array_;
  to.array_size_ = from.array_size_;
  to.is_upper_bound_ = from.is_upper_bound_;
  to.offset_ = from.offset_;
  to.default_value_ = from.default_value_;
  to.size_function = from.size_function;
  to.get_const_function = from.get_const_function;
  to.get_function = from.get_function;
  to.fetch_function = from.fetch_function;
  to.assign_function = from.assign_function;
  to.resize_function = from.resize_function;
}
void assign(Members& to, const Members& from) {
  to.message_namespace_ = from.message_namespace_;
  to.message_name_ = from.message_name_;
  to.member_count_ = from.member_count_;
  to.size_of_ = from.size_of_;
  to.has_any_key_member_ = from.has_any_key_member_;
  to.members_ = from.members_;
  to.init_function = from.init_function;
  to.fini_function = from.fini_function;
}

template <class T>
using Zeroed = std::unique_ptr<T[], decltype(&std::free)>;
template <class T>
Zeroed<T> zeroed(std::size_t count) {
  return {static_cast<T*>(std::calloc(count, sizeof(T))), std::free};
}

/// An introspection that a test may change.
struct Type {
  explicit Type(const Members& like, bool is_c = false)
      : memory(zeroed<Members>(1)), list(zeroed<Member>(like.member_count_)), members(memory[0]), c(is_c) {
    assign(members, like);
    for (std::size_t i = 0; i < like.member_count_; ++i) assign(list[i], like.members_[i]);
    members.members_ = list.get();
    handle.typesupport_identifier = c ? rosidl_typesupport_introspection_c__identifier
                                      : rosidl_typesupport_introspection_cpp::typesupport_identifier;
    handle.data = &members;
    handle.func = only_itself;
  }
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;

  /// What Baton says of it; "accepted".
  std::string verdict() const {
    const auto plan = NativePlan::compile(&handle);
    if (plan) return "accepted";
    EXPECT_EQ(plan.error().code, Errc::unsupported);
    return plan.error().message;
  }
  Member& operator[](const std::string& name) {
    for (std::size_t i = 0; i < members.member_count_; ++i)
      if (name == list[i].name_) return list[i];
    throw std::out_of_range(name);
  }

  Zeroed<Members> memory;
  Zeroed<Member> list;
  Members& members;
  bool c;
  rosidl_message_type_support_t handle{};
};

const Members& of(const rosidl_message_type_support_t* handle) { return *static_cast<const Members*>(handle->data); }

template <class Message>
const Members& cpp() {
  return of(rosidl_typesupport_introspection_cpp::get_message_type_support_handle<Message>());
}
const Members& c_sequences() {
  return of(rosidl_typesupport_introspection_c__get_message_type_support_handle__test_msgs__msg__UnboundedSequences());
}
const Members& c_arrays() {
  return of(rosidl_typesupport_introspection_c__get_message_type_support_handle__test_msgs__msg__Arrays());
}

using Image = sensor_msgs::msg::Image;
using Sequences = test_msgs::msg::UnboundedSequences;
using Arrays = test_msgs::msg::Arrays;

TEST(NativeLayout, unchanged_copies_are_accepted) {
  EXPECT_EQ(Type(cpp<Image>()).verdict(), "accepted");
  EXPECT_EQ(Type(cpp<Sequences>()).verdict(), "accepted");
  EXPECT_EQ(Type(cpp<test_msgs::msg::BoundedSequences>()).verdict(), "accepted");
  EXPECT_EQ(Type(cpp<Arrays>()).verdict(), "accepted");
  EXPECT_EQ(Type(c_sequences(), true).verdict(), "accepted");
  EXPECT_EQ(Type(c_arrays(), true).verdict(), "accepted");
}

TEST(NativeLayout, a_member_at_another_offset_is_named_with_both_places) {
  Type image(cpp<Image>());
  image["data"].offset_ += 8;
  EXPECT_TRUE(says(image.verdict(), "sensor_msgs/Image.data lies at byte ", " is expected at byte ", "behind 'step'",
                   "docs/concepts/ros2.md"));
}

TEST(NativeLayout, each_member_of_each_type_is_compared) {
  for (const Members* members : {&cpp<Image>(), &cpp<Sequences>(), &cpp<Arrays>(), &c_sequences(), &c_arrays()}) {
    for (std::size_t i = 0; i < members->member_count_; ++i) {
      for (const int by : {-8, -1, 1, 8, 16}) {
        Type type(*members, members == &c_sequences() || members == &c_arrays());
        if (by < 0 && i == 0) continue;
        type.list[i].offset_ = static_cast<std::uint32_t>(static_cast<int>(type.list[i].offset_) + by);
        EXPECT_NE(type.verdict(), "accepted") << type.list[i].name_ << " " << by;
      }
    }
  }
}

TEST(NativeLayout, a_struct_of_another_size_is_named_with_both_sizes) {
  const std::size_t bytes = sizeof(Image);
  for (const std::size_t other : {bytes + 8, bytes - 8, bytes + 1, std::size_t{1} << 40}) {
    Type image(cpp<Image>());
    image.members.size_of_ = other;
    EXPECT_NE(image.verdict(), "accepted") << other;
  }
  Type image(cpp<Image>());
  image.members.size_of_ = bytes + 8;
  EXPECT_TRUE(says(image.verdict(), "sensor_msgs/Image.data is the last member",
                   std::to_string(bytes + 8) + " bytes, where " + std::to_string(bytes)));
}

TEST(NativeLayout, a_difference_in_a_nested_message_is_named_there) {
  Type image(cpp<Image>());
  Type header(of(image["header"].members_));
  header["frame_id"].offset_ += 8;
  image["header"].members_ = &header.handle;
  EXPECT_TRUE(says(image.verdict(), "std_msgs/Header.frame_id lies at byte "));
}

/// MessageMember with more at its end, as a later ROS 2 has it.
template <std::size_t kMore>
struct Longer {
  Member member;
  std::uintptr_t more[kMore];
};

template <std::size_t kMore>
void expect_longer_is_refused(const Members& like, bool c) {
  static const int something = 0;
  const std::uintptr_t values[] = {0, 1, 18, reinterpret_cast<std::uintptr_t>(&something), ~std::uintptr_t{0}};
  for (const std::uintptr_t value : values) {
    std::vector<Longer<kMore>> list(like.member_count_);
    for (std::size_t i = 0; i < list.size(); ++i) {
      std::memcpy(static_cast<void*>(&list[i].member), like.members_ + i, sizeof(Member));
      for (std::uintptr_t& each : list[i].more) each = value;
    }
    Type type(like, c);
    type.members.members_ = &list[0].member;
    const auto plan = NativePlan::compile(&type.handle);
    ASSERT_FALSE(plan.ok()) << kMore << " words of " << value;
    EXPECT_TRUE(says(plan.error().message, type_name(like), "description is not the introspection's"));
  }
}

TEST(NativeLayout, a_lengthened_description_of_members_is_noticed_before_it_is_followed) {
  for (const Members* members : {&cpp<Image>(), &cpp<Sequences>(), &cpp<Arrays>()}) {
    expect_longer_is_refused<1>(*members, false);
    expect_longer_is_refused<2>(*members, false);
    expect_longer_is_refused<3>(*members, false);
    expect_longer_is_refused<6>(*members, false);
  }
  for (const Members* members : {&c_sequences(), &c_arrays()}) {
    expect_longer_is_refused<1>(*members, true);
    expect_longer_is_refused<2>(*members, true);
    expect_longer_is_refused<5>(*members, true);
  }
}

TEST(NativeLayout, a_description_with_a_word_more_or_less_in_its_middle_is_noticed) {
  // Of each place where a later ROS 2 could have put a word, or an earlier one has none.
  for (std::size_t at = 8; at < sizeof(Member); at += 8) {
    for (const bool more : {true, false}) {
      Type type(cpp<Sequences>());
      std::vector<std::byte> bytes(type.members.member_count_ * (sizeof(Member) + 8) + sizeof(Member));
      const std::size_t stride = more ? sizeof(Member) + 8 : sizeof(Member) - 8;
      for (std::size_t i = 0; i < type.members.member_count_; ++i) {
        const auto* const from = reinterpret_cast<const std::byte*>(&type.list[i]);
        std::byte* const to = bytes.data() + i * stride;
        std::memcpy(to, from, at);
        std::memcpy(to + at + (more ? 8 : 0), from + at + (more ? 0 : 8), sizeof(Member) - at - (more ? 0 : 8));
      }
      type.members.members_ = reinterpret_cast<const Member*>(bytes.data());
      const auto plan = NativePlan::compile(&type.handle);
      // All members of this type are arrays without bound or default: their functions differ, and the last words matter least.
      EXPECT_FALSE(plan.ok()) << at << (more ? " more" : " less");
    }
  }
}

TEST(NativeLayout, a_description_of_messages_that_is_another_struct_is_noticed) {
  const auto verdict = [](auto change) {
    Type image(cpp<Image>());
    change(image.members);
    return NativePlan::compile(&image.handle).ok();
  };
  EXPECT_TRUE(verdict([](Members&) {}));
  EXPECT_FALSE(verdict([](Members& members) { members.member_count_ = 0; }));
  EXPECT_FALSE(verdict([](Members& members) { members.member_count_ = 1U << 30; }));
  EXPECT_FALSE(verdict([](Members& members) { members.size_of_ = 0; }));
  EXPECT_FALSE(verdict([](Members& members) { members.members_ = nullptr; }));
  EXPECT_FALSE(verdict([](Members& members) { members.init_function = nullptr; }));
  EXPECT_FALSE(verdict([](Members& members) { members.fini_function = nullptr; }));
  EXPECT_FALSE(verdict([](Members& members) {
    // A word more behind the names: everything is shifted.
    std::vector<std::byte> bytes(sizeof members);
    std::memcpy(bytes.data(), &members, sizeof members);
    std::memcpy(reinterpret_cast<std::byte*>(&members) + 24, bytes.data() + 16, sizeof members - 24);
  }));
}

TEST(NativeLayout, each_function_of_a_sequence_that_is_missing_is_named) {
  for (const Members* members : {&cpp<Sequences>(), &c_sequences()}) {
    const bool c = members == &c_sequences();
    for (std::size_t i = 0; i < members->member_count_; ++i) {
      if (!members->members_[i].is_array_) continue;
      const bool packed = is_packed(members->members_[i], c);
      const auto without = [&](auto which) {
        Type type(*members, c);
        type.list[i].*which = nullptr;
        return type.verdict();
      };
      const std::string where = type_name(*members) + "." + members->members_[i].name_ + " has no ";
      EXPECT_TRUE(says(without(&Member::size_function), where + "size_function"));
      EXPECT_TRUE(says(without(&Member::resize_function), where + "resize_function"));
      if (packed) {
        EXPECT_TRUE(says(without(&Member::fetch_function), where + "fetch_function"));
        EXPECT_TRUE(says(without(&Member::assign_function), where + "assign_function"));
      } else {
        EXPECT_TRUE(says(without(&Member::get_function), where + "get_function"));
        EXPECT_TRUE(says(without(&Member::get_const_function), where + "get_const_function"));
      }
    }
  }
}

TEST(NativeLayout, a_function_at_a_member_that_is_no_array_is_another_layout) {
  Type image(cpp<Image>());
  image["width"].size_function = image["data"].size_function;
  EXPECT_TRUE(says(image.verdict(), "has a member 2, behind 'height', whose description is not"));
}

TEST(NativeLayout, a_wrong_number_of_elements_is_noticed_also_where_padding_hides_it) {
  for (const Members* members : {&cpp<Arrays>(), &c_arrays()}) {
    for (std::size_t i = 0; i < members->member_count_; ++i) {
      if (!members->members_[i].is_array_ || members->members_[i].array_size_ == 0) continue;
      for (const int by : {-1, 1}) {
        Type arrays(*members, members == &c_arrays());
        arrays.list[i].array_size_ += static_cast<std::size_t>(by);
        EXPECT_NE(arrays.verdict(), "accepted") << arrays.list[i].name_ << by;
      }
    }
  }
}

// ---------------------------------------------------------------- Structs of ROS 2s that Baton does not know.

template <class T>
void make(void* at, rosidl_runtime_cpp::MessageInitialization) {
  new (at) T();
}
template <class T>
void unmake(void* at) {
  static_cast<T*>(at)->~T();
}

Member plain(const char* name, std::uint8_t kind, std::size_t offset) {
  Member member{};
  member.name_ = name;
  member.type_id_ = kind;
  member.offset_ = static_cast<std::uint32_t>(offset);
  return member;
}

/// A sequence of uint8 whose container is `Container`, which has size(), at() and resize().
template <class Container>
Member sequence(const char* name, std::size_t offset) {
  Member member = plain(name, kUint8, offset);
  member.is_array_ = true;
  member.size_function = [](const void* at) { return static_cast<const Container*>(at)->size(); };
  member.get_const_function = [](const void* at, std::size_t i) -> const void* {
    return static_cast<const Container*>(at)->at(i);
  };
  member.get_function = [](void* at, std::size_t i) -> void* { return static_cast<Container*>(at)->at(i); };
  member.fetch_function = [](const void*, std::size_t, void*) {};
  member.assign_function = [](void*, std::size_t, const void*) {};
  member.resize_function = [](void* at, std::size_t count) { static_cast<Container*>(at)->resize(count); };
  return member;
}

template <class Message>
Members members_of(std::size_t count) {
  Members members{};
  members.message_namespace_ = "other_msgs::msg";
  members.message_name_ = "Other";
  members.member_count_ = static_cast<std::uint32_t>(count);
  members.size_of_ = sizeof(Message);
  members.init_function = make<Message>;
  members.fini_function = unmake<Message>;
  return members;
}

/// A type of two members, of which the first is a container.
template <class Container>
struct Other {
  Container data;
  std::uint32_t last = 0;
};
template <class Container>
std::string verdict_of() {
  static_assert(std::is_standard_layout_v<Other<Container>>);
  const Member list[] = {sequence<Container>("data", 0), plain("last", kUint32, offsetof(Other<Container>, last))};
  Members members = members_of<Other<Container>>(2);
  members.members_ = list;
  return Type(members).verdict();
}

struct Vector {  // as std::vector
  std::size_t size() const { return bytes.size(); }
  const std::uint8_t* at(std::size_t i) const { return bytes.data() + i; }
  std::uint8_t* at(std::size_t i) { return bytes.data() + i; }
  void resize(std::size_t count) { bytes.resize(count); }
  std::vector<std::uint8_t> bytes;
};

struct Buffer {  // an owning pointer: rosidl::Buffer of ROS 2 Lyrical
  std::size_t size() const { return vector->size(); }
  const std::uint8_t* at(std::size_t i) const { return vector->at(i); }
  std::uint8_t* at(std::size_t i) { return vector->at(i); }
  void resize(std::size_t count) { vector->resize(count); }
  std::unique_ptr<Vector> vector = std::make_unique<Vector>();
};

struct LongVector : Buffer {  // 32 bytes
  std::size_t more[3] = {0, 0, 0};
};

struct OtherWords : Buffer {  // 24 bytes, but not those of a vector
  std::size_t more[2] = {0, 0};
};

/// 24 bytes: begin, then size and capacity, or the reverse.
template <bool kCapacityFirst>
struct COrder {
  COrder() = default;
  COrder(const COrder&) = delete;
  COrder& operator=(const COrder&) = delete;
  ~COrder() { delete[] begin; }
  std::size_t size() const { return kCapacityFirst ? third : second; }
  const std::uint8_t* at(std::size_t i) const { return begin + i; }
  std::uint8_t* at(std::size_t i) { return begin + i; }
  void resize(std::size_t wanted) {
    delete[] begin;
    begin = new std::uint8_t[wanted]();
    second = third = wanted;
  }
  static bool c_resize(void* at, std::size_t count) {
    static_cast<COrder*>(at)->resize(count);
    return true;
  }
  std::uint8_t* begin = nullptr;
  std::size_t second = 0, third = 0;
};
using CSequence = COrder<false>;
using OtherOrder = COrder<true>;

struct Scattered : Vector {  // elements that are 4 bytes each, said to be uint8
  const std::uint8_t* at(std::size_t i) const { return bytes.data() + 4 * i; }
  std::uint8_t* at(std::size_t i) { return bytes.data() + 4 * i; }
};

TEST(NativeLayout, a_uint8_array_that_is_an_owning_pointer_is_refused) {
  static_assert(sizeof(Buffer) == 8);
  EXPECT_EQ(verdict_of<Vector>(), "accepted");
  EXPECT_TRUE(
      says(verdict_of<Buffer>(), "other_msgs/Other.last lies at byte 8 of the struct and is expected at byte 24"));
  // As the only member the size of the struct says so.
  const Member list[] = {sequence<Buffer>("data", 0)};
  Members members = members_of<Buffer>(1);
  members.members_ = list;
  EXPECT_TRUE(says(Type(members).verdict(),
                   "other_msgs/Other.data is the last member of a struct of 8 bytes, where 24 are expected"));
}

TEST(NativeLayout, a_sequence_of_32_bytes_is_refused) {
  static_assert(sizeof(LongVector) == 32);
  const Member list[] = {sequence<LongVector>("data", 0)};
  Members members = members_of<LongVector>(1);
  members.members_ = list;
  EXPECT_TRUE(says(Type(members).verdict(), "other_msgs/Other.data is the last member of a struct of 32 bytes"));
  EXPECT_TRUE(says(Type(members, true).verdict(), "other_msgs/Other.data is the last member of a struct of 32 bytes"));
}

TEST(NativeLayout, a_sequence_of_the_right_size_with_other_words_is_refused_by_trying_it) {
  static_assert(sizeof(OtherWords) == 24 && sizeof(OtherOrder) == 24);
  const auto verdict = [](Member member, Members members, bool (*c_resize)(void*, std::size_t) = nullptr) {
    if (c_resize != nullptr)
      reinterpret_cast<rosidl_typesupport_introspection_c__MessageMember&>(member).resize_function = c_resize;
    members.members_ = &member;
    return Type(members, c_resize != nullptr).verdict();
  };
  EXPECT_TRUE(says(verdict(sequence<OtherWords>("data", 0), members_of<OtherWords>(1)),
                   "other_msgs/Other.data is no std::vector of three pointers"));
  EXPECT_TRUE(says(verdict(sequence<OtherOrder>("data", 0), members_of<OtherOrder>(1)),
                   "other_msgs/Other.data is no std::vector of three pointers"));
  // {data, 2, 2} in both orders: what the size function reads tells them apart.
  EXPECT_TRUE(says(verdict(sequence<OtherOrder>("data", 0), members_of<OtherOrder>(1), OtherOrder::c_resize),
                   "other_msgs/Other.data is no {data, size, capacity}"));
  EXPECT_EQ(verdict(sequence<CSequence>("data", 0), members_of<CSequence>(1), CSequence::c_resize), "accepted");
  EXPECT_TRUE(says(verdict(sequence<Scattered>("data", 0), members_of<Scattered>(1)),
                   "other_msgs/Other.data has elements that do not lie side by side, 1 bytes each"));
}

TEST(NativeLayout, a_string_of_another_kind_is_refused_by_trying_it) {
  struct NoString {
    std::size_t words[4] = {0, 77, 0, 5};
  };
  static_assert(sizeof(NoString) == sizeof(std::string));
  const Member list[] = {plain("text", kString, 0)};
  Members members = members_of<NoString>(1);
  members.members_ = list;
  EXPECT_TRUE(says(Type(members).verdict(), "other_msgs/Other.text is no std::basic_string"));
  struct NoCString {
    std::size_t words[3] = {4096, 8, 8};
  };
  Members c_members = members_of<NoCString>(1);
  c_members.members_ = list;
  EXPECT_TRUE(says(Type(c_members, true).verdict(), "other_msgs/Other.text is no {data, size, capacity}"));
}

int g_made = 0;

struct Counted : Vector {
  Counted() { ++g_made; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --g_made; }
};

TEST(NativeLayout, the_message_that_is_tried_is_destroyed_and_what_throws_is_an_error) {
  Member list[] = {sequence<Counted>("data", 0)};
  Members members = members_of<Counted>(1);
  members.members_ = list;
  EXPECT_EQ(Type(members).verdict(), "accepted");
  EXPECT_EQ(g_made, 0);
  list[0].resize_function = [](void*, std::size_t) { throw std::length_error("too long"); };
  EXPECT_TRUE(says(Type(members).verdict(), "other_msgs/Other cannot be made and filled (too long)"));
  EXPECT_EQ(g_made, 0);
  list[0].resize_function = [](void*, std::size_t) { throw std::bad_alloc(); };
  const Type type(members);
  EXPECT_EQ(NativePlan::compile(&type.handle).error().code, Errc::out_of_memory);
  EXPECT_EQ(g_made, 0);
}

}  // namespace
}  // namespace baton::rosidl
