// SPDX-License-Identifier: Apache-2.0
#include "baton/ros1/recompiled/stock/camera_calibration_parsers.hpp"

#include <camera_calibration_parsers/parse.h>
#include <camera_calibration_parsers/parse_ini.h>
#include <camera_calibration_parsers/parse_yml.h>
#include <sensor_msgs/CameraInfo.h>

namespace baton::ros1::recompiled::stock {
namespace {

namespace parsers = camera_calibration_parsers;

sensor_msgs::CameraInfo info_of(const Bytes& bytes) { return from_bytes<sensor_msgs::CameraInfo>(bytes); }

/// Calls `read` with the message in `bytes`, and puts back what it made of it.
template <class Read>
bool change(Bytes& bytes, const Read& read) {
  sensor_msgs::CameraInfo info = info_of(bytes);
  const bool good = read(info);
  bytes = to_bytes(info);
  return good;
}

}  // namespace

bool write_calibration(const std::string& file_name, const std::string& camera_name, const Bytes& info) {
  return parsers::writeCalibration(file_name, camera_name, info_of(info));
}
bool read_calibration(const std::string& file_name, std::string& camera_name, Bytes& info) {
  return change(info, [&](auto& made) { return parsers::readCalibration(file_name, camera_name, made); });
}
bool parse_calibration(const std::string& buffer, const std::string& format, std::string& camera_name, Bytes& info) {
  return change(info, [&](auto& made) { return parsers::parseCalibration(buffer, format, camera_name, made); });
}

bool write_calibration_ini(std::ostream& out, const std::string& camera_name, const Bytes& info) {
  return parsers::writeCalibrationIni(out, camera_name, info_of(info));
}
bool write_calibration_ini(const std::string& file_name, const std::string& camera_name, const Bytes& info) {
  return parsers::writeCalibrationIni(file_name, camera_name, info_of(info));
}
bool read_calibration_ini(std::istream& in, std::string& camera_name, Bytes& info) {
  return change(info, [&](auto& made) { return parsers::readCalibrationIni(in, camera_name, made); });
}
bool read_calibration_ini(const std::string& file_name, std::string& camera_name, Bytes& info) {
  return change(info, [&](auto& made) { return parsers::readCalibrationIni(file_name, camera_name, made); });
}
bool parse_calibration_ini(const std::string& buffer, std::string& camera_name, Bytes& info) {
  return change(info, [&](auto& made) { return parsers::parseCalibrationIni(buffer, camera_name, made); });
}

bool write_calibration_yml(std::ostream& out, const std::string& camera_name, const Bytes& info) {
  return parsers::writeCalibrationYml(out, camera_name, info_of(info));
}
bool write_calibration_yml(const std::string& file_name, const std::string& camera_name, const Bytes& info) {
  return parsers::writeCalibrationYml(file_name, camera_name, info_of(info));
}
bool read_calibration_yml(std::istream& in, std::string& camera_name, Bytes& info) {
  return change(info, [&](auto& made) { return parsers::readCalibrationYml(in, camera_name, made); });
}
bool read_calibration_yml(const std::string& file_name, std::string& camera_name, Bytes& info) {
  return change(info, [&](auto& made) { return parsers::readCalibrationYml(file_name, camera_name, made); });
}

}  // namespace baton::ros1::recompiled::stock
