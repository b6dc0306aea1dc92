// SPDX-License-Identifier: Apache-2.0
#include "baton/message/definition.hpp"

#include <gtest/gtest.h>

#include "testing/build.hpp"

namespace baton::message {
namespace {

using testing::define;

std::string error_of(std::string_view text) {
  const auto parsed = Definition::parse(text);
  return parsed.ok() ? "no error" : parsed.error().message;
}

TEST(Definition, LaysFieldsOutAsTheCompilerLaysOutTheStruct) {
  struct Inner {
    std::uint8_t a;
    double b;
    std::uint8_t c;
  };
  struct Outer {
    std::uint8_t a;
    std::uint16_t b[3];
    Inner c[2];
    std::uint32_t words[2];
    std::uint8_t d;
  };
  const Definition type = define(
      "message t/Outer\nuint8 a\nuint16[3] b\nt/Inner[2] c\nstring d\nuint8 e\nmessage t/Inner\nuint8 a\nfloat64 "
      "b\nuint8 c\n");
  const Type& outer = type.type();
  EXPECT_EQ(outer.size, sizeof(Outer));
  EXPECT_EQ(outer.alignment, alignof(Outer));
  EXPECT_EQ(outer.fields[1].offset, offsetof(Outer, b));
  EXPECT_EQ(outer.fields[2].offset, offsetof(Outer, c));
  EXPECT_EQ(outer.fields[3].offset, offsetof(Outer, words));
  EXPECT_EQ(outer.fields[4].offset, offsetof(Outer, d));
  EXPECT_FALSE(outer.fixed);
  EXPECT_TRUE(outer.fields[2].type->fixed);
  EXPECT_EQ(outer.fields[2].type->size, sizeof(Inner));
}

TEST(Definition, GivesAnEmptyMessageOneReservedByte) {
  const Definition type = define("message t/E\n");
  EXPECT_EQ(type.type().size, 1U);
  EXPECT_TRUE(type.type().fixed);
}

TEST(Definition, ReadsBoundsOfStringsAndSequences) {
  const Definition type = define("message t/B\nstring<=5[<=3] a\nwstring<=7 b\nbool[] c\n");
  EXPECT_EQ(type.type().fields[0].count, 3U);
  EXPECT_EQ(type.type().fields[0].string_bound, 5U);
  EXPECT_EQ(type.type().fields[0].shape, Shape::kSequence);
  EXPECT_EQ(type.type().fields[1].string_bound, 7U);
  EXPECT_EQ(type.type().fields[2].count, 0U);
}

TEST(Definition, NamesTheLineOfWhatIsWrong) {
  EXPECT_EQ(error_of(""), "type definition, line 1: is empty");
  EXPECT_EQ(error_of("message t/A\nint33 a\n"), "type definition, line 2: 'int33' is no type");
  EXPECT_EQ(error_of("message t/A\nt/B b\n"), "type definition, line 2: 't/B' has no section");
  EXPECT_EQ(error_of("message t/A\nt/A b\n"), "type definition, line 2: 't/A' contains itself");
  EXPECT_EQ(error_of("message t/A\nint8 a"), "type definition, line 2: does not end in a newline");
  EXPECT_EQ(error_of("int8 a\n"), "type definition, line 1: expected 'message package/Name' first");
  EXPECT_EQ(error_of("message t/A\nint8 a-b\n"), "type definition, line 2: 'a-b' is no field name");
  EXPECT_EQ(error_of("message t/A\nint8[<=] a\n"), "type definition, line 2: a bound is a number from 1 to 4294967295");
  EXPECT_EQ(error_of("message t/A\nint8<=4 a\n"), "type definition, line 2: only strings have a bound of their own");
  EXPECT_EQ(error_of("message t/A\nint8[4 a\n"), "type definition, line 2: expected ']'");
  EXPECT_EQ(error_of("message t/A\nint8[-1] a\n"),
            "type definition, line 2: an array's length is a number up to 4294967295");
  EXPECT_EQ(error_of("message t/A\nuint64[4294967295] a\n"),
            "type definition, line 2: the skeleton is larger than 256 MiB");
  EXPECT_EQ(error_of("message t/A\n" + std::string(std::size_t{1} << 20, '\n')),
            "type definition, line 1: longer than 1 MiB");
}

TEST(Definition, RefusesNestingThatNobodyMeans) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "message t/M" + std::to_string(i) + "\nt/M" + std::to_string(i + 1) + " a\n";
  text += "message t/M100\nint8 a\n";
  EXPECT_NE(error_of(text).find("nested deeper than 64"), std::string::npos);
}

}  // namespace
}  // namespace baton::message
