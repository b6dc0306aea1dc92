// SPDX-License-Identifier: Apache-2.0
// Ordinary roscpp programs, compiled as they are and recompiled: both ends of a topic of images. The first argument says which; what each
// does and takes stands above its function.
#include <ros/callback_queue.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <atomic>
#include <boost/make_shared.hpp>
#include <chrono>
#include <deque>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "ends.hpp"
#include "pattern.hpp"

namespace {

using ends::Answer;

sensor_msgs::ImagePtr image_of(std::uint32_t number, std::size_t bytes) {
  const sensor_msgs::ImagePtr image = boost::make_shared<sensor_msgs::Image>();
  image->header.frame_id = "camera";
  image->header.seq = 77;
  image->width = number;
  image->data.resize(bytes);
  pattern::fill(image->data, number);
  return image;
}

// An ordinary roscpp program: publishes numbered images as ends::talk() does; on the line "reuse BYTES COUNT" of its input it
// does so with one message, which it changes as soon as it is published; "greet" publishes one as soon as a subscriber is counted;
// "welcome TOPIC" publishes one there for each subscriber that comes; "introduce TOPIC BYTES latch|volatile" publishes three there to each
// subscriber that comes alone; "announce BYTES" publishes one there to all; "drop" ends its publisher. Arguments: topic, queue size,
// "latch" or "volatile".
int talker(int argc, char** argv) {
  ros::init(argc, argv, "talker", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 4) return 2;
  ros::NodeHandle node;
  ros::Publisher publisher =
      node.advertise<sensor_msgs::Image>(argv[1], std::stoul(argv[2]), std::string(argv[3]) == "latch");
  ros::Publisher welcoming;
  ros::AsyncSpinner spinner(1);
  spinner.start();
  std::uint32_t number = 0;
  std::atomic<std::uint32_t> introduced{0};
  const auto other = [&](const std::string& word, std::istringstream& words) {
    if (word == "reuse") {
      std::size_t bytes = 0, count = 0;
      words >> bytes >> count;
      sensor_msgs::Image image;
      for (std::size_t i = 0; i < count; ++i) {
        image.header.frame_id = "camera";
        image.width = ++number;
        image.data.resize(bytes);
        pattern::fill(image.data, number);
        publisher.publish(image);
        image.header.frame_id = "changed after publishing";
        image.width = 0;
        pattern::fill(image.data, number + 1);
        image.data.resize(bytes / 2);
      }
    } else if (word == "greet") {
      while (publisher.getNumSubscribers() == 0) {
      }
      publisher.publish(sensor_msgs::Image());
    } else if (word == "welcome") {
      std::string topic;
      words >> topic;
      const ros::SubscriberStatusCallback publish = [&](const ros::SingleSubscriberPublisher&) {
        welcoming.publish(sensor_msgs::Image());
      };
      welcoming = node.advertise<sensor_msgs::Image>(topic, 4, publish);
    } else if (word == "introduce") {
      std::string topic, latch;
      std::size_t bytes = 0;
      words >> topic >> bytes >> latch;
      const ros::SubscriberStatusCallback to_one = [&introduced, bytes](const ros::SingleSubscriberPublisher& one) {
        one.publish(*image_of(++introduced, bytes));
        one.publish(image_of(++introduced, bytes));
        one.publish(sensor_msgs::ImageConstPtr(image_of(++introduced, bytes)));
      };
      welcoming = node.advertise<sensor_msgs::Image>(topic, 100, to_one, ros::SubscriberStatusCallback(),
                                                     ros::VoidConstPtr(), latch == "latch");
    } else if (word == "announce") {
      std::size_t bytes = 0;
      words >> bytes;
      welcoming.publish(image_of(++introduced, bytes));
    } else if (word == "drop") {
      publisher.shutdown();
    } else {
      return Answer::kUnknown;
    }
    return Answer::kDone;
  };
  return ends::talk([&] { return publisher.getNumSubscribers(); },
                    [&](std::size_t bytes) {
                      sensor_msgs::Image image;
                      ends::fill(image, ++number, bytes);
                      publisher.publish(image);
                    },
                    other);
}

// A stock roscpp program: an ends::Images. Arguments: topic, queue size, how many messages to keep for ever, milliseconds that each callback
// takes. Its input's end ends it.
int listener(int argc, char** argv) {
  ros::init(argc, argv, "listener", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 5) return 2;
  ends::Images<sensor_msgs::ImageConstPtr> images(argv[3], argv[4]);
  const boost::function<void(const sensor_msgs::ImageConstPtr&)> callback =
      [&](const sensor_msgs::ImageConstPtr& image) { images.take(image); };
  ros::NodeHandle node;
  const ros::Subscriber subscriber = node.subscribe<sensor_msgs::Image>(argv[1], std::stoul(argv[2]), callback);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  for (std::string line; std::getline(std::cin, line);) images.obey(line);
  return images.end();
}

// An ordinary roscpp program, compiled as it is and recompiled, with any number of subscriptions of a latched topic. Argument: topic.
// Lines of its input: "advertise"; "publish", the next number; "subscribe", one subscription more; "meet N", waits for so many subscribing
// processes; "numbers N", waits until the newest number of each subscription is N, and prints what each has got, as "1 2|2".
int latecomers(int argc, char** argv) {
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
    } else if (line.rfind("meet ", 0) == 0) {
      while (publisher.getNumSubscribers() < std::stoul(line.substr(5))) ros::WallDuration(0.01).sleep();
    } else {
      const std::size_t wanted = std::stoul(line.substr(line.find(' ')));
      const auto waits = [&] {
        for (const std::vector<unsigned>& each : numbers)
          if (each.empty() || each.back() != wanted) return true;
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
  return 0;
}

// An ordinary roscpp program, compiled as it is and recompiled: on each line of its input subscribes, waits for one message, ends the
// subscription and prints "visited". On the line "leave" it ends the subscription while another thread runs its callback, and prints
// whether the callback was over then. Argument: topic.
int visitor(int argc, char** argv) {
  ros::init(argc, argv, "visitor", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 2) return 2;
  ros::NodeHandle node;
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "leave") {
      std::atomic<bool> runs{false}, over{false};
      const boost::function<void(const sensor_msgs::ImageConstPtr&)> slow = [&](const sensor_msgs::ImageConstPtr&) {
        runs = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        over = true;
      };
      ros::Subscriber subscriber = node.subscribe(argv[1], 4, slow);
      ros::AsyncSpinner spinner(1);
      spinner.start();
      while (!runs) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      subscriber.shutdown();
      std::cout << (over ? "left after the callback" : "left during the callback") << std::endl;
      continue;
    }
    bool came = false;
    const boost::function<void(const sensor_msgs::ImageConstPtr&)> on_image =
        [&came](const sensor_msgs::ImageConstPtr&) { came = true; };
    ros::Subscriber subscriber = node.subscribe(argv[1], 4, on_image);
    while (!came) ros::getGlobalCallbackQueue()->callAvailable(ros::WallDuration(1.0));
    subscriber.shutdown();
    std::cout << "visited" << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "talker") return talker(argc - 1, argv + 1);
  if (role == "listener") return listener(argc - 1, argv + 1);
  if (role == "latecomers") return latecomers(argc - 1, argv + 1);
  if (role == "visitor") return visitor(argc - 1, argv + 1);
  return 2;
}
