// SPDX-License-Identifier: Apache-2.0
// Code of image_transport in the forms that programs write, compiled as it is and recompiled: prints what each of them does, and
// "end". Both programs have to print the same.
#include <image_transport/camera_common.h>
#include <image_transport/image_transport.h>
#include <image_transport/subscriber_filter.h>
#include <message_filters/time_synchronizer.h>
#include <ros/ros.h>

#include <algorithm>
#include <boost/bind/bind.hpp>
#include <boost/make_shared.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

using image_transport::ImageTransport;

void show(const std::string& what, const std::string& is) { std::cout << what << ": " << is << std::endl; }
void show(const std::string& what, bool is) { show(what, std::string(is ? "yes" : "no")); }
void show(const std::string& what, std::uint32_t is) { show(what, std::to_string(is)); }

/// Spins until `done`, for a minute at most.
bool spin_until(const std::function<bool()>& done) {
  const ros::WallTime late = ros::WallTime::now() + ros::WallDuration(60);
  while (!done()) {
    if (!ros::ok() || ros::WallTime::now() > late) return false;
    ros::spinOnce();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}
/// Spins for so long that what should not come would have come.
void spin_a_while() {
  const ros::WallTime end = ros::WallTime::now() + ros::WallDuration(0.3);
  while (ros::WallTime::now() < end) {
    ros::spinOnce();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

constexpr std::uint32_t kProbe = 999;

sensor_msgs::Image image(std::uint32_t number) {
  sensor_msgs::Image made;
  made.header.stamp = ros::Time(number % kProbe, 1);
  made.header.frame_id = "camera";
  made.height = 2;
  made.width = number;
  made.encoding = "mono8";
  made.step = number;
  made.data.assign(2 * number, static_cast<std::uint8_t>(number));
  return made;
}
sensor_msgs::CameraInfo info(std::uint32_t number) {
  sensor_msgs::CameraInfo made;
  made.header.stamp = ros::Time(number % kProbe, 1);
  made.width = number;
  made.D.assign(5, number);
  return made;
}
std::string words(const sensor_msgs::Image& image) {
  const bool is_whole = std::count(image.data.begin(), image.data.end(), image.width % 256) == 2 * image.width &&
                        image.data.size() == 2 * image.width && image.step == image.width && image.height == 2;
  return std::to_string(image.width) + " " + std::string(image.encoding) + " " + std::string(image.header.frame_id) +
         " " + std::to_string(image.header.stamp.toNSec()) + (is_whole ? " whole" : " broken");
}
std::string words(const sensor_msgs::CameraInfo& info) {
  return std::to_string(info.width) + " " + std::to_string(info.D.size()) + " " +
         std::to_string(info.header.stamp.toNSec());
}

/// What each callback got, and how many probes.
std::map<std::string, std::vector<std::string>> got;
std::map<std::string, unsigned> probes;
std::size_t count(const std::string& name) { return got[name].size(); }

void keep(const std::string& name, const sensor_msgs::Image& image) {
  if (image.width == kProbe) {
    ++probes[name];
  } else {
    got[name].push_back(words(image));
  }
}
void keep(const std::string& name, const sensor_msgs::Image& image, const sensor_msgs::CameraInfo& info) {
  if (image.width == kProbe) {
    ++probes[name];
  } else {
    got[name].push_back(words(image) + " with " + words(info));
  }
}
/// Publishes probes until each of these callbacks gets them.
void connect(const std::vector<std::string>& names, const std::function<void()>& publish_probe) {
  probes.clear();
  show("connected", spin_until([&] {
         if (std::all_of(names.begin(), names.end(), [](const std::string& name) { return probes[name] > 0; })) {
           return true;
         }
         publish_probe();
         std::this_thread::sleep_for(std::chrono::milliseconds(20));
         return false;
       }));
}

void on_image(const sensor_msgs::ImageConstPtr& image) { keep("function", *image); }
void on_other_image(const sensor_msgs::ImageConstPtr& image) { keep("function with hints", *image); }
void on_camera(const sensor_msgs::ImageConstPtr& image, const sensor_msgs::CameraInfoConstPtr& info) {
  keep("camera function", *image, *info);
}
struct Receiver {
  explicit Receiver(std::string its_name) : name(std::move(its_name)) {}
  void on_image(const sensor_msgs::ImageConstPtr& image) { keep(name, *image); }
  void on_camera(const sensor_msgs::ImageConstPtr& image, const sensor_msgs::CameraInfoConstPtr& info) {
    keep(name, *image, *info);
  }
  const std::string name;
};

/// Sorted: within a process roscpp has an order of its own for messages that are published by pointer.
void show_what_came() {
  for (auto& [name, all] : got) {
    std::sort(all.begin(), all.end());
    for (const std::string& one : all) show(name, one);
  }
  got.clear();
}

void names(ImageTransport& transport) {
  for (const char* const topic : {"image", "/image", "/camera/image_raw", "camera//image/", "/a/b/c/d"}) {
    show("calibrations of " + std::string(topic), image_transport::getCameraInfoTopic(topic));
  }
  std::vector<std::string> declared = transport.getDeclaredTransports(), loadable = transport.getLoadableTransports();
  std::sort(declared.begin(), declared.end());
  std::sort(loadable.begin(), loadable.end());
  for (const std::string& name : declared) show("declared", name);
  for (const std::string& name : loadable) show("loadable", name);
}

void images(ImageTransport& transport) {
  const boost::shared_ptr<Receiver> owned = boost::make_shared<Receiver>("shared object");
  boost::shared_ptr<Receiver> gone = boost::make_shared<Receiver>("object that is gone");
  Receiver object("object"), bound("bound");
  image_transport::TransportHints hints("raw", ros::TransportHints().tcpNoDelay());
  show("transport of the hints", hints.getTransport());
  const image_transport::Subscriber by_function = transport.subscribe("images", 10, on_image);
  const image_transport::Subscriber by_function_with_hints = transport.subscribe("images", 10, &on_other_image, hints);
  const image_transport::Subscriber by_object = transport.subscribe("images", 10, &Receiver::on_image, &object);
  const image_transport::Subscriber by_shared = transport.subscribe("images", 10, &Receiver::on_image, owned, hints);
  const image_transport::Subscriber by_gone = transport.subscribe("images", 10, &Receiver::on_image, gone);
  const boost::function<void(const sensor_msgs::ImageConstPtr&)> lambda = [](const sensor_msgs::ImageConstPtr& image) {
    keep("lambda", *image);
  };
  image_transport::Subscriber by_lambda = transport.subscribe("images", 10, lambda);
  const image_transport::Subscriber by_bind =
      transport.subscribe("images", 10, boost::bind(&Receiver::on_image, &bound, boost::placeholders::_1));
  gone.reset();

  image_transport::Publisher publisher = transport.advertise("images", 10);
  show("publisher", publisher ? true : false);
  show("topic", publisher.getTopic());
  show("subscriber", by_lambda ? true : false);
  show("topic of the subscriber", by_lambda.getTopic());
  show("transport", by_lambda.getTransport());
  const std::vector<std::string> callbacks = {"function", "function with hints", "object", "shared object", "lambda",
                                              "bound"};
  connect(callbacks, [&] { publisher.publish(image(kProbe)); });
  show("has subscribers", publisher.getNumSubscribers() > 0);
  show("publishers", by_lambda.getNumPublishers());

  publisher.publish(image(1));
  const sensor_msgs::ImagePtr pointer = boost::make_shared<sensor_msgs::Image>(image(2));
  publisher.publish(pointer);
  publisher.publish(sensor_msgs::ImageConstPtr(boost::make_shared<sensor_msgs::Image>(image(3))));
  show("all images came", spin_until([&] {
         return std::all_of(callbacks.begin(), callbacks.end(), [](const auto& name) { return count(name) >= 3; });
       }));
  spin_a_while();
  show_what_came();

  by_lambda.shutdown();
  show("subscriber after shutdown", by_lambda ? true : false);
  show("transport after shutdown", by_lambda.getTransport());
  const image_transport::Publisher same = publisher;
  show("same", same == publisher);
  show("not same", same != publisher);
  show("empty is less", image_transport::Publisher() < publisher);
  show("another", image_transport::Subscriber() == by_lambda);
  publisher.publish(image(4));
  spin_until([] { return count("object") == 1 && count("bound") == 1; });
  spin_a_while();
  show_what_came();
  publisher.shutdown();
  show("publisher after shutdown", publisher ? true : false);
  show("its copy", same ? true : false);
  show("topic after shutdown", publisher.getTopic() + "|" + same.getTopic());
  show("subscribers after shutdown", publisher.getNumSubscribers() + same.getNumSubscribers());
  show("nothing", image_transport::Subscriber().getTopic() + image_transport::Subscriber().getTransport());
}

void statuses(ImageTransport& transport, ros::NodeHandle& node) {
  const auto status = [](const std::string& name) -> image_transport::SubscriberStatusCallback {
    return [name](const image_transport::SingleSubscriberPublisher& one) {
      got[name].push_back(one.getSubscriberName().substr(0, 12) + " " + one.getTopic() + " " +
                          std::to_string(one.getNumSubscribers()));
    };
  };
  boost::shared_ptr<int> tracked = boost::make_shared<int>(1);
  image_transport::Publisher publisher =
      transport.advertise("statuses", 10, status("came"), status("went"), tracked, true);
  image_transport::Subscriber subscriber = transport.subscribe("statuses", 10, on_image);
  show("came", spin_until([] { return count("came") > 0; }));
  publisher.publish(image(1));
  show("latched", spin_until([] { return count("function") == 1; }));
  subscriber.shutdown();
  show("went", spin_until([] { return count("went") > 0; }));
  got["went"].resize(1);
  spin_a_while();
  show_what_came();
  tracked.reset();
  subscriber = transport.subscribe("statuses", 10, on_image);
  spin_until([&] { return publisher.getNumSubscribers() == 1; });
  spin_a_while();
  show("nobody is told", count("came") == 0);
  got.clear();

  // A topic that has no transport left.
  node.setParam("disabled/disable_pub_plugins",
                std::vector<std::string>{"image_transport/raw", "image_transport/baton"});
  try {
    transport.advertise("disabled", 1);
    show("without a transport", std::string("advertised"));
  } catch (const image_transport::Exception&) {
    show("without a transport", std::string("image_transport::Exception"));
  }
  try {
    transport.subscribe("images", 1, on_image, image_transport::TransportHints("nonsense"));
    show("an unknown transport", std::string("subscribed"));
  } catch (const image_transport::TransportLoadException&) {
    show("an unknown transport", std::string("image_transport::TransportLoadException"));
  }
  // A topic that looks like that of a transport is subscribed all the same.
  show("topic", transport.subscribe("images/raw", 1, on_image).getTopic());
}

void one_subscriber(ImageTransport& transport) {
  const image_transport::Subscriber there_before = transport.subscribe("greeted", 10, on_image);
  const image_transport::SubscriberStatusCallback greet = [](const image_transport::SingleSubscriberPublisher& one) {
    one.publish(image(11));
    one.publish(boost::make_shared<sensor_msgs::Image>(image(12)));
  };
  const image_transport::Publisher publisher = transport.advertise("greeted", 10, greet);
  show("greeted", spin_until([] { return count("function") == 2; }));
  publisher.publish(image(13));
  show("and then as everybody", spin_until([] { return count("function") == 3; }));
  spin_a_while();
  show_what_came();
}

void cameras(ImageTransport& transport) {
  const boost::shared_ptr<Receiver> owned = boost::make_shared<Receiver>("camera shared object");
  Receiver object("camera object");
  const image_transport::TransportHints hints;
  image_transport::CameraSubscriber by_function = transport.subscribeCamera("camera/image", 10, on_camera);
  const image_transport::CameraSubscriber by_object =
      transport.subscribeCamera("camera/image", 10, &Receiver::on_camera, &object);
  const image_transport::CameraSubscriber by_shared =
      transport.subscribeCamera("camera/image", 10, &Receiver::on_camera, owned, hints);
  const image_transport::CameraSubscriber::Callback lambda = [](const sensor_msgs::ImageConstPtr& image,
                                                                const sensor_msgs::CameraInfoConstPtr& info) {
    keep("camera lambda", *image, *info);
  };
  const image_transport::CameraSubscriber by_lambda = transport.subscribeCamera("camera/image", 10, lambda);

  const image_transport::SubscriberStatusCallback image_came = [](const image_transport::SingleSubscriberPublisher&) {
    got["image came"] = {"yes"};
  };
  const ros::SubscriberStatusCallback info_came = [](const ros::SingleSubscriberPublisher&) {
    got["calibration came"] = {"yes"};
  };
  image_transport::CameraPublisher publisher =
      transport.advertiseCamera("camera/image", 10, image_came, image_transport::SubscriberStatusCallback(), info_came);
  show("camera", publisher ? true : false);
  show("topics", publisher.getTopic() + " " + publisher.getInfoTopic());
  show("topics of the subscriber", by_lambda.getTopic() + " " + by_lambda.getInfoTopic());
  show("transport", by_lambda.getTransport());
  const std::vector<std::string> callbacks = {"camera function", "camera object", "camera shared object",
                                              "camera lambda"};
  connect(callbacks, [&] { publisher.publish(image(kProbe), info(kProbe)); });
  show("has subscribers", publisher.getNumSubscribers() > 0);
  show("publishers", by_lambda.getNumPublishers());
  show("callbacks", spin_until([] { return count("image came") > 0 && count("calibration came") > 0; }));
  publisher.publish(image(1), info(1));
  publisher.publish(boost::make_shared<sensor_msgs::Image>(image(2)),
                    boost::make_shared<sensor_msgs::CameraInfo>(info(2)));
  sensor_msgs::Image stamped_image = image(3);
  sensor_msgs::CameraInfo stamped_info = info(3);
  publisher.publish(stamped_image, stamped_info, ros::Time(3, 5));
  show("stamped", words(stamped_image) + " " + words(stamped_info));
  publisher.publish(image(4), info(5));  // of two stamps: no pair
  publisher.publish(image(6), info(6));
  show("all pairs came", spin_until([&] {
         return std::all_of(callbacks.begin(), callbacks.end(), [](const auto& name) { return count(name) >= 4; });
       }));
  spin_a_while();
  show_what_came();

  show("subscriber", by_function ? true : false);
  by_function.shutdown();
  show("subscriber after shutdown", by_function ? true : false);
  const image_transport::CameraPublisher same = publisher;
  show("same", same == publisher && !(same != publisher) && !(same < publisher));
  publisher.publish(image(7), info(7));
  spin_until([] { return count("camera lambda") == 1 && count("camera object") == 1; });
  spin_a_while();
  show_what_came();
  publisher.shutdown();
  show("camera after shutdown", publisher ? true : false);
  show("topics after shutdown", publisher.getTopic() + "|" + publisher.getInfoTopic());
  show("subscribers after shutdown", publisher.getNumSubscribers());
}

void filters(ImageTransport& transport) {
  image_transport::SubscriberFilter left(transport, "left", 10), right;
  right.subscribe(transport, "right", 10, image_transport::TransportHints("raw"));
  message_filters::TimeSynchronizer<sensor_msgs::Image, sensor_msgs::Image> both(left, right, 10);
  const boost::function<void(const sensor_msgs::ImageConstPtr&, const sensor_msgs::ImageConstPtr&)> pair =
      [](const sensor_msgs::ImageConstPtr& one, const sensor_msgs::ImageConstPtr& other) {
        got["pair"].push_back(words(*one) + " and " + words(*other));
      };
  both.registerCallback(boost::bind(pair, boost::placeholders::_1, boost::placeholders::_2));
  show("topic", left.getTopic() + " " + left.getTransport() + " " + right.getSubscriber().getTopic());
  image_transport::Publisher lefts = transport.advertise("left", 10), rights = transport.advertise("right", 10);
  spin_until([&] { return lefts.getNumSubscribers() == 1 && rights.getNumSubscribers() == 1; });
  show("publishers", left.getNumPublishers());
  for (std::uint32_t number = 1; number < 4; ++number) {
    lefts.publish(image(number));
    rights.publish(image(number));
  }
  show("all pairs came", spin_until([] { return count("pair") == 3; }));
  left.unsubscribe();
  spin_until([&] { return lefts.getNumSubscribers() == 0; });
  show("subscribers after the end", lefts.getNumSubscribers());
  show_what_came();
}

}  // namespace

int main(int argc, char** argv) try {
  ros::init(argc, argv, "image_forms");
  ros::NodeHandle node;
  ImageTransport transport(node);
  names(transport);
  images(transport);
  statuses(transport, node);
  one_subscriber(transport);
  cameras(transport);
  filters(transport);
  std::cout << "end" << std::endl;
} catch (const std::exception& error) {
  std::cout << "exception " << error.what() << std::endl;
  return 1;
}
