// SPDX-License-Identifier: Apache-2.0
// The bytes: ROS-SF Fig. 7 and the layout of hand-written messages.
#include <gtest/gtest.h>

#include <cstring>
#include <sstream>
#include <vector>

#include "testing/messages.hpp"
#include "testing/test_chunk.hpp"

using namespace baton;
using namespace baton::message::testing;

static_assert(sizeof(sfm::Vector<double>) == 8 && alignof(sfm::Vector<double>) == 4);
static_assert(sizeof(sfm::String) == 8 && alignof(sfm::String) == 4);
static_assert(sizeof(Image) == 24 && std::is_standard_layout_v<Image> && !std::is_trivially_copyable_v<Image>);
static_assert(std::is_nothrow_move_constructible_v<Image> && std::is_nothrow_default_constructible_v<Image>);
static_assert(std::is_standard_layout_v<Monster> && std::is_nothrow_move_constructible_v<Monster>);
static_assert(sizeof(Header) == 20 && alignof(Header) == 4 && alignof(Monster) == 8);

TEST(Layout, ImageHasExactlyTheBytesOfRosSfFigure7) {
  Loaned<Image> image;
  image->encoding = "rgb8";
  image->height = 10;
  image->width = 10;
  image->data.resize(10 * 10 * 3);
  for (std::size_t i = 0; i < 300; ++i) image->data[i] = static_cast<std::uint8_t>(i);

  const std::uint8_t head[] = {
      0x08, 0,   0,   0,    // 0x00 length of encoding
      0x14, 0,   0,   0,    // 0x04 offset to the value of encoding: 20
      0x0a, 0,   0,   0,    // 0x08 height
      0x0a, 0,   0,   0,    // 0x0c width
      0x2c, 1,   0,   0,    // 0x10 length of data: 300
      0x0c, 0,   0,   0,    // 0x14 offset to the value of data: 12
      'r',  'g', 'b', '8',  // 0x18 value of encoding
      0,    0,   0,   3,    // 0x1c terminating zero, padding, number of padding bytes
  };
  EXPECT_EQ(std::memcmp(image.chunk().message(), head, sizeof head), 0);
  for (std::size_t i = 0; i < 300; ++i) ASSERT_EQ(image.chunk().message()[0x20 + i], std::byte(i));
  EXPECT_EQ(image.chunk().used_bytes(), 0x14cu);
  EXPECT_EQ(image->encoding.size(), 4u);
  EXPECT_STREQ(image->encoding.c_str(), "rgb8");
}

TEST(Layout, BasicsWorkInBothPlaces) {
  Loaned<Image> loan;
  Image stack;
  for (Image* m : {&*loan, &stack}) {
    m->encoding = "a";
    m->encoding += std::string("bcdefgh");
    m->data = {1, 2, 3};
    for (int i = 0; i < 10000; ++i) m->data.push_back(static_cast<std::uint8_t>(i));
    m->data.insert(m->data.begin() + 1, m->data.back());
    m->data.erase(m->data.begin());
    EXPECT_EQ(m->encoding, "abcdefgh");
    EXPECT_EQ(m->data.size(), 10003u);
  }
  EXPECT_EQ(*loan, stack);
  Image copy = *loan;
  Image moved = std::move(copy);
  EXPECT_EQ(moved, stack);
  std::vector<Image> many(3, moved);
  many.push_back(*loan);
  many.insert(many.begin(), *loan);
  EXPECT_EQ(many.front(), many.back());
  std::swap(many[0], *loan);
  swap(loan->data, stack.data);
  std::vector<std::uint8_t> v = stack.data;
  std::vector<std::uint8_t> w(stack.data);
  w = stack.data;
  std::string s = stack.encoding;
  std::string t(stack.encoding);
  t = stack.encoding;
  EXPECT_EQ(stack.data, v);
  EXPECT_EQ(t, stack.encoding);
  std::string_view sv = stack.encoding;
  EXPECT_EQ(sv, s);
  std::ostringstream os;
  os << stack.encoding << sfm::Vector<std::uint8_t>{1, 2};
  EXPECT_EQ(os.str(), "abcdefgh[1, 2]");
}

TEST(Layout, NestedContentsGrowInAChunk) {
  Loaned<PointCloud> loan;
  PointCloud stack;
  for (PointCloud* m : {&*loan, &stack}) {
    m->header.frame_id = "map";
    for (int i = 0; i < 20; ++i) {
      m->channels.emplace_back();
      m->channels.back().name = "channel " + std::to_string(i);
      m->channels.back().values.assign(static_cast<std::size_t>(i), 1.5f);
    }
    m->channels.insert(m->channels.begin() + 3, m->channels[7]);
    m->channels.push_back(m->channels[1]);
    m->channels.erase(m->channels.begin() + 2, m->channels.begin() + 4);
    m->points.resize(7);
  }
  EXPECT_EQ(*loan, stack);
  TestChunk other(sizeof(PointCloud));
  EXPECT_EQ(*other.make<PointCloud>(*loan), stack);
  Monster monster;
  monster.clouds.push_back(*loan);
  monster.clouds.push_back(std::move(stack));
  Loaned<Monster> big;
  *big = monster;
  EXPECT_EQ(*big, monster);
  monster.clouds[0] = monster.clouds[1];
}
