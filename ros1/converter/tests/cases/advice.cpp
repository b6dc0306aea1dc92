// SPDX-License-Identifier: Apache-2.0
// Which lines get advice: `// growth`, `// zeros`, `// publish`, `// late`, `// string`, `// pixels`, `// points`,
// `// callback`, `// kept`.
#include <deque>
#include <map>

#include "tiny_ros.hpp"

// As much of OpenCV and PCL as the cases need.
namespace cv {
struct Mat {
  uint8_t* data;
  uint8_t* datastart;
  uint8_t* dataend;
  std::size_t total() const;
};
}  // namespace cv
namespace pcl {
struct PointXYZ {
  float x, y, z;
};
template <class Point>
struct PointCloud {
  std::vector<Point> points;
};
struct PCLImage {};
template <class Point>
void toROSMsg(const PointCloud<Point>& cloud, sensor_msgs::Cloud& message);
}  // namespace pcl
namespace pcl_conversions {
void fromPCL(const pcl::PCLImage& from, sensor_msgs::Image& to);
void moveFromPCL(pcl::PCLImage& from, sensor_msgs::Image& to);
}  // namespace pcl_conversions

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

void few_zeros_may_be_overwritten() {
  sensor_msgs::Image img;
  img.data.resize(5);
  for (int i = 0; i < 5; ++i) img.data[i] = 1;
}

void a_pointer_can_be_published_itself(const ros::Publisher& publisher, const sensor_msgs::ImageConstPtr& img) {
  publisher.publish(*img);  // publish
  publisher.publish(img);
}

