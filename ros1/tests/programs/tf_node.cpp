// SPDX-License-Identifier: Apache-2.0
// A node of tf2_ros and tf that does what the lines of its input say, and prints a line for each:
//   move PARENT CHILD STAMP X      broadcasts a transform with this translation in x
//   fix PARENT CHILD X             broadcasts a static one
//   listen thread|spin|debug       makes a buffer and its listener
//   find TARGET SOURCE STAMP       prints the transform as soon as it is there
//   ask TARGET SOURCE STAMP        prints the transform or the exception
//   wait TARGET SOURCE STAMP FOR   the same, with a timeout; then the error of canTransform without how long it took
//   forget                         ends the listener, and clears the buffer
//   filter TARGET                  prints the points of the topic "points" that the buffer can transform
//   point FRAME STAMP              publishes a point
//   yaml                           prints the frames and where they came from
//   serve                          answers the clients of the action "tf2_buffer_server"
//   client                         makes a client of it, and prints whether the server is there
//   call TARGET SOURCE STAMP FOR   the client's transform, or its exception
//   frames NODE                    calls the service tf2_frames of a node
//   tf move, tf ask, tf filter     the same by tf
//   tf replay PARENT CHILD STAMP X as tf move, with the array of a message
//   tf wait TARGET SOURCE STAMP FOR   as tf ask, after waiting for it
#include <geometry_msgs/PointStamped.h>
#include <geometry_msgs/TransformStamped.h>
#include <message_filters/subscriber.h>
#include <ros/ros.h>
#include <tf/message_filter.h>
#include <tf/transform_broadcaster.h>
#include <tf/transform_listener.h>
#include <tf2_geometry_msgs/tf2_geometry_msgs.h>
#include <tf2_msgs/FrameGraph.h>
#include <tf2_msgs/TFMessage.h>
#include <tf2_ros/buffer_client.h>
#include <tf2_ros/buffer_server.h>
#include <tf2_ros/message_filter.h>
#include <tf2_ros/static_transform_broadcaster.h>
#include <tf2_ros/transform_broadcaster.h>
#include <tf2_ros/transform_listener.h>

