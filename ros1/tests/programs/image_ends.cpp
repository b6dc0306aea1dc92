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

#include "pattern.hpp"
#include "payload_counter.hpp"
#include "tcp_bytes.hpp"

namespace {

// ends.cpp's talker with image_transport, as a user of it writes one, without a word of Baton. Arguments: base topic, queue size, "latch" or
// "volatile". On "status" it prints how often subscribers came and went, how many there are, and how many the last callback saw; "look"
// subscribes its own images by transport baton, and prints "own NUMBER" for each.
int talker(int argc, char** argv) {
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
  return 0;
}

// ends.cpp's listener with image_transport: prints "NUMBER SEQ BYTES good|bad" for each image. Arguments: base topic, transport, queue size, how
// many images to keep for ever, milliseconds that each callback takes. Lines of its input: "tcp" prints the bytes that its TCP connections
// received; "publishers" prints how many it has; "drop" ends its subscription; from "hold" on a callback that has printed goes on only
// after "release".
int listener(int argc, char** argv) {
  ros::init(argc, argv, "listener", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 6) return 2;
  const std::size_t keep = std::stoul(argv[4]);
  const auto pause = std::chrono::milliseconds(std::stoul(argv[5]));
  std::mutex mutex;
  std::vector<sensor_msgs::ImageConstPtr> kept;
  std::atomic<bool> holds{false};
  const boost::function<void(const sensor_msgs::ImageConstPtr&)> callback =
      [&](const sensor_msgs::ImageConstPtr& image) {
        const std::lock_guard<std::mutex> lock(mutex);
        std::cout << image->width << ' ' << image->header.seq << ' ' << image->data.size() << ' '
                  << (image->header.frame_id == "camera" && pattern::matches(image->data, image->width) ? "good"
                                                                                                        : "bad")
                  << std::endl;
        if (kept.size() < keep) kept.push_back(image);
        std::this_thread::sleep_for(pause);
        while (holds) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      };
  ros::NodeHandle node;
  image_transport::ImageTransport transport(node);
  image_transport::Subscriber subscriber =
      transport.subscribe(argv[1], static_cast<std::uint32_t>(std::stoul(argv[3])), callback, ros::VoidPtr(),
                          image_transport::TransportHints(argv[2]));
  ros::AsyncSpinner spinner(1);
  spinner.start();
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "hold") holds = true;
    if (line == "release") holds = false;
    if (line == "drop") subscriber.shutdown();
    const std::lock_guard<std::mutex> lock(mutex);
    if (line == "tcp") std::cout << "tcp " << tcp_bytes() << std::endl;
    if (line == "hold") std::cout << "done " << line << std::endl;
    if (line == "publishers") std::cout << "publishers " << subscriber.getNumPublishers() << std::endl;
  }
  spinner.stop();
  for (const auto& image : kept) {
    if (!pattern::matches(image->data, image->width)) return 4;
  }
  return 0;
}

// An ordinary program of image_transport, compiled as it is and recompiled: publishes numbered images and their calibrations by pointer.
// Lines of its input: "subscribers N" waits for so many, "publish BYTES COUNT", "counts" (payload_counter.hpp). Argument: base topic.
int camera_talker(int argc, char** argv) {
  ros::init(argc, argv, "camera_talker", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 2) return 2;
  ros::NodeHandle node;
  image_transport::ImageTransport transport(node);
  image_transport::CameraPublisher publisher = transport.advertiseCamera(argv[1], 100);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  std::uint32_t number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "subscribers") {
      unsigned wanted = 0;
      words >> wanted;
      while (publisher.getNumSubscribers() < wanted) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    } else if (word == "publish") {
      std::size_t bytes = 0, count = 0;
      words >> bytes >> count;
      for (std::size_t i = 0; i < count; ++i) {
        sensor_msgs::ImagePtr image = boost::make_shared<sensor_msgs::Image>();
        sensor_msgs::CameraInfoPtr info = boost::make_shared<sensor_msgs::CameraInfo>();
        image->header.stamp = info->header.stamp = ros::Time::now();
        image->header.frame_id = info->header.frame_id = "camera";
        image->width = info->width = ++number;
        image->height = 1;
        image->encoding = "mono8";
        image->data.resize(bytes);
        pattern::fill(image->data, number);
        publisher.publish(image, info);
      }
    } else if (word == "counts") {
      std::cout << "counts " << payload::copies << ' ' << payload::allocations << std::endl;
      continue;
    }
    std::cout << "done " << line << std::endl;
  }
  return 0;
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
    if (line == "tcp") std::cout << "tcp " << tcp_bytes() << std::endl;
    if (line != "counts") continue;
    std::cout << "counts " << payload::copies << ' ' << payload::allocations << std::endl;
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
