// SPDX-License-Identifier: Apache-2.0
// Ordinary programs of image_transport, compiled as they are and recompiled. The first argument says which; what each does and takes
// stands above its function.
#include <image_transport/image_transport.h>
#include <ros/ros.h>

#include <atomic>
#include <boost/make_shared.hpp>
#include <chrono>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "ends.hpp"
#include "pattern.hpp"
#include "payload_counter.hpp"

namespace {

// ends.cpp's talker with image_transport, as a user of it writes one, without a word of Baton. Arguments: base topic, queue size, "latch" or
// "volatile". On "status" it prints how often subscribers came and went, how many there are, and how many the last callback saw; "look"
// subscribes its own images by transport baton, and prints "own NUMBER" for each.
int talker(int argc, char** argv) {
  ros::init(argc, argv, "talker", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 4) return 2;
  ros::NodeHandle node;
  image_transport::ImageTransport transport(node);
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
  const auto publish = [&](std::size_t bytes) {
    sensor_msgs::Image image;
    ends::fill(image, ++number, bytes);
    publisher.publish(image);
  };
  const auto other = [&](const std::string& word, std::istringstream&) {
    if (word == "status") {
      std::ostringstream line;
      line << "status " << came << ' ' << went << ' ' << publisher.getNumSubscribers() << ' ' << seen;
      ends::say(line.str());
      return ends::Answer::kSaid;
    }
    if (word == "look") {
      const boost::function<void(const sensor_msgs::ImageConstPtr&)> callback =
          [](const sensor_msgs::ImageConstPtr& image) { ends::say("own " + std::to_string(image->width)); };
      own = transport.subscribe(argv[1], 100, callback, ros::VoidPtr(), image_transport::TransportHints("baton"));
    } else if (word == "drop") {
      publisher.shutdown();
    } else {
      return ends::Answer::kUnknown;
    }
    return ends::Answer::kDone;
  };
  return ends::talk([&] { return publisher.getNumSubscribers(); }, publish, other);
}

// ends.cpp's listener with image_transport: an ends::Images. Arguments: base topic, transport, queue size, how many images to keep for ever,
// milliseconds that each callback takes. Lines of its input: "publishers" prints how many it has; "drop" ends its subscription.
int listener(int argc, char** argv) {
  ros::init(argc, argv, "listener", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 6) return 2;
  ends::Images<sensor_msgs::ImageConstPtr> images(argv[4], argv[5]);
  const boost::function<void(const sensor_msgs::ImageConstPtr&)> callback =
      [&](const sensor_msgs::ImageConstPtr& image) { images.take(image); };
  ros::NodeHandle node;
  image_transport::ImageTransport transport(node);
  image_transport::Subscriber subscriber =
      transport.subscribe(argv[1], static_cast<std::uint32_t>(std::stoul(argv[3])), callback, ros::VoidPtr(),
                          image_transport::TransportHints(argv[2]));
  ros::AsyncSpinner spinner(1);
  spinner.start();
  for (std::string line; std::getline(std::cin, line);) {
    images.obey(line);
    if (line == "drop") subscriber.shutdown();
    if (line == "publishers") ends::say("publishers " + std::to_string(subscriber.getNumPublishers()));
  }
  spinner.stop();
  return images.end();
}

// An ordinary program of image_transport, compiled as it is and recompiled: publishes numbered images and their calibrations by pointer.
// ends::talk(), and on the line "counts" of its input payload_counter.hpp. Argument: base topic.
int camera_talker(int argc, char** argv) {
  ros::init(argc, argv, "camera_talker", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 2) return 2;
  ros::NodeHandle node;
  image_transport::ImageTransport transport(node);
  image_transport::CameraPublisher publisher = transport.advertiseCamera(argv[1], 100);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  std::uint32_t number = 0;
  const auto publish = [&](std::size_t bytes) {
    sensor_msgs::ImagePtr image = boost::make_shared<sensor_msgs::Image>();
    sensor_msgs::CameraInfoPtr info = boost::make_shared<sensor_msgs::CameraInfo>();
    ends::fill(*image, ++number, bytes);
    image->header.stamp = info->header.stamp = ros::Time::now();
    info->header.frame_id = "camera";
    info->width = number;
    publisher.publish(image, info);
  };
  const auto other = [](const std::string& word, std::istringstream&) {
    if (word != "counts") return ends::Answer::kUnknown;
    payload::say_counts();
    return ends::Answer::kSaid;
  };
  return ends::talk([&] { return publisher.getNumSubscribers(); }, publish, other);
}

void on_image(const sensor_msgs::ImageConstPtr& image, const sensor_msgs::CameraInfoConstPtr& info) {
  const bool good = image->header.frame_id == "camera" && info->header.frame_id == "camera" &&
                    info->header.stamp == image->header.stamp && info->width == image->width &&
                    image->encoding == "mono8" && pattern::matches(image->data, image->width);
  std::cout << image->width << ' ' << image->data.size() << ' ' << (good ? "good" : "bad") << std::endl;
}

// An ordinary program of image_transport, compiled as it is and recompiled: prints "NUMBER BYTES good|bad" for each image that came with
// its calibration, and on the lines "counts" and "tcp" of its input what payload_counter.hpp and tcp_bytes.hpp count; its input's end ends
// it. Argument: base topic.
int camera_listener(int argc, char** argv) {
  ros::init(argc, argv, "camera_listener", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 2) return 2;
  ros::NodeHandle node;
  image_transport::ImageTransport transport(node);
  const image_transport::CameraSubscriber subscriber = transport.subscribeCamera(argv[1], 100, on_image);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "tcp") ends::say("tcp " + std::to_string(tcp_bytes()));
    if (line == "counts") payload::say_counts();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "talker") return talker(argc - 1, argv + 1);
  if (role == "listener") return listener(argc - 1, argv + 1);
  if (role == "camera_talker") return camera_talker(argc - 1, argv + 1);
  if (role == "camera_listener") return camera_listener(argc - 1, argv + 1);
  return 2;
}
