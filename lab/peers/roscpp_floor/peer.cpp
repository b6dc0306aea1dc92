// SPDX-License-Identifier: Apache-2.0
// What an unchanged roscpp program cannot do without, and not a transport: the publisher serializes a
// sensor_msgs/Image with roscpp's own code into shared memory and wakes the subscribers. Variants `copies...`: each
// subscriber deserializes with roscpp's own code into a new message. Variants `mapping...`: the pixels stay in a
// private mapping of the shared memory; the subscriber writes their first element, as the std::vector of a message
// does, and gives the changed page back after the callback. The wake is one futex call for all; in the variants
// `..._woken_by_roscpp` it is a message of four bytes from stock roscpp to the subscriber's callback queue, which an
// unchanged program waits for. No queue, no life cycle, no safety: of a reader that wakes late the older messages are
// lost.
#include <malloc.h>
#include <ros/callback_queue.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>
#include <std_msgs/UInt32.h>
#include <unistd.h>

#include <boost/make_shared.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "baton/os/child.hpp"
#include "baton/os/clock.hpp"
#include "baton/os/futex.hpp"
#include "baton/os/private_mapping.hpp"
#include "baton/os/process.hpp"
#include "baton/os/shared_memory.hpp"
#include "baton/os/sparse_memory.hpp"
#include "master.hpp"
#include "peer.hpp"

