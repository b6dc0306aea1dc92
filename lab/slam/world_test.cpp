// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include <gtest/gtest.h>

#include "rotation.hpp"

namespace tum_slam {
namespace {

TEST(CameraPose, IsARotationAndMovesByLittle) {
  for (int i = 0; i < 300; ++i) {
    const CameraPose pose = camera_pose(i / 30.0);
    EXPECT_LT(cv::norm(pose.rotation * pose.rotation.t() - cv::Matx33d::eye()), 1e-12);
    EXPECT_NEAR(cv::determinant(pose.rotation), 1, 1e-12);
    EXPECT_LT(cv::norm(camera_pose((i + 1) / 30.0).position - pose.position), 0.03);
  }
}

TEST(Quaternion, TurnsAsItsMatrix) {
  for (int i = 0; i < 10; ++i) {
    const cv::Matx33d r = camera_pose(i).rotation;
    const cv::Vec4d q = quaternion(r);
    const double x = q[0], y = q[1], z = q[2], w = q[3];
    const cv::Matx33d of_q(1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),  //
                           2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),  //
                           2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y));
    EXPECT_LT(cv::norm(of_q - r), 1e-9);
    EXPECT_GE(w, 0);
  }
}

TEST(World, IsDrawnTheSameWayEachTime) {
  const cv::Size size(160, 120);
  const cv::Mat first = World().draw(camera_pose(1), size), second = World().draw(camera_pose(1), size);
  EXPECT_EQ(cv::norm(first, second), 0);
  EXPECT_GT(cv::norm(first, World().draw(camera_pose(2), size)), 0);
}

TEST(World, ShowsAPointOfTheWallWhereTheCameraMatrixHasIt) {
  // Two cameras at different distances, looking at the wall y = 2.5 above the boxes: one place of the wall has one color.
  const cv::Size size(320, 240);
  const cv::Matx33d looking_at_wall(1, 0, 0, 0, 0, 1, 0, -1, 0);
  const World world;
  const CameraPose far{looking_at_wall, {0, 0, 2}}, near{looking_at_wall, {0.1, 0.5, 2}};
  const cv::Mat from_far = world.draw(far, size), from_near = world.draw(near, size);
  const auto pixel = [&](const CameraPose& pose, const cv::Vec3d& place) {
    const cv::Vec3d at = camera_matrix(size) * (pose.rotation.t() * (place - pose.position));
    return cv::Point(cvRound(at[0] / at[2]), cvRound(at[1] / at[2]));
  };
  int same = 0, all = 0;
  for (double x = -0.6; x < 0.6; x += 0.05) {
    for (double z = 1.8; z < 2.3; z += 0.05, ++all) {
      const auto a = from_far.at<cv::Vec3b>(pixel(far, {x, 2.5, z}));
      const auto b = from_near.at<cv::Vec3b>(pixel(near, {x, 2.5, z}));
      same += cv::norm(cv::Vec3i(a) - cv::Vec3i(b)) < 40;
    }
  }
  EXPECT_GT(same, 0.8 * all) << "but for the edges of the texture's shapes";
}

}  // namespace
}  // namespace tum_slam
