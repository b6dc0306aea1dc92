// SPDX-License-Identifier: Apache-2.0
// As much of roscpp and of its generated headers as the cases need; it parses and compiles faster than the real ones. What is published is
// kept, as by a subscriber of the same process, and printed by ros::print_published().
#pragma once

#include <algorithm>
#include <boost/make_shared.hpp>
#include <boost/shared_ptr.hpp>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ros {
namespace message_traits {
template <class M>
struct IsMessage {
  static const bool value = false;
};
}  // namespace message_traits
}  // namespace ros

namespace std_msgs {
template <class ContainerAllocator>
struct Header_ {
  uint32_t seq = 0;
  std::string frame_id;
};
using Header = Header_<std::allocator<void>>;
}  // namespace std_msgs

namespace sensor_msgs {
template <class ContainerAllocator>
struct Image_ {
  typedef boost::shared_ptr<Image_<ContainerAllocator>> Ptr;
  std_msgs::Header_<ContainerAllocator> header;
  uint32_t height = 0;
  uint32_t width = 0;
  std::string encoding;
  std::vector<uint8_t> data;
};
typedef Image_<std::allocator<void>> Image;
typedef boost::shared_ptr<Image> ImagePtr;
typedef boost::shared_ptr<Image const> ImageConstPtr;

template <class ContainerAllocator>
struct Channel_ {
  std::string name;
  std::vector<float> values;
};
typedef Channel_<std::allocator<void>> Channel;

template <class ContainerAllocator>
struct Cloud_ {
  std_msgs::Header_<ContainerAllocator> header;
  std::vector<float> points;
  std::vector<Channel_<ContainerAllocator>> channels;
};
typedef Cloud_<std::allocator<void>> Cloud;
}  // namespace sensor_msgs

namespace ros {
namespace message_traits {
template <class A>
struct IsMessage<std_msgs::Header_<A>> {
  static const bool value = true;
};
template <class A>
struct IsMessage<sensor_msgs::Image_<A>> {
  static const bool value = true;
};
template <class A>
struct IsMessage<sensor_msgs::Channel_<A>> {
  static const bool value = true;
};
template <class A>
struct IsMessage<sensor_msgs::Cloud_<A>> {
  static const bool value = true;
};
}  // namespace message_traits

inline std::vector<boost::shared_ptr<const sensor_msgs::Image>>& kept() {
  static std::vector<boost::shared_ptr<const sensor_msgs::Image>> messages;
  return messages;
}

inline void print_published() {
  for (const auto& message : kept()) {
    std::cout << message->header.frame_id << ' ' << message->height << ' ' << message->encoding << ' ';
    for (int byte : message->data) std::cout << byte << ',';
    std::cout << '\n';
  }
}

class Publisher {
 public:
  template <class M>
  void publish(const boost::shared_ptr<M>& message) const {
    kept().push_back(message);
  }
  template <class M>
  void publish(const M& message) const {
    kept().push_back(boost::make_shared<M>(message));
  }
};

class NodeHandle {
 public:
  template <class T, class M>
  void subscribe(const std::string&, uint32_t, void (T::*)(M), T*) {}
  template <class M>
  void subscribe(const std::string&, uint32_t, void (*)(M)) {}
};
}  // namespace ros

namespace image_transport {
class CameraPublisher {
 public:
  void publish(const sensor_msgs::Image&, const std_msgs::Header&) const {}
  void publish(const boost::shared_ptr<const sensor_msgs::Image>&,
               const boost::shared_ptr<const std_msgs::Header>&) const {}
};
}  // namespace image_transport
