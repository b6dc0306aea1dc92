// SPDX-License-Identifier: Apache-2.0
// The functions of camera_calibration_parsers, for its headers of recompiled programs. `info` is a sensor_msgs/CameraInfo; what reads
// one changes it as the stock function does.
//
// Thread rules: as the stock functions.
#pragma once

#include <istream>
#include <ostream>
#include <string>

#include "baton/ros1/recompiled/stock/bytes.hpp"

namespace baton::ros1::recompiled::stock {

bool write_calibration(const std::string& file_name, const std::string& camera_name, const Bytes& info);
bool read_calibration(const std::string& file_name, std::string& camera_name, Bytes& info);
bool parse_calibration(const std::string& buffer, const std::string& format, std::string& camera_name, Bytes& info);

bool write_calibration_ini(std::ostream& out, const std::string& camera_name, const Bytes& info);
bool write_calibration_ini(const std::string& file_name, const std::string& camera_name, const Bytes& info);
bool read_calibration_ini(std::istream& in, std::string& camera_name, Bytes& info);
bool read_calibration_ini(const std::string& file_name, std::string& camera_name, Bytes& info);
bool parse_calibration_ini(const std::string& buffer, std::string& camera_name, Bytes& info);

bool write_calibration_yml(std::ostream& out, const std::string& camera_name, const Bytes& info);
bool write_calibration_yml(const std::string& file_name, const std::string& camera_name, const Bytes& info);
bool read_calibration_yml(std::istream& in, std::string& camera_name, Bytes& info);
bool read_calibration_yml(const std::string& file_name, std::string& camera_name, Bytes& info);

}  // namespace baton::ros1::recompiled::stock
