// SPDX-License-Identifier: Apache-2.0
// Writes a sequence of a rendered room with a known trajectory, in the layout of TUM RGB-D: rgb.txt, groundtruth.txt, rgb/*.png.
// Arguments: folder, columns, rows, images. There are 30 images and 90 poses per second.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <opencv2/imgcodecs.hpp>
#include <stdexcept>
#include <string>

#include "rotation.hpp"
#include "world.hpp"

namespace {

constexpr double kBegin = 1'700'000'000;  // TUM's times are seconds since 1970
constexpr int kImages = 30, kPoses = 90;  // per second

void write(const std::filesystem::path& folder, cv::Size size, int images) {
  std::filesystem::create_directories(folder / "rgb");
  std::ofstream list(folder / "rgb.txt"), truth(folder / "groundtruth.txt");
  list << std::fixed << std::setprecision(6) << "# color images\n# a rendered room\n# timestamp filename\n";
  truth << std::fixed << std::setprecision(6)
        << "# ground truth trajectory\n# a rendered room\n# timestamp tx ty tz qx qy qz qw\n";
  for (int i = 0; i < images; ++i) {
    const double seconds = 1.0 * i / kImages;
    list << kBegin + seconds << " rgb/" << kBegin + seconds << ".png\n";
  }
  for (int i = 0; i <= (images - 1) * kPoses / kImages; ++i) {
    const double seconds = 1.0 * i / kPoses;
    const tum_slam::CameraPose pose = tum_slam::camera_pose(seconds);
    const cv::Vec4d q = tum_slam::quaternion(pose.rotation);
    truth << kBegin + seconds;
    for (const double number : {pose.position[0], pose.position[1], pose.position[2], q[0], q[1], q[2], q[3]})
      truth << ' ' << number;
    truth << '\n';
  }
  if (!list.flush() || !truth.flush()) throw std::runtime_error("rgb.txt and groundtruth.txt cannot be written");
  const tum_slam::World world;
  cv::parallel_for_({0, images}, [&](const cv::Range& range) {
    for (int i = range.start; i < range.end; ++i) {
      const double seconds = 1.0 * i / kImages;
      const std::string file = (folder / "rgb" / (std::to_string(kBegin + seconds) + ".png")).string();
      if (!cv::imwrite(file, world.draw(tum_slam::camera_pose(seconds), size), {cv::IMWRITE_PNG_COMPRESSION, 1}))
        throw std::runtime_error(file + " cannot be written");
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: generate FOLDER COLUMNS ROWS IMAGES" << std::endl;
    return 2;
  }
  try {
    write(argv[1], {std::stoi(argv[2]), std::stoi(argv[3])}, std::stoi(argv[4]));
  } catch (const std::exception& problem) {
    std::cerr << "generate: " << argv[1] << ": " << problem.what() << std::endl;
    return 1;
  }
}
