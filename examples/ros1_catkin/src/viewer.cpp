// SPDX-License-Identifier: Apache-2.0
#include <height_map/HeightMap.h>
#include <ros/ros.h>

#include <iostream>

void on_map(const height_map::HeightMapConstPtr& map) {
  std::cout << map->rows << "x" << map->columns << " " << map->heights.front() << " " << map->heights.back()
            << std::endl;
}

int main(int argc, char** argv) {
  ros::init(argc, argv, "viewer");
  ros::NodeHandle node;
  ros::Subscriber subscriber = node.subscribe("ground", 4, on_map);
  ros::spin();
}
