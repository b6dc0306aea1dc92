// SPDX-License-Identifier: Apache-2.0
// The simulated TurtleBot: starts on the line "go" of its input, and engages the brakes at the first velocity command of zero. When the
// robot stands still, or has reached the scene's end, prints a line: "speed S deceleration D trigger T delay NS start NS brake NS
// stop NS travelled D"; a brake or stop of -1 did not happen.
// Arguments: world file, task. Prints "ready".
#include <geometry_msgs/Twist.h>
#include <ros/ros.h>

#include <iostream>
#include <string>

#include "world_file.hpp"

using namespace baton::robot;

int main(int argc, char** argv) {
  ros::init(argc, argv, "base", ros::init_options::NoRosout);
  if (argc != 3) return 2;
  WorldFile world(argv[1]);
  const Task task = task_of(argv[2]);
  const Scene& its = scene(task);
  ros::NodeHandle node;
  const ros::Subscriber commands = node.subscribe<geometry_msgs::Twist>(
      "cmd_vel", 1,
      boost::function<void(const geometry_msgs::Twist::ConstPtr&)>([&](const geometry_msgs::Twist::ConstPtr& command) {
        const Nanoseconds arrived = now();
        if (world.start() != kNever && command->linear.x == 0 && command->angular.z == 0) world.brake_at(arrived);
      }),
      ros::VoidConstPtr(), ros::TransportHints().tcpNoDelay());
  ros::AsyncSpinner spinner(1);
  spinner.start();
  std::cout << "ready" << std::endl;
  std::string line;
  if (!std::getline(std::cin, line) || line != "go") return 1;
  world.start_at(now());
  const Nanoseconds start = world.start(), end = its.motion.reached(its.end, start);
  while (ros::ok() && now() < world.brake() && now() < end) ros::WallDuration(0.005).sleep();
  const Nanoseconds brake = world.brake(), stop = its.motion.stopped(brake);
  while (ros::ok() && stop != kNever && now() < stop) ros::WallDuration(0.005).sleep();
  const auto printed = [](Nanoseconds time) { return time == kNever ? -1 : time; };
  std::cout << "speed " << its.motion.speed << " deceleration " << its.motion.deceleration << " trigger " << its.trigger
            << " delay " << its.switch_delay << " start " << start << " brake " << printed(brake) << " stop "
            << printed(stop) << " travelled " << its.motion.travelled(now(), start, brake) << std::endl;
  ros::waitForShutdown();
}
