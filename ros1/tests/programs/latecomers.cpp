// SPDX-License-Identifier: Apache-2.0
// An ordinary roscpp program, compiled as it is and recompiled, with any number of subscriptions of a latched topic. Argument: topic. Lines
// of its input: "advertise"; "publish", the next number; "subscribe", one subscription more; "meet", waits for
// two subscribing processes; "numbers N", waits until each subscription has N
// messages, and prints what each has got, as "1 2|2".
#include <ros/callback_queue.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <deque>
#include <iostream>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  ros::init(argc, argv, "latecomers", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 2) return 2;
  ros::NodeHandle node;
  ros::Publisher publisher;
  std::vector<ros::Subscriber> subscribers;
  std::deque<std::vector<unsigned>> numbers;
  unsigned published = 0;
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "advertise") {
      publisher = node.advertise<sensor_msgs::Image>(argv[1], 4, true);
    } else if (line == "publish") {
      const sensor_msgs::ImagePtr image = boost::make_shared<sensor_msgs::Image>();
      image->height = ++published;
      image->data.resize(100000);
      publisher.publish(image);
    } else if (line == "subscribe") {
      std::vector<unsigned>& own = numbers.emplace_back();
      const boost::function<void(const sensor_msgs::ImageConstPtr&)> on_image =
          [&own](const sensor_msgs::ImageConstPtr& image) { own.push_back(image->height); };
      subscribers.push_back(node.subscribe(argv[1], 4, on_image));
    } else if (line == "meet") {
      while (publisher.getNumSubscribers() < 2) ros::WallDuration(0.01).sleep();
    } else {
      const std::size_t wanted = std::stoul(line.substr(line.find(' ')));
      const auto waits = [&] {
        for (const std::vector<unsigned>& each : numbers)
          if (each.size() < wanted) return true;
        return false;
      };
      while (waits()) ros::getGlobalCallbackQueue()->callAvailable(ros::WallDuration(0.1));
      for (const std::vector<unsigned>& each : numbers) {
        std::cout << (&each == &numbers.front() ? "" : "|");
        for (const unsigned& number : each) std::cout << (&number == each.data() ? "" : " ") << number;
      }
      std::cout << std::endl;
      continue;
    }
    std::cout << "done " << line << std::endl;
  }
}
