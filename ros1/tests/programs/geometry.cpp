// SPDX-License-Identifier: Apache-2.0
// An ordinary program of image_geometry, compiled as it is and recompiled: prints what the camera models say of many random
// calibrations, a line each. Both programs have to print the same.
#include <image_geometry/pinhole_camera_model.h>
#include <image_geometry/stereo_camera_model.h>

#include <boost/make_shared.hpp>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <opencv2/calib3d/calib3d.hpp>
#include <random>
#include <string>
#include <vector>

namespace {

using image_geometry::PinholeCameraModel;
using image_geometry::StereoCameraModel;

std::mt19937 random_numbers;  // the same ones with every library, unlike the distributions of <random>

std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random_numbers() % end); }
double between(double least, double most) { return least + (most - least) * (random_numbers() / 4294967296.0); }

std::string words(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%a ", number);  // every bit
  return text;
}
std::string words(int number) { return std::to_string(number) + " "; }
std::string words(bool flag) { return flag ? "true " : "false "; }
std::string words(const cv::Point2d& at) { return words(at.x) + words(at.y); }
std::string words(const cv::Point3d& at) { return words(at.x) + words(at.y) + words(at.z); }
std::string words(const cv::Size& size) { return words(size.width) + words(size.height); }
std::string words(const cv::Rect& at) { return words(at.x) + words(at.y) + words(at.width) + words(at.height); }
template <int rows, int columns>
std::string words(const cv::Matx<double, rows, columns>& matrix) {
  std::string all;
  for (const double number : matrix.val) all += words(number);
  return all;
}
std::string words(const cv::Mat& image) {  // FNV-1a
  std::uint64_t sum = 0xcbf29ce484222325;
  for (int y = 0; y < image.rows; ++y) {
    const std::uint8_t* const row = image.ptr(y);
    for (std::size_t i = 0; i < static_cast<std::size_t>(image.cols) * image.elemSize(); ++i) {
      sum = (sum ^ row[i]) * 0x100000001b3;
    }
  }
  return words(image.size()) + "type " + words(image.type()) + std::to_string(sum) + " ";
}
std::string words(const sensor_msgs::CameraInfo& info) {
  std::string all = std::to_string(info.header.seq) + " " + std::to_string(info.header.stamp.toNSec()) + " " +
                    std::string(info.header.frame_id) + " " + std::string(info.distortion_model) + " ";
  for (const std::uint32_t number : {info.width, info.height, info.binning_x, info.binning_y, info.roi.x_offset,
                                     info.roi.y_offset, info.roi.width, info.roi.height}) {
    all += std::to_string(number) + " ";
  }
  all += words(info.roi.do_rectify != 0);
  for (const double number : info.D) all += words(number);
  for (const double number : info.K) all += words(number);
  for (const double number : info.R) all += words(number);
  for (const double number : info.P) all += words(number);
  return all;
}

void show(const std::string& what, const std::function<std::string()>& made) {
  std::cout << what << ": ";
  try {
    std::cout << made();
  } catch (const image_geometry::Exception&) {
    std::cout << "image_geometry::Exception";
  } catch (const cv::Exception&) {
    std::cout << "cv::Exception";
  }
  std::cout << '\n';
}

sensor_msgs::CameraInfo calibration(std::uint32_t number) {
  static const char* const kModels[] = {
      "plumb_bob", "rational_polynomial", "equidistant", "plumb_bob", "equidistant", "", "nonsense"};
  static const std::size_t kCoefficients[] = {5, 8, 4, 4, 4, 5, 12, 14, 0, 3};
  sensor_msgs::CameraInfo info;
  info.header.seq = number;
  info.header.stamp = ros::Time(number, 7);
  info.header.frame_id = "camera" + std::to_string(number % 3);
  info.width = 24 + below(40);
  info.height = 16 + below(32);
  info.distortion_model = kModels[below(7)];
  info.D.resize(info.distortion_model == "equidistant" && below(5) > 0 ? 4 : kCoefficients[below(10)]);
  if (below(6) > 0) {
    for (double& coefficient : info.D) coefficient = between(-0.1, 0.1);
  }
  const double focal = between(20, 90), x = info.width / 2.0 + between(-4, 4), y = info.height / 2.0 + between(-4, 4);
  info.K[0] = focal;
  info.K[2] = x;
  info.K[4] = focal * between(0.9, 1.1);
  info.K[5] = y;
  info.K[8] = 1;
  cv::Matx33d rotation;
  cv::Rodrigues(cv::Vec3d(between(-.05, .05), between(-.05, .05), between(-.05, .05)), rotation);
  for (int i = 0; i < 9; ++i) info.R[static_cast<std::size_t>(i)] = rotation.val[i];
  info.P[0] = info.P[5] = focal * between(0.8, 1.2);
  info.P[2] = x + between(-2, 2);
  info.P[6] = y + between(-2, 2);
  info.P[3] = below(2) * between(-30, 30);
  info.P[7] = below(4) == 0 ? between(-30, 30) : 0;
  info.P[10] = 1;
  info.binning_x = below(4);
  info.binning_y = below(4);
  if (below(2) == 0) {
    info.roi.x_offset = below(info.width / 2);
    info.roi.y_offset = below(info.height / 2);
    info.roi.width = below(3) == 0 ? info.width : 4 + below(info.width / 3);  // some do not fit
    info.roi.height = 4 + below(info.height / 3);
    info.roi.do_rectify = below(2) != 0;
  }
  return info;
}