namespace baton::perf {
namespace {

using sensor_msgs::Image;

/// Two, so that a message may still be read while the next one is written, and both stay in the processor's caches as
/// far as they fit.
constexpr std::uint32_t kSlots = 2;
constexpr std::size_t kMoreThanPixels = 4096;  // room for the header and the encoding of a serialized image

struct Control {
  std::atomic<std::uint32_t> word;  // counts messages
  std::atomic<std::uint32_t> bytes[kSlots];
};

struct Shape {
  explicit Shape(const RunPlan& plan)
      : slot(os::round_to_pages(plan.bytes + kMoreThanPixels)), total(os::page_bytes() + kSlots * slot) {}
  std::size_t place(std::uint32_t number) const { return os::page_bytes() + number % kSlots * slot; }
  std::size_t slot, total;
};

std::string where(const RunPlan& plan) { return plan.directory + "/" + plan.topic + "_floor"; }

void keep_memory() {
  // As the peer roscpp: the C library must not return large blocks to the system each time.
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

bool is_woken_by_roscpp(const RunPlan& plan) { return plan.variant.find("roscpp") != std::string::npos; }

/// This process as a node of stock roscpp. One per process.
class WakingNode {
 public:
  explicit WakingNode(const RunPlan& plan) : master_(plan) {
    if (plan.one_process) throw std::runtime_error("roscpp wakes one end per process only");
    ::setenv("ROS_HOME", plan.directory.c_str(), 1);
    ::setenv("ROS_LOG_DIR", plan.directory.c_str(), 1);
    ros::init(ros::M_string{{"__master", master_.uri()}, {"__ip", plan.address()}},
              "floor_" + std::to_string(::getpid()), ros::init_options::NoSigintHandler | ros::init_options::NoRosout);
    handle_ = std::make_unique<ros::NodeHandle>();
  }
  ~WakingNode() {
    handle_.reset();
    ros::shutdown();
  }
  ros::NodeHandle& handle() { return *handle_; }

 private:
  RosMaster master_;  // destroyed last
  std::unique_ptr<ros::NodeHandle> handle_;
};

class FloorPublisher : public PublisherEnd {
 public:
  explicit FloorPublisher(const RunPlan& plan) : shape_(plan) {
    if (plan.publishers != 1) throw std::runtime_error("there is one segment, so there can be only one publisher");
    keep_memory();
    os::CreatedSegment segment =
        os::create_segment("baton-perf-floor", shape_.total, os::Writers::kBothEnds).or_throw();
    mapping_ = std::move(segment.mapping);
    fd_ = std::move(segment.fd);
    // Under another name first: a process that finds the file finds all of it.
    const std::string path = where(plan), temporary = path + ".new";
    std::ofstream(temporary) << os::process_id() << ' ' << fd_.get() << '\n';
    if (std::rename(temporary.c_str(), path.c_str()) != 0) throw std::runtime_error("cannot write " + path);
    if (!is_woken_by_roscpp(plan)) return;
    node_ = std::make_unique<WakingNode>(plan);
    waker_ = node_->handle().advertise<std_msgs::UInt32>(plan.topic, plan.depth);
  }
  ~FloorPublisher() override { waker_.shutdown(); }
  std::byte* begin(std::size_t bytes) override {
    message_.header.frame_id = "camera";
    message_.height = 1;
    message_.width = message_.step = static_cast<std::uint32_t>(bytes);
    message_.encoding = "mono8";
    message_.data.resize(bytes);
    return reinterpret_cast<std::byte*>(message_.data.data());
  }
  void publish(std::size_t) override {
    auto& control = *reinterpret_cast<Control*>(mapping_.base());
    const std::uint32_t bytes = ros::serialization::serializationLength(message_);
    if (bytes > shape_.slot) throw std::runtime_error("the message is larger than its place");
    ros::serialization::OStream stream(reinterpret_cast<std::uint8_t*>(mapping_.base() + shape_.place(count_)), bytes);
    ros::serialization::serialize(stream, message_);
    control.bytes[count_ % kSlots].store(bytes, std::memory_order_relaxed);
    control.word.store(++count_, std::memory_order_release);  // pairs with the acquire in receive()
    if (!node_) {
      os::futex_wake(&control.word, 1 << 30);
      return;
    }
    std_msgs::UInt32 count;
    count.data = count_;
    waker_.publish(count);
  }

 private:
  const Shape shape_;
  os::SharedMapping mapping_;
  os::UniqueFd fd_;
  std::unique_ptr<WakingNode> node_;
  ros::Publisher waker_;
  Image message_;
  std::uint32_t count_ = 0;
};

class FloorSubscriber : public SubscriberEnd {
 public:
  FloorSubscriber(const RunPlan& plan, Receiver& receiver)
      : plan_(plan), shape_(plan), receiver_(receiver), maps_(plan.variant.rfind("mapping", 0) == 0) {
    keep_memory();
    if (!is_woken_by_roscpp(plan)) return;
    node_ = std::make_unique<WakingNode>(plan);
    ros::SubscribeOptions options = ros::SubscribeOptions::create<std_msgs::UInt32>(
        plan.topic, plan.depth,
        [this](const boost::shared_ptr<const std_msgs::UInt32>& count) {
          if (mapping_) deliver(count->data);
        },
        ros::VoidPtr(), &queue_);
    options.transport_hints = ros::TransportHints().tcpNoDelay();
    waker_ = node_->handle().subscribe(options);
  }
  ~FloorSubscriber() override { waker_.shutdown(); }

  void receive(std::chrono::nanoseconds timeout) override {
    if (!mapping_ && !open()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return;
    }
    if (node_) {
      queue_.callAvailable(ros::WallDuration(static_cast<double>(timeout.count()) * 1e-9));
      return;
    }
    Control& control = this->control();
    std::uint32_t now = control.word.load(std::memory_order_acquire);  // pairs with the release in publish()
    if (now == seen_ && timeout.count() > 0) {
      const os::FutexWait waits[] = {{&control.word, seen_}};
      os::futex_waits(waits, 1, os::monotonic_ns() + timeout.count());
      now = control.word.load(std::memory_order_acquire);
    }
    if (now == seen_) return;
    seen_ = now;
    deliver(now);
  }

 private:
  Control& control() const { return *reinterpret_cast<Control*>(mapping_.base()); }

  /// The last of `count` messages.
  void deliver(std::uint32_t count) {
    const std::uint32_t number = count - 1;
    const std::size_t bytes =
        std::min<std::size_t>(control().bytes[number % kSlots].load(std::memory_order_relaxed), shape_.slot);
    if (maps_) {
      deliver_mapped(shape_.place(number), bytes);
    } else {
      deliver_copied(shape_.place(number), bytes);
    }
  }

  void deliver_copied(std::size_t place, std::size_t bytes) {
    const auto image = boost::make_shared<Image>();
    auto* const content = reinterpret_cast<std::uint8_t*>(mapping_.base() + place);
    ros::serialization::IStream stream(content, static_cast<std::uint32_t>(bytes));
    ros::serialization::deserialize(stream, *image);
    receiver_.message(reinterpret_cast<const std::byte*>(image->data.data()), image->data.size());
  }

  void deliver_mapped(std::size_t place, std::size_t bytes) {
    std::byte* const begin = private_ + place;
    std::byte* const pixels = begin + bytes - pixel_bytes(begin, bytes);
    // The store of std::vector's constructor, which copies the page. The value is the one that is there.
    volatile std::byte& first = *pixels;
    first = first;
    receiver_.message(pixels, static_cast<std::size_t>(begin + bytes - pixels));
    os::discard_private_changes(begin, os::round_to_pages(bytes));
  }

  /// The length of the pixels, which stands in front of them: sensor_msgs/Image ends with them.
  std::size_t pixel_bytes(const std::byte* begin, std::size_t bytes) const {
    Image head;
    ros::serialization::IStream stream(reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(begin)),
                                       static_cast<std::uint32_t>(bytes));
    stream.next(head.header);
    stream.next(head.height);
    stream.next(head.width);
    stream.next(head.encoding);
    stream.next(head.is_bigendian);
    stream.next(head.step);
    std::uint32_t length;
    stream.next(length);
    if (length != stream.getLength()) throw std::runtime_error("a message whose pixels are not at its end");
    return length;
  }

  bool open() {
    std::ifstream file(where(plan_));
    std::int32_t process;
    int fd;
    if (!(file >> process >> fd)) return false;
    const os::UniqueFd opened = os::open_descriptor_of(process, fd).or_throw();
    os::SharedMapping mapping = os::map_segment(opened, shape_.total, os::Writers::kBothEnds).or_throw();
    if (maps_) {
      private_ = os::reserve_addresses(shape_.total, os::page_bytes());
      if (private_ == nullptr) throw std::runtime_error("no addresses for a private mapping");
      os::map_private_copy(opened.get(), shape_.total, private_).or_throw();  // until the process ends
    }
    mapping_ = std::move(mapping);
    return true;
  }

  const RunPlan plan_;
  const Shape shape_;
  Receiver& receiver_;
  const bool maps_;
  os::SharedMapping mapping_;
  std::byte* private_ = nullptr;
  std::uint32_t seen_ = 0;
  std::unique_ptr<WakingNode> node_;
  ros::CallbackQueue queue_;
  ros::Subscriber waker_;  // ends before the queue
};

}  // namespace

PeerInfo peer_info() {
  return {
      "the limit of unchanged roscpp programs",
      "",
      "no transport: roscpp's serializer into shared memory and a wake (one futex call, or a small message of roscpp); "
      "copies: roscpp's deserializer out of it; mapping: the pixels in a private mapping, the first page written",
      {"copies", "mapping", "copies_woken_by_roscpp", "mapping_woken_by_roscpp"}};
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned) {
  return std::make_unique<FloorPublisher>(plan);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned, Receiver& receiver) {
  return std::make_unique<FloorSubscriber>(plan, receiver);
}

}  // namespace baton::perf
