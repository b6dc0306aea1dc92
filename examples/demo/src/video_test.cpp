// SPDX-License-Identifier: Apache-2.0
#include "video.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace baton::demo {
namespace {

using Pixels = std::vector<std::uint8_t>;

// Two frames of two pixels in a row: red and green, then blue and white.
const Pixels kFrames{255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255};

class VideoTest : public testing::Test {
 protected:
  std::string write(const Pixels& bytes) {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
    return path_;
  }
  ~VideoTest() override { std::filesystem::remove(path_); }

  const std::string path_ =
      testing::TempDir() + "baton_video_test." + testing::UnitTest::GetInstance()->current_test_info()->name() + ".rgb";
};

TEST_F(VideoTest, EveryPixelOfAnEnlargedFrameIsThatOfTheStoredFrameAtTheSamePlace) {
  Video video(write(kFrames), {2, 1}, {4, 2});
  Pixels rgb(std::size_t{3} * 4 * 2);
  video.next(rgb.data());
  const Pixels row{255, 0, 0, 255, 0, 0, 0, 255, 0, 0, 255, 0};
  Pixels both = row;
  both.insert(both.end(), row.begin(), row.end());
  EXPECT_EQ(rgb, both);
}

TEST_F(VideoTest, TheFirstFrameFollowsTheLast) {
  Video video(write(kFrames), {2, 1}, {2, 1});
  Pixels first(6), second(6), third(6);
  video.next(first.data());
  video.next(second.data());
  video.next(third.data());
  EXPECT_EQ(first, Pixels(kFrames.begin(), kFrames.begin() + 6));
  EXPECT_EQ(second, Pixels(kFrames.begin() + 6, kFrames.end()));
  EXPECT_EQ(third, first);
}

TEST_F(VideoTest, AFileThatHoldsNoWholeFramesIsRefusedByItsName) {
  for (const Pixels& bytes : {Pixels{}, Pixels(7)}) {
    try {
      Video video(write(bytes), {2, 1}, {4, 2});
      FAIL() << bytes.size() << " bytes were taken";
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find(path_), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("no whole RGB frames of 2 x 1"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace baton::demo