cv::Mat pattern(const cv::Size& size, int type) {
  cv::Mat image(size, type);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (int i = 0; i < image.channels(); ++i) {
        const int value = (x * 31 + y * 17 + i * 7) % 200;
        switch (image.depth()) {
          case CV_8U:
            image.ptr<std::uint8_t>(y)[x * image.channels() + i] = static_cast<std::uint8_t>(value);
            break;
          case CV_16U:
            image.ptr<std::uint16_t>(y)[x * image.channels() + i] = static_cast<std::uint16_t>(value * 300);
            break;
          case CV_32F:
            image.ptr<float>(y)[x * image.channels() + i] = static_cast<float>(value) / 7;
            break;
          default:
            image.ptr<double>(y)[x * image.channels() + i] = value / 7.0;
        }
      }
    }
  }
  return image;
}

/// Everything that a model says.
void show(const PinholeCameraModel& model) {
  show("frame", [&] { return model.tfFrame() + " " + std::to_string(model.stamp().toNSec()); });
  show("message", [&] { return words(model.cameraInfo()); });
  show("full resolution", [&] { return words(model.fullResolution()); });
  show("reduced resolution", [&] { return words(model.reducedResolution()); });
  show("raw region", [&] { return words(model.rawRoi()); });
  show("rectified region", [&] { return words(model.rectifiedRoi()); });
  show("matrices", [&] {
    return words(model.intrinsicMatrix()) + words(model.rotationMatrix()) + words(model.projectionMatrix()) +
           words(model.fullIntrinsicMatrix()) + words(model.fullProjectionMatrix()) +
           words(cv::Mat(model.distortionCoeffs()));
  });
  show("numbers", [&] {
    return words(model.fx()) + words(model.fy()) + words(model.cx()) + words(model.cy()) + words(model.Tx()) +
           words(model.Ty()) + words(model.fovX()) + words(model.fovY()) + std::to_string(model.binningX()) + " " +
           std::to_string(model.binningY());
  });
  for (int i = 0; i < 6; ++i) {
    const cv::Point2d pixel(between(-5, 70), between(-5, 50));
    const cv::Rect rect(static_cast<int>(below(80)) - 10, static_cast<int>(below(80)) - 10, static_cast<int>(below(40)),
                        static_cast<int>(below(40)));
    const cv::Point3d point(between(-3, 3), between(-3, 3), between(0.1, 9));
    const cv::Matx34d P(between(20, 40), 0, 15, 1, 0, between(20, 40), 12, 2, 0, 0, 1, 0);
    const cv::Matx33d K(between(20, 40), 0, 15, 0, between(20, 40), 12, 0, 0, 1);
    show("pixel to full", [&] { return words(model.toFullResolution(pixel)); });
    show("pixel to reduced", [&] { return words(model.toReducedResolution(pixel)); });
    show("region to full", [&] { return words(model.toFullResolution(rect)); });
    show("region to reduced", [&] { return words(model.toReducedResolution(rect)); });
    show("pixel of point", [&] { return words(model.project3dToPixel(point)); });
    show("ray of pixel", [&] { return words(model.projectPixelTo3dRay(pixel)); });
    show("ray of pixel, other matrix", [&] { return words(model.projectPixelTo3dRay(pixel, P)); });
    show("rectified pixel", [&] { return words(model.rectifyPoint(pixel)); });
    show("rectified pixel, other matrices", [&] { return words(model.rectifyPoint(pixel, K, P)); });
    show("raw pixel", [&] { return words(model.unrectifyPoint(pixel)); });
    show("raw pixel, other matrices", [&] { return words(model.unrectifyPoint(pixel, K, P)); });
    show("region, rectified", [&] { return words(model.rectifyRoi(rect)); });
    show("region, raw", [&] { return words(model.unrectifyRoi(rect)); });
    show("deltas", [&] {
      return words(model.getDeltaU(point.x, point.z)) + words(model.getDeltaV(point.y, point.z)) +
             words(model.getDeltaX(pixel.x, point.z)) + words(model.getDeltaY(pixel.y, point.z));
    });
  }
  for (const int type : {CV_8UC1, CV_8UC3, CV_16UC1, CV_32FC1, CV_64FC1}) {
    const cv::Mat image = pattern(model.rawRoi().size(), type);
    for (const int interpolation : {cv::INTER_LINEAR, cv::INTER_NEAREST}) {
      const std::string how = std::to_string(type) + " " + std::to_string(interpolation);
      show("rectified image " + how, [&] {
        cv::Mat rectified;
        model.rectifyImage(image, rectified, interpolation);
        return words(rectified);
      });
      show("raw image " + how, [&] {
        cv::Mat raw;
        model.unrectifyImage(image, raw, interpolation);
        return words(raw);
      });
    }
  }
}

