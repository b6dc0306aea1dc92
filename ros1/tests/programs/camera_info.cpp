// SPDX-License-Identifier: Apache-2.0
// An ordinary program of camera_info_manager and camera_calibration_parsers, compiled as it is and recompiled: does what the lines of
// its input say, and answers each with a line. Argument: the camera's name. A number makes a calibration.
#include <camera_calibration_parsers/parse.h>
#include <camera_calibration_parsers/parse_ini.h>
#include <camera_calibration_parsers/parse_yml.h>
#include <camera_info_manager/camera_info_manager.h>
#include <ros/ros.h>
#include <sensor_msgs/SetCameraInfo.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

namespace {

namespace parsers = camera_calibration_parsers;

sensor_msgs::CameraInfo calibration(std::uint32_t number) {
  sensor_msgs::CameraInfo info;
  info.header.frame_id = "frame";
  info.width = 640 + number;
  info.height = 480;
  info.distortion_model = "plumb_bob";
  for (std::size_t i = 0; i < 5; ++i) info.D.push_back(0.1 * number + static_cast<double>(i));
  for (std::size_t i = 0; i < 9; ++i) info.K[i] = number + static_cast<double>(i) / 3;
  for (std::size_t i = 0; i < 9; ++i) info.R[i] = i % 4 == 0;
  for (std::size_t i = 0; i < 12; ++i) info.P[i] = -1.0 * number * static_cast<double>(i);
  info.binning_x = 2;
  info.roi.width = 5;
  return info;
}

std::string words(const sensor_msgs::CameraInfo& info) {
  std::ostringstream out;
  out << info.width << 'x' << info.height << ' ' << info.distortion_model << ' ' << info.header.frame_id << ' '
      << info.binning_x << ' ' << info.roi.width;
  char text[40];
  const auto add = [&](double number) {
    std::snprintf(text, sizeof text, " %a", number);
    out << text;
  };
  for (const double number : info.D) add(number);
  for (const double number : info.K) add(number);
  for (const double number : info.R) add(number);
  for (const double number : info.P) add(number);
  return out.str();
}

/// What a function that reads a calibration made of one that was there before.
std::string read(bool good, const std::string& camera, const sensor_msgs::CameraInfo& info) {
  return (good ? "read " : "not read ") + camera + " " + words(info);
}

std::string content(const std::string& file) {
  std::ifstream in(file);
  std::string all, line;
  while (std::getline(in, line)) all += line + "|";
  return all.empty() ? "empty" : all;
}

/// An answer to a line about files.
std::string parse(const std::string& what, std::istream& arguments) {
  std::string file, camera = "before";
  std::uint32_t number = 0;
  arguments >> file >> number;
  const std::string name = "camera_" + std::to_string(number);
  sensor_msgs::CameraInfo info = calibration(99);
  std::ostringstream out;
  std::ifstream in(file);
  if (what == "content") return content(file);
  if (what == "write") return parsers::writeCalibration(file, name, calibration(number)) ? "written" : "not written";
  if (what == "write_ini") {
    return parsers::writeCalibrationIni(file, name, calibration(number)) ? "written" : "not written";
  }
  if (what == "write_yml") {
    return parsers::writeCalibrationYml(file, name, calibration(number)) ? "written" : "not written";
  }
  if (what == "print_ini") parsers::writeCalibrationIni(out, name, calibration(number));
  if (what == "print_yml") parsers::writeCalibrationYml(out, name, calibration(number));
  if (what == "print_ini" || what == "print_yml") {
    std::ofstream(file) << out.str();
    return content(file);
  }
  bool good = false;
  if (what == "read") good = parsers::readCalibration(file, camera, info);
  if (what == "read_ini") good = parsers::readCalibrationIni(file, camera, info);
  if (what == "read_yml") good = parsers::readCalibrationYml(file, camera, info);
  if (what == "scan_ini") good = parsers::readCalibrationIni(in, camera, info);
  if (what == "scan_yml") good = parsers::readCalibrationYml(in, camera, info);
  if (what == "parse" || what == "parse_ini") {
    std::ostringstream buffer;
    buffer << in.rdbuf();
    good = what == "parse" ? parsers::parseCalibration(buffer.str(), "ini", camera, info)
                           : parsers::parseCalibrationIni(buffer.str(), camera, info);
  }
  if (what == "parse_other") good = parsers::parseCalibration("", "yml", camera, info);
  return read(good, camera, info);
}

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "camera_info", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 2) return 2;
  ros::NodeHandle node("camera");
  camera_info_manager::CameraInfoManager manager(node, argv[1]);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  const auto said = [](bool good) -> std::string { return good ? "yes" : "no"; };
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream arguments(line);
    std::string what, text, other;
    std::uint32_t number = 0;
    arguments >> what;
    std::string answer;
    if (what == "get") {
      answer = words(manager.getCameraInfo());
    } else if (what == "calibrated") {
      answer = said(manager.isCalibrated());
    } else if (what == "load") {
      arguments >> text;
      answer = said(manager.loadCameraInfo(text));
    } else if (what == "resolve") {
      arguments >> text >> other;
      answer = manager.resolveURL(text, other);
    } else if (what == "name") {
      arguments >> text;
      answer = said(manager.setCameraName(text));
    } else if (what == "validate") {
      arguments >> text;
      answer = said(manager.validateURL(text));
    } else if (what == "set") {
      arguments >> number;
      answer = said(manager.setCameraInfo(calibration(number)));
    } else if (what == "call") {  // SERVICE NUMBER
      arguments >> text >> number;
      sensor_msgs::SetCameraInfo call;
      call.request.camera_info = calibration(number);
      const bool called = ros::service::waitForService(text, 60'000) && ros::service::call(text, call);
      answer = said(called) + " " + said(call.response.success) + " " + std::string(call.response.status_message);
    } else {
      try {
        answer = parse(what, arguments);
      } catch (const std::exception& error) {
        answer = std::string("exception ") + error.what();
      }
    }
    std::cout << "answer " << answer << std::endl;  // roscpp's log is there, too
  }
}
