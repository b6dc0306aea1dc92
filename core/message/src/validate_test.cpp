// SPDX-License-Identifier: Apache-2.0
// The validator and the bytes of the vectors in tests/vectors/sfm, against values written here.
#include "baton/message/validate.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>

#include "baton/memory/arena.hpp"
#include "baton/memory/chunk_header.hpp"
#include "baton/sfm/size.hpp"
#include "testing/messages.hpp"
#include "testing/test_chunk.hpp"
#include "testing/vectors.hpp"

using namespace baton;
using namespace baton::message;
using namespace baton::message::testing;

namespace {

// Exactly as long as the message, so that ASan sees every byte read behind it.
struct Exact {
  explicit Exact(const std::vector<unsigned char>& bytes) : Exact(bytes.data(), bytes.size()) {}
  Exact(const void* bytes, std::size_t n)
      : data(static_cast<std::byte*>(std::malloc(n))), size(static_cast<std::uint32_t>(n)) {
    std::memcpy(data, bytes, n);
  }
  ~Exact() { std::free(data); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
  std::byte* data;
  std::uint32_t size;
};

template <class T, class Fill>
void expect_bytes(const ByteVector& vector, Fill fill) {
  // Built where it lies, from the first field to the last.
  Loaned<T> loan;
  fill(*loan);
  ASSERT_EQ(loan.chunk().used_bytes(), vector.bytes.size());
  EXPECT_EQ(std::memcmp(loan.chunk().message(), vector.bytes.data(), vector.bytes.size()), 0);
  // Copied from private memory.
  T value;
  fill(value);
  EXPECT_EQ(sfm::copy_size(value), vector.bytes.size());
  EXPECT_EQ(sfm::copy_size(*loan), vector.bytes.size());
  TestChunk chunk(sizeof(T), vector.bytes.size());
  chunk.make<T>(value);
  EXPECT_EQ(std::memcmp(chunk.message(), vector.bytes.data(), vector.bytes.size()), 0);
  // Read as it came.
  TestChunk received(sizeof(T));
  if (vector.bytes.size() > sizeof(T)) memory::content_allocate(received.message(), vector.bytes.size() - sizeof(T), 1);
  std::memcpy(received.message(), vector.bytes.data(), vector.bytes.size());
  EXPECT_TRUE(*reinterpret_cast<const T*>(received.message()) == value);
}

const std::map<std::string, void (*)(const ByteVector&)>& values() {
  static const std::map<std::string, void (*)(const ByteVector&)> map = {
      {"empty", [](const ByteVector& v) { expect_bytes<Empty>(v, [](Empty&) {}); }},
      {"image_empty", [](const ByteVector& v) { expect_bytes<Image>(v, [](Image&) {}); }},
      {"image_fig7",
       [](const ByteVector& v) {
         expect_bytes<Image>(v, [](Image& m) {
           m.encoding = "rgb8";
           m.height = 10;
           m.width = 10;
           m.data.resize(300);
           for (std::size_t i = 0; i < 300; ++i) m.data[i] = static_cast<std::uint8_t>(i);
         });
       }},
      {"header",
       [](const ByteVector& v) {
         expect_bytes<Header>(v, [](Header& m) {
           m.seq = 7;
           m.stamp = {1, 500000000};
           m.frame_id = "map";
         });
       }},
      {"point_cloud",
       [](const ByteVector& v) {
         expect_bytes<PointCloud>(v, [](PointCloud& m) {
           m.header.seq = 1;
           m.header.stamp = {2, 3};
           m.header.frame_id = "base_link";
           m.points = {{1, 2, 3}, {4, 5, 6}};
           m.channels.resize(3);
           m.channels[0].name = "rgb";
           m.channels[0].values = {0.5f};
           m.channels[2].name = "intensity";
           m.channels[2].values = std::vector<float>{1, 2, 3};
         });
       }},
      {"scalars",
       [](const ByteVector& v) {
         expect_bytes<Scalars>(v, [](Scalars& m) {
           m.flag = true;
           m.i8 = -1;
           m.u8 = 255;
           m.i16 = -2;
           m.u16 = 65535;
           m.i32 = -3;
           m.u32 = 4000000000;
           m.i64 = -4;
           m.u64 = std::uint64_t{1} << 63;
           m.f32 = 1.5f;
           m.f64 = -0.25;
         });
       }},
      {"sequences",
       [](const ByteVector& v) {
         expect_bytes<Sequences>(v, [](Sequences& m) {
           m.flags = {true, false, true};
           m.bytes = {1, 2, 3};
           m.shorts = {-1, -2};
           m.doubles = {0.5, 1.5};
           m.few = {-1, 1};
           m.numbers = {1, 2, 3};
           m.points = {{1, 2, 3}};
           m.stamps = {Time{1, 2}, Time{3, 4}};
         });
       }},
      {"strings",
       [](const ByteVector& v) {
         expect_bytes<Strings>(v, [](Strings& m) {
           m.b = "a";
           m.c = "ab";
           m.d = "abc";
           m.few = std::string_view("abcd\0", 5);
           m.lines.resize(3);
           m.lines[0] = std::string_view("x\0y", 3);
           m.lines[2] = "0123456";
           m.pair[0] = "p0";
           m.wide = u"h\u00e9\U0001F600";
           m.wide_lines.resize(2);
           m.wide_lines[0] = u"ab";
         });
       }},
  };
  return map;
}

class Vectors : public ::testing::TestWithParam<ByteVector> {};

TEST_P(Vectors, AreAcceptedOrRefusedAsTheySay) {
  const ByteVector& vector = GetParam();
  const Exact exact(vector.bytes);
  const Result<void> result = validate(*vector.type, exact.data, exact.size);
  const Result<void> prepared = Validation(*vector.type)(exact.data, exact.size);
  EXPECT_EQ(prepared.ok(), result.ok());
  const Validation validation(*vector.type);
  EXPECT_EQ(Validation::check(&validation, exact.data, exact.size, nullptr), result.ok());
  Error why{};
  EXPECT_EQ(Validation::check(&validation, exact.data, exact.size, &why), result.ok());
  EXPECT_EQ(why.message, result ? "" : result.error().message);
  if (!result) EXPECT_EQ(prepared.error().message, result.error().message);
  if (vector.expect == "valid") {
    EXPECT_TRUE(result.ok()) << result.error().message;
    if (memory::kNativeByteOrder == memory::ByteOrder::kLittle) {
      ASSERT_EQ(values().count(vector.name), 1u) << "no value is written for this vector";
      values().at(vector.name)(vector);
    }
  } else if (vector.expect == "accepted") {
    EXPECT_TRUE(result.ok()) << result.error().message;
  } else {
    ASSERT_EQ(vector.expect.rfind("malformed: ", 0), 0u);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Errc::malformed_message);
    EXPECT_NE(result.error().message.find(vector.expect.substr(11)), std::string::npos) << result.error().message;
    EXPECT_EQ(result.error().message.rfind(vector.type->name, 0), 0u) << result.error().message;
  }
}
INSTANTIATE_TEST_SUITE_P(Sfm, Vectors, ::testing::ValuesIn(read_byte_vectors()),
                         [](const auto& test) { return test.param.name; });

TEST_P(Vectors, AreJudgedTheSameByThePreparedValidationWhateverIsDamaged) {
  const ByteVector& vector = GetParam();
  const Validation prepared(*vector.type);
  std::mt19937 random(7);
  std::size_t refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<unsigned char> bytes = vector.bytes;
    for (int changes = 1 + round % 3; changes > 0; --changes) {
      // Mostly small numbers and single bits: they get past the first conditions.
      unsigned char& byte = bytes[random() % bytes.size()];
      byte = static_cast<unsigned char>(random() % 2 == 0 ? random() % 9 * 4 : byte ^ (1U << random() % 8));
    }
    if (round % 7 == 0) bytes.resize(random() % (bytes.size() + 1));
    if (bytes.empty()) continue;
    const Exact exact(bytes);
    const Result<void> result = validate(*vector.type, exact.data, exact.size);
    ASSERT_EQ(prepared(exact.data, exact.size).ok(), result.ok()) << (result ? "" : result.error().message);
    // A reader ends the connection for this answer alone.
    ASSERT_EQ(Validation::check(&prepared, exact.data, exact.size, nullptr), result.ok())
        << (result ? "" : result.error().message);
    refused += !result.ok();
  }
  if (vector.bytes.size() > 8) EXPECT_GT(refused, 100U);
}

