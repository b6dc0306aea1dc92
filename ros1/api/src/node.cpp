// SPDX-License-Identifier: Apache-2.0
#include <ros/console.h>
#include <ros/init.h>
#include <ros/master.h>
#include <ros/this_node.h>

#include <mutex>

#include "baton/os/environment.hpp"
#include "baton/os/process.hpp"
#include "baton/ros1/endpoints.hpp"
#include "baton/ros1/ros1.hpp"
#include "domain.hpp"
#include "graph_names.hpp"

namespace baton::ros1 {

std::shared_ptr<baton::Node> node() {
  static std::mutex mutex;
  static std::weak_ptr<baton::Node> known;
  const std::lock_guard<std::mutex> lock(mutex);
  if (auto alive = known.lock()) return alive;
  if (!ros::isInitialized()) {
    throw Exception(Error{Errc::invalid_argument, "baton::ros1: call ros::init() before advertise() and subscribe()"});
  }
  NodeOptions options;
  if (const char* const chosen = os::harmless_environment("BATON_DOMAIN"); chosen == nullptr || *chosen == '\0') {
    options.domain = domain_of_master(ros::master::getURI(), os::host_name());
  }
  options.use_global_arguments = false;  // roscpp has applied the rules of the command line
  options.on_diagnostic = [](const transport::Diagnostic& diagnostic) {
    if (diagnostic.level == transport::Diagnostic::Level::kError) {
      ROS_ERROR_NAMED("baton", "%s", diagnostic.text.c_str());
    } else if (diagnostic.level == transport::Diagnostic::Level::kWarning) {
      ROS_WARN_NAMED("baton", "%s", diagnostic.text.c_str());
    }
  };
  const std::string full = ros::this_node::getName();
  const std::size_t slash = full.rfind('/');
  options.ns = full.substr(0, slash);
  auto made = std::make_shared<baton::Node>(full.substr(slash + 1), options);
  known = made;
  return made;
}

Mode default_mode() {
  const char* const value = os::environment("BATON_ROS1_MODE");
  const std::string mode = value == nullptr ? "" : value;
  if (mode.empty() || mode == "lotros") return Mode::kLotros;
  if (mode == "tzc") return Mode::kTzc;
  throw Exception(Error{Errc::invalid_argument, "BATON_ROS1_MODE is '" + mode + "'; it has to be lotros or tzc"});
}

namespace detail {
namespace {

std::shared_ptr<transport::Reader> mark(baton::Node& node, const std::string& name) {
  static const message::Type nothing{"baton_ros1/Mode", 0, 1, nullptr, 0, true, {}, ""};
  return node.make_reader(name, nothing, QoS(1));
}

}  // namespace

std::shared_ptr<transport::Reader> announce_publisher(baton::Node& node, const std::string& topic, Mode mode) {
  return mode == Mode::kTzc ? mark(node, side_publisher(topic)) : nullptr;
}

std::shared_ptr<transport::Reader> make_reader_for_ros(baton::Node& node, const std::string& topic,
                                                       const message::Type& type, std::uint32_t queue_size, Mode mode,
                                                       std::uint32_t held) {
  struct Announced {
    std::shared_ptr<transport::Reader> announcement, reader;  // in this order, which is that of the graph
  };
  const auto both = std::make_shared<Announced>();
  if (mode == Mode::kTzc) both->announcement = mark(node, side_topic(topic));
  both->reader = node.make_reader(topic, type, QoS(depth_of(queue_size, mode)).hold(held));
  return {both, both->reader.get()};
}

}  // namespace detail
}  // namespace baton::ros1