void elements_of_arrays(const ros::Publisher& publisher, const std::vector<sensor_msgs::Image>& images) {
  publisher.publish(images[0]);  // publish
  auto* made = new sensor_msgs::Image[2];
  publisher.publish(made[1]);  // publish
  delete[] made;
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

void a_size_announced_too_late(int n) {
  sensor_msgs::Cloud cloud;
  cloud.points.resize(n);
  cloud.channels.resize(2);
  cloud.points.resize(2 * n);  // late
  sensor_msgs::Cloud other;
  other.points.assign(n, 1.0f);
  other.header.frame_id = "map";                  // string
  other.points.insert(other.points.end(), 1.0f);  // late
}

void vectors_that_grow_in_turns(int n) {
  sensor_msgs::Cloud cloud;
  cloud.channels.resize(1);
  for (int i = 0; i < n; ++i) {
    cloud.points.push_back(1);              // growth
    cloud.channels[0].values.push_back(1);  // growth
  }
}

void sizes_announced_in_time(int n) {
  sensor_msgs::Cloud cloud;
  cloud.points.reserve(2 * n);
  cloud.points.resize(n);
  cloud.channels.resize(2);
  cloud.points.resize(2 * n);
  sensor_msgs::Cloud same;
  same.points.resize(n);
  same.channels.resize(1);
  same.points.resize(n);
  sensor_msgs::Cloud last;
  last.channels.resize(1);
  last.points.resize(n);
  last.points.resize(2 * n);
}

void a_vector_is_shrunk_to_what_was_used(int n) {
  sensor_msgs::Cloud cloud;
  cloud.points.resize(n);
  cloud.channels.resize(2);
  int used = 0;
  for (int i = 0; i < n; ++i) used += choose();
  cloud.points.resize(used);
}

void vectors_of_messages_with_strings_are_short(int n) {
  sensor_msgs::Cloud cloud;
  cloud.channels.resize(n);
  cloud.channels[0].name = "intensity";
  cloud.channels.resize(n + 1);
}

void small_vectors_may_move() {
  sensor_msgs::Cloud cloud;
  cloud.points.resize(3);
  cloud.channels.resize(2);
  cloud.points.resize(4);
  cloud.header.frame_id = "map";
}

void one_of_two_branches_grows(int n) {
  sensor_msgs::Cloud cloud;
  if (choose()) {
    cloud.points.resize(n);
  } else {
    cloud.channels.resize(n);
  }
  cloud.points.resize(2 * n);
}

void each_turn_has_a_message(int n) {
  for (int i = 0; i < n; ++i) {
    sensor_msgs::Cloud cloud;
    cloud.points.resize(n);
    cloud.channels.resize(n);
  }
}

void strings_after_a_large_vector(int n, const std_msgs::Header& header) {
  sensor_msgs::Image img;
  img.data.resize(n);
  img.encoding = "rgb8";           // string
  img.header.frame_id = "camera";  // one is told
  sensor_msgs::Image other;
  other.data.resize(n);
  other.header = header;  // string
}

void strings_before_a_large_vector(int n, const std_msgs::Header& header) {
  sensor_msgs::Image img;
  img.header = header;
  img.encoding = "rgb8";
  img.height = n;
  img.data.resize(n);
  img.encoding = "";
  sensor_msgs::Image other;
  other.encoding = "bgr8";
  other.data.resize(n);
  other.encoding = "rgb8";
}

void filled_before_by_the_caller(sensor_msgs::Image& img, int n) {
  img.data.resize(n);
  img.encoding = "rgb8";
}

void pixels_are_copied(const cv::Mat& mat, int n) {
  sensor_msgs::Image img;
  img.data.resize(n);                      // zeros
  std::memcpy(&img.data[0], mat.data, n);  // pixels
  sensor_msgs::Image other;
  other.data.assign(mat.datastart, mat.dataend);  // pixels
  sensor_msgs::Image last;
  last.data.resize(n);                                   // zeros
  std::copy(mat.data, mat.data + n, last.data.begin());  // pixels
}

void other_bytes_are_copied(const std::vector<uint8_t>& from, cv::Mat& to) {
  sensor_msgs::Image img;
  img.data.assign(from.begin(), from.end());
  std::memcpy(to.data, &img.data[0], from.size());
  img.data.assign(to.total(), 0);
  std::memcpy(&img.data[32 * from.size()], to.data, 4);
}

void points_are_copied(const pcl::PointCloud<pcl::PointXYZ>& cloud, pcl::PCLImage& picture, const pcl::PCLImage& same) {
  sensor_msgs::Cloud out;
  pcl::toROSMsg(cloud, out);  // points
  sensor_msgs::Cloud other;
  other.points.resize(3 * cloud.points.size());                                                    // zeros
  std::memcpy(&other.points[0], &cloud.points[0], cloud.points.size() * sizeof(cloud.points[0]));  // points
  sensor_msgs::Image img;
  pcl_conversions::fromPCL(picture, img);  // points
  pcl_conversions::moveFromPCL(picture, img);
  pcl_conversions::fromPCL(same, img);
}

void by_value(sensor_msgs::Image) {}
void by_reference(const sensor_msgs::Image&) {}
void by_pointer(const sensor_msgs::ImagePtr&) {}
void small_by_value(std_msgs::Header) {}

class Receiver {
 public:
  void copies_for_callbacks() {
    ros::NodeHandle node;
    node.subscribe("a", 1, by_value);  // callback
    node.subscribe("a", 1, by_reference);
    node.subscribe("a", 1, by_pointer);  // callback
    node.subscribe("a", 1, small_by_value);
    node.subscribe("a", 1, &Receiver::by_pointer_to_const, this);
    node.subscribe("a", 1, &Receiver::by_pointer_of_class, this);  // callback
  }
  void by_pointer_to_const(sensor_msgs::ImageConstPtr) {}
  void by_pointer_of_class(sensor_msgs::ImagePtr) {}
};

class Keeper {
 public:
  void messages_are_kept(const sensor_msgs::ImageConstPtr& img) {
    queue_.push_back(img);  // kept
    if (queue_.size() > 20) queue_.pop_front();
    by_number_[1].push_back(img);  // kept
    by_height_.insert({img->height, img});
  }
  void one_message_is_kept(const sensor_msgs::ImageConstPtr& img) {
    last_ = img;
    std::deque<sensor_msgs::ImageConstPtr> local;
    local.push_back(img);
    heights_.push_back(img->height);
  }
  void copies_are_kept(const sensor_msgs::ImageConstPtr& img) { copies_.push_back(*img); }

 private:
  std::deque<sensor_msgs::ImageConstPtr> queue_;
  std::map<int, std::deque<sensor_msgs::ImageConstPtr>> by_number_;
  std::map<int, sensor_msgs::ImageConstPtr> by_height_;
  std::vector<sensor_msgs::Image> copies_;
  std::vector<int> heights_;
  sensor_msgs::ImageConstPtr last_;
};

class Node {
 public:
  void a_member_is_copied() { publisher_.publish(message_); }               // publish
  void an_element_of_a_member_is_copied() { publisher_.publish(two_[1]); }  // publish

 private:
  ros::Publisher publisher_;
  sensor_msgs::Image message_, two_[2];
};
