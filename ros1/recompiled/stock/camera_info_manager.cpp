// SPDX-License-Identifier: Apache-2.0
#include "baton/ros1/recompiled/stock/camera_info_manager.hpp"

#include <camera_info_manager/camera_info_manager.h>
#include <sensor_msgs/CameraInfo.h>

namespace baton::ros1::recompiled::stock {

struct CameraCalibration::Stock {
  camera_info_manager::CameraInfoManager calibration;
};

CameraCalibration::CameraCalibration(const ros::NodeHandle& handle, const std::string& camera_name,
                                     const std::string& url)
    : stock_(new Stock{{handle, camera_name, url}}) {}
CameraCalibration::~CameraCalibration() = default;

Bytes CameraCalibration::info() { return to_bytes(stock_->calibration.getCameraInfo()); }
bool CameraCalibration::is_calibrated() { return stock_->calibration.isCalibrated(); }
bool CameraCalibration::load(const std::string& url) { return stock_->calibration.loadCameraInfo(url); }
std::string CameraCalibration::resolve_url(const std::string& url, const std::string& camera_name) {
  return stock_->calibration.resolveURL(url, camera_name);
}
bool CameraCalibration::set_camera_name(const std::string& camera_name) {
  return stock_->calibration.setCameraName(camera_name);
}
bool CameraCalibration::set_info(const Bytes& info) {
  return stock_->calibration.setCameraInfo(from_bytes<sensor_msgs::CameraInfo>(info));
}
bool CameraCalibration::validate_url(const std::string& url) { return stock_->calibration.validateURL(url); }

}  // namespace baton::ros1::recompiled::stock
