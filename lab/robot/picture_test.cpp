// SPDX-License-Identifier: Apache-2.0
#include "picture.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace baton::robot {
namespace {

constexpr Size kSize(640);
using Picture = std::vector<std::uint8_t>;

/// `before` fills the memory beforehand: a pixel that draw() leaves out keeps it.
Picture drawn(const View& view, std::uint8_t before = 0, Size size = kSize) {
  Picture rgb(size.bytes() + 64, before);
  draw(view, size, rgb.data());
  EXPECT_EQ(Picture(rgb.end() - 64, rgb.end()), Picture(64, before)) << "bytes behind the picture";
  rgb.resize(size.bytes());
  return rgb;
}

struct Pixel {
  int red, green, blue;
};
Pixel middle_of(const Picture& rgb, Box box) {
  const std::uint8_t* at = &rgb[std::size_t{box.y + box.height / 2} * kSize.step() + 3 * (box.x + box.width / 2)];
  return {at[0], at[1], at[2]};
}
bool is_lit_red(Pixel pixel) { return pixel.red > 200 && pixel.green < 80 && pixel.blue < 80; }

std::vector<View> many_views() {
  std::vector<View> views;
  for (const Lamp lit : {Lamp::none, Lamp::red}) {
    for (double at = 0; at < scene(Task::drive).end; at += 0.1) views.push_back({Task::drive, at, lit});
    for (double at = 0; at < 720; at += 7.5) views.push_back({Task::turn, at, lit});
  }
  return views;
}

TEST(PictureTest, TheSameViewGivesTheSameBytesAndEveryByteIsWritten) {
  for (const View& view : many_views()) EXPECT_EQ(drawn(view, 0), drawn(view, 255));
}

TEST(PictureTest, AnySizeIsDrawnWithinItsMemory) {
  for (const std::uint32_t width : {16U, 160U, 1280U, 1920U})
    for (const View& view : {View{Task::drive, 1.1, Lamp::red}, View{Task::turn, 200, Lamp::red}})
      drawn(view, 7, Size(width));
}

TEST(PictureTest, TheRedLampIsWhereTheTemplateIsCut) {
  EXPECT_TRUE(is_lit_red(middle_of(drawn(template_view(Lamp::red)), lamp_box(kSize, Lamp::red))));
  EXPECT_FALSE(is_lit_red(middle_of(drawn(template_view(Lamp::none)), lamp_box(kSize, Lamp::red))));
  EXPECT_FALSE(is_lit_red(middle_of(drawn(template_view(Lamp::red)), lamp_box(kSize, Lamp::green))));
}

TEST(PictureTest, ATurningRobotSeesTheLampInTheMiddleWhenItFacesTheLight) {
  const double light = scene(Task::turn).trigger;
  EXPECT_TRUE(is_lit_red(middle_of(drawn({Task::turn, light, Lamp::red}), lamp_box(kSize, Lamp::red))));
  EXPECT_TRUE(is_lit_red(middle_of(drawn({Task::turn, light + 360, Lamp::red}), lamp_box(kSize, Lamp::red))));
  EXPECT_FALSE(is_lit_red(middle_of(drawn({Task::turn, light + 90, Lamp::red}), lamp_box(kSize, Lamp::red))));
}

TEST(PictureTest, NothingButTheLampIsLitRed) {
  for (const View& view : many_views()) {
    if (view.lit == Lamp::red) continue;
    const Picture rgb = drawn(view);
    for (std::size_t i = 0; i < rgb.size(); i += 3)
      ASSERT_FALSE(is_lit_red({rgb[i], rgb[i + 1], rgb[i + 2]})) << "byte " << i << " at " << view.travelled;
  }
}

TEST(PictureTest, TheTemplateLiesInTheRegionOfInterest) {
  const Box region = region_of_interest(kSize), lamp = lamp_box(kSize, Lamp::red);
  EXPECT_GE(lamp.x, region.x);
  EXPECT_GE(lamp.y, region.y);
  EXPECT_LE(lamp.x + lamp.width, region.x + region.width);
  EXPECT_LE(lamp.y + lamp.height, region.y + region.height);
}

}  // namespace
}  // namespace baton::robot
