// SPDX-License-Identifier: Apache-2.0
#include "sequence.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace tum_slam {
namespace {

class Sequence : public testing::Test {
 protected:
  Sequence()
      : folder_(testing::TempDir() + "tum_slam_" + testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::create_directories(folder_ + "/rgb");
    for (const char* name : {"/rgb/1.5.png", "/rgb/1.6.png"}) std::ofstream(folder_ + name) << "picture";
  }
  ~Sequence() override { std::filesystem::remove_all(folder_); }

  void write_list(const std::string& text) const { std::ofstream(folder_ + "/rgb.txt") << text; }

  std::string error() const {
    try {
      read_list(folder_);
    } catch (const std::runtime_error& problem) {
      return problem.what();
    }
    return "no error";
  }

  const std::string folder_;
};

TEST_F(Sequence, HasTheImagesOfItsListInTheirOrder) {
  write_list("# color images\n# timestamp filename\n1.5 rgb/1.5.png\n\n1.6\trgb/1.6.png\r\n");
  const auto images = read_list(folder_);
  ASSERT_EQ(images.size(), 2U);
  EXPECT_DOUBLE_EQ(images[0].time, 1.5);
  EXPECT_EQ(images[0].file, folder_ + "/rgb/1.5.png");
  EXPECT_DOUBLE_EQ(images[1].time, 1.6);
}

TEST_F(Sequence, WithoutAListIsAnErrorThatNamesTheList) {
  EXPECT_EQ(error(), folder_ + "/rgb.txt: cannot be read; a sequence of TUM RGB-D has this list of its images");
}

TEST_F(Sequence, WithAnotherLineIsAnErrorThatNamesTheLine) {
  for (const char* line : {"1.5", "first rgb/1.5.png", "1.5 rgb/1.5.png 1.5 depth/1.5.png"}) {
    write_list(std::string("# color images\n1.6 rgb/1.6.png\n") + line + "\n");
    EXPECT_EQ(error(), folder_ + "/rgb.txt:3: '" + line + "' is no line of the form 'timestamp file'");
  }
}

TEST_F(Sequence, WithoutAListedFileIsAnErrorThatNamesTheFile) {
  write_list("1.5 rgb/1.5.png\n1.7 rgb/1.7.png\n");
  EXPECT_EQ(error(), folder_ + "/rgb.txt:2: there is no file " + folder_ + "/rgb/1.7.png");
}

TEST_F(Sequence, WithoutImagesIsAnError) {
  write_list("# color images\n");
  EXPECT_EQ(error(), folder_ + "/rgb.txt: has no image");
}

}  // namespace
}  // namespace tum_slam
