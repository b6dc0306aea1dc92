// SPDX-License-Identifier: Apache-2.0
// Stock roscpp programs with standard types that have large arrays.
//   source TYPE  publishes a message on each line of its input, and prints "HASH BYTES" of the serialized message
//   sink TYPE    prints "HASH BYTES ALIASED" of each message, serialized again; ALIASED arrays were not copied so far
#include <dlfcn.h>
#include <ros/ros.h>
#include <sensor_msgs/CompressedImage.h>
#include <sensor_msgs/Image.h>
#include <sensor_msgs/JointState.h>
#include <sensor_msgs/LaserScan.h>
#include <sensor_msgs/MultiEchoLaserScan.h>
#include <sensor_msgs/PointCloud.h>
#include <sensor_msgs/PointCloud2.h>
#include <std_msgs/ByteMultiArray.h>
#include <std_msgs/Float64MultiArray.h>
#include <std_msgs/Int16MultiArray.h>
#include <std_msgs/String.h>
#include <std_msgs/UInt8MultiArray.h>

#include <chrono>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>

namespace {

constexpr std::size_t kElements = 50000;

template <class Vector>
void fill(Vector& vector, int number, std::size_t elements = kElements) {
  vector.resize(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    vector[i] = static_cast<typename Vector::value_type>((i * 7 + static_cast<std::size_t>(number)) % 251);
  }
}

void make(sensor_msgs::Image& m, int n) {
  m.header.frame_id = "camera";
  m.encoding = "mono8";
  fill(m.data, n, 4 * kElements);
}
void make(sensor_msgs::CompressedImage& m, int n) {
  m.format = "jpeg";
  fill(m.data, n, 4 * kElements + static_cast<std::size_t>(n));  // of another size each time
}
void make(sensor_msgs::PointCloud2& m, int n) {
  m.header.frame_id = "lidar";
  m.fields.resize(3);
  for (auto& field : m.fields) field.name = "xyz";
  fill(m.data, n, 4 * kElements);
  m.is_dense = true;
}
void make(sensor_msgs::LaserScan& m, int n) {
  m.header.frame_id = "laser";
  fill(m.ranges, n);
  fill(m.intensities, n + 1);
}
void make(sensor_msgs::MultiEchoLaserScan& m, int n) {
  m.ranges.resize(3);
  for (auto& echo : m.ranges) fill(echo.echoes, n);
  m.intensities.resize(2);
  for (auto& echo : m.intensities) fill(echo.echoes, n);
}
void make(sensor_msgs::PointCloud& m, int n) {
  m.points.resize(kElements);
  for (std::size_t i = 0; i < kElements; ++i) m.points[i].x = static_cast<float>(i + static_cast<std::size_t>(n));
  m.channels.resize(2);
  for (auto& channel : m.channels) {
    channel.name = "rgb";
    fill(channel.values, n);
  }
}
void make(sensor_msgs::JointState& m, int n) {
  m.name = {"one", "two"};
  fill(m.position, n);
  fill(m.velocity, n);
}
template <class M>
auto make(M& m, int n) -> decltype(m.layout, void()) {
  m.layout.dim.resize(2);
  m.layout.dim[0].label = "rows";
  fill(m.data, n, 2 * kElements);
}
void make(std_msgs::String& m, int n) { m.data.assign(4 * kElements, static_cast<char>('a' + n % 26)); }

template <class M>
std::string hash(const M& message) {
  const ros::SerializedMessage bytes = ros::serialization::serializeMessage(message);
  std::uint64_t value = 1469598103934665603U;  // FNV-1a
  for (std::size_t i = 0; i < bytes.num_bytes; ++i) value = (value ^ bytes.buf[i]) * 1099511628211U;
  return std::to_string(value) + " " + std::to_string(bytes.num_bytes);
}

std::uint64_t aliased() {
  std::uint64_t counters[8] = {};  // as in baton/containers/heap.hpp
  using Read = void (*)(void*);
  if (const auto read = reinterpret_cast<Read>(::dlsym(RTLD_DEFAULT, "baton_heap_counters"))) read(counters);
  return counters[0];
}

/// roscpp numbers the messages that it sends.
template <class M>
auto forget_number(M& message, int) -> decltype(message.header.seq, void()) {
  message.header.seq = 0;
}
template <class M>
void forget_number(M&, long) {}

template <class M>
int run(bool source) {
  ros::NodeHandle node;
  ros::AsyncSpinner spinner(1);
  ros::Publisher publisher;
  ros::Subscriber subscriber;
  if (source) {
    publisher = node.advertise<M>("large", 100);
  } else {
    const boost::function<void(const boost::shared_ptr<M>&)> callback = [](const boost::shared_ptr<M>& message) {
      forget_number(*message, 0);
      std::cout << hash(*message) << ' ' << aliased() << std::endl;
    };
    subscriber = node.subscribe<M>("large", 100, callback);
  }
  spinner.start();
  int number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    while (publisher.getNumSubscribers() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    M message;
    make(message, ++number);
    std::cout << hash(message) << std::endl;
    publisher.publish(message);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "large", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 3) return 2;
  const bool source = std::string(argv[1]) == "source";
  const std::string type = argv[2];
  if (type == "Image") return run<sensor_msgs::Image>(source);
  if (type == "CompressedImage") return run<sensor_msgs::CompressedImage>(source);
  if (type == "PointCloud2") return run<sensor_msgs::PointCloud2>(source);
  if (type == "LaserScan") return run<sensor_msgs::LaserScan>(source);
  if (type == "MultiEchoLaserScan") return run<sensor_msgs::MultiEchoLaserScan>(source);
  if (type == "PointCloud") return run<sensor_msgs::PointCloud>(source);
  if (type == "JointState") return run<sensor_msgs::JointState>(source);
  if (type == "ByteMultiArray") return run<std_msgs::ByteMultiArray>(source);
  if (type == "Int16MultiArray") return run<std_msgs::Int16MultiArray>(source);
  if (type == "UInt8MultiArray") return run<std_msgs::UInt8MultiArray>(source);
  if (type == "Float64MultiArray") return run<std_msgs::Float64MultiArray>(source);
  if (type == "String") return run<std_msgs::String>(source);
  return 2;
}
