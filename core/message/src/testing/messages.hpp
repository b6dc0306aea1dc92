// SPDX-License-Identifier: Apache-2.0
// Messages written by hand as the generator writes them, for the tests of this room: the Image of ROS-SF Fig. 1, a header,
// a point cloud with nested channels, and a type with every kind of field.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "baton/message/type.hpp"
#include "baton/sfm/sfm.hpp"

namespace baton::message::testing {

/// ROS-SF Fig. 1.
struct Image {
  sfm::String encoding;
  std::uint32_t height = 0;
  std::uint32_t width = 0;
  sfm::Vector<std::uint8_t> data;
};

struct Time {
  std::int32_t sec = 0;
  std::uint32_t nanosec = 0;
};

struct Header {
  std::uint32_t seq = 0;
  Time stamp;
  sfm::String frame_id;
};

struct Point32 {
  float x = 0;
  float y = 0;
  float z = 0;
};

struct Channel {
  sfm::String name;
  sfm::Vector<float> values;
};

struct PointCloud {
  Header header;
  sfm::Vector<Point32> points;
  sfm::Vector<Channel> channels;
};

struct Monster {
  sfm::Bool flag = false;
  std::int8_t i8 = 0;
  std::uint8_t u8 = 0;
  std::int16_t i16 = 0;
  std::uint16_t u16 = 0;
  std::int32_t i32 = 0;
  std::uint32_t u32 = 0;
  alignas(8) std::int64_t i64 = 0;
  alignas(8) std::uint64_t u64 = 0;
  float f32 = 0;
  alignas(8) double f64 = 0;
  sfm::String text;
  sfm::BoundedString<8> short_text;
  sfm::WString wide;
  sfm::BoundedWString<4> short_wide;
  Header header;
  std::array<std::uint16_t, 3> numbers{};
  std::array<sfm::String, 2> names;
  std::array<Channel, 2> pair;
  std::array<sfm::WString, 2> wides;
  sfm::Vector<sfm::Bool> flags;
  sfm::Vector<std::uint8_t> bytes;
  sfm::Vector<double> doubles;
  sfm::BoundedVector<std::int64_t, 4> few;
  sfm::Vector<sfm::String> lines;
  sfm::BoundedVector<sfm::BoundedString<5>, 3> few_lines;
  sfm::Vector<sfm::WString> wide_lines;
  sfm::Vector<Point32> points;
  sfm::Vector<Channel> channels;
  sfm::Vector<PointCloud> clouds;
  sfm::BoundedVector<Header, 2> headers;
};

struct Empty {
  std::uint8_t reserved = 0;
};

struct Scalars {
  sfm::Bool flag;
  std::int8_t i8 = 0;
  std::uint8_t u8 = 0;
  std::int16_t i16 = 0;
  std::uint16_t u16 = 0;
  std::int32_t i32 = 0;
  std::uint32_t u32 = 0;
  alignas(8) std::int64_t i64 = 0;
  alignas(8) std::uint64_t u64 = 0;
  float f32 = 0;
  alignas(8) double f64 = 0;
};

struct Strings {
  sfm::String a;
  sfm::String b;
  sfm::String c;
  sfm::String d;
  sfm::BoundedString<5> few;
  sfm::Vector<sfm::String> lines;
  std::array<sfm::String, 2> pair;
  sfm::WString wide;
  sfm::Vector<sfm::WString> wide_lines;
};

struct Sequences {
  sfm::Vector<sfm::Bool> flags;
  sfm::Vector<std::uint8_t> bytes;
  sfm::Vector<std::int16_t> shorts;
  sfm::Vector<double> doubles;
  sfm::BoundedVector<std::int64_t, 4> few;
  std::array<std::uint16_t, 3> numbers{};
  sfm::Vector<Point32> points;
  std::array<Time, 2> stamps{};
};

#define BATON_TEST_EQ(T, ...)                                            \
  inline bool operator==(const T& a, const T& b) { return __VA_ARGS__; } \
  inline bool operator!=(const T& a, const T& b) { return !(a == b); }
BATON_TEST_EQ(Image, a.encoding == b.encoding && a.height == b.height && a.width == b.width && a.data == b.data)
BATON_TEST_EQ(Time, a.sec == b.sec && a.nanosec == b.nanosec)
BATON_TEST_EQ(Header, a.seq == b.seq && a.stamp == b.stamp && a.frame_id == b.frame_id)
BATON_TEST_EQ(Point32, a.x == b.x && a.y == b.y && a.z == b.z)
BATON_TEST_EQ(Channel, a.name == b.name && a.values == b.values)
BATON_TEST_EQ(PointCloud, a.header == b.header && a.points == b.points && a.channels == b.channels)
BATON_TEST_EQ(Scalars, a.flag == b.flag && a.i8 == b.i8 && a.u8 == b.u8 && a.i16 == b.i16 && a.u16 == b.u16 &&
                           a.i32 == b.i32 && a.u32 == b.u32 && a.i64 == b.i64 && a.u64 == b.u64 && a.f32 == b.f32 &&
                           a.f64 == b.f64)
BATON_TEST_EQ(Strings, a.a == b.a && a.b == b.b && a.c == b.c && a.d == b.d && a.few == b.few && a.lines == b.lines &&
                           a.pair == b.pair && a.wide == b.wide && a.wide_lines == b.wide_lines)
BATON_TEST_EQ(Sequences, a.flags == b.flags && a.bytes == b.bytes && a.shorts == b.shorts && a.doubles == b.doubles &&
                             a.few == b.few && a.numbers == b.numbers && a.points == b.points && a.stamps == b.stamps)
BATON_TEST_EQ(Empty, a.reserved == b.reserved)
BATON_TEST_EQ(Monster, a.flag == b.flag && a.i8 == b.i8 && a.u8 == b.u8 && a.i16 == b.i16 && a.u16 == b.u16 &&
                           a.i32 == b.i32 && a.u32 == b.u32 && a.i64 == b.i64 && a.u64 == b.u64 && a.f32 == b.f32 &&
                           a.f64 == b.f64 && a.text == b.text && a.short_text == b.short_text && a.wide == b.wide &&
                           a.short_wide == b.short_wide && a.header == b.header && a.numbers == b.numbers &&
                           a.names == b.names && a.pair == b.pair && a.wides == b.wides && a.flags == b.flags &&
                           a.bytes == b.bytes && a.doubles == b.doubles && a.few == b.few && a.lines == b.lines &&
                           a.few_lines == b.few_lines && a.wide_lines == b.wide_lines && a.points == b.points &&
                           a.channels == b.channels && a.clouds == b.clouds && a.headers == b.headers)
#undef BATON_TEST_EQ

/// A value in which everything that can vary does; the same for the same seed.
Monster make_monster(std::uint32_t seed);

/// The types above by the name of their Type ("test/Image"), or null.
const Type* find_type(const char* name) noexcept;

}  // namespace baton::message::testing

namespace baton::message {
template <>
struct TypeOf<testing::Image> {
  static const Type& get() noexcept;
};
template <>
struct TypeOf<testing::Time> {
  static const Type& get() noexcept;
};
template <>
struct TypeOf<testing::Header> {
  static const Type& get() noexcept;
};
template <>
struct TypeOf<testing::Point32> {
  static const Type& get() noexcept;
};
template <>
struct TypeOf<testing::Channel> {
  static const Type& get() noexcept;
};
template <>
struct TypeOf<testing::PointCloud> {
  static const Type& get() noexcept;
};
template <>
struct TypeOf<testing::Monster> {
  static const Type& get() noexcept;
};
template <>
struct TypeOf<testing::Scalars> {
  static const Type& get() noexcept;
};
template <>
struct TypeOf<testing::Strings> {
  static const Type& get() noexcept;
};
template <>
struct TypeOf<testing::Sequences> {
  static const Type& get() noexcept;
};
template <>
struct TypeOf<testing::Empty> {
  static const Type& get() noexcept;
};
}  // namespace baton::message
