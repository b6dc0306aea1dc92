// SPDX-License-Identifier: Apache-2.0
#include <height_map/HeightMap.h>
#include <ros/ros.h>

#include <boost/make_shared.hpp>

int main(int argc, char** argv) {
  ros::init(argc, argv, "mapper");
  ros::NodeHandle node;
  ros::Publisher publisher = node.advertise<height_map::HeightMap>("ground", 4);
  for (ros::Rate rate(30); ros::ok(); rate.sleep()) {
    height_map::HeightMapPtr map = boost::make_shared<height_map::HeightMap>();
    map->header.stamp = ros::Time::now();
    map->header.frame_id = "map";
    map->rows = 500;
    map->columns = 800;
    map->heights.resize(map->rows * map->columns, height_map::HeightMap::UNKNOWN);
    map->heights[0] = 2.5F;
    publisher.publish(map);
  }
}
