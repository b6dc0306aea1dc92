// SPDX-License-Identifier: Apache-2.0
// An ordinary program of diagnostic_updater, compiled as it is and recompiled, in simulated time: prints what its tasks say, and what
// comes on /diagnostics, and "end". Both programs have to print the same.
#include <diagnostic_updater/diagnostic_updater.h>
#include <diagnostic_updater/publisher.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

#include <boost/make_shared.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

struct Size {
  int width, height;
};
std::ostream& operator<<(std::ostream& out, const Size& size) { return out << size.width << 'x' << size.height; }

// A form of a value that is the program's own.
namespace diagnostic_updater {
template <>
inline void DiagnosticStatusWrapper::add<Size>(const std::string& key, const Size& size) {
  addf(key, "%d by %d", size.width, size.height);
}
}  // namespace diagnostic_updater

namespace {

using diagnostic_updater::DiagnosticStatusWrapper;

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

std::vector<diagnostic_msgs::DiagnosticArrayConstPtr> came;
void on_diagnostics(const diagnostic_msgs::DiagnosticArrayConstPtr& all) { came.push_back(all); }
void show_what_came(std::size_t count) {
  std::cout << "came: " << (spin_until([&] { return came.size() >= count; }) ? "all" : "not all") << std::endl;
  for (const auto& all : came) {
    std::cout << "at " << all->header.stamp << std::endl;
    for (const auto& status : all->status) std::cout << status;
  }
  came.clear();
}

void show(diagnostic_updater::DiagnosticTask& task) {
  DiagnosticStatusWrapper status;
  task.run(status);
  std::cout << task.getName() << ":\n" << status;
}

struct Device {
  void check(DiagnosticStatusWrapper& status) {
    status.summaryf(diagnostic_msgs::DiagnosticStatus::WARN, "%d of %s", 3, "lamps");
    status.add("size", Size{3, 4});
    status.add("name", "lamp");
    status.add("good", true);
    status.add("number", 1.5);
    status.addf("text", "%s-%03d", "a", 7);
  }
};
void check(DiagnosticStatusWrapper& status) {
  status.summary(0, "ok");
  status.mergeSummary(1, "but");
  status.mergeSummaryf(2, "and %d", 5);
  status.mergeSummary(1, "less");
  DiagnosticStatusWrapper other;
  other.summary(2, "other");
  status.mergeSummary(other);
  status.add("gone", 1);
  status.clear();
  status.add("here", 2);
}
void check_unwrapped(diagnostic_msgs::DiagnosticStatus& status) {
  status.level = diagnostic_msgs::DiagnosticStatus::OK;
  status.message = "unwrapped";
}

void tasks() {
  double least = 2, most = 20, never = 0, always = 1.0 / never;
  diagnostic_updater::FrequencyStatus frequency(diagnostic_updater::FrequencyStatusParam(&least, &most, 0.1, 3));
  diagnostic_updater::FrequencyStatus anything(diagnostic_updater::FrequencyStatusParam(&never, &always), "anything");
  diagnostic_updater::TimeStampStatus stamps;
  diagnostic_updater::TimeStampStatus strict(diagnostic_updater::TimeStampStatusParam(-0.1, 0.1), "strict");
  diagnostic_updater::SlowTimeStampStatus slow(diagnostic_updater::DefaultTimeStampStatusParam);
  diagnostic_updater::Heartbeat heart;
  diagnostic_updater::CompositeDiagnosticTask all("all");
  for (diagnostic_updater::DiagnosticTask* const task :
       std::initializer_list<diagnostic_updater::DiagnosticTask*>{&frequency, &stamps, &strict, &slow, &heart}) {
    all.addTask(task);
  }
  double now = 1000;
  for (const int events : {0, 1, 3, 10, 100, 0}) {
    for (int i = 0; i < events; ++i) {
      frequency.tick();
      anything.tick();
      const double stamp = i == 50 ? 0 : now - 0.03 * i + (i == 5 ? 20 : 0);
      stamps.tick(stamp);
      strict.tick(ros::Time(stamp));
      slow.tick(ros::Time(stamp));
    }
    if (events == 1) strict.tick(0);
    ros::Time::setNow(ros::Time(now += 1));
    for (diagnostic_updater::DiagnosticTask* const task : std::initializer_list<diagnostic_updater::DiagnosticTask*>{
             &frequency, &anything, &stamps, &strict, &slow, &heart, &all}) {
      show(*task);
    }
    slow.tick(0.0);
    show(slow);
    show(strict);
  }
  frequency.clear();
  show(frequency);
}

void updates(ros::NodeHandle& node) {
  const ros::Subscriber subscriber = node.subscribe("/diagnostics", 100, on_diagnostics);
  diagnostic_updater::Updater updater(node, ros::NodeHandle("~"), "/diagnosed");
  const ros::Publisher look = node.advertise<diagnostic_msgs::DiagnosticArray>("/diagnostics", 1);
  spin_until([&] { return look.getNumSubscribers() > 0 && subscriber.getNumPublishers() > 0; });
  Device device;
  updater.setHardwareIDf("lamp %d", 5);
  updater.add("device", &device, &Device::check);
  show_what_came(1);
  updater.add("function", check);
  diagnostic_updater::UnwrappedFunctionDiagnosticTask unwrapped("unwrapped", check_unwrapped);
  diagnostic_updater::FunctionDiagnosticTask wrapped("wrapped", check);
  updater.add(unwrapped);
  updater.add(wrapped);
  diagnostic_updater::Heartbeat heart;
  updater.add(heart);
  show_what_came(4);
  updater.force_update();
  show_what_came(1);
  updater.update();  // not yet
  ros::Time::setNow(ros::Time::now() + ros::Duration(2));
  updater.update();
  show_what_came(1);
  std::cout << "removed: " << updater.removeByName("function") << updater.removeByName("nothing") << std::endl;
  updater.broadcast(1, "the end is near");
  show_what_came(1);
  std::cout << "period: " << updater.getPeriod() << std::endl;

  double least = 1, most = 100;
  diagnostic_updater::DiagnosedPublisher<sensor_msgs::Image> images(
      node.advertise<sensor_msgs::Image>("images", 1), updater, diagnostic_updater::FrequencyStatusParam(&least, &most),
      diagnostic_updater::TimeStampStatusParam());
  diagnostic_updater::HeaderlessTopicDiagnostic headless("headless", updater,
                                                         diagnostic_updater::FrequencyStatusParam(&least, &most));
  diagnostic_updater::TopicDiagnostic topic("topic", updater, diagnostic_updater::FrequencyStatusParam(&least, &most),
                                            diagnostic_updater::TimeStampStatusParam());
  show_what_came(3);
  std::vector<std::uint32_t> widths;
  const boost::function<void(const sensor_msgs::ImageConstPtr&)> on_image =
      [&](const sensor_msgs::ImageConstPtr& image) { widths.push_back(image->width); };
  const ros::Subscriber looks = node.subscribe<sensor_msgs::Image>("images", 10, on_image);
  spin_until([&] { return images.getPublisher().getNumSubscribers() > 0; });
  for (std::uint32_t i = 1; i < 4; ++i) {
    sensor_msgs::Image image;
    image.header.stamp = ros::Time::now();
    image.width = i;
    images.publish(image);
    spin_until([&] { return widths.size() >= 2 * i - 1; });
    images.publish(boost::make_shared<sensor_msgs::Image>(image));
    spin_until([&] { return widths.size() >= 2 * i; });
    headless.tick();
    topic.tick(ros::Time::now() - ros::Duration(10));
  }
  for (const std::uint32_t width : widths) std::cout << "image " << width << std::endl;
  ros::Time::setNow(ros::Time::now() + ros::Duration(1));
  updater.force_update();
  show_what_came(1);
}

}  // namespace

int main(int argc, char** argv) try {
  ros::init(argc, argv, "diagnostics", ros::init_options::NoRosout);
  ros::NodeHandle node;
  ros::Time::setNow(ros::Time(1000));
  tasks();
  updates(node);
  std::cout << "end" << std::endl;
} catch (const std::exception& error) {
  std::cout << "exception " << error.what() << std::endl;
  return 1;
}
