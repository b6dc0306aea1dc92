// SPDX-License-Identifier: Apache-2.0
// In the place of camera_info_manager's header of this name, with its interface, for recompiled programs; the program links
// camera_info_manager's library, as before. The calibration, its files and the service set_camera_info are the stock class's
// (baton/ros1/recompiled/stock/camera_info_manager.hpp). A class that derives from this one may replace its public functions; the stock
// class does not call them, nor the private ones of Noetic's (loadCalibrationFlash() and others), which are not here.
//
// As in cv_bridge's header, the class lies in an inline namespace, so that the stock library never takes its place.
//
// Thread rules: as the stock class.
#pragma once

#ifdef _CAMERA_INFO_MANAGER_H_
#error "camera_info_manager's own camera_info_manager.h was included before Baton's header of that name"
#endif
#define _CAMERA_INFO_MANAGER_H_

#ifndef BATON_ROS1_STOCK_camera_info_manager
#error \
    "this Baton was built without libcamera-info-manager-dev, and so without what camera_info_manager needs in recompiled programs"
#endif

#include <ros/ros.h>
#include <sensor_msgs/CameraInfo.h>
#include <sensor_msgs/SetCameraInfo.h>

#include <string>

#include "baton/ros1/recompiled/stock/camera_info_manager.hpp"

namespace camera_info_manager {
inline namespace baton_recompiled {

class CameraInfoManager {
 public:
  CameraInfoManager(ros::NodeHandle nh,  // NOLINT(google-explicit-constructor)
                    const std::string& cname = "camera", const std::string& url = "")
      : stock_(nh, cname, url) {}
  virtual ~CameraInfoManager() {}

  virtual sensor_msgs::CameraInfo getCameraInfo() {
    return baton::ros1::recompiled::stock::from_bytes<sensor_msgs::CameraInfo>(stock_.info());
  }
  virtual bool isCalibrated() { return stock_.is_calibrated(); }
  virtual bool loadCameraInfo(const std::string& url) { return stock_.load(url); }
  virtual std::string resolveURL(const std::string& url, const std::string& cname) {
    return stock_.resolve_url(url, cname);
  }
  virtual bool setCameraName(const std::string& cname) { return stock_.set_camera_name(cname); }
  virtual bool setCameraInfo(const sensor_msgs::CameraInfo& camera_info) {
    return stock_.set_info(baton::ros1::recompiled::stock::to_bytes(camera_info));
  }
  virtual bool validateURL(const std::string& url) { return stock_.validate_url(url); }

 private:
  baton::ros1::recompiled::stock::CameraCalibration stock_;
};

}  // namespace baton_recompiled
}  // namespace camera_info_manager
