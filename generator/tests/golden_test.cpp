// SPDX-License-Identifier: Apache-2.0
// A generated header describes its type at run time as the C++ compiler lays it out, for every kind of field.
#include <baton/msg/builtin_interfaces/time.hpp>
#include <baton/msg/golden_msgs/all_kinds.hpp>
#include <baton/msg/golden_msgs/bounded.hpp>
#include <baton/msg/golden_msgs/constants.hpp>
#include <baton/msg/golden_msgs/defaults.hpp>
#include <baton/msg/golden_msgs/empty.hpp>
#include <baton/msg/golden_msgs/fixed_arrays.hpp>
#include <baton/msg/golden_msgs/holds_empty.hpp>
#include <baton/msg/golden_msgs/inner.hpp>
#include <baton/msg/golden_msgs/keywords.hpp>
#include <baton/msg/golden_msgs/named.hpp>
#include <baton/msg/golden_msgs/nested.hpp>
#include <baton/msg/golden_msgs/point2.hpp>
#include <baton/msg/golden_msgs/ros1_style.hpp>
#include <baton/msg/golden_msgs/sequences.hpp>
#include <baton/msg/golden_msgs/simple_image.hpp>
#include <baton/msg/sensor_msgs/camera_info.hpp>
#include <baton/msg/tf2_msgs/tf_message.hpp>
#include <baton/srv/std_srvs/empty.hpp>

#include <fstream>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "baton/message/definition.hpp"
#include "baton/message/partial.hpp"
#include "testing/test_chunk.hpp"

