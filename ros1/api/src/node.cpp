// SPDX-License-Identifier: Apache-2.0
#include <ros/console.h>
#include <ros/init.h>
#include <ros/master.h>
#include <ros/this_node.h>

#include <cstdlib>
#include <mutex>

#include "baton/os/process.hpp"
#include "baton/ros1/endpoints.hpp"
#include "domain.hpp"

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
  if (std::getenv("BATON_DOMAIN") == nullptr) {
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

}  // namespace baton::ros1
