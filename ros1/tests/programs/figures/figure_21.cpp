// SPDX-License-Identifier: Apache-2.0
// ROS-SF, Fig. 21: only some points enter the cloud, so push_back() is used. Below, the paper's rewritten form.
#include <ros/ros.h>
#include <sensor_msgs/PointCloud.h>

#include <cmath>

struct Grid {
  int rows;
  int cols;
  geometry_msgs::Point32 at(int row, int col) const;
};

geometry_msgs::Point32 Grid::at(int row, int col) const {
  geometry_msgs::Point32 point;
  point.x = static_cast<float>(col);
  point.y = static_cast<float>(row);
  point.z = (row + col) % 3 == 0 ? NAN : 1.0F;
  return point;
}

bool is_valid(const geometry_msgs::Point32& point) { return std::isfinite(point.z); }

void grow(const Grid& grid, sensor_msgs::PointCloud& cloud) {
  cloud.points.resize(0);
  for (int row = 0; row < grid.rows; ++row) {
    for (int col = 0; col < grid.cols; ++col) {
      if (is_valid(grid.at(row, col))) {
        cloud.points.push_back(grid.at(row, col));
      }
    }
  }
}

sensor_msgs::PointCloud count_first(const Grid& grid) {
  sensor_msgs::PointCloud cloud;
  int valid = 0;
  for (int row = 0; row < grid.rows; ++row)
    for (int col = 0; col < grid.cols; ++col)
      if (is_valid(grid.at(row, col))) ++valid;
  cloud.points.resize(valid);
  int next = 0;
  for (int row = 0; row < grid.rows; ++row)
    for (int col = 0; col < grid.cols; ++col)
      if (is_valid(grid.at(row, col))) cloud.points[next++] = grid.at(row, col);
  return cloud;
}

int main(int argc, char** argv) {
  ros::init(argc, argv, "packer");
  ros::NodeHandle node;
  const ros::Publisher growing = node.advertise<sensor_msgs::PointCloud>("cloud", 1);
  const ros::Publisher counted = node.advertise<sensor_msgs::PointCloud>("counted_cloud", 1);
  const Grid grid = {12, 10};
  sensor_msgs::PointCloud cloud;
  for (ros::Rate rate(30); ros::ok(); rate.sleep()) {
    grow(grid, cloud);
    growing.publish(cloud);
    counted.publish(count_first(grid));
  }
}
