// SPDX-License-Identifier: Apache-2.0
// talker.cpp with image_transport, as a user of it writes one, without a word of Baton. Arguments: base topic, queue size, "latch" or
// "volatile". On "status" it prints how often subscribers came and went, how many there are, and how many the last callback saw; "look"
// subscribes its own images by transport baton, and prints "own NUMBER" for each.
#include <image_transport/image_transport.h>
#include <ros/ros.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

#include "pattern.hpp"

int main(int argc, char** argv) {
  ros::init(argc, argv, "talker", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 4) return 2;
  ros::NodeHandle node;
  image_transport::ImageTransport transport(node);
  std::mutex output;
  // Every ordering is sequentially consistent: the numbers are looked at together.
  std::atomic<unsigned> came{0}, went{0}, seen{0};
  std::mutex one_callback;  // with it what is seen last is the newest
  const auto counting = [&seen,
                         &one_callback](std::atomic<unsigned>& count) -> image_transport::SubscriberStatusCallback {
    return [&seen, &one_callback, &count](const image_transport::SingleSubscriberPublisher& subscriber) {
      const std::lock_guard<std::mutex> lock(one_callback);
      seen = subscriber.getNumSubscribers();
      ++count;
    };
  };
  image_transport::Publisher publisher =
      transport.advertise(argv[1], static_cast<std::uint32_t>(std::stoul(argv[2])), counting(came), counting(went),
                          ros::VoidPtr(), std::string(argv[3]) == "latch");
  image_transport::Subscriber own;
  ros::AsyncSpinner spinner(2);
  spinner.start();
  std::uint32_t number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "subscribers") {  // waits for so many
      unsigned wanted = 0;
      words >> wanted;
      while (publisher.getNumSubscribers() != wanted) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    } else if (word == "publish") {
      std::size_t bytes = 0, count = 0, period_ms = 0;
      words >> bytes >> count >> period_ms;
      for (std::size_t i = 0; i < count; ++i) {
        sensor_msgs::Image image;
        image.header.frame_id = "camera";
        image.width = ++number;
        image.height = 1;
        image.encoding = "mono8";
        image.data.resize(bytes);
        pattern::fill(image.data, number);
        publisher.publish(image);
        if (period_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(period_ms));
      }
    } else if (word == "status") {
      const std::lock_guard<std::mutex> lock(output);
      std::cout << "status " << came << ' ' << went << ' ' << publisher.getNumSubscribers() << ' ' << seen << std::endl;
      continue;
    } else if (word == "look") {
      const boost::function<void(const sensor_msgs::ImageConstPtr&)> callback =
          [&output](const sensor_msgs::ImageConstPtr& image) {
            const std::lock_guard<std::mutex> lock(output);
            std::cout << "own " << image->width << std::endl;
          };
      own = transport.subscribe(argv[1], 100, callback, ros::VoidPtr(), image_transport::TransportHints("baton"));
    } else if (word == "drop") {
      publisher.shutdown();
    } else {
      return 3;
    }
    const std::lock_guard<std::mutex> lock(output);
    std::cout << "done " << line << std::endl;
  }
}
