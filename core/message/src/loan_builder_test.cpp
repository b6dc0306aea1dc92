// SPDX-License-Identifier: Apache-2.0
// Decoding straight into a loan: the message there is one that the C++ types read, grow and copy like any other.
#include <gtest/gtest.h>

#include "baton/message/builder.hpp"
#include "baton/message/cdr_codec.hpp"
#include "baton/message/ros1_codec.hpp"
#include "baton/message/validate.hpp"
#include "testing/build.hpp"
#include "testing/messages.hpp"
#include "testing/test_chunk.hpp"

namespace baton::message {
namespace {

using testing::bytes_of;
using testing::from_hex;
using testing::TestChunk;
using testing::to_hex;

TEST(LoanBuilder, DecodesAMessageThatTheGeneratedTypeReads) {
  const Ros1Codec codec = Ros1Codec::compile(type_of<testing::PointCloud>()).or_throw();
  TestChunk chunk(sizeof(testing::PointCloud));
  auto* cloud = chunk.make<testing::PointCloud>();
  LoanBuilder builder(cloud);
  ASSERT_TRUE(codec
                  .decode(bytes_of(from_hex("01 00 00 00 02 00 00 00 03 00 00 00 03 00 00 00 6d 61 70"
                                            "01 00 00 00 00 00 80 3f 00 00 00 40 00 00 40 40"
                                            "01 00 00 00 02 00 00 00 75 76 02 00 00 00 00 00 00 3f 00 00 80 3e")),
                          builder)
                  .ok());
  EXPECT_EQ(cloud->header.seq, 1U);
  EXPECT_EQ(cloud->header.stamp.nanosec, 3U);
  EXPECT_EQ(cloud->header.frame_id, "map");
  ASSERT_EQ(cloud->points.size(), 1U);
  EXPECT_EQ(cloud->points[0].y, 2.0F);
  ASSERT_EQ(cloud->channels.size(), 1U);
  EXPECT_EQ(cloud->channels[0].name, "uv");
  EXPECT_EQ(cloud->channels[0].values[1], 0.25F);
  // The message goes on living as a loan: it may grow.
  cloud->points.push_back({4, 5, 6});
  cloud->channels.push_back({});
  cloud->channels[1].name = "a longer name than there was room for";
  EXPECT_EQ(cloud->channels[0].name, "uv");
  EXPECT_EQ(cloud->points[1].z, 6.0F);
  EXPECT_TRUE(validate(codec.type(), chunk.message(), 4096).ok());
}

TEST(LoanBuilder, GivesTheSameBytesInALoanAsInAFlatBuffer) {
  const testing::Monster monster = testing::make_monster(3);
  const CdrCodec codec = CdrCodec::compile(type_of<testing::Monster>()).or_throw();
  TestChunk source(sizeof(testing::Monster));
  source.make(monster);
  const Bytes message{source.message(), source.used_bytes()};
  std::vector<std::byte> wire(codec.encoded_size(message).or_throw());
  codec.encode(message, {wire.data(), wire.size()}).or_throw();

  FlatBuffer flat;
  FlatBuilder flat_builder(flat);
  codec.decode(bytes_of(wire), flat_builder).or_throw();
  TestChunk loan(sizeof(testing::Monster));
  LoanBuilder loan_builder(loan.make<testing::Monster>());
  codec.decode(bytes_of(wire), loan_builder).or_throw();

  EXPECT_EQ(to_hex(loan.message(), loan.used_bytes()), to_hex(flat));
  EXPECT_TRUE(*reinterpret_cast<const testing::Monster*>(loan.message()) == monster);
}

TEST(LoanBuilder, ReportsALoanThatIsTooSmall) {
  const Ros1Codec codec = Ros1Codec::compile(type_of<testing::Image>()).or_throw();
  TestChunk chunk(sizeof(testing::Image), 1 << 16);
  LoanBuilder builder(chunk.make<testing::Image>());
  std::vector<std::byte> wire(16 + (1 << 20));
  wire[14] = std::byte{0x10};  // 1 MiB of data
  const auto result = codec.decode(bytes_of(wire), builder);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Errc::message_too_large);
}

TEST(LoanBuilder, RefusesMemoryThatIsNoLoan) {
  const Ros1Codec codec = Ros1Codec::compile(type_of<testing::Image>()).or_throw();
  testing::Image on_the_stack;
  LoanBuilder builder(&on_the_stack);
  const auto result = codec.decode(bytes_of(from_hex("01 00 00 00 61 00 00 00 00 00 00 00 00 00 00 00 00")), builder);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Errc::invalid_argument);
}

}  // namespace
}  // namespace baton::message
