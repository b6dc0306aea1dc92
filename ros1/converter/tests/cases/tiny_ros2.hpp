// SPDX-License-Identifier: Apache-2.0
// As much of rclcpp and of rosidl's generated headers as the cases need, since rclcpp is in no package that the tests install. A publisher does
// what rclcpp's does with intra-process communication: it hands a unique_ptr to the subscription, which owns the message then, changes it at
// once, and looks at it again at the end. So a use after that changes what the program prints.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace rosidl_runtime_cpp {
enum class MessageInitialization { ALL };
}

namespace std_msgs::msg {
template <class ContainerAllocator>
struct Header_ {
  std::string frame_id;
};
using Header = Header_<std::allocator<void>>;
}  // namespace std_msgs::msg

namespace sensor_msgs::msg {
template <class ContainerAllocator>
struct Image_ {
  using UniquePtr = std::unique_ptr<Image_<ContainerAllocator>>;
  using SharedPtr = std::shared_ptr<Image_<ContainerAllocator>>;
  using ConstSharedPtr = std::shared_ptr<Image_<ContainerAllocator> const>;
  std_msgs::msg::Header_<ContainerAllocator> header;
  uint32_t height = 0;
  uint32_t width = 0;
  std::string encoding;
  std::vector<uint8_t> data;
};
using Image = Image_<std::allocator<void>>;

template <class ContainerAllocator>
struct Imu_ {
  std::array<double, 9> covariance;
};
using Imu = Imu_<std::allocator<void>>;
}  // namespace sensor_msgs::msg

namespace rclcpp {
/// What the subscription owns.
inline std::vector<std::unique_ptr<sensor_msgs::msg::Image>>& owned() {
  static std::vector<std::unique_ptr<sensor_msgs::msg::Image>> messages;
  return messages;
}

inline void print(const sensor_msgs::msg::Image& image) {
  std::cout << image.header.frame_id << ' ' << image.height << ' ' << image.encoding << ' ';
  for (int byte : image.data) std::cout << byte << ',';
  std::cout << '\n';
}

inline void change(sensor_msgs::msg::Image& image) {
  image.header.frame_id = "changed";
  image.height += 1000;
  image.encoding = "changed";
  std::fill(image.data.begin(), image.data.end(), 255);
}

inline void print_owned() {
  for (const auto& image : owned()) print(*image);
}

template <class MessageT>
class LoanedMessage {
 public:
  MessageT& get() { return *message_; }

 private:
  std::unique_ptr<MessageT> message_ = std::make_unique<MessageT>();
};

template <class MessageT, class AllocatorT = std::allocator<void>>
class Publisher {
 public:
  using SharedPtr = std::shared_ptr<Publisher<MessageT, AllocatorT>>;

  template <class T>
  std::enable_if_t<std::is_same_v<T, MessageT>> publish(std::unique_ptr<T> message) {
    print(*message);
    change(*message);
    owned().push_back(std::move(message));
  }
  template <class T>
  std::enable_if_t<std::is_same_v<T, MessageT>> publish(const T& message) {
    publish(std::make_unique<MessageT>(message));
  }
  void publish(LoanedMessage<MessageT>&& message) { publish(message.get()); }
  LoanedMessage<MessageT> borrow_loaned_message() { return {}; }
};

struct Subscription {};

class Node {
 public:
  template <class MessageT>
  typename Publisher<MessageT>::SharedPtr create_publisher(const std::string&, int) {
    return std::make_shared<Publisher<MessageT>>();
  }
  template <class MessageT, class CallbackT>
  std::shared_ptr<Subscription> create_subscription(const std::string&, int, CallbackT&&) {
    return std::make_shared<Subscription>();
  }
};
}  // namespace rclcpp

namespace image_transport {
class Publisher {
 public:
  void publish(const sensor_msgs::msg::Image& message) const { rclcpp::print(message); }
  void publish(const sensor_msgs::msg::Image::ConstSharedPtr& message) const { rclcpp::print(*message); }
};
}  // namespace image_transport
