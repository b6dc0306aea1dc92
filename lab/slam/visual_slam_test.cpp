// SPDX-License-Identifier: Apache-2.0
#include "visual_slam.hpp"

#include <gtest/gtest.h>

#include <opencv2/imgproc.hpp>

#include "world.hpp"

namespace tum_slam {
namespace {

const cv::Size kSize(640, 480);
constexpr int kImages = 50;

const std::vector<cv::Mat>& images() {
  static const std::vector<cv::Mat> drawn = [] {
    const World world;
    std::vector<cv::Mat> all(kImages);
    for (int i = 0; i < kImages; ++i)
      cv::cvtColor(world.draw(camera_pose(i / 30.0), kSize), all[static_cast<std::size_t>(i)], cv::COLOR_BGR2GRAY);
    return all;
  }();
  return drawn;
}

std::vector<Tracked> track_all() {
  cv::setNumThreads(1);
  VisualSlam slam({camera_matrix(kSize), {}}, 1000);
  std::vector<Tracked> all;
  for (const cv::Mat& image : images()) all.push_back(slam.track(image));
  return all;
}

TEST(VisualSlam, FindsTheCamerasWayThroughAKnownWorldUpToScale) {
  const auto all = track_all();
  const auto first = std::find_if(all.begin(), all.end(), [](const Tracked& one) { return one.found; });
  ASSERT_LT(first - all.begin(), 35) << "the camera has moved by half a meter";
  // The map's frame is that of the camera's first pose; the way's length gives the scale.
  const CameraPose begin = camera_pose(0);
  const auto truth = [&](std::size_t i) {
    return begin.rotation.t() * (camera_pose(static_cast<double>(i) / 30).position - begin.position);
  };
  double scale = cv::norm(truth(kImages - 1)) / cv::norm(all.back().position);
  for (auto i = static_cast<std::size_t>(first - all.begin()); i < kImages; ++i) {
    ASSERT_TRUE(all[i].found) << "image " << i;
    EXPECT_LT(cv::norm(scale * all[i].position - truth(i)), 0.1) << "of about a meter, image " << i;
    const cv::Matx33d expected = begin.rotation.t() * camera_pose(static_cast<double>(i) / 30).rotation;
    EXPECT_LT(cv::norm(all[i].rotation - expected), 0.03) << "image " << i;
  }
}

TEST(VisualSlam, FindsMapPointsWhereTheImageShowsThem) {
  const Tracked last = track_all().back();
  ASSERT_GT(last.points.size(), 100U);
  ASSERT_EQ(last.points.size(), last.pixels.size());
  for (std::size_t i = 0; i < last.points.size(); ++i) {
    const cv::Vec3d in_camera = last.rotation.t() * (cv::Vec3d(last.points[i]) - last.position);
    const cv::Vec3d at = camera_matrix(kSize) * in_camera;
    EXPECT_GT(in_camera[2], 0);
    EXPECT_LT(std::hypot(at[0] / at[2] - last.pixels[i].x, at[1] / at[2] - last.pixels[i].y), 6) << "pixels";
  }
}

TEST(VisualSlam, GivesTheSameResultsForTheSameImages) {
  const auto first = track_all(), second = track_all();
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].found, second[i].found);
    EXPECT_EQ(first[i].position, second[i].position);
    EXPECT_EQ(first[i].rotation, second[i].rotation);
    EXPECT_EQ(first[i].points, second[i].points);
  }
}

TEST(VisualSlam, IsLostInAnImageWithoutFeaturesAndFindsItsPlaceAgain) {
  cv::setNumThreads(1);
  VisualSlam slam({camera_matrix(kSize), {}}, 1000);
  for (int i = 0; i < 40; ++i) slam.track(images()[static_cast<std::size_t>(i)]);
  EXPECT_FALSE(slam.track(cv::Mat(kSize, CV_8UC1, cv::Scalar(128))).found);
  EXPECT_TRUE(slam.track(images()[30]).found) << "ten images earlier: not where the motion would lead";
}

}  // namespace
}  // namespace tum_slam
