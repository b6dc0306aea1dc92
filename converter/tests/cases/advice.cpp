// SPDX-License-Identifier: Apache-2.0
// Which lines get advice: `// growth`, `// zeros`, `// publish`.
#include "tiny_ros.hpp"

bool choose();

void growth_in_a_loop_wants_reserve(int n) {
  sensor_msgs::Cloud cloud;
  for (int i = 0; i < n; ++i) {
    cloud.points.push_back(1);  // growth
  }
}

void reserved_memory_is_enough(int n) {
  sensor_msgs::Cloud cloud;
  cloud.points.reserve(n);
  for (int i = 0; i < n; ++i) cloud.points.push_back(1);
}

void memory_reserved_in_one_branch_is_not_enough(int n) {
  sensor_msgs::Cloud cloud;
  if (choose()) cloud.points.reserve(n);
  for (int i = 0; i < n; ++i) cloud.points.push_back(1);  // growth
}

void a_message_of_each_turn_does_not_grow_in_the_loop(int n) {
  for (int i = 0; i < n; ++i) {
    sensor_msgs::Cloud cloud;
    cloud.points.push_back(1);
  }
}

void zeros_before_a_copy(const std::vector<uint8_t>& source) {
  sensor_msgs::Image img;
  img.data.resize(source.size());  // zeros
  img.height = 1;
  std::memcpy(&img.data[0], source.data(), source.size());
  sensor_msgs::Image other;
  other.data.resize(source.size());  // zeros
  std::copy(source.begin(), source.end(), other.data.begin());
}

void zeros_before_a_loop_that_sets_each_element(int n) {
  sensor_msgs::Image img;
  img.data.resize(n);  // zeros
  for (int i = 0; i < n; ++i) img.data[i] = 1;
}

void zeros_that_are_wanted(int n) {
  sensor_msgs::Image img;
  img.data.resize(n);
  for (int i = 0; i < n; ++i) {
    if (choose()) img.data[i] = 1;
  }
  sensor_msgs::Image other;
  other.data.resize(n);
  for (int i = 0; i < n; ++i) other.data[i] += 1;
  sensor_msgs::Image last;
  last.data.resize(n);
  std::memcpy(&last.data[3], "a", 1);
}

void a_pointer_can_be_published_itself(const ros::Publisher& publisher, const sensor_msgs::ImageConstPtr& img) {
  publisher.publish(*img);  // publish
  publisher.publish(img);
}

using Pair = image_transport::CameraPublisher;
void two_pointers_for_two(const Pair& publisher, const sensor_msgs::ImageConstPtr& img, const std_msgs::Header& info_) {
  publisher.publish(*img, info_);  // publish
}

void small_messages_may_be_copied(const ros::Publisher& publisher) {
  std_msgs::Header header;
  (void)header;
  (void)publisher;
}

class Node {
 public:
  void a_member_is_copied() { publisher_.publish(message_); }  // publish

 private:
  ros::Publisher publisher_;
  sensor_msgs::Image message_;
};
