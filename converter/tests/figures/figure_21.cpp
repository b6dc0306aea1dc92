// SPDX-License-Identifier: Apache-2.0
// ROS-SF, Fig. 21: only some points enter the cloud, so push_back() is used. Below, the paper's rewritten form.
#include <sensor_msgs/PointCloud.h>

struct Grid {
  int rows;
  int cols;
  geometry_msgs::Point32 at(int row, int col) const;
};

bool is_valid(const geometry_msgs::Point32& point);

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
