// SPDX-License-Identifier: Apache-2.0
// A stock camera_info_manager::CameraInfoManager, its service set_camera_info included, for its header of recompiled programs.
//
// Thread rules: as the stock class.
#pragma once

#include <ros/node_handle.h>

#include <memory>
#include <string>

#include "baton/ros1/recompiled/stock/bytes.hpp"

namespace baton::ros1::recompiled::stock {

/// Bytes are of a sensor_msgs/CameraInfo.
class CameraCalibration {
 public:
  CameraCalibration(const ros::NodeHandle& handle, const std::string& camera_name, const std::string& url);
  ~CameraCalibration();
  CameraCalibration(const CameraCalibration&) = delete;
  CameraCalibration& operator=(const CameraCalibration&) = delete;

  Bytes info();
  bool is_calibrated();
  bool load(const std::string& url);
  std::string resolve_url(const std::string& url, const std::string& camera_name);
  bool set_camera_name(const std::string& camera_name);
  bool set_info(const Bytes& info);
  bool validate_url(const std::string& url);

 private:
  struct Stock;
  const std::unique_ptr<Stock> stock_;
};

}  // namespace baton::ros1::recompiled::stock
