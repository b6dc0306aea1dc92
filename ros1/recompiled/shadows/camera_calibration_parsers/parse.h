// SPDX-License-Identifier: Apache-2.0
// In the place of camera_calibration_parsers' header of this name, for recompiled programs; the program links its library, as
// before. The parsers are the stock ones (baton/ros1/recompiled/stock/camera_calibration_parsers.hpp).
//
// Thread rules: as the stock functions.
#pragma once

#ifdef CAMERA_CALIBRATION_PARSERS_PARSE_H
#error "camera_calibration_parsers' own parse.h was included before Baton's header of that name"
#endif
#define CAMERA_CALIBRATION_PARSERS_PARSE_H

#ifndef BATON_ROS1_STOCK_camera_calibration_parsers
#error \
    "this Baton was built without libcamera-calibration-parsers-dev, and so without what it needs in recompiled programs"
#endif

#include <sensor_msgs/CameraInfo.h>

#include <string>

#include "baton/ros1/recompiled/stock/camera_calibration_parsers.hpp"

namespace camera_calibration_parsers {
inline namespace baton_recompiled {

inline bool writeCalibration(const std::string& file_name, const std::string& camera_name,
                             const sensor_msgs::CameraInfo& cam_info) {
  namespace stock = ::baton::ros1::recompiled::stock;
  return stock::write_calibration(file_name, camera_name, stock::to_bytes(cam_info));
}
inline bool readCalibration(const std::string& file_name, std::string& camera_name, sensor_msgs::CameraInfo& cam_info) {
  namespace stock = ::baton::ros1::recompiled::stock;
  return stock::change_bytes(cam_info,
                             [&](auto& info) { return stock::read_calibration(file_name, camera_name, info); });
}
inline bool parseCalibration(const std::string& buffer, const std::string& format, std::string& camera_name,
                             sensor_msgs::CameraInfo& cam_info) {
  namespace stock = ::baton::ros1::recompiled::stock;
  return stock::change_bytes(cam_info,
                             [&](auto& info) { return stock::parse_calibration(buffer, format, camera_name, info); });
}

}  // namespace baton_recompiled
}  // namespace camera_calibration_parsers