TEST(Validate, TellsTheWholeStory) {
  Loaned<PointCloud> loan;
  loan->channels.resize(3);
  loan->channels[2].values.resize(5);
  loan->channels[2].values.cell().set_chunk_length(1000000);
  const auto size = static_cast<std::uint32_t>(loan.chunk().used_bytes());
  const auto result = validate(type_of<PointCloud>(), loan.chunk().message(), size);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(
      result.error().message,
      "test/PointCloud.channels[2].values: length 1000000 (4000000 bytes), offset 4 reach from byte 84, message of 104 "
      "bytes");
}

TEST(Validate, RefusesAMessageThatIsNotAligned) {
  alignas(8) std::byte bytes[64] = {};
  EXPECT_EQ(validate(type_of<Image>(), bytes + 4, 24).error().code, Errc::invalid_argument);
  EXPECT_EQ(Validation(type_of<Image>())(bytes + 4, 24).error().code, Errc::invalid_argument);
  const Validation validation(type_of<Image>());
  EXPECT_FALSE(Validation::check(&validation, bytes + 4, 24, nullptr));
}

TEST(Validate, AcceptsEveryCopyOfARandomMessageInExactlyItsSize) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const Monster value = make_monster(seed);
    const std::size_t size = sfm::copy_size(value);
    TestChunk chunk(sizeof(Monster), size);  // one byte more would not fit
    const Monster& copy = *chunk.make<Monster>(value);
    ASSERT_EQ(copy, value);
    ASSERT_EQ(sfm::copy_size(copy), size);
    const Exact exact(chunk.message(), size);
    const auto result = validate(type_of<Monster>(), exact.data, exact.size);
    ASSERT_TRUE(result.ok()) << result.error().message;
    TestChunk again(sizeof(Monster), size);
    again.make<Monster>(copy);
    ASSERT_EQ(std::memcmp(again.message(), chunk.message(), size), 0) << "a copy of the copy has other bytes";
    ASSERT_EQ(chunk.used_bytes(), size);
    ASSERT_FALSE(validate(type_of<Monster>(), exact.data, exact.size - 1).ok()) << "a shorter message is refused";
  }
}