void cameras(std::uint32_t count) {
  PinholeCameraModel kept;
  show("initialized", [&] { return words(kept.initialized()); });
  for (std::uint32_t number = 0; number < count; ++number) {
    const sensor_msgs::CameraInfo info = calibration(number);
    const sensor_msgs::CameraInfoPtr changed = boost::make_shared<sensor_msgs::CameraInfo>(info);
    PinholeCameraModel model;
    show("changes", [&] { return words(model.fromCameraInfo(info)) + words(model.initialized()); });
    show(model);
    show("stays", [&] { return words(model.fromCameraInfo(changed)); });
    // What a model keeps for the next call must not outlive the calibration that it is from.
    const PinholeCameraModel copy(model);
    switch (below(10)) {
      case 0:
        changed->roi.x_offset += 2;
        break;
      case 1:
        changed->binning_x = 1 + below(2);
        break;
      case 2:
        changed->D.assign(4, between(-0.05, 0.05));
        break;
      case 3:
        changed->distortion_model = "plumb_bob";
        break;
      case 4:
        changed->K[0] += 1;
        break;
      case 5:
        changed->P[0] += 1;
        break;
      case 6:
        changed->R[0] -= 0.01;
        break;
      case 7:
        changed->roi.do_rectify = !changed->roi.do_rectify;
        break;
      case 8:
        changed->binning_y = 1 + below(2);
        break;
      default:
        changed->header.frame_id = "another_frame_with_a_long_name";
    }
    show("changed", [&] { return words(model.fromCameraInfo(sensor_msgs::CameraInfoConstPtr(changed))); });
    show(model);
    show(copy);
    PinholeCameraModel assigned;
    assigned = PinholeCameraModel();
    show("assigned", [&] { return words(assigned.initialized()); });
    assigned = copy;
    assigned = model;
    show(assigned);
    show("one model for all", [&] { return words(kept.fromCameraInfo(info)); });
    show(kept);
  }
}

void stereo(std::uint32_t count) {
  StereoCameraModel kept;
  show("stereo", [&] { return words(kept.initialized()) + words(kept.reprojectionMatrix()); });
  show("missing", [&] { return words(double(StereoCameraModel::MISSING_Z)); });
  for (std::uint32_t number = 0; number < count; ++number) {
    const sensor_msgs::CameraInfo left = calibration(number);
    const sensor_msgs::CameraInfoPtr right = boost::make_shared<sensor_msgs::CameraInfo>(left);
    right->P[2] += below(3) == 0 ? between(-3, 3) : 0;
    right->P[3] = between(-30, -1);
    StereoCameraModel model;
    show("changes", [&] { return words(model.fromCameraInfo(left, *right)) + words(model.initialized()); });
    show("stays",
         [&] { return words(model.fromCameraInfo(boost::make_shared<sensor_msgs::CameraInfo>(left), right)); });
    const StereoCameraModel copy(model);
    StereoCameraModel assigned;
    assigned = StereoCameraModel();
    assigned = copy;
    show("kept", [&] { return words(kept.fromCameraInfo(left, *right)); });
    for (const StereoCameraModel* const each :
         std::initializer_list<const StereoCameraModel*>{&model, &copy, &assigned, &kept}) {
      show("frame", [&] { return each->tfFrame(); });
      show("cameras", [&] { return words(each->left().cameraInfo()) + words(each->right().cameraInfo()); });
      show("matrix", [&] { return words(each->reprojectionMatrix()) + words(each->baseline()); });
      const double depth = between(0.2, 9), disparity = between(0.1, 60);
      show("depth", [&] { return words(each->getZ(disparity)) + words(each->getDisparity(depth)); });
      show("point", [&] {
        cv::Point3d point;
        each->projectDisparityTo3d(cv::Point2d(between(0, 60), between(0, 40)), static_cast<float>(disparity), point);
        return words(point);
      });
      for (const bool missing : {false, true}) {
        show("points", [&] {
          cv::Mat cloud;
          each->projectDisparityImageTo3d(pattern(each->left().fullResolution(), CV_32FC1), cloud, missing);
          return words(cloud);
        });
      }
    }
  }
}

}  // namespace

int main() {
  cameras(300);
  stereo(300);
}
