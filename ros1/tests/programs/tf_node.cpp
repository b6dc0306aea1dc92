// SPDX-License-Identifier: Apache-2.0
// A node of tf that does what the lines of its input say, and prints a line for each:
//   move PARENT CHILD STAMP X      broadcasts a transform with this translation in x
//   replay PARENT CHILD STAMP X    the same, with the array of a message
//   ask TARGET SOURCE STAMP        prints the transform or the exception
//   wait TARGET SOURCE STAMP FOR   the same, after waiting for it
//   filter TARGET                  prints the points of the topic "points" that can be transformed
//   point FRAME STAMP              publishes a point
#include <geometry_msgs/PointStamped.h>
#include <message_filters/subscriber.h>
#include <ros/ros.h>
#include <tf/message_filter.h>
#include <tf/transform_broadcaster.h>
#include <tf/transform_listener.h>
#include <tf2_msgs/TFMessage.h>

#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>

namespace {

std::mutex print_mutex;
void print(const std::string& line) {
  const std::lock_guard<std::mutex> lock(print_mutex);
  std::cout << line << std::endl;
}

class TfNode {
 public:
  TfNode() : points_(node_.advertise<geometry_msgs::PointStamped>("points", 10, true)) {}

  void obey(const std::string& line) {
    std::istringstream words(line);
    std::string verb, a, b;
    double stamp = 0, number = 0;
    words >> verb >> a >> b >> stamp >> number;
    if (verb == "move") {
      if (!broadcaster_) broadcaster_ = std::make_unique<tf::TransformBroadcaster>();
      broadcaster_->sendTransform(tf::StampedTransform(
          tf::Transform(tf::Quaternion(0, 0, 0.6, 0.8), tf::Vector3(number, 0, 0)), ros::Time(stamp), a, b));
      print("moved");
    } else if (verb == "replay") {
      tf2_msgs::TFMessage message;
      message.transforms.resize(1);
      message.transforms[0].header.frame_id = a;
      message.transforms[0].header.stamp = ros::Time(stamp);
      message.transforms[0].child_frame_id = b;
      message.transforms[0].transform.translation.x = number;
      message.transforms[0].transform.rotation.w = 1;
      if (!broadcaster_) broadcaster_ = std::make_unique<tf::TransformBroadcaster>();
      broadcaster_->sendTransform(message.transforms);
      print("replayed");
    } else if (verb == "ask") {
      print(found(a, b, stamp));
    } else if (verb == "wait") {
      print(listener().waitForTransform(a, b, ros::Time(stamp), ros::Duration(number)) ? found(a, b, stamp)
                                                                                       : "timeout");
    } else if (verb == "filter") {
      subscriber_.subscribe(node_, "points", 10);
      filter_ = std::make_unique<tf::MessageFilter<geometry_msgs::PointStamped>>(subscriber_, listener(), a, 10);
      filter_->registerCallback([this, a](const geometry_msgs::PointStampedConstPtr& point) {
        geometry_msgs::PointStamped moved;
        listener().transformPoint(a, *point, moved);
        print("ready " + std::to_string(moved.point.x));
      });
      filter_->registerFailureCallback(
          [](const geometry_msgs::PointStampedConstPtr& point, tf::FilterFailureReason reason) {
            print("failed " + std::string(point->header.frame_id) + " " + std::to_string(reason));
          });
      print("filtering");
    } else if (verb == "point") {
      geometry_msgs::PointStamped point;
      point.header.frame_id = a == "none" ? "" : a;
      point.header.stamp = ros::Time(std::stod(b));
      point.point.x = 1;
      points_.publish(point);
      print("published");
    } else {
      print("unknown: " + line);
    }
  }

 private:
  tf::TransformListener& listener() {
    if (!listener_) listener_ = std::make_unique<tf::TransformListener>();
    return *listener_;
  }
  std::string found(const std::string& target, const std::string& source, double stamp) {
    try {
      tf::StampedTransform transform;
      listener().lookupTransform(target, source, ros::Time(stamp), transform);
      std::ostringstream text;
      text << transform.frame_id_ << ' ' << transform.child_frame_id_ << ' ' << transform.stamp_ << ' '
           << transform.getOrigin().x();
      return text.str();
    } catch (const tf::TransformException& error) {
      return error.what();
    }
  }

  ros::NodeHandle node_;
  ros::Publisher points_;
  std::unique_ptr<tf::TransformBroadcaster> broadcaster_;
  std::unique_ptr<tf::TransformListener> listener_;
  message_filters::Subscriber<geometry_msgs::PointStamped> subscriber_;
  std::unique_ptr<tf::MessageFilter<geometry_msgs::PointStamped>> filter_;
};

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "tf_node", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  TfNode node;
  ros::AsyncSpinner spinner(1);
  spinner.start();
  std::string line;
  while (std::getline(std::cin, line)) node.obey(line);
  spinner.stop();
}