TEST(Validate, SurvivesRandomDamage) {
  std::mt19937 random(1);
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const Monster value = make_monster(seed);
    const std::size_t size = sfm::copy_size(value);
    TestChunk chunk(sizeof(Monster), size);
    chunk.make<Monster>(value);
    for (int round = 0; round < 100; ++round) {
      const Exact exact(chunk.message(), size);
      for (int flips = 0; flips < 1 + round % 4; ++flips)
        exact.data[random() % size] = static_cast<std::byte>(random());
      (void)validate(type_of<Monster>(), exact.data, exact.size);
    }
  }
}

TEST(Validate, LimitsTheNesting) {
  // A descriptor as a peer could send one: each type holds the next.
  constexpr int kDepth = kMaxNesting + 10;
  static Type types[kDepth];
  static Field fields[kDepth];
  for (int i = 0; i < kDepth; ++i) {
    fields[i] = i + 1 == kDepth ? Field{"s", Kind::kString, Shape::kSingle, 0, 0, 0, nullptr}
                                : Field{"m", Kind::kMessage, Shape::kSingle, 0, 0, 0, &types[i + 1]};
    types[i] = {"test/Deep", 8, 4, &fields[i], 1, false, {}, ""};
  }
  alignas(8) std::byte bytes[8] = {};
  EXPECT_FALSE(validate(types[0], bytes, 8).ok());
  EXPECT_TRUE(validate(types[kDepth - kMaxNesting], bytes, 8).ok());
  EXPECT_FALSE(Validation(types[0])(bytes, 8).ok());
  EXPECT_TRUE(Validation(types[kDepth - kMaxNesting])(bytes, 8).ok());
}

}  // namespace
