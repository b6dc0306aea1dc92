// SPDX-License-Identifier: Apache-2.0
// ROS 1 with sensor_msgs/Image. `tcpros`: between processes. `tcpros_nagle`: the same without TCP_NODELAY, which roscpp sets only
// when it is asked (LOT, Fig. 6d). `printed`: the program of ROS-SF's Fig. 3 in the form that its converter gives it (Fig. 11):
// an object of its own for each message, made by new and published by reference. `nodelet`: a shared pointer is handed from
// publisher to subscribers, as between nodelets of one manager; roscpp does this within one process only. `preload`: tcpros with
// libbaton_roscpp.so preloaded at both ends; `preload_copying`: the same, and every received array is copied
// (BATON_HEAP=0). `lotros`: baton::ros1 at both ends, that is, types of Baton and no socket for data (LOT IV);
// `lotros_own_thread`: the same with callbacks in the subscription's own thread. `tzc`: the same as `lotros` with handles over
// TCPROS (TZC III). `transport_raw` and `transport_baton`: programs of image_transport with either transport; `transport_raw` is
// `tcpros` behind its interface.
// Compiled a second time with the headers of baton_ros1_messages it is the peer roscpp_recompiled: RosPublisher and
// RosSubscriber as they are, each message made by make_shared and published by pointer.
#include <malloc.h>
#include <ros/callback_queue.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>
#include <unistd.h>

#include <boost/make_shared.hpp>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>

#ifdef BATON_ROS_PACKAGES
#include <image_transport/image_transport.h>
#endif
#ifdef BATON_ROS1_MESSAGES
#include "baton/ros1/ros1.hpp"
#include "baton/ros1/sensor_msgs/image.hpp"
#endif
#include "arrivals.hpp"
#include "master.hpp"
#include "peer.hpp"
#include "restart.hpp"

namespace baton::perf {
namespace {

using sensor_msgs::Image;

void set_runtime_directory(const RunPlan& plan) {
  ::setenv("BATON_RUNTIME_DIR", plan.directory.c_str(), 1);
  for (const char* name : {"BATON_DOMAIN", "BATON_ROS1", "BATON_ROS1_MODE"}) ::unsetenv(name);
}

void set_preload([[maybe_unused]] const RunPlan& plan) {
#ifdef BATON_ROSCPP_LIBRARY
  prepend("LD_PRELOAD", BATON_ROSCPP_LIBRARY);
  set_runtime_directory(plan);
  if (plan.variant == "preload_copying") ::setenv("BATON_HEAP", "0", 1);
#endif
}

#ifdef BATON_ROS1_RECOMPILED
constexpr bool kIsRecompiled = true;
#else
constexpr bool kIsRecompiled = false;
#endif

bool is_preloaded(const RunPlan& plan) { return plan.variant == "preload" || plan.variant == "preload_copying"; }

bool has_types_of_baton(const RunPlan& plan) {
  return plan.variant == "lotros" || plan.variant == "lotros_own_thread" || plan.variant == "tzc";
}

[[maybe_unused]] bool has_image_transport(const RunPlan& plan) {
  return plan.variant == "transport_raw" || plan.variant == "transport_baton";
}

std::vector<std::string> variants() {
  if (kIsRecompiled) return {"pointer", "printed"};
  std::vector<std::string> names{"tcpros", "tcpros_nagle", "printed", "nodelet"};
#ifdef BATON_ROSCPP_LIBRARY
  names.emplace_back("preload");
  names.emplace_back("preload_copying");
#endif
#ifdef BATON_ROS1_MESSAGES
  names.emplace_back("lotros");
  names.emplace_back("lotros_own_thread");
  names.emplace_back("tzc");
#endif
#ifdef BATON_ROS_PACKAGES
  names.emplace_back("transport_raw");
  names.emplace_back("transport_baton");
#endif
  return names;
}

/// This process as a ROS node; shared by its ends.
class RosNode {
 public:
  static std::shared_ptr<RosNode> get(const RunPlan& plan) {
    if (is_preloaded(plan)) restart_once(plan, [&] { set_preload(plan); });
    if (has_types_of_baton(plan) || kIsRecompiled) set_runtime_directory(plan);
#ifdef BATON_ROS_PACKAGES
    if (has_image_transport(plan)) {
      set_runtime_directory(plan);
      ::setenv("ROS_PACKAGE_PATH", BATON_ROS_PACKAGES ":/usr/share", 1);
    }
#endif
    static std::mutex mutex;
    static std::weak_ptr<RosNode> known;
    const std::lock_guard<std::mutex> lock(mutex);
    std::shared_ptr<RosNode> node = known.lock();
    if (!node) known = node = std::shared_ptr<RosNode>(new RosNode(plan));
    return node;
  }
  ~RosNode() {
    handle_.reset();
    ros::shutdown();
  }
  /// With a callback queue of the caller's.
  ros::NodeHandle handle(ros::CallbackQueue* queue) {
    ros::NodeHandle copy(*handle_);
    copy.setCallbackQueue(queue);
    return copy;
  }
  /// One at a time: roscpp connects ends of one process twice if they are made at the same time.
  ros::Publisher advertise(const std::string& topic, unsigned depth) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return handle_->advertise<Image>(topic, depth);
  }
  ros::Subscriber subscribe(ros::SubscribeOptions& options) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return handle_->subscribe(options);
  }

