// SPDX-License-Identifier: Apache-2.0
// Ordinary roscpp code in the forms that programs write, recompiled; without a word of Baton. Prints a line per check, which
// ends in "good" or "bad", and "end".
#include <message_filters/subscriber.h>
#include <ros/message_forward.h>
#include <ros/ros.h>

// Declared before their headers, by ROS's macro and by hand.
namespace sensor_msgs {
ROS_DECLARE_MESSAGE(CameraInfo)
template <class Allocator>
struct PointCloud2_;
}  // namespace sensor_msgs
namespace {
std::uint32_t width_of(const sensor_msgs::CameraInfoConstPtr& info);
template <class Allocator>
std::uint32_t width_of(const sensor_msgs::PointCloud2_<Allocator>& cloud);
}  // namespace

#include <sensor_msgs/CameraInfo.h>
#include <sensor_msgs/Image.h>
#include <sensor_msgs/PointCloud2.h>
#include <sensor_msgs/point_cloud2_iterator.h>
#include <std_msgs/String.h>

#include <algorithm>
#include <boost/make_shared.hpp>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

constexpr std::size_t kBytes = 300'000;

void check(const std::string& what, bool good) { std::cout << what << (good ? ": good" : ": bad") << std::endl; }

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

sensor_msgs::ImagePtr image(std::uint32_t number) {
  sensor_msgs::ImagePtr made(new sensor_msgs::Image);
  made->width = number;
  made->data.assign(kBytes, static_cast<std::uint8_t>(number));
  return made;
}
template <class Message>
bool is_image(const Message& message, std::uint32_t number) {
  return message.width == number && message.data.size() == kBytes && message.data.front() == number % 256 &&
         message.data.back() == number % 256;
}

