// SPDX-License-Identifier: Apache-2.0
#include <baton/msg/sensor_msgs/image.hpp>
#include <baton/msg/sensor_msgs/laser_scan.hpp>
#include <baton/node/node.hpp>
#include <deque>
#include <iostream>

using baton::msg::sensor_msgs::Image;
using baton::msg::sensor_msgs::LaserScan;
using namespace std::chrono_literals;

// Pairs of messages of two topics whose stamps differ by at most `slop`. With a slop of at most half of the shorter period a message
// has one partner at most, so a pair is complete as soon as both are there.
template <class A, class B>
class Pairs {
 public:
  Pairs(std::chrono::nanoseconds slop, std::size_t keep, std::function<void(const A&, const B&)> on_pair)
      : slop_(slop), keep_(keep), on_pair_(std::move(on_pair)) {}

  void add(baton::Sample<A> sample) { add(std::move(sample), a_); }
  void add(baton::Sample<B> sample) { add(std::move(sample), b_); }

 private:
  template <class T>
  static std::chrono::nanoseconds stamp(const T& message) {
    return std::chrono::seconds(message.header.stamp.sec) + std::chrono::nanoseconds(message.header.stamp.nanosec);
  }
  template <class T>
  void add(baton::Sample<T> sample, std::deque<baton::Sample<T>>& queue) {
    queue.push_back(std::move(sample));
    if (queue.size() > keep_) queue.pop_front();  // the other sensor is silent: never hold more than was granted
    while (!a_.empty() && !b_.empty()) {
      const auto difference = stamp(*a_.front()) - stamp(*b_.front());
      if (difference < -slop_) {
        a_.pop_front();  // older than all that B may still have
      } else if (difference > slop_) {
        b_.pop_front();
      } else {
        on_pair_(*a_.front(), *b_.front());
        a_.pop_front();
        b_.pop_front();
      }
    }
  }

  std::chrono::nanoseconds slop_;
  std::size_t keep_;
  std::function<void(const A&, const B&)> on_pair_;
  std::deque<baton::Sample<A>> a_;
  std::deque<baton::Sample<B>> b_;
};

int main() {
  baton::Node node("fusion");
  int pairs = 0;
  Pairs<Image, LaserScan> pairing(16ms, 4, [&](const Image&, const LaserScan&) { ++pairs; });
  const auto qos =
      baton::QoS(4).hold(6);  // the four that wait for a partner, the one in the callback, and one to spare
  auto images = node.subscribe<Image>("image", qos, [&](baton::Sample<Image> image) { pairing.add(std::move(image)); });
  auto scans =
      node.subscribe<LaserScan>("scan", qos, [&](baton::Sample<LaserScan> scan) { pairing.add(std::move(scan)); });
  baton::Executor executor;
  executor.add(node);

  // The sensors, here in the same process: images at 30 Hz, scans at 10 Hz and 3 ms late.
  auto camera = node.advertise<Image>("image");
  auto lidar = node.advertise<LaserScan>("scan");
  if (!node.wait_for([&] { return images.matched() == 1 && scans.matched() == 1; }, 30s)) return 1;
  for (std::uint32_t i = 0; i < 30; ++i) {
    Image image;
    image.header.stamp.nanosec = i * 33'000'000;
    camera.publish(image);
    executor.spin_once(30s);
    if (i % 3 != 0) continue;
    LaserScan scan;
    scan.header.stamp.nanosec = i * 33'000'000 + 3'000'000;
    lidar.publish(scan);
    executor.spin_once(30s);
  }
  std::cout << pairs << " pairs of 30 images and 10 scans" << std::endl;
}
