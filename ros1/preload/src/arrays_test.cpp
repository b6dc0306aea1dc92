// SPDX-License-Identifier: Apache-2.0
#include "arrays.hpp"

#include <gtest/gtest.h>

#include <typeinfo>

namespace sensor_msgs {
template <class Allocator>
struct Image_ {};
template <class Allocator>
struct Image {};
}  // namespace sensor_msgs
template <class Allocator>
struct Image_ {};
namespace other {
struct Allocator {};
struct Message_ {};
}  // namespace other

namespace baton::ros1 {
namespace {

TEST(Arrays, OnlyMessagesOfTheGeneratorWithTheOrdinaryAllocatorAreGenerated) {
  EXPECT_TRUE(is_generated(typeid(sensor_msgs::Image_<std::allocator<void>>).name()));
  EXPECT_FALSE(is_generated(typeid(sensor_msgs::Image_<other::Allocator>).name()));
  EXPECT_FALSE(is_generated(typeid(sensor_msgs::Image<std::allocator<void>>).name()));
  EXPECT_FALSE(is_generated(typeid(::Image_<std::allocator<void>>).name()));
  EXPECT_FALSE(is_generated(typeid(other::Message_).name()));
  EXPECT_FALSE(is_generated(typeid(std::vector<int>).name()));
  for (const char* broken : {"", "N", "N11", "N11sensor_msgs", "N999999999999a6Image_ISaIvEEE", "N0Image_ISaIvEEE"}) {
    EXPECT_FALSE(is_generated(broken)) << broken;
  }
}

/// The shift after a message of 200000 bytes at `buffer` whose largest array was copied to `at`.
std::size_t shift_after(const std::string& definition, std::size_t at) {
  ArrayPlace place(definition);
  const std::vector<std::uint8_t> buffer(200000);
  {
    ArrayPlace::Watch watch(place);
    watch.copied(buffer.data() + 1, 100);  // no buffer yet
    watch.buffer(buffer.data(), buffer.size());
    watch.copied(buffer.data() + at, 100000);
    watch.copied(buffer.data() + at + 3, 70000);          // a smaller one
    watch.copied(buffer.data() + buffer.size(), 100001);  // not in this message
  }
  EXPECT_EQ(ArrayPlace::Watch::current(), nullptr);
  return place.shift();
}

TEST(Arrays, TheBufferOfAMessageWithAHeaderIsPlacedForItsLargestArray) {
  const std::string header = "# An image\nuint8 kConstant=1\n\n  std_msgs/Header header # stamp\nuint8[] data\n";
  for (const std::size_t at : {1, 59, 64, 67, 1000}) EXPECT_EQ((shift_after(header, at) + at) % 64, 0U) << at;
  EXPECT_EQ((shift_after("Header header\nuint8[] data", 67) + 67) % 64, 0U);
}

TEST(Arrays, ABufferOfAnotherMessageIsAlignedAsByOperatorNew) {
  EXPECT_EQ(shift_after("uint32 a\nHeader header\nuint8[] data\n", 67), 0U);
  EXPECT_EQ(shift_after("MultiArrayLayout layout\nuint8[] data\n====\nHeader header\n", 67), 0U);
  EXPECT_EQ(shift_after("", 67), 0U);
}

TEST(Arrays, WhatIsGivenUpIsNotLearnedAgain) {
  LearnedArrays learned;
  learned.learn(1, {100, &learned, 4});
  ASSERT_EQ(learned.get().size(), 2U);
  EXPECT_EQ(learned.get()[1].offset, 100U);
  EXPECT_EQ(learned.get()[0].caller, nullptr);
  learned.learn(100000, {100, &learned, 4});
  EXPECT_EQ(learned.get().size(), 2U) << "a hostile message cannot make the table long";
  learned.give_up();
  learned.learn(0, {100, &learned, 4});
  EXPECT_TRUE(learned.get().empty());
}

}  // namespace
}  // namespace baton::ros1
