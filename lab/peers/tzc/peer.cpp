// SPDX-License-Identifier: Apache-2.0
// TZC's own scheme, as the paper describes it (section III): a sensor_msgs/Image whose control part (everything but
// `data`, and the length of `data`) is serialized and sent over a socket per subscriber, while `data` lies in shared
// memory and is never copied. The socket is a Unix one, which is faster than ROS's TCP; the region has room for the
// queue and two messages more.
#include <cstring>
#include <stdexcept>

#include "region.hpp"
#include "stream.hpp"

namespace baton::perf {
namespace {

/// The fields of sensor_msgs/Image that TZC's algorithm puts into the control part.
struct Control {
  std::uint32_t seq = 0;
  std::uint32_t sec = 0, nanosec = 0;
  std::string frame_id;
  std::uint32_t height = 0, width = 0;
  std::string encoding;
  std::uint8_t is_bigendian = 0;
  std::uint32_t step = 0;
  tzc::RegionHandle data{};
};

template <class Visit, class Message>
void for_each_field(Message& control, Visit&& visit) {
  visit(control.seq), visit(control.sec), visit(control.nanosec), visit(control.frame_id);
  visit(control.height), visit(control.width), visit(control.encoding), visit(control.is_bigendian),
      visit(control.step);
  visit(control.data.offset), visit(control.data.bytes), visit(control.data.magic);
}

struct Write {
  std::byte* at;
  const std::byte* end;
  void bytes(const void* data, std::size_t n) {
    if (static_cast<std::size_t>(end - at) < n) throw std::runtime_error("the control part is too long");
    std::memcpy(at, data, n);
    at += n;
  }
  void operator()(const std::string& text) {
    (*this)(static_cast<std::uint32_t>(text.size()));
    bytes(text.data(), text.size());
  }
  template <class Number>
  void operator()(const Number& number) {
    bytes(&number, sizeof number);
  }
};

struct Read {
  const std::byte* at;
  const std::byte* end;
  void bytes(void* data, std::size_t n) {
    if (static_cast<std::size_t>(end - at) < n) throw std::runtime_error("a control part ends early");
    std::memcpy(data, at, n);
    at += n;
  }
  void operator()(std::string& text) {
    std::uint32_t size = 0;
    (*this)(size);
    if (static_cast<std::size_t>(end - at) < size) throw std::runtime_error("a control part ends early");
    text.assign(reinterpret_cast<const char*>(at), size);
    at += size;
  }
  template <class Number>
  void operator()(Number& number) {
    bytes(&number, sizeof number);
  }
};

std::size_t mem_size(const RunPlan& plan) {
  if (const auto set = plan.settings.find("mem_size"); set != plan.settings.end()) return std::stoull(set->second);
  return (plan.depth + 2) * (sizeof(tzc::DataPart) + plan.bytes + 64);
}

class TzcPublisher : public PublisherEnd {
 public:
  TzcPublisher(const RunPlan& plan, unsigned index)
      : region_(mem_size(plan)),
        sender_(plan, index, Family::kUnix, [this](int fd) { send_descriptor(fd, region_.fd()); }) {}
  ~TzcPublisher() override { forget(); }

  std::byte* begin(std::size_t bytes) override {
    sender_.accept_new();
    forget();
    control_ = Control();
    control_.seq = count_++;
    control_.frame_id = "camera";
    control_.height = 1;
    control_.width = control_.step = static_cast<std::uint32_t>(bytes);
    control_.encoding = "mono8";
    data_ = &region_.allocate(bytes, control_.data);
    return data_->data();
  }
  void publish(std::size_t) override {
    std::byte wire[256];
    Write write{wire, wire + sizeof wire};
    for_each_field(control_, write);
    sender_.send(wire, static_cast<std::size_t>(write.at - wire));
  }

 private:
  /// The publisher's message goes out of scope when the next one is made.
  void forget() {
    if (data_ != nullptr) tzc::drop(*data_);
    data_ = nullptr;
  }
  tzc::Region region_;
  StreamSender sender_;
  Control control_;
  tzc::DataPart* data_ = nullptr;
  std::uint32_t count_ = 0;
};

class TzcSubscriber : public SubscriberEnd {
 public:
  TzcSubscriber(const RunPlan& plan, Receiver& receiver)
      : bytes_(os::round_to_pages(mem_size(plan))),
        regions_(plan.publishers),
        receiver_(receiver),
        stream_(
            plan, Family::kUnix,
            [this](std::byte* wire, std::size_t bytes, unsigned publisher) { deliver(wire, bytes, publisher); },
            [this](int fd, unsigned publisher) {
              regions_[publisher] = os::map_segment(receive_descriptor(fd), bytes_, os::Writers::kBothEnds).or_throw();
            }) {}
  void receive(std::chrono::nanoseconds timeout) override { stream_.receive(timeout); }

 private:
  void deliver(const std::byte* wire, std::size_t bytes, unsigned publisher) {
    Control control;
    Read read{wire, wire + bytes};
    for_each_field(control, read);
    tzc::DataPart* const part = tzc::take(regions_[publisher].base(), bytes_, control.data);
    if (part == nullptr) return;  // released before it was read: lost
    receiver_.message(part->data(), control.data.bytes);
    tzc::drop(*part);
  }

  const std::size_t bytes_;
  std::vector<os::SharedMapping> regions_;
  Receiver& receiver_;
  StreamReceiver stream_;
};

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{
      "TZC's scheme",
      "",
      "control part over a Unix stream socket, data part in shared memory (room for depth + 2 messages), medium effort",
      {"unix"}};
  info.can_spin = true;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned index) {
  return std::make_unique<TzcPublisher>(plan, index);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned, Receiver& receiver) {
  return std::make_unique<TzcSubscriber>(plan, receiver);
}

}  // namespace baton::perf
