// SPDX-License-Identifier: Apache-2.0
// ROS 2 through rcl, with the C++ type support of sensor_msgs/Image and rmw_fastrtps_cpp: the same calls that rclcpp
// makes below its executor.
#include <rcl/error_handling.h>
#include <rcl/rcl.h>
#include <rcutils/logging.h>

#include <memory>
#include <rosidl_typesupport_cpp/message_type_support.hpp>
#include <sensor_msgs/msg/image.hpp>
#include <stdexcept>
#include <thread>

#include "keeper.hpp"
#include "middleware.hpp"
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

/// At the end of a run a failure has no consequence.
void ended(rcl_ret_t) {}

const rosidl_message_type_support_t* type_support() {
  return rosidl_typesupport_cpp::get_message_type_support_handle<Image>();
}

/// `heap` and `loans` are one setting and two ways to publish.
Middleware middleware_of(const RunPlan& plan) { return {plan.variant == "loans" ? "heap" : plan.variant}; }

/// An end's context and node, which live as long as the process.
class Node {
 public:
  static Node& make(const RunPlan& plan, const std::string& name) {
    auto node = std::make_shared<Node>(plan, name);
    at_the_end([node]() mutable { node.reset(); });
    return *node;
  }
  Node(const RunPlan& plan, const std::string& name) {
    use_middleware(plan, middleware_of(plan));
    KeeperTask task;
    task.leftovers = {"/dev/shm/fast*", "/dev/shm/sem.fast*"};
    join_keeper(plan, task);
    rcl_init_options_t options = rcl_get_zero_initialized_init_options();
    check(rcl_init_options_init(&options, rcl_get_default_allocator()), "rcl_init_options_init");
    check(rcl_init_options_set_domain_id(&options, ros_domain(plan)), "rcl_init_options_set_domain_id");
    check(rcl_init(0, nullptr, &options, &context_), "rcl_init");
    ended(rcl_init_options_fini(&options));
    (void)rcutils_logging_set_default_logger_level(RCUTILS_LOG_SEVERITY_ERROR);
    rcl_node_options_t node_options = rcl_node_get_default_options();
    node_options.enable_rosout = false;
    check(rcl_node_init(&node_, name.c_str(), ros_namespace(plan).c_str(), &context_, &node_options), "rcl_node_init");
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
  rcl_context_t context_ = rcl_get_zero_initialized_context();
  rcl_node_t node_ = rcl_get_zero_initialized_node();
};

rmw_qos_profile_t qos_of(const RunPlan& plan) {
  rmw_qos_profile_t qos = rmw_qos_profile_default;
  qos.depth = plan.depth;
  if (!plan.reliable) qos.reliability = RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT;
  return qos;
}

class RosPublisher : public PublisherEnd {
 public:
  RosPublisher(const RunPlan& plan, unsigned index)
      : plan_(plan), node_(Node::make(plan, "publisher_" + std::to_string(index))) {
    rcl_publisher_options_t options = rcl_publisher_get_default_options();
    options.qos = qos_of(plan);
    check(rcl_publisher_init(&publisher_, node_.get(), type_support(), plan.topic.c_str(), &options),
          "rcl_publisher_init");
  }
  ~RosPublisher() override { ended(rcl_publisher_fini(&publisher_, node_.get())); }

  /// A driver reuses its message: the vector is allocated once.
  std::byte* begin(std::size_t bytes) override {
    wait_for_subscribers();
    return prepare(image_, bytes);
  }
  void publish(std::size_t) override { check(rcl_publish(&publisher_, &image_, nullptr), "rcl_publish"); }

 protected:
  /// Before the first message: waits until the middleware knows all subscribers, and a little longer, since discovery
  /// is not measured.
  void wait_for_subscribers() {
    std::size_t found = plan_.live ? plan_.subscribers : 0;
    if (settled_) return;
    for (int i = 0; i < kMostPauses && found < plan_.subscribers; ++i) {
      std::this_thread::sleep_for(kPause);
      check(rcl_publisher_get_subscription_count(&publisher_, &found), "rcl_publisher_get_subscription_count");
    }
    if (!plan_.live) std::this_thread::sleep_for(kSettle);
    settled_ = true;
  }
  static std::byte* prepare(Image& image, std::size_t bytes) {
    image.header.frame_id = "camera";
    image.height = 1;
    image.width = image.step = static_cast<std::uint32_t>(bytes);
    image.encoding = "mono8";
    image.data.resize(bytes);
    return reinterpret_cast<std::byte*>(image.data.data());
  }
  const RunPlan plan_;
  Node& node_;
  rcl_publisher_t publisher_ = rcl_get_zero_initialized_publisher();

