// SPDX-License-Identifier: Apache-2.0
// Subscribes to one output of the SLAM node and records how old the input image is that the output was made from.
// Argument: pose, cloud or debug_image, which is the topic, too. Prints at its end, for each message, "frame STAMP RECEIVED CONTENT...": stamp and
// reception in ns; for a pose its seven numbers, for the others the size and a hash of the data.
#include <geometry_msgs/PoseStamped.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>
#include <sensor_msgs/PointCloud2.h>

#include <functional>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::vector<std::string> g_rows;

std::string content_of(const geometry_msgs::PoseStamped& message) {
  const geometry_msgs::Pose& pose = message.pose;
  std::ostringstream text;
  text << std::setprecision(17) << pose.position.x << ' ' << pose.position.y << ' ' << pose.position.z << ' '
       << pose.orientation.x << ' ' << pose.orientation.y << ' ' << pose.orientation.z << ' ' << pose.orientation.w;
  return text.str();
}

template <class Message>
std::string content_of(const Message& message) {
  const std::string_view bytes(reinterpret_cast<const char*>(message.data.data()), message.data.size());
  return std::to_string(bytes.size()) + " " + std::to_string(std::hash<std::string_view>()(bytes));
}

template <class Message>
void on_message(const boost::shared_ptr<const Message>& message) {
  const ros::Time received = ros::Time::now();
  std::ostringstream row;
  row << message->header.stamp.toNSec() << ' ' << received.toNSec() << ' ' << content_of(*message);
  g_rows.push_back(row.str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string topic = argc > 1 ? argv[1] : "";
  ros::init(argc, argv, "latency_" + topic, ros::init_options::NoRosout);
  ros::NodeHandle node;
  ros::Subscriber subscriber;
  if (topic == "pose") {
    subscriber = node.subscribe<geometry_msgs::PoseStamped>(topic, 50, on_message<geometry_msgs::PoseStamped>);
  } else if (topic == "cloud") {
    subscriber = node.subscribe<sensor_msgs::PointCloud2>(topic, 50, on_message<sensor_msgs::PointCloud2>);
  } else if (topic == "debug_image") {
    subscriber = node.subscribe<sensor_msgs::Image>(topic, 50, on_message<sensor_msgs::Image>);
  } else {
    std::cerr << "usage: latency pose|cloud|debug_image" << std::endl;
    return 2;
  }
  std::cout << "ready" << std::endl;
  ros::spin();
  for (const std::string& row : g_rows) std::cout << "frame " << row << '\n';
}
