// SPDX-License-Identifier: Apache-2.0
// Programs of roscpp with types of Baton. The first argument says which; what each does and takes stands above its function.
#include <ros/callback_queue.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <atomic>
#include <baton/ros1/ros1.hpp>
#include <baton/ros1/sensor_msgs/image.hpp>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "ends.hpp"
#include "pattern.hpp"
#include "tcp_bytes.hpp"

using baton::msg::sensor_msgs::Image;

namespace {

// ends.cpp's talker with types of Baton: ends::talk(); "drop" ends its publisher. Arguments: topic, queue size, "latch" or "volatile".
int talker(int argc, char** argv) {
  ros::init(argc, argv, "talker", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 4) return 2;
  ros::NodeHandle node;
  baton::ros1::AdvertiseOptions options;
  options.latch = std::string(argv[3]) == "latch";
  auto publisher =
      baton::ros1::advertise<Image>(node, argv[1], static_cast<std::uint32_t>(std::stoul(argv[2])), options);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  std::uint32_t number = 0;
  const auto publish = [&](std::size_t bytes) {
    auto image = publisher.loan();
    ends::fill(*image, ++number, bytes);
    image->header.stamp = ros::Time(number, 0);
    publisher.publish(std::move(image));
  };
  const auto other = [&](const std::string& word, std::istringstream&) {
    if (word == "serialized") {  // how many subscribers get messages of roscpp
      ends::say("serialized " + std::to_string(publisher.subscribers().serialized));
    } else if (word == "writer") {  // its id in Baton, which every process of the domain can see
      std::ostringstream digits;
      for (const std::uint8_t byte : publisher.own().gid()) digits << std::hex << (byte >> 4) << (byte & 15);
      ends::say("writer " + digits.str());
    } else if (word == "drop") {
      publisher.shutdown();
    } else {
      return ends::Answer::kUnknown;
    }
    return ends::Answer::kDone;
  };
  return ends::talk([&] { return publisher.getNumSubscribers(); }, publish, other);
}

// ends.cpp's listener with types of Baton: an ends::Images. Arguments: topic, queue size, how many messages to keep for ever, milliseconds
// that each callback takes; with LISTENER_UDP set it asks stock publishers for UDPROS. With LISTENER_OWN_THREAD set callbacks run in the
// subscription's own thread, and nothing spins but the line "spin" of its input. The callback of the image with the number LISTENER_LAST
// ends the subscription. On the line "stock" it gets a stock subscription, on "handles" it prints its HandleCounters; "shutdown" ends ROS,
// its input's end ends it.
int listener(int argc, char** argv) {
  ros::init(argc, argv, "listener", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 5) return 2;
  ends::Images<Image::ConstPtr> images(argv[3], argv[4]);
  const bool own_thread = std::getenv("LISTENER_OWN_THREAD") != nullptr;
  const char* const last = std::getenv("LISTENER_LAST");
  baton::ros1::Subscriber<Image> subscriber;
  const auto callback = [&](const Image::ConstPtr& image) {
    images.take(image);
    if (last != nullptr && image->width == std::stoul(last)) subscriber.shutdown();
  };
  ros::NodeHandle node;
  baton::ros1::SubscribeOptions options;
  if (std::getenv("LISTENER_UDP") != nullptr) options.hints = ros::TransportHints().unreliable();
  options.own_thread = own_thread;
  subscriber =
      baton::ros1::subscribe<Image>(node, argv[1], static_cast<std::uint32_t>(std::stoul(argv[2])), callback, options);
  ros::Subscriber stock;
  ros::AsyncSpinner spinner(1);
  if (!own_thread) spinner.start();
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "spin") ros::spinOnce();
    if (line == "shutdown") ros::shutdown();
    if (line == "stock") {  // one more subscription of this process, which Baton does not serve
      stock = node.subscribe<sensor_msgs::Image>(
          argv[1], 100,
          boost::function<void(const sensor_msgs::ImageConstPtr&)>(
              [](const sensor_msgs::ImageConstPtr& image) { ends::say("stock " + std::to_string(image->width)); }));
    }
    if (line == "handles") {
      const baton::ros1::HandleCounters of = subscriber.handles();
      std::ostringstream counts;
      counts << "handles taken " << of.taken << " carried " << of.carried << " overwritten " << of.overwritten
             << " held_limit " << of.held_limit << " refused " << of.refused;
      ends::say(counts.str());
    }
    images.obey(line);
    if (line == "spin" || line == "shutdown") ends::say("done " + line);
  }
  return images.end();
}

// Types of Baton in a program that calls ros::spinOnce(): on each line of its input once, and then prints how many images came. Argument:
// topic.
int once(int argc, char** argv) {
  ros::init(argc, argv, "once", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 2) return 2;
  ros::NodeHandle node;
  int count = 0;
  const auto subscriber = baton::ros1::subscribe<Image>(node, argv[1], 100, [&](const Image&) { ++count; });
  for (std::string line; std::getline(std::cin, line);) {
    count = 0;
    ros::spinOnce();
    std::cout << count << std::endl;
  }
  return 0;
}