 private:
  static constexpr std::chrono::milliseconds kPause{10}, kSettle{300};
  static constexpr int kMostPauses = 3000;
  bool settled_ = false;
  Image image_;
};

/// As rclcpp's borrow_loaned_message(). An Image has no fixed size, so only rmw_baton_cpp lends one.
class LendingPublisher : public RosPublisher {
 public:
  using RosPublisher::RosPublisher;
  std::byte* begin(std::size_t bytes) override {
    wait_for_subscribers();
    if (!rcl_publisher_can_loan_messages(&publisher_))
      throw std::runtime_error("this publisher does not lend: libbaton_heap.so is not active");
    void* lent = nullptr;
    check(rcl_borrow_loaned_message(&publisher_, type_support(), &lent), "rcl_borrow_loaned_message");
    lent_ = static_cast<Image*>(lent);
    return prepare(*lent_, bytes);
  }
  void publish(std::size_t) override {
    check(rcl_publish_loaned_message(&publisher_, lent_, nullptr), "rcl_publish_loaned_message");
  }

 private:
  Image* lent_ = nullptr;
};

class RosSubscriber : public SubscriberEnd {
 public:
  RosSubscriber(const RunPlan& plan, unsigned index, Receiver& receiver)
      : receiver_(receiver),
        node_(Node::make(plan, "subscriber_" + std::to_string(index))),
        reuses_(middleware_of(plan).setting != "heap") {
    rcl_subscription_options_t options = rcl_subscription_get_default_options();
    options.qos = qos_of(plan);
    check(rcl_subscription_init(&subscription_, node_.get(), type_support(), plan.topic.c_str(), &options),
          "rcl_subscription_init");
    ended(rcl_subscription_options_fini(&options));
    check(rcl_wait_set_init(&wait_set_, 1, 0, 0, 0, 0, 0, node_.context(), rcl_get_default_allocator()),
          "rcl_wait_set_init");
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
      if (!reuses_) image_ = Image();
    }
  }

 private:
  Receiver& receiver_;
  Node& node_;
  rcl_subscription_t subscription_ = rcl_get_zero_initialized_subscription();
  rcl_wait_set_t wait_set_ = rcl_get_zero_initialized_wait_set();
  rmw_message_info_t info_ = rmw_get_zero_initialized_message_info();
  Image image_;
  const bool
      reuses_;  // the message's memory, which is faster if the payload is copied into it; otherwise a new one each
                // time, as in rclcpp
};

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{"ROS 2, C++",
                "rmw_fastrtps_cpp " BATON_RMW_VERSION,
                "rcl with sensor_msgs/Image, rcl_wait() or polling rcl_take(), messages reused at both ends (by "
                "subscribers with libbaton_heap.so: not); default: as installed; tuned: "
                "Fast DDS profile with shared memory only, segment for all unread messages, not fragmented; "
                "large_data: Fast DDS's "
                "LARGE_DATA transports; baton: rmw_baton_cpp; heap: with libbaton_heap.so; loans: messages borrowed "
                "from the publisher, too",
                {"default", "tuned", "large_data"}};
  if (*BATON_RMW_LIBRARY != '\0') info.variants.insert(info.variants.end(), {"baton", "heap", "loans"});
  info.network_variants = {"default", "large_data"};
  info.can_spin = true;
  info.largest = std::size_t{1} << 30;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned index) {
  if (plan.variant == "loans") return std::make_unique<LendingPublisher>(plan, index);
  return std::make_unique<RosPublisher>(plan, index);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned index, Receiver& receiver) {
  return std::make_unique<RosSubscriber>(plan, index, receiver);
}

}  // namespace baton::perf