 private:
  explicit RosNode(const RunPlan& plan) : master_(plan) {
    // roscpp allocates every message anew: so the C library must not return large blocks to the system each time.
    ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
    ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
    ::setenv("ROS_HOME", plan.directory.c_str(), 1);
    ::setenv("ROS_LOG_DIR", plan.directory.c_str(), 1);
    ros::init(ros::M_string{{"__master", master_.uri()}, {"__ip", plan.address()}},
              "perf_" + std::to_string(::getpid()), ros::init_options::NoSigintHandler | ros::init_options::NoRosout);
    handle_ = std::make_unique<ros::NodeHandle>();
  }
  RosMaster master_;  // destroyed last
  std::unique_ptr<ros::NodeHandle> handle_;
  std::mutex mutex_;
};

class RosPublisher : public PublisherEnd {
 public:
  explicit RosPublisher(const RunPlan& plan)
      : is_nodelet_(plan.variant == "nodelet"),
        is_printed_(plan.variant == "printed"),
        by_pointer_((is_nodelet_ || kIsRecompiled) && !is_printed_),
        node_(RosNode::get(plan)),
        publisher_(node_->advertise(plan.topic, plan.depth)) {
    if (is_nodelet_ && !plan.one_process) throw std::runtime_error("the variant nodelet needs one process");
  }
  std::byte* begin(std::size_t bytes) override {
    if (is_printed_) {
      printed_.reset(new Image);
      return fill_header(*printed_, bytes);
    }
    // A message without other owners is reused: a new one would zero its pixels first. A recompiled one is handed over.
    message_.reset();
    for (const auto& image : images_)
      if (image.use_count() == 1) message_ = image;
    if (!message_) {
      message_ = boost::make_shared<Image>();
      if (!kIsRecompiled) images_.push_back(message_);
    }
    return fill_header(*message_, bytes);
  }
  void publish(std::size_t) override {
    if (is_printed_) {
      publisher_.publish(*printed_);
      printed_.reset();  // it leaves its scope
    } else if (by_pointer_) {
      publisher_.publish(message_);
    } else {
      publisher_.publish(*message_);
    }
  }

 private:
  static std::byte* fill_header(Image& image, std::size_t bytes) {
    image.header.frame_id = "camera";
    image.height = 1;
    image.width = image.step = static_cast<std::uint32_t>(bytes);
    image.encoding = "mono8";
    image.data.resize(bytes);
    return reinterpret_cast<std::byte*>(image.data.data());
  }
  const bool is_nodelet_, is_printed_, by_pointer_;
  std::shared_ptr<RosNode> node_;
  ros::Publisher publisher_;
  std::vector<boost::shared_ptr<Image>> images_;
  boost::shared_ptr<Image> message_;
  std::unique_ptr<Image> printed_;
};

