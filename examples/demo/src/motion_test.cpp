// SPDX-License-Identifier: Apache-2.0
#include "motion.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace baton::demo {
namespace {

constexpr std::uint32_t kWidth = 640, kHeight = 360, kStep = 3 * kWidth;

std::vector<std::uint8_t> grey() { return std::vector<std::uint8_t>(std::size_t{kStep} * kHeight, 100); }

void paint(std::vector<std::uint8_t>& rgb, const Box& box) {
  for (std::uint32_t y = box.y; y < box.y + box.height; ++y)
    std::fill_n(rgb.begin() + std::size_t{y} * kStep + std::size_t{3} * box.x, 3 * box.width, std::uint8_t{200});
}

std::optional<Box> moved(const std::vector<std::uint8_t>& before, const std::vector<std::uint8_t>& after) {
  MotionDetector detector;
  EXPECT_FALSE(detector.detect(before.data(), kWidth, kHeight, kStep)) << "there is no frame before the first";
  return detector.detect(after.data(), kWidth, kHeight, kStep);
}

TEST(MotionTest, TheBoxIsAroundTheLargestAreaThatChanged) {
  auto after = grey();
  paint(after, {80, 40, 160, 120});
  paint(after, {480, 280, 64, 40});  // another, smaller
  const auto box = moved(grey(), after);
  ASSERT_TRUE(box);
  EXPECT_EQ(box->x, 80U);
  EXPECT_EQ(box->y, 40U);
  EXPECT_EQ(box->width, 160U);
  EXPECT_EQ(box->height, 120U);
}

TEST(MotionTest, APictureThatStandsStillHasNoBox) { EXPECT_FALSE(moved(grey(), grey())); }

TEST(MotionTest, ASpotIsNoMotion) {
  auto after = grey();
  paint(after, {80, 40, 16, 16});
  EXPECT_FALSE(moved(grey(), after));
}

TEST(MotionTest, AreasThatTouchOnlyAtACornerAreTwo) {
  auto after = grey();
  paint(after, {80, 40, 80, 40});
  paint(after, {160, 80, 40, 40});
  const auto box = moved(grey(), after);
  ASSERT_TRUE(box);
  EXPECT_EQ(box->x + box->width, 160U);
}

TEST(MotionTest, TheWholePictureIsABoxToItsEdges) {
  auto after = grey();
  paint(after, {0, 0, kWidth, kHeight});
  const auto box = moved(grey(), after);
  ASSERT_TRUE(box);
  EXPECT_EQ(box->width, kWidth);
  EXPECT_EQ(box->height, kHeight);
}

}  // namespace
}  // namespace baton::demo