namespace {

namespace golden = baton::msg::golden_msgs;
using baton::message::Field;
using baton::message::Kind;
using baton::message::Shape;
using baton::message::Type;
using baton::message::testing::Loaned;

std::size_t element_bytes(const Field& field) {
  switch (field.kind) {
    case Kind::kBool:
    case Kind::kInt8:
    case Kind::kUint8:
      return 1;
    case Kind::kInt16:
    case Kind::kUint16:
      return 2;
    case Kind::kInt32:
    case Kind::kUint32:
    case Kind::kFloat32:
      return 4;
    case Kind::kMessage:
      return field.type->size;
    default:
      return 8;
  }
}

bool fixed_inside(const Type& type) {
  for (std::uint32_t i = 0; i < type.field_count; ++i) {
    const Field& field = type.fields[i];
    if (field.shape == Shape::kSequence || field.kind == Kind::kString || field.kind == Kind::kWString) return false;
    if (field.kind == Kind::kMessage && !fixed_inside(*field.type)) return false;
  }
  return true;
}

std::string shown(const Field& field) {
  static const char* const kNames[] = {"bool",  "int8",   "uint8",   "int16",   "uint16", "int32",   "uint32",
                                       "int64", "uint64", "float32", "float64", "string", "wstring", ""};
  std::string text = field.kind == Kind::kMessage ? field.type->name : kNames[static_cast<int>(field.kind)];
  if (field.string_bound != 0) text += "<=" + std::to_string(field.string_bound);
  if (field.shape == Shape::kArray) text += "[" + std::to_string(field.count) + "]";
  if (field.shape == Shape::kSequence) text += field.count != 0 ? "[<=" + std::to_string(field.count) + "]" : "[]";
  return text + " " + field.name + "\n";
}

template <class T>
class EveryGolden : public ::testing::Test {};
using Goldens =
    ::testing::Types<golden::AllKinds, golden::Bounded, golden::Constants, golden::Defaults, golden::Empty,
                     golden::FixedArrays, golden::HoldsEmpty, golden::Inner, golden::Keywords, golden::Named,
                     golden::Nested, golden::Point2, golden::Ros1Style, golden::Sequences, golden::SimpleImage,
                     baton::msg::builtin_interfaces::Time, baton::msg::sensor_msgs::CameraInfo,
                     baton::msg::tf2_msgs::TFMessage, baton::srv::std_srvs::Empty::Request>;
TYPED_TEST_SUITE(EveryGolden, Goldens, );  // the empty argument keeps clang's -Wpedantic quiet

TYPED_TEST(EveryGolden, IsDescribedAsTheCompilerLaysItOut) {
  const Type& type = baton::message::type_of<TypeParam>();
  EXPECT_EQ(type.size, sizeof(TypeParam));
  EXPECT_EQ(type.alignment, alignof(TypeParam));
  EXPECT_EQ(type.fixed, fixed_inside(type));
  EXPECT_EQ(type.fixed, std::is_trivially_copyable_v<TypeParam>);
  EXPECT_TRUE(std::is_standard_layout_v<TypeParam>);
  std::size_t end = 0;
  for (std::uint32_t i = 0; i < type.field_count; ++i) {
    const Field& field = type.fields[i];
    EXPECT_GE(field.offset, end) << field.name;
    EXPECT_LT(field.offset - end, 8u) << "only padding lies between fields: " << field.name;
    EXPECT_EQ(field.type != nullptr, field.kind == Kind::kMessage) << field.name;
    end =
        field.offset +
        (field.shape == Shape::kSequence ? 8 : element_bytes(field) * (field.shape == Shape::kArray ? field.count : 1));
  }
  EXPECT_LE(end, type.size);
}

TYPED_TEST(EveryGolden, IsDescribedAsItsCanonicalDefinitionSays) {
  const Type& type = baton::message::type_of<TypeParam>();
  std::string section = std::string("message ") + type.name + "\n";
  for (std::uint32_t i = 0; i < type.field_count; ++i) section += shown(type.fields[i]);
  EXPECT_EQ(std::string(type.definition).substr(0, section.size()), section);
}

void expect_same(const Type& a, const Type& b) {
  EXPECT_STREQ(a.name, b.name);
  EXPECT_EQ(a.size, b.size) << a.name;
  EXPECT_EQ(a.alignment, b.alignment) << a.name;
  EXPECT_EQ(a.fixed, b.fixed) << a.name;
  ASSERT_EQ(a.field_count, b.field_count) << a.name;
  for (std::uint32_t i = 0; i < a.field_count; ++i) {
    const Field& x = a.fields[i];
    const Field& y = b.fields[i];
    EXPECT_EQ(std::tuple(std::string(x.name), x.kind, x.shape, x.count, x.string_bound, x.offset),
              std::tuple(std::string(y.name), y.kind, y.shape, y.count, y.string_bound, y.offset))
        << a.name << "." << x.name;
    if (x.type != nullptr && y.type != nullptr) expect_same(*x.type, *y.type);
  }
}

TYPED_TEST(EveryGolden, IsWhatItsDefinitionMakesAtRunTime) {
  const Type& type = baton::message::type_of<TypeParam>();
  const auto definition = baton::message::Definition::parse(type.definition, type.hash);
  ASSERT_TRUE(definition.ok()) << definition.error().message;
  expect_same(type, definition->type());
}

TYPED_TEST(EveryGolden, IsSplitAsTheCommandLineSays) {
  const Type& type = baton::message::type_of<TypeParam>();
  std::ifstream file(BATON_GOLDEN_DIR "/split.txt");
  ASSERT_TRUE(file);
  std::vector<std::string> control;
  std::vector<std::string> data;
  for (std::string name, part, path; file >> name >> part >> path;)
    if (name == type.name) (part == "data" ? data : control).push_back(path);
  if (control.empty() && data.empty() && type.field_count != 0) GTEST_FAIL() << type.name << " is not in split.txt";
  const auto paths = [](const std::vector<baton::message::PartialElement>& elements) {
    std::vector<std::string> result;
    for (const auto& element : elements) result.push_back(element.path);
    return result;
  };
  const baton::message::PartialSplit split = baton::message::split(type);
  EXPECT_EQ(paths(split.control), control);
  EXPECT_EQ(paths(split.data), data);
}

TYPED_TEST(EveryGolden, IsCopiedAndMovedBetweenStackHeapAndLoan) {
  TypeParam stack{};
  Loaned<TypeParam> loan;
  *loan = stack;
  std::vector<TypeParam> heap(2, *loan);
  heap.reserve(heap.capacity() + 1);
  TypeParam moved = std::move(heap[1]);
  *loan = std::move(moved);
  TypeParam back(std::move(*loan));
  // Not all types equal themselves (NaN), but all print alike.
  std::ostringstream a;
  std::ostringstream b;
  a << stack;
  b << back;
  EXPECT_EQ(a.str(), b.str());
  EXPECT_TRUE(a.good());
}

TEST(GoldenMessage, DescribesEveryKind) {
  const Type& type = baton::message::type_of<golden::AllKinds>();
  std::vector<Kind> kinds;
  for (std::uint32_t i = 0; i < type.field_count; ++i) kinds.push_back(type.fields[i].kind);
  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::kBool, Kind::kUint8, Kind::kUint8, Kind::kInt8, Kind::kUint8, Kind::kInt16,
                                      Kind::kUint16, Kind::kInt32, Kind::kUint32, Kind::kInt64, Kind::kUint64,
                                      Kind::kFloat32, Kind::kFloat64, Kind::kString, Kind::kWString, Kind::kMessage,
                                      Kind::kMessage, Kind::kMessage}));
}

TEST(GoldenMessage, WithoutFieldsTakesOneByte) {
  const Type& type = baton::message::type_of<golden::Empty>();
  EXPECT_EQ(type.size, 1u);
  EXPECT_EQ(type.field_count, 0u);
  EXPECT_TRUE(type.fixed);
  EXPECT_EQ(baton::message::type_of<golden::HoldsEmpty>().fields[1].offset, 4u);
}

}  // namespace