#ifdef BATON_ROS_PACKAGES
std::string transport_of(const RunPlan& plan) { return plan.variant.substr(plan.variant.find('_') + 1); }

class TransportPublisher : public PublisherEnd {
 public:
  explicit TransportPublisher(const RunPlan& plan)
      : node_(RosNode::get(plan)),
        publisher_(image_transport::ImageTransport(node_->handle(nullptr)).advertise(plan.topic, plan.depth)) {
    message_.header.frame_id = "camera";
    message_.height = 1;
    message_.encoding = "mono8";
  }
  ~TransportPublisher() override { publisher_.shutdown(); }
  std::byte* begin(std::size_t bytes) override {
    message_.width = message_.step = static_cast<std::uint32_t>(bytes);
    message_.data.resize(bytes);
    return reinterpret_cast<std::byte*>(message_.data.data());
  }
  void publish(std::size_t) override { publisher_.publish(message_); }

 private:
  std::shared_ptr<RosNode> node_;
  image_transport::Publisher publisher_;
  Image message_;
};

class TransportSubscriber : public SubscriberEnd {
 public:
  TransportSubscriber(const RunPlan& plan, Receiver& receiver) : node_(RosNode::get(plan)) {
    const boost::function<void(const boost::shared_ptr<const Image>&)> callback =
        [&receiver](const boost::shared_ptr<const Image>& image) {
          receiver.message(reinterpret_cast<const std::byte*>(image->data.data()), image->data.size());
        };
    subscriber_ =
        image_transport::ImageTransport(node_->handle(&queue_))
            .subscribe(plan.topic, plan.depth, callback, ros::VoidPtr(),
                       image_transport::TransportHints(transport_of(plan), ros::TransportHints().tcpNoDelay()));
  }
  ~TransportSubscriber() override { subscriber_.shutdown(); }
  void receive(std::chrono::nanoseconds timeout) override {
    queue_.callAvailable(ros::WallDuration(static_cast<double>(timeout.count()) * 1e-9));
  }

 private:
  std::shared_ptr<RosNode> node_;
  ros::CallbackQueue queue_;
  image_transport::Subscriber subscriber_;
};
#endif

class RosSubscriber : public SubscriberEnd {
 public:
  RosSubscriber(const RunPlan& plan, Receiver& receiver) : node_(RosNode::get(plan)) {
    ros::SubscribeOptions options = ros::SubscribeOptions::create<Image>(
        plan.topic, plan.depth,
        [&receiver](const boost::shared_ptr<const Image>& image) {
          receiver.message(reinterpret_cast<const std::byte*>(image->data.data()), image->data.size());
        },
        ros::VoidPtr(), &queue_);
    options.transport_hints = ros::TransportHints().tcpNoDelay(plan.variant != "tcpros_nagle");
    subscriber_ = node_->subscribe(options);
  }
  void receive(std::chrono::nanoseconds timeout) override {
    queue_.callAvailable(ros::WallDuration(static_cast<double>(timeout.count()) * 1e-9));
  }

 private:
  std::shared_ptr<RosNode> node_;
  ros::CallbackQueue queue_;
  ros::Subscriber subscriber_;
};

#ifdef BATON_ROS1_MESSAGES
using OwnImage = msg::sensor_msgs::Image;

ros1::Mode mode_of(const RunPlan& plan) { return plan.variant == "tzc" ? ros1::Mode::kTzc : ros1::Mode::kLotros; }