// Both ends of a topic in one process, as two nodelets of a manager are. Prints for each image "shared" if the subscriber reads the
// publisher's bytes, else "copied"; then the TCP bytes of the process. Argument: how many images.
int process(int argc, char** argv) {
  ros::init(argc, argv, "process", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 2) return 2;
  ros::NodeHandle node;
  std::atomic<std::uint8_t*> published{nullptr};
  std::atomic<int> received{0};
  const auto subscriber = baton::ros1::subscribe<Image>(node, "images", 10, [&](const Image& image) {
    const bool good = pattern::matches(image.data, image.width);
    // The subscriber's mapping is another one, of the same memory: what is written in the one is seen in the other.
    const auto* const first = static_cast<const volatile std::uint8_t*>(image.data.data());
    const std::uint8_t before = *first;
    *published = static_cast<std::uint8_t>(before + 1);
    std::cout << (!good ? "bad" : *first != before ? "shared" : "copied") << std::endl;
    ++received;
  });
  auto publisher = baton::ros1::advertise<Image>(node, "images", 10);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  while (publisher.getNumSubscribers() != 1 || publisher.subscribers().serialized != 0 ||
         (publisher.subscribers().own == 0 && publisher.own().matched() == 0)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (int i = 1; i <= std::stoi(argv[1]); ++i) {
    auto image = publisher.loan();
    image->width = static_cast<std::uint32_t>(i);
    image->data.resize_for_overwrite(1'000'000);
    pattern::fill(image->data, static_cast<std::uint32_t>(i));
    published = image->data.data();
    publisher.publish(std::move(image));
    while (received < i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::cout << "tcp " << tcp_bytes() << std::endl;
  return 0;
}

std::mutex output;
void print(const std::string& line) {
  const std::lock_guard<std::mutex> lock(output);
  std::cout << line << std::endl;
}

struct Printer {
  std::string name;
  std::atomic<int> running{0};
  void on_image(const Image::ConstPtr& image) {
    if (++running > 1) print("overlap");
    print(name + " " + std::to_string(image->width));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --running;
  }
};

// Several subscriptions of one topic with types of Baton, in callback queues of their own: "slow" with a queue of 2 messages that nothing
// runs until the line "slow" of the input, and "fast", "other" in the global queue with several threads. Prints "NAME NUMBER" for each
// image, and "overlap" if two callbacks of one subscription run at the same time; "ready" when all subscriptions are there. Argument:
// topic.
int queues(int argc, char** argv) {
  ros::init(argc, argv, "queues", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 2) return 2;
  ros::NodeHandle node, beside;
  ros::CallbackQueue queue;
  beside.setCallbackQueue(&queue);
  Printer slow{"slow"}, fast{"fast"}, other{"other"};
  const auto first = baton::ros1::subscribe<Image>(beside, argv[1], 2, &Printer::on_image, &slow);
  const auto second = baton::ros1::subscribe<Image>(node, argv[1], 1000, &Printer::on_image, &fast);
  const auto third = baton::ros1::subscribe<Image>(node, argv[1], 1000, &Printer::on_image, &other);
  ros::AsyncSpinner spinner(4);
  spinner.start();
  print("ready");
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "slow") queue.callAvailable(ros::WallDuration(1));
    print("done " + line);
  }
  return 0;
}

// A publisher of types of Baton that works only while somebody listens, as image_proc's nodelets do: while it has subscribers it has a
// subscription of the topic "in", and hands on what comes there. Prints a line for each change, with the number.
int watch(int argc, char** argv) {
  ros::init(argc, argv, "watch", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  ros::NodeHandle node;
  baton::ros1::Publisher<Image> publisher;
  baton::ros1::Subscriber<Image> subscriber;
  baton::ros1::AdvertiseOptions options;
  options.subscribers_changed = [&] {
    const auto now = publisher.getNumSubscribers();
    std::cout << "subscribers " << now << std::endl;
    if (now == 0) {
      subscriber.shutdown();
    } else if (!subscriber) {
      subscriber = baton::ros1::subscribe<Image>(node, "in", 10,
                                                 [&](const Image::ConstPtr& image) { publisher.publish(image); });
    }
  };
  publisher = baton::ros1::advertise<Image>(node, "out", 10, options);
  ros::AsyncSpinner spinner(1);
  spinner.start();
  for (std::string line; std::getline(std::cin, line);) {
  }
  publisher.shutdown();
  std::cout << "ended" << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "talker") return talker(argc - 1, argv + 1);
  if (role == "listener") return listener(argc - 1, argv + 1);
  if (role == "once") return once(argc - 1, argv + 1);
  if (role == "process") return process(argc - 1, argv + 1);
  if (role == "queues") return queues(argc - 1, argv + 1);
  if (role == "watch") return watch(argc - 1, argv + 1);
  return 2;
}