#include <algorithm>
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
    words >> verb;
    const bool by_tf = verb == "tf";
    if (by_tf) words >> verb;
    words >> a >> b >> stamp >> number;
    if (by_tf) {
      obey_by_tf(verb, a, b, stamp, number);
    } else if (verb == "move") {
      if (!moving_) moving_ = std::make_unique<tf2_ros::TransformBroadcaster>();
      moving_->sendTransform(transform(a, b, stamp, number));
      print("moved");
    } else if (verb == "fix") {
      if (!static_) static_ = std::make_unique<tf2_ros::StaticTransformBroadcaster>();
      static_->sendTransform(transform(a, b, 0, stamp));
      print("fixed");
    } else if (verb == "listen") {
      buffer_ = std::make_unique<tf2_ros::Buffer>(ros::Duration(10), a == "debug");
      listener_ = std::make_unique<tf2_ros::TransformListener>(*buffer_, node_, a != "spin");
      print(buffer_->isUsingDedicatedThread() ? "listening in a thread" : "listening");
    } else if (verb == "find") {
      while (!buffer_->canTransform(a, b, ros::Time(stamp))) ros::WallDuration(0.01).sleep();
      print(found([&] { return buffer_->lookupTransform(a, b, ros::Time(stamp)); }));
    } else if (verb == "ask") {
      print(found([&] { return buffer_->lookupTransform(a, b, ros::Time(stamp)); }));
    } else if (verb == "wait") {
      print(found([&] { return buffer_->lookupTransform(a, b, ros::Time(stamp), ros::Duration(number)); }));
      std::string error;
      buffer_->canTransform(a, b, ros::Time(stamp), ros::Duration(number), &error);
      error.erase(std::remove_if(error.begin(), error.end(), [](char c) { return c >= '0' && c <= '9'; }), error.end());
      print(error);
    } else if (verb == "forget") {
      listener_.reset();
      buffer_->clear();
      print("forgotten");
    } else if (verb == "filter") {
      subscriber_.subscribe(node_, "points", 10);
      filter_ =
          std::make_unique<tf2_ros::MessageFilter<geometry_msgs::PointStamped>>(subscriber_, *buffer_, a, 10, node_);
      filter_->registerCallback([this, a](const geometry_msgs::PointStampedConstPtr& point) {
        print("ready " + std::to_string(buffer_->transform(*point, a).point.x));
      });
      filter_->registerFailureCallback(
          [](const geometry_msgs::PointStampedConstPtr& point, tf2_ros::FilterFailureReason reason) {
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
    } else if (verb == "yaml") {
      print(buffer_->allFramesAsYAML() + "end");
    } else if (verb == "serve") {
      server_ = std::make_unique<tf2_ros::BufferServer>(*buffer_, "tf2_buffer_server", false);
      server_->start();
      print("serving");
    } else if (verb == "client") {
      bool there = false;
      for (int i = 0; i < 4 && !there;
           ++i) {  // on a busy machine stock actionlib may miss that its server has connected
        client_ = std::make_unique<tf2_ros::BufferClient>("tf2_buffer_server", 10, ros::Duration(60));
        there = client_->waitForServer(ros::Duration(30));
      }
      print(there ? "there" : "not there");
    } else if (verb == "call") {
      print(found([&] { return client_->lookupTransform(a, b, ros::Time(stamp), ros::Duration(number)); }));
      print(found([&] {
        return client_->lookupTransform(a, ros::Time(stamp), b, ros::Time(stamp), a, ros::Duration(number));
      }));
      std::string error;
      print(client_->canTransform(a, b, ros::Time(stamp), ros::Duration(number), &error) ? "can" : error);
    } else if (verb == "frames") {
      tf2_msgs::FrameGraph call;
      const bool is_there = ros::service::call("/" + a + "/tf2_frames", call);
      print((is_there ? call.response.frame_yaml : "no service\n") + "end");
    } else {
      print("unknown: " + line);
    }
  }

 private:
  void obey_by_tf(const std::string& verb, const std::string& a, const std::string& b, double stamp, double number) {
    if (verb == "move" || verb == "replay") {
      if (!broadcaster_) broadcaster_ = std::make_unique<tf::TransformBroadcaster>();
      if (verb == "move") {
        broadcaster_->sendTransform(tf::StampedTransform(
            tf::Transform(tf::Quaternion(0, 0, 0.6, 0.8), tf::Vector3(number, 0, 0)), ros::Time(stamp), a, b));
      } else {
        tf2_msgs::TFMessage message;
        message.transforms.resize(1);
        message.transforms[0] = transform(a, b, stamp, number);
        broadcaster_->sendTransform(message.transforms);
      }
      print(verb == "move" ? "moved" : "replayed");
    } else if (verb == "ask") {
      print(found_by_tf(a, b, stamp));
    } else if (verb == "wait") {
      const bool came = of_tf().waitForTransform(a, b, ros::Time(stamp), ros::Duration(number));
      print(came ? found_by_tf(a, b, stamp) : "timeout");
    } else if (verb == "filter") {
      subscriber_.subscribe(node_, "points", 10);
      filter_of_tf_ = std::make_unique<tf::MessageFilter<geometry_msgs::PointStamped>>(subscriber_, of_tf(), a, 10);
      filter_of_tf_->registerCallback([this, a](const geometry_msgs::PointStampedConstPtr& point) {
        geometry_msgs::PointStamped moved;
        of_tf().transformPoint(a, *point, moved);
        print("ready " + std::to_string(moved.point.x));
      });
      filter_of_tf_->registerFailureCallback(
          [](const geometry_msgs::PointStampedConstPtr& point, tf::FilterFailureReason reason) {
            print("failed " + std::string(point->header.frame_id) + " " + std::to_string(reason));
          });
      print("filtering");
    } else {
      print("unknown: tf " + verb);
    }
  }

  tf::TransformListener& of_tf() {
    if (!of_tf_) of_tf_ = std::make_unique<tf::TransformListener>();
    return *of_tf_;
  }
  std::string found_by_tf(const std::string& target, const std::string& source, double stamp) {
    try {
      tf::StampedTransform transform;
      of_tf().lookupTransform(target, source, ros::Time(stamp), transform);
      std::ostringstream text;
      text << transform.frame_id_ << ' ' << transform.child_frame_id_ << ' ' << transform.stamp_ << ' '
           << transform.getOrigin().x();
      return text.str();
    } catch (const tf::TransformException& error) {
      return error.what();
    }
  }

  static geometry_msgs::TransformStamped transform(const std::string& parent, const std::string& child, double stamp,
                                                   double x) {
    geometry_msgs::TransformStamped result;
    result.header.frame_id = parent;
    result.header.stamp = ros::Time(stamp);
    result.child_frame_id = child;
    result.transform.translation.x = x;
    result.transform.rotation.z = 0.6;
    result.transform.rotation.w = 0.8;
    return result;
  }

  template <class Look>
  static std::string found(Look&& look) {
    try {
      const geometry_msgs::TransformStamped transform = look();
      std::ostringstream text;
      text << transform.header.frame_id << ' ' << transform.child_frame_id << ' ' << transform.header.stamp << ' '
           << transform.transform.translation.x << ' ' << transform.transform.translation.y << ' '
           << transform.transform.rotation.z;
      return text.str();
    } catch (const tf2::LookupException& error) {
      return error.what();
    } catch (const tf2::ExtrapolationException& error) {
      return error.what();
    } catch (const tf2::TransformException& error) {
      return std::string("another exception: ") + error.what();
    }
  }

  ros::NodeHandle node_;
  ros::Publisher points_;
  std::unique_ptr<tf2_ros::TransformBroadcaster> moving_;
  std::unique_ptr<tf2_ros::StaticTransformBroadcaster> static_;
  std::unique_ptr<tf2_ros::Buffer> buffer_;
  std::unique_ptr<tf2_ros::TransformListener> listener_;
  std::unique_ptr<tf2_ros::BufferServer> server_;
  std::unique_ptr<tf2_ros::BufferClient> client_;
  message_filters::Subscriber<geometry_msgs::PointStamped> subscriber_;
  std::unique_ptr<tf2_ros::MessageFilter<geometry_msgs::PointStamped>> filter_;
  std::unique_ptr<tf::TransformBroadcaster> broadcaster_;
  std::unique_ptr<tf::TransformListener> of_tf_;
  std::unique_ptr<tf::MessageFilter<geometry_msgs::PointStamped>> filter_of_tf_;
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