struct Receiver {
  void by_const_pointer(const sensor_msgs::ImageConstPtr& message) { pointers.push_back(message); }
  void by_reference(const sensor_msgs::Image& message) { numbers.push_back(message.width); }
  void by_value(sensor_msgs::Image message) { values.push_back(message); }
  void by_changeable_pointer(const sensor_msgs::ImagePtr& message) {
    message->data[0] = 99;
    changed.push_back(message);
  }
  void by_event(const ros::MessageEvent<const sensor_msgs::Image>& event) {
    publishers.push_back(event.getPublisherName());
    stamped = event.getReceiptTime() > ros::Time(1'600'000'000);
  }
  std::vector<sensor_msgs::ImageConstPtr> pointers;
  std::vector<std::uint32_t> numbers;
  std::vector<sensor_msgs::Image> values;
  std::vector<sensor_msgs::ImagePtr> changed;
  std::vector<std::string> publishers;
  bool stamped = false;
};

std::uint32_t width_of(const sensor_msgs::CameraInfoConstPtr& info) { return info->width; }
template <class Allocator>
std::uint32_t width_of(const sensor_msgs::PointCloud2_<Allocator>& cloud) {
  return cloud.width;
}
template <class Allocator>
std::uint32_t width_of(const boost::shared_ptr<const sensor_msgs::Image_<Allocator>>& image) {
  return image->width;
}
template <class Allocator>
typename sensor_msgs::Image_<Allocator>::Ptr copy_of(const sensor_msgs::Image_<Allocator>& image) {
  return boost::make_shared<sensor_msgs::Image_<Allocator>>(image);
}
template <class Allocator, class OfBytes = typename Allocator::template rebind<std::uint8_t>::other>
std::size_t allocator_bytes(const sensor_msgs::Image_<Allocator>&) {
  return sizeof(OfBytes);
}
template <class M>
struct IsPicture : std::false_type {};
template <class Allocator>
struct IsPicture<sensor_msgs::Image_<Allocator>> : std::true_type {};

void templates() {
  sensor_msgs::PointCloud2 cloud;
  cloud.width = 4;
  const auto info = boost::make_shared<sensor_msgs::CameraInfo>();
  info->width = 5;
  const sensor_msgs::ImageConstPtr six = image(6);
  check("templates on an allocator take messages",
        width_of(cloud) == 4 && width_of(info) == 5 && width_of(six) == 6 && copy_of(*six)->width == 6 &&
            allocator_bytes(*six) > 0 && IsPicture<sensor_msgs::Image>() && !IsPicture<sensor_msgs::CameraInfo>());
}

void callbacks_of_all_kinds(ros::NodeHandle& node) {
  Receiver receiver;
  const ros::Subscriber all[] = {node.subscribe("forms", 100, &Receiver::by_const_pointer, &receiver),
                                 node.subscribe("forms", 100, &Receiver::by_reference, &receiver),
                                 node.subscribe("forms", 100, &Receiver::by_value, &receiver),
                                 node.subscribe("forms", 100, &Receiver::by_changeable_pointer, &receiver),
                                 node.subscribe("forms", 100, &Receiver::by_event, &receiver)};
  int connected = 0;
  const ros::Publisher publisher = node.advertise<sensor_msgs::Image>(
      "forms", 100, [&](const ros::SingleSubscriberPublisher& who) { connected += who.getTopic() == "/forms"; });
  check("a publisher knows its subscribers", spin_until([&] { return publisher.getNumSubscribers() >= 5; }));
  check("the connect callback is called", spin_until([&] { return connected == 1; }));
  const sensor_msgs::ImagePtr kept = image(1);
  publisher.publish(kept);
  sensor_msgs::Image on_stack = *image(2);
  publisher.publish(on_stack);
  on_stack.data.assign(kBytes, 0);
  on_stack.width = 0;
  publisher.publish(sensor_msgs::ImageConstPtr(image(3)));
  publisher.publish(boost::make_shared<sensor_msgs::Image>(*image(4)));
  publisher.publish(kept);
  check("five messages come in every form", spin_until([&] {
          return receiver.pointers.size() == 5 && receiver.numbers.size() == 5 && receiver.values.size() == 5 &&
                 receiver.changed.size() == 5 && receiver.publishers.size() == 5;
        }));
  const std::uint32_t order[] = {1, 2, 3, 4, 1};
  bool good = true, changed = true;
  for (std::size_t i = 0; i < 5; ++i) {
    good = good && receiver.pointers[i]->header.seq == i && is_image(*receiver.pointers[i], order[i]) &&
           is_image(receiver.values[i], order[i]) && receiver.numbers[i] == order[i];
    changed = changed && receiver.changed[i]->data[0] == 99 && receiver.changed[i]->data[1] == order[i];
  }
  check("they are right, in order, and the second publishing of a message too", good);
  check("a callback that may change its message has one of its own", changed);
  check("a publisher may read what it published", is_image(*kept, 1));
  check("an event says who published", receiver.publishers[0] == ros::this_node::getName() && receiver.stamped);
}

void many_kept_messages(ros::NodeHandle& node) {
  std::vector<std_msgs::StringConstPtr> kept;
  const boost::function<void(const std_msgs::StringConstPtr&)> keep = [&](const std_msgs::StringConstPtr& message) {
    kept.push_back(message);
  };
  const ros::Subscriber subscriber = node.subscribe<std_msgs::String>("kept", 100, keep);
  const ros::Publisher publisher = node.advertise<std_msgs::String>("kept", 100);
  spin_until([&] { return publisher.getNumSubscribers() > 0; });
  for (std::size_t i = 0; i < 1000; ++i) {
    const std_msgs::StringPtr message = boost::make_shared<std_msgs::String>();
    message->data = "message " + std::to_string(i);
    publisher.publish(message);
    if (!spin_until([&] { return kept.size() == i + 1; })) break;
  }
  bool good = kept.size() == 1000;
  for (std::size_t i = 0; i < kept.size(); ++i) good = good && kept[i]->data == "message " + std::to_string(i);
  check("a subscriber may keep a thousand messages", good);
}

void ends(ros::NodeHandle& node) {
  int count = 0;
  ros::Subscriber subscriber;
  const boost::function<void(const std_msgs::StringConstPtr&)> once = [&](const std_msgs::StringConstPtr&) {
    ++count;
    subscriber.shutdown();
  };
  subscriber = node.subscribe<std_msgs::String>("ends", 10, once);
  ros::Publisher publisher = node.advertise<std_msgs::String>("ends", 10, true);
  spin_until([&] { return publisher.getNumSubscribers() > 0; });
  std_msgs::String text;
  text.data = "last words";
  publisher.publish(text);
  publisher.publish(text);
  check("a message comes", spin_until([&] { return count > 0; }));
  spin_a_while();
  check("a callback may end its subscription", count == 1 && !subscriber);
  std::string latched;
  const boost::function<void(const std_msgs::String&)> late = [&](const std_msgs::String& message) {
    latched = message.data;
  };
  subscriber = node.subscribe<std_msgs::String>("ends", 10, late);
  check("a late subscriber gets the latched message", spin_until([&] { return latched == "last words"; }));
  publisher.shutdown();
  check("a publisher that was shut down is empty", !publisher && publisher.getNumSubscribers() == 0);
  latched.clear();
  subscriber = node.subscribe<std_msgs::String>("ends", 10, late);
  spin_a_while();
  check("it latches nothing any more", latched.empty());
  const auto object = boost::make_shared<int>(0);
  ros::SubscribeOptions options = ros::SubscribeOptions::create<std_msgs::String>(
      "tracked", 10, [&](const std_msgs::StringConstPtr&) { ++count; }, object, nullptr);
  const ros::Subscriber tracking = node.subscribe(options);
  publisher = node.advertise<std_msgs::String>("tracked", 10);
  spin_until([&] { return publisher.getNumSubscribers() > 0; });
  publisher.publish(text);
  check("a tracked object's callback is called", spin_until([&] { return count == 2; }));
}

void tracked_object_that_ends(ros::NodeHandle& node) {
  int count = 0;
  auto object = boost::make_shared<int>(0);
  ros::SubscribeOptions options = ros::SubscribeOptions::create<std_msgs::String>(
      "gone", 10, [&](const std_msgs::StringConstPtr&) { ++count; }, object, nullptr);
  const ros::Subscriber tracking = node.subscribe(options);
  options = ros::SubscribeOptions();
  const ros::Publisher publisher = node.advertise<std_msgs::String>("gone", 10);
  spin_until([&] { return publisher.getNumSubscribers() > 0; });
  object.reset();
  publisher.publish(std_msgs::String());
  spin_a_while();
  check("no callback is called for a tracked object that is gone", count == 0);
}

void two_publishers_of_a_type(ros::NodeHandle& node) {
  std::vector<std::uint32_t> left, right;
  const boost::function<void(const sensor_msgs::ImageConstPtr&)> on_left = [&](const sensor_msgs::ImageConstPtr& m) {
    left.push_back(is_image(*m, m->width) ? m->width : 0);
  };
  const boost::function<void(const sensor_msgs::ImageConstPtr&)> on_right = [&](const sensor_msgs::ImageConstPtr& m) {
    right.push_back(is_image(*m, m->width) ? m->width : 0);
  };
  const ros::Subscriber subscribers[] = {node.subscribe<sensor_msgs::Image>("left", 10, on_left),
                                         node.subscribe<sensor_msgs::Image>("right", 10, on_right)};
  const ros::Publisher to_left = node.advertise<sensor_msgs::Image>("left", 10);
  const ros::Publisher to_right = node.advertise<sensor_msgs::Image>("right", 10);
  spin_until([&] { return to_left.getNumSubscribers() > 0 && to_right.getNumSubscribers() > 0; });
  const sensor_msgs::ImagePtr a = image(7), b = image(8);
  to_left.publish(a);
  to_right.publish(b);
  to_right.publish(a);
  check("messages of one type go where they are published",
        spin_until([&] { return left.size() == 1 && right.size() == 2; }) && left[0] == 7 && right[0] == 8 &&
            right[1] == 7);
}

void a_message_of_another_type(ros::NodeHandle& node) {
  int count = 0;
  const boost::function<void(const std_msgs::StringConstPtr&)> on_text = [&](const std_msgs::StringConstPtr& text) {
    count += text->data == "right";
  };
  const ros::Subscriber subscriber = node.subscribe<std_msgs::String>("texts", 10, on_text);
  const ros::Publisher publisher = node.advertise<std_msgs::String>("texts", 10);
  spin_until([&] { return publisher.getNumSubscribers() > 0; });
  publisher.publish(*image(1));
  std_msgs::String text;
  text.data = "right";
  publisher.publish(text);
  check("a message of another type is lost, and no other", spin_until([&] { return count == 1; }));
}

void relay(ros::NodeHandle& node) {
  const ros::Publisher out = node.advertise<sensor_msgs::Image>("relayed", 10);
  std::vector<sensor_msgs::ImageConstPtr> relayed;
  const boost::function<void(const sensor_msgs::ImageConstPtr&)> forward = [&](const sensor_msgs::ImageConstPtr& m) {
    out.publish(m);
  };
  const boost::function<void(const sensor_msgs::ImageConstPtr&)> keep = [&](const sensor_msgs::ImageConstPtr& m) {
    relayed.push_back(m);
  };
  message_filters::Subscriber<sensor_msgs::Image> filtered(node, "to_relay", 10);
  filtered.registerCallback(forward);
  const ros::Subscriber subscriber = node.subscribe<sensor_msgs::Image>("relayed", 10, keep);
  const ros::Publisher in = node.advertise<sensor_msgs::Image>("to_relay", 10);
  spin_until([&] { return in.getNumSubscribers() > 0 && out.getNumSubscribers() > 0; });
  in.publish(image(5));
  check("a received message may be published, behind message_filters",
        spin_until([&] { return relayed.size() == 1; }) && is_image(*relayed[0], 5));
}

void values() {
  sensor_msgs::CameraInfo info;
  info.K[0] = 525.0;
  info.D.push_back(0.25);
  info.D.resize(5);
  info.distortion_model = "plumb_bob";
  info.distortion_model += "!";
  sensor_msgs::CameraInfo other = info;
  const std::vector<double> distortion = info.D;
  const std::string model = info.distortion_model;
  check("a copy is equal, and independent",
        other == info && (other.D[0] = 1.0, other != info) && distortion.size() == 5 && model == "plumb_bob!");
  info.header.stamp = ros::Time(3, 500'000'000);
  check("stamps are ros::Time", (info.header.stamp - ros::Time(1)).toSec() == 2.5);
  const std::unique_ptr<sensor_msgs::Image> unique(new sensor_msgs::Image());
  const auto shared = std::make_shared<sensor_msgs::Image>();
  std::vector<sensor_msgs::Image> several(3);
  several.resize(100);
  check("messages live wherever objects do",
        unique->data.empty() && shared->data.empty() && several.back().data.empty());
}

/// With 5 points (i, 2i, 3i) of the color (i, 0, 255).
sensor_msgs::PointCloud2Ptr cloud() {
  auto made = boost::make_shared<sensor_msgs::PointCloud2>();
  sensor_msgs::PointCloud2Modifier modifier(*made);
  modifier.setPointCloud2FieldsByString(2, "xyz", "rgb");
  modifier.resize(5);
  sensor_msgs::PointCloud2Iterator<float> x(*made, "x"), y(*made, "y"), z(*made, "z");
  sensor_msgs::PointCloud2Iterator<std::uint8_t> red(*made, "r"), blue(*made, "b");
  for (int i = 0; x != x.end(); ++i, ++x, ++y, ++z, ++red, ++blue) {
    *x = static_cast<float>(i);
    *y = static_cast<float>(2 * i);
    *z = static_cast<float>(3 * i);
    *red = static_cast<std::uint8_t>(i);
    *blue = 255;
  }
  return made;
}

/// Fields' iterators by their names in std::vector.
void iterators() {
  const sensor_msgs::PointCloud2Ptr made = cloud();
  int found = 0;
  for (std::vector<sensor_msgs::PointField>::iterator field = made->fields.begin(); field != made->fields.end();
       ++field) {
    if (field->name == "y") field = made->fields.erase(field);
    found += field->name == "z";
  }
  const sensor_msgs::PointCloud2ConstPtr constant = made;
  for (std::vector<sensor_msgs::PointField>::const_iterator field = constant->fields.begin();
       field != constant->fields.end(); ++field) {
    found += field->name == "rgb" ? 10 : 0;
  }
  check("iterators of messages have the names of std::vector's", found == 11 && made->fields.size() == 3);
  sensor_msgs::CameraInfo info;
  info.D.assign(4, 0.5);
  std::vector<double>::iterator second = info.D.begin() + 1;
  *second = 3;
  second = info.D.insert(second, 7);
  const std::vector<double>::const_reverse_iterator last = static_cast<const sensor_msgs::CameraInfo&>(info).D.rbegin();
  const std::vector<double>::iterator largest = std::max_element(info.D.begin(), info.D.end());
  bool good = *second == 7 && *last == 0.5 && largest - info.D.begin() == 1 && info.D.size() == 5;
  info.D.reserve(10);
  info.D.insert(info.D.end(), info.D.begin(), info.D.begin() + 2);
  good = good && info.D.size() == 7 && info.D.back() == 7;
  check("and so have those of numbers", good);
  const std::vector<std::uint8_t>::iterator end = std::remove(made->data.begin(), made->data.end(), 255);
  made->data.erase(end, made->data.end());
  check("algorithms take them", made->data.size() == 5 * 32 - 5 && std::vector<std::uint8_t>(made->data).size() == 155);
}

void point_clouds(ros::NodeHandle& node) {
  sensor_msgs::PointCloud2ConstPtr received;
  const boost::function<void(const sensor_msgs::PointCloud2ConstPtr&)> keep =
      [&](const sensor_msgs::PointCloud2ConstPtr& m) { received = m; };
  const ros::Subscriber subscriber = node.subscribe<sensor_msgs::PointCloud2>("clouds", 10, keep);
  const ros::Publisher publisher = node.advertise<sensor_msgs::PointCloud2>("clouds", 10);
  spin_until([&] { return publisher.getNumSubscribers() > 0; });
  publisher.publish(cloud());
  bool good = spin_until([&] { return received != nullptr; }) && received->width == 5 && received->point_step == 32 &&
              received->fields.size() == 4 && received->fields[3].name == "rgb";
  int count = 0;
  if (good) {
    sensor_msgs::PointCloud2ConstIterator<float> x(*received, "x"), z(*received, "z");
    sensor_msgs::PointCloud2ConstIterator<std::uint8_t> color(*received, "rgb");
    for (; x != x.end(); ++count, ++x, ++z, ++color) {
      const auto i = static_cast<float>(count);
      good = good && x[0] == i && x[1] == 2 * i && *z == 3 * i && color[0] == 255 && color[1] == 0 && color[2] == count;
    }
  }
  check("the modifier and the iterators of point clouds work", good && count == 5);
  bool thrown = false;
  try {
    const sensor_msgs::PointCloud2ConstIterator<float> none(*received, "intensity");
  } catch (const std::runtime_error& problem) {
    thrown = problem.what() == std::string("Field intensity does not exist");
  }
  check("a field that a cloud has not is an exception", thrown);
}

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "recompiled_forms");
  ros::NodeHandle node;
  values();
  templates();
  callbacks_of_all_kinds(node);
  many_kept_messages(node);
  ends(node);
  tracked_object_that_ends(node);
  two_publishers_of_a_type(node);
  a_message_of_another_type(node);
  relay(node);
  iterators();
  point_clouds(node);
  std::cout << "end" << std::endl;
}
