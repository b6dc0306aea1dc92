// SPDX-License-Identifier: Apache-2.0
// ROS 2 through rcl, with the C++ type support of sensor_msgs/Image and rmw_fastrtps_cpp: what rclcpp does below its executor.
#include <rcl/error_handling.h>
#include <rcl/rcl.h>
#include <rcutils/logging.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <rosidl_typesupport_cpp/message_type_support.hpp>
#include <sensor_msgs/msg/image.hpp>
#include <stdexcept>

#include "keeper.hpp"
#include "peer.hpp"

namespace baton::perf {
namespace {

using sensor_msgs::msg::Image;

void check(rcl_ret_t result, const char* what) {
  if (result == RCL_RET_OK) return;
  const std::string why = rcl_get_error_string().str;
  rcl_reset_error();
  throw std::runtime_error(std::string(what) + ": " + why);
}

/// At the end of a run nothing is left to do about a failure.
void ended(rcl_ret_t) {}

const rosidl_message_type_support_t* type_support() { return rosidl_typesupport_cpp::get_message_type_support_handle<Image>(); }

/// Shared memory only, with room for all that may be unread; each message in one piece, written by the publisher's thread.
void write_profile(const Plan& plan, const std::string& path) {
  const std::size_t message = plan.bytes + 4096;
  const std::size_t segment = std::min<std::size_t>(std::max<std::size_t>(64 << 20, message * (plan.depth + 6)), 3U << 30);
  std::ofstream(path) << R"(<?xml version="1.0" encoding="UTF-8" ?>
<dds xmlns="http://www.eprosima.com"><profiles>
  <transport_descriptors><transport_descriptor>
    <transport_id>large</transport_id><type>SHM</type>
    <segment_size>)" << segment << "</segment_size><maxMessageSize>" << segment << R"(</maxMessageSize>
  </transport_descriptor></transport_descriptors>
  <participant profile_name="large" is_default_profile="true"><rtps>
    <userTransports><transport_id>large</transport_id></userTransports>
    <useBuiltinTransports>false</useBuiltinTransports>
  </rtps></participant>
</profiles></dds>
)";
}

/// What the middleware reads when it is initialized; the same for all ends of the process.
void set_environment(const Plan& plan) {
  for (const char* name : {"FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_BUILTIN_TRANSPORTS",
                           "RMW_IMPLEMENTATION", "RMW_FASTRTPS_USE_QOS_FROM_XML", "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS"})
    ::unsetenv(name);
  ::setenv("ROS_LOG_DIR", plan.directory.c_str(), 1);
  if (plan.variant != "tuned") return;
  const std::string path = plan.directory + "/fastdds_" + std::to_string(::getpid()) + ".xml";
  write_profile(plan, path);
  ::setenv("FASTDDS_DEFAULT_PROFILES_FILE", path.c_str(), 1);
  ::setenv("FASTRTPS_DEFAULT_PROFILES_FILE", path.c_str(), 1);  // its name in older versions
}

/// An end's context and node.
class Node {
 public:
  Node(const Plan& plan, const std::string& name) {
    KeeperTask task;
    task.leftovers = {"/dev/shm/fast*", "/dev/shm/sem.fast*"};
    join_keeper(plan, task);
    static std::once_flag once;
    std::call_once(once, [&] { set_environment(plan); });
    rcl_init_options_t options = rcl_get_zero_initialized_init_options();
    check(rcl_init_options_init(&options, rcl_get_default_allocator()), "rcl_init_options_init");
    check(rcl_init_options_set_domain_id(&options, 1 + run_number(plan, 99)), "rcl_init_options_set_domain_id");
    check(rcl_init(0, nullptr, &options, &context_), "rcl_init");
    ended(rcl_init_options_fini(&options));
    (void)rcutils_logging_set_default_logger_level(RCUTILS_LOG_SEVERITY_ERROR);
    rcl_node_options_t node_options = rcl_node_get_default_options();
    node_options.enable_rosout = false;
    check(rcl_node_init(&node_, name.c_str(), ("/" + run_namespace(plan)).c_str(), &context_, &node_options), "rcl_node_init");
  }
  ~Node() {
    ended(rcl_node_fini(&node_));
    ended(rcl_shutdown(&context_));
    ended(rcl_context_fini(&context_));
  }
  Node(const Node&) = delete;
  rcl_node_t* get() { return &node_; }
  rcl_context_t* context() { return &context_; }

