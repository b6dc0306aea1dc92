// SPDX-License-Identifier: Apache-2.0
// The SLAM node: subscribes to `image`, publishes `pose`, `cloud` (the map points that the image shows) and `debug_image` (the image with
// its features). Poses and points are in the frame `map`, whose scale a single camera cannot know.
// Parameters: ~fx, ~fy, ~cx, ~cy (pixels), ~k1, ~k2, ~p1, ~p2, ~k3 (OpenCV's distortion), ~features (sought in each image), ~columns (a
// wider image is tracked at this width). Prints "ready" when each output has a subscriber; at its end, for each image,
// "frame STAMP RECEIVED TRACKED DRAWING DRAWN POINTS": all times in ns, and the number of map points that were found, 0 without a pose.
#include <cv_bridge/cv_bridge.h>
#include <geometry_msgs/PoseStamped.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>
#include <sensor_msgs/PointCloud2.h>
#include <sensor_msgs/point_cloud2_iterator.h>

#include <boost/make_shared.hpp>
#include <iostream>
#include <opencv2/imgproc.hpp>
#include <optional>

#include "rotation.hpp"
#include "visual_slam.hpp"

using tum_slam::Tracked;

namespace {

struct Times {
  ros::Time stamp, received, tracked, drawing, drawn;
  std::size_t points;
};

geometry_msgs::PoseStampedPtr pose_message(const std_msgs::Header& header, const Tracked& tracked) {
  auto message = boost::make_shared<geometry_msgs::PoseStamped>();
  message->header.stamp = header.stamp;
  message->header.frame_id = "map";
  message->pose.position.x = tracked.position[0];
  message->pose.position.y = tracked.position[1];
  message->pose.position.z = tracked.position[2];
  const cv::Vec4d q = tum_slam::quaternion(tracked.rotation);
  message->pose.orientation.x = q[0];
  message->pose.orientation.y = q[1];
  message->pose.orientation.z = q[2];
  message->pose.orientation.w = q[3];
  return message;
}

sensor_msgs::PointCloud2Ptr cloud_message(const std_msgs::Header& header, const Tracked& tracked) {
  auto message = boost::make_shared<sensor_msgs::PointCloud2>();
  message->header.stamp = header.stamp;
  message->header.frame_id = "map";
  sensor_msgs::PointCloud2Modifier modifier(*message);
  modifier.setPointCloud2FieldsByString(1, "xyz");
  modifier.resize(tracked.points.size());
  sensor_msgs::PointCloud2Iterator<float> x(*message, "x"), y(*message, "y"), z(*message, "z");
  for (const cv::Point3d& point : tracked.points) {
    *x = static_cast<float>(point.x);
    *y = static_cast<float>(point.y);
    *z = static_cast<float>(point.z);
    ++x;
    ++y;
    ++z;
  }
  return message;
}

void draw(cv::Mat& picture, const Tracked& tracked, double scale) {
  const int unit = std::max(1, picture.cols / 640);
  for (const cv::KeyPoint& feature : tracked.features) cv::circle(picture, feature.pt * scale, unit, {200, 120, 0}, -1);
  for (const cv::Point2f& pixel : tracked.pixels) cv::circle(picture, pixel * scale, 3 * unit, {0, 220, 0}, unit);
}

class SlamNode {
 public:
  SlamNode() {
    pose_ = node_.advertise<geometry_msgs::PoseStamped>("pose", 50);
    cloud_ = node_.advertise<sensor_msgs::PointCloud2>("cloud", 50);
    debug_image_ = node_.advertise<sensor_msgs::Image>("debug_image", 50);
    images_ = node_.subscribe("image", 50, &SlamNode::on_image, this);
  }

  bool has_subscribers() const {
    return pose_.getNumSubscribers() > 0 && cloud_.getNumSubscribers() > 0 && debug_image_.getNumSubscribers() > 0;
  }

  const std::vector<Times>& times() const { return times_; }

 private:
  void on_image(const sensor_msgs::ImageConstPtr& message) {
    Times times{message->header.stamp, ros::Time::now(), {}, {}, {}, 0};
    const cv_bridge::CvImageConstPtr image = cv_bridge::toCvShare(message, "bgr8");
    if (!slam_) begin(image->image.size());
    cv::Mat gray;
    cv::cvtColor(image->image, gray, cv::COLOR_BGR2GRAY);
    if (scale_ > 1) cv::resize(gray, gray, {}, 1 / scale_, 1 / scale_, cv::INTER_AREA);
    const Tracked tracked = slam_->track(gray);
    times.tracked = ros::Time::now();
    if (tracked.found) {
      pose_.publish(pose_message(message->header, tracked));
      cloud_.publish(cloud_message(message->header, tracked));
      times.points = tracked.points.size();
    }
    times.drawing = ros::Time::now();
    cv_bridge::CvImage debug(message->header, "bgr8", image->image.clone());
    draw(debug.image, tracked, scale_);
    times.drawn = ros::Time::now();
    debug_image_.publish(debug.toImageMsg());
    times_.push_back(times);
  }

  void begin(cv::Size size) {
    scale_ = std::max(1.0, 1.0 * size.width / settings_.param("columns", 640));
    // The defaults are those of TUM's page for 640 x 480, and in proportion for other sizes.
    const double focal = 525 * size.width / 640.0;
    tum_slam::Camera camera;
    camera.matrix = cv::Matx33d(settings_.param("fx", focal) / scale_, 0, center("cx", size.width),  //
                                0, settings_.param("fy", focal) / scale_, center("cy", size.height), 0, 0, 1);
    camera.distortion = {settings_.param("k1", 0.0), settings_.param("k2", 0.0), settings_.param("p1", 0.0),
                         settings_.param("p2", 0.0), settings_.param("k3", 0.0)};
    slam_.emplace(camera, settings_.param("features", 1000));
  }

  /// In pixels of the tracked image; a pixel's center has whole coordinates.
  double center(const char* name, int pixels) const {
    return (settings_.param(name, (pixels - 1) / 2.0) + 0.5) / scale_ - 0.5;
  }

  ros::NodeHandle node_, settings_{"~"};
  ros::Publisher pose_, cloud_, debug_image_;
  ros::Subscriber images_;
  std::optional<tum_slam::VisualSlam> slam_;
  double scale_ = 1;  // image columns for one column that is tracked
  std::vector<Times> times_;
};

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "slam", ros::init_options::NoRosout);
  cv::setNumThreads(1);  // results do not depend on the number of CPUs
  SlamNode slam;
  while (ros::ok() && !slam.has_subscribers()) ros::WallDuration(0.01).sleep();
  std::cout << "ready" << std::endl;
  ros::spin();
  for (const Times& times : slam.times())
    std::cout << "frame " << times.stamp.toNSec() << ' ' << times.received.toNSec() << ' ' << times.tracked.toNSec()
              << ' ' << times.drawing.toNSec() << ' ' << times.drawn.toNSec() << ' ' << times.points << '\n';
}
