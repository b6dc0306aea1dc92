// SPDX-License-Identifier: Apache-2.0
// ROS-SF, Fig. 19: the message that cv_bridge has filled gets another frame. Its second half copies pixels by hand.
#include <cv_bridge/cv_bridge.h>
#include <ros/ros.h>

#include <cstring>

class Rotator {
 public:
  explicit Rotator(ros::NodeHandle& node) {
    publisher_ = node.advertise<sensor_msgs::Image>("rotated/image", 1);
    subscriber_ = node.subscribe("image", 1, &Rotator::on_image, this);
  }

 private:
  void on_image(const sensor_msgs::ImageConstPtr& input) {
    cv::Mat turned;
    cv::transpose(cv_bridge::toCvShare(input)->image, turned);
    sensor_msgs::Image::Ptr output = cv_bridge::CvImage(input->header, input->encoding, turned).toImageMsg();
    output->header.frame_id = frame_;
    publisher_.publish(output);
  }

  void publish_by_hand(const cv::Mat& pixels) {
    sensor_msgs::Image output;
    output.data.resize(pixels.total() * pixels.elemSize());
    std::memcpy(&output.data[0], pixels.data, output.data.size());
    publisher_.publish(output);
  }

  std::string frame_ = "turned";
  ros::Publisher publisher_;
  ros::Subscriber subscriber_;
};

int main(int argc, char** argv) {
  ros::init(argc, argv, "rotator");
  ros::NodeHandle node;
  Rotator rotator(node);
  ros::spin();
}