class OwnPublisher : public PublisherEnd {
 public:
  explicit OwnPublisher(const RunPlan& plan) : node_(RosNode::get(plan)) {
    ros::NodeHandle handle = node_->handle(nullptr);
    ros1::AdvertiseOptions options;
    options.mode = mode_of(plan);
    publisher_ = ros1::advertise<OwnImage>(handle, plan.topic, plan.depth, options);
  }
  ~OwnPublisher() override { publisher_.shutdown(); }
  std::byte* begin(std::size_t bytes) override {
    loan_ = publisher_.loan();
    loan_->header.frame_id = "camera";
    loan_->height = 1;
    loan_->width = loan_->step = static_cast<std::uint32_t>(bytes);
    loan_->encoding = "mono8";
    loan_->data.resize_for_overwrite(bytes);
    return reinterpret_cast<std::byte*>(loan_->data.data());
  }
  void publish(std::size_t) override { publisher_.publish(std::move(loan_)); }

 private:
  std::shared_ptr<RosNode> node_;
  ros1::Publisher<OwnImage> publisher_;
  Loan<OwnImage> loan_;
};

class OwnSubscriber : public SubscriberEnd {
 public:
  OwnSubscriber(const RunPlan& plan, Receiver& receiver)
      : node_(RosNode::get(plan)), own_thread_(plan.variant == "lotros_own_thread"), arrivals_(plan) {
    if (own_thread_ && plan.spin) throw std::runtime_error("the variant lotros_own_thread does not poll");
    ros::NodeHandle handle = node_->handle(&queue_);
    ros1::SubscribeOptions options;
    options.mode = mode_of(plan);
    options.own_thread = own_thread_;
    subscriber_ = ros1::subscribe<OwnImage>(
        handle, plan.topic, plan.depth,
        [this, &receiver](const OwnImage& image) {
          receiver.message(reinterpret_cast<const std::byte*>(image.data.data()), image.data.size());
          if (own_thread_) arrivals_.notify();
        },
        options);
  }
  ~OwnSubscriber() override { subscriber_.shutdown(); }
  void receive(std::chrono::nanoseconds timeout) override {
    if (own_thread_) return arrivals_.wait(timeout);
    queue_.callAvailable(ros::WallDuration(static_cast<double>(timeout.count()) * 1e-9));
  }

 private:
  std::shared_ptr<RosNode> node_;
  ros::CallbackQueue queue_;
  const bool own_thread_;
  Arrivals arrivals_;
  ros1::Subscriber<OwnImage> subscriber_;
};
#endif

}  // namespace

PeerInfo peer_info() {
  if (kIsRecompiled) {
    PeerInfo info{"roscpp_recompiled", ROSCPP_VERSION_STRING,
                  "the ordinary roscpp program, recompiled with Baton's sensor_msgs/Image: a new message for each "
                  "publish, which zeroes its pixels first; queues = depth, a callback queue per subscriber",
                  variants()};
    info.can_spin = true;
    return info;
  }
  PeerInfo info{"roscpp", ROSCPP_VERSION_STRING,
                "sensor_msgs/Image, TCP_NODELAY, queues = depth, a callback queue per subscriber; messages are reused, "
                "malloc keeps its memory. In one process "
                "roscpp itself passes tcpros's serialized messages on without TCP",
                variants()};
  info.can_spin = true;
  info.one_process_variants = {"nodelet"};
  info.network_variants = {"tcpros"};
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned) {
#ifdef BATON_ROS1_MESSAGES
  if (has_types_of_baton(plan)) return std::make_unique<OwnPublisher>(plan);
#endif
#ifdef BATON_ROS_PACKAGES
  if (has_image_transport(plan)) return std::make_unique<TransportPublisher>(plan);
#endif
  return std::make_unique<RosPublisher>(plan);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned, Receiver& receiver) {
#ifdef BATON_ROS1_MESSAGES
  if (has_types_of_baton(plan)) return std::make_unique<OwnSubscriber>(plan, receiver);
#endif
#ifdef BATON_ROS_PACKAGES
  if (has_image_transport(plan)) return std::make_unique<TransportSubscriber>(plan, receiver);
#endif
  return std::make_unique<RosSubscriber>(plan, receiver);
}

}  // namespace baton::perf
