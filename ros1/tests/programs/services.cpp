// SPDX-License-Identifier: Apache-2.0
// An ordinary roscpp program, compiled as it is and recompiled: services whose requests and responses have messages inside.
// services serve: offers them, prints "serving", and ends at the end of its input.
// services call: calls them, prints what came back and the text of a request, and ends.
#include <diagnostic_msgs/SelfTest.h>
#include <nav_msgs/GetPlan.h>
#include <ros/ros.h>
#include <roscpp/SetLoggerLevel.h>
#include <sensor_msgs/SetCameraInfo.h>

#include <iostream>
#include <string>

namespace {

// A path of `tolerance` poses from the request's start towards its goal.
bool plan(nav_msgs::GetPlan::Request& request, nav_msgs::GetPlan::Response& response) {
  const int count = static_cast<int>(request.tolerance);
  response.plan.header.frame_id = request.start.header.frame_id;
  for (int i = 0; i < count; ++i) {
    geometry_msgs::PoseStamped pose = request.start;
    pose.header.seq = i;
    pose.pose.position.x += i * (request.goal.pose.position.x - request.start.pose.position.x) / count;
    response.plan.poses.push_back(pose);
  }
  return count >= 0;
}

struct Camera {
  sensor_msgs::CameraInfo info;
  // With the event, as drivers that look at their callers do.
  bool set(ros::ServiceEvent<sensor_msgs::SetCameraInfo::Request, sensor_msgs::SetCameraInfo::Response>& event) {
    info = event.getRequest().camera_info;
    event.getResponse().success = info.width > 0;
    event.getResponse().status_message =
        info.distortion_model + " with " + std::to_string(info.D.size()) + " of " + event.getCallerName().substr(0, 5);
    return true;
  }
};

bool test_itself(diagnostic_msgs::SelfTest::Request&, diagnostic_msgs::SelfTest::Response& response) {
  response.id = "camera";
  response.passed = diagnostic_msgs::DiagnosticStatus::OK;
  for (const char* name : {"lens", "shutter"}) {
    diagnostic_msgs::DiagnosticStatus status;
    status.name = name;
    status.values.resize(2);
    status.values[1].key = std::string(name) + " key";
    response.status.push_back(status);
  }
  return true;
}

// No message is inside: the headers are ROS's.
bool set_level(roscpp::SetLoggerLevel::Request& request, roscpp::SetLoggerLevel::Response&) {
  return request.level == "debug";
}

int serve(ros::NodeHandle& node) {
  Camera camera;
  const ros::ServiceServer servers[] = {
      node.advertiseService("plan", plan), node.advertiseService("set_camera_info", &Camera::set, &camera),
      node.advertiseService("self_test", test_itself), node.advertiseService("set_level", set_level)};
  ros::AsyncSpinner spinner(2);
  spinner.start();
  std::cout << "serving" << std::endl;
  for (std::string line; std::getline(std::cin, line);) continue;
  return 0;
}

int call(ros::NodeHandle& node) {
  nav_msgs::GetPlan path;
  path.request.start.header.frame_id = "a map with a long name";
  path.request.start.pose.position.x = 1;
  path.request.goal.pose.position.x = 9;
  path.request.tolerance = 4;
  std::cout << ros::service::exists("plan", false) << ros::service::call("plan", path) << '\n' << path.response;
  path.request.tolerance = -1;
  std::cout << "refused " << ros::service::call("plan", path) << '\n';

  sensor_msgs::SetCameraInfoRequest request;
  sensor_msgs::SetCameraInfoResponse response;
  request.camera_info.width = 640;
  request.camera_info.distortion_model = "plumb_bob";
  request.camera_info.D = {0.1, 0.2, 0.3, 0.4, 0.5};
  request.camera_info.K[8] = 1;
  ros::ServiceClient camera = node.serviceClient<sensor_msgs::SetCameraInfo>("set_camera_info", true);
  for (int i = 0; i < 2; ++i) {
    std::cout << camera.call(request, response) << ' ' << response;
    request.camera_info.width = 0;
  }
  const sensor_msgs::SetCameraInfoRequest copy = request;
  std::cout << (copy == request) << ros::serialization::serializationLength(request) << '\n' << request;

  diagnostic_msgs::SelfTest test;
  std::cout << ros::service::call("self_test", test) << ' ' << test.response;
  roscpp::SetLoggerLevel level;
  for (const char* word : {"debug", "info"}) {
    level.request.level = word;
    std::cout << ros::service::call("set_level", level) << ' ';
  }
  std::cout << ros::service_traits::md5sum<sensor_msgs::SetCameraInfo>() << ' '
            << ros::service_traits::datatype<sensor_msgs::SetCameraInfoRequest>() << ' '
            << ros::message_traits::md5sum<sensor_msgs::SetCameraInfoRequest>() << ' '
            << ros::message_traits::datatype<sensor_msgs::SetCameraInfoRequest>() << '\n'
            << ros::message_traits::definition<sensor_msgs::SetCameraInfoRequest>() << '\n'
            << "not there " << ros::service::call("nowhere", level) << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, argc == 2 ? argv[1] : "",
            ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 2) return 2;
  ros::NodeHandle node;
  return argv[1] == std::string("serve") ? serve(node) : call(node);
}