 private:
  /// A name of ROS may not begin with a digit.
  static std::string run_namespace(const Plan& plan) {
    std::string name = "run_" + run_id(plan);
    for (std::size_t at; (at = name.find("__")) != std::string::npos;) name.erase(at, 1);
    return name;
  }
  rcl_context_t context_ = rcl_get_zero_initialized_context();
  rcl_node_t node_ = rcl_get_zero_initialized_node();
};

rmw_qos_profile_t qos_of(const Plan& plan) {
  rmw_qos_profile_t qos = rmw_qos_profile_default;
  qos.depth = plan.depth;
  if (!plan.reliable) qos.reliability = RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT;
  return qos;
}

class RosPublisher : public PublisherEnd {
 public:
  RosPublisher(const Plan& plan, unsigned index) : node_(plan, "publisher_" + std::to_string(index)) {
    rcl_publisher_options_t options = rcl_publisher_get_default_options();
    options.qos = qos_of(plan);
    check(rcl_publisher_init(&publisher_, node_.get(), type_support(), plan.topic.c_str(), &options), "rcl_publisher_init");
  }
  ~RosPublisher() override { ended(rcl_publisher_fini(&publisher_, node_.get())); }

  /// A driver keeps its message: the vector is allocated once. (An Image cannot be loaned: it has no fixed size.)
  std::byte* begin(std::size_t bytes) override {
    image_.header.frame_id = "camera";
    image_.height = 1;
    image_.width = image_.step = static_cast<std::uint32_t>(bytes);
    image_.encoding = "mono8";
    image_.data.resize(bytes);
    return reinterpret_cast<std::byte*>(image_.data.data());
  }
  void publish(std::size_t) override { check(rcl_publish(&publisher_, &image_, nullptr), "rcl_publish"); }

 private:
  Node node_;
  rcl_publisher_t publisher_ = rcl_get_zero_initialized_publisher();
  Image image_;
};

class RosSubscriber : public SubscriberEnd {
 public:
  RosSubscriber(const Plan& plan, unsigned index, Receiver& receiver) : receiver_(receiver), node_(plan, "subscriber_" + std::to_string(index)) {
    rcl_subscription_options_t options = rcl_subscription_get_default_options();
    options.qos = qos_of(plan);
    check(rcl_subscription_init(&subscription_, node_.get(), type_support(), plan.topic.c_str(), &options), "rcl_subscription_init");
    ended(rcl_subscription_options_fini(&options));
    check(rcl_wait_set_init(&wait_set_, 1, 0, 0, 0, 0, 0, node_.context(), rcl_get_default_allocator()), "rcl_wait_set_init");
  }
  ~RosSubscriber() override {
    ended(rcl_wait_set_fini(&wait_set_));
    ended(rcl_subscription_fini(&subscription_, node_.get()));
  }

  void receive(std::chrono::nanoseconds timeout) override {
    if (timeout.count() > 0) {
      check(rcl_wait_set_clear(&wait_set_), "rcl_wait_set_clear");
      check(rcl_wait_set_add_subscription(&wait_set_, &subscription_, nullptr), "rcl_wait_set_add_subscription");
      const rcl_ret_t result = rcl_wait(&wait_set_, timeout.count());
      if (result == RCL_RET_TIMEOUT) return;
      check(result, "rcl_wait");
    }
    for (;;) {
      const rcl_ret_t result = rcl_take(&subscription_, &image_, &info_, nullptr);
      if (result == RCL_RET_SUBSCRIPTION_TAKE_FAILED) return rcl_reset_error();
      check(result, "rcl_take");
      receiver_.message(reinterpret_cast<const std::byte*>(image_.data.data()), image_.data.size());
    }
  }

 private:
  Receiver& receiver_;
  Node node_;
  rcl_subscription_t subscription_ = rcl_get_zero_initialized_subscription();
  rcl_wait_set_t wait_set_ = rcl_get_zero_initialized_wait_set();
  rmw_message_info_t info_ = rmw_get_zero_initialized_message_info();
  Image image_;  // kept, so that its memory is reused
};

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{"ROS 2, rmw_fastrtps_cpp", BATON_RMW_VERSION,
                "rcl with sensor_msgs/Image, rcl_wait() or polling rcl_take(), messages reused at both ends; default: as installed; tuned: "
                "Fast DDS profile with shared memory only, segment for all unread messages, not fragmented",
                {"default", "tuned"}};
  info.can_spin = true;
  info.largest = std::size_t{1} << 30;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const Plan& plan, unsigned index) { return std::make_unique<RosPublisher>(plan, index); }
std::unique_ptr<SubscriberEnd> make_subscriber(const Plan& plan, unsigned index, Receiver& receiver) {
  return std::make_unique<RosSubscriber>(plan, index, receiver);
}

}  // namespace baton::perf
