// SPDX-License-Identifier: Apache-2.0
// Not a transport to compare with, but a check of the tool: its results are known in advance. Settings:
//    delay_us     a subscriber gets each message exactly this long after its publish() (a Unix socket is faster)
//   drop_every   every n-th message of the schedule is not sent, on purpose
//   tracer_port  each publish() and each delivery sends a datagram {u32 role: 0 or 1, u32 index, u64 sequence} to this UDP port
//                 of the loopback, for a measurement with another clock
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <stdexcept>
#include <thread>

#include "baton/os/clock.hpp"
#include "stream.hpp"

namespace baton::perf {
namespace {

constexpr std::uint64_t kWarmUp = std::uint64_t{1} << 63;

std::uint64_t number(const RunPlan& plan, const char* name) {
  const auto set = plan.settings.find(name);
  return set == plan.settings.end() ? 0 : std::stoull(set->second);
}

class Tracer {
 public:
  Tracer(const RunPlan& plan, std::uint32_t role, std::uint32_t index) : role_(role), index_(index) {
    const std::uint64_t port = number(plan, "tracer_port");
    if (port == 0) return;
    socket_ = os::UniqueFd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fail("connect to the tracer");
  }
  void event(std::uint64_t sequence) const {
    struct {
      std::uint32_t role, index;
      std::uint64_t sequence;
    } const said{role_, index_, sequence};
    if (socket_ && ::send(socket_.get(), &said, sizeof said, 0) < 0) fail("send to the tracer");
  }

 private:
  const std::uint32_t role_, index_;
  os::UniqueFd socket_;
};

class SyntheticPublisher : public PublisherEnd {
 public:
  SyntheticPublisher(const RunPlan& plan, unsigned index)
      : delay_ns_(static_cast<std::int64_t>(number(plan, "delay_us")) * 1000),
        drop_every_(number(plan, "drop_every")),
        tracer_(plan, 0, index),
        sender_(plan, index, Family::kUnix),
        buffer_(plan.bytes) {}
  std::byte* begin(std::size_t bytes) override {
    sender_.accept_new();
    buffer_.reserve(bytes);
    return buffer_.data();
  }
  void publish(std::size_t bytes) override {
    Stamp stamp;
    std::memcpy(&stamp, buffer_.data(), sizeof stamp);
    tracer_.event(stamp.sequence);
    if (drop_every_ > 0 && !(stamp.sequence & kWarmUp) && (stamp.sequence + 1) % drop_every_ == 0) return;
    std::int64_t due = os::monotonic_ns() + delay_ns_;
    const iovec parts[] = {{&due, sizeof due}, {buffer_.data(), bytes}};
    sender_.send(parts, 2);
  }

 private:
  const std::int64_t delay_ns_;
  const std::uint64_t drop_every_;
  const Tracer tracer_;
  StreamSender sender_;
  Buffer buffer_;
};

class SyntheticSubscriber : public SubscriberEnd {
 public:
  SyntheticSubscriber(const RunPlan& plan, unsigned index, Receiver& receiver)
      : tracer_(plan, 1, index),
        receiver_(receiver),
        stream_(plan, Family::kUnix, [this](std::byte* frame, std::size_t bytes, unsigned) { deliver(frame, bytes); }) {
  }
  void receive(std::chrono::nanoseconds timeout) override { stream_.receive(timeout); }

 private:
  void deliver(const std::byte* frame, std::size_t bytes) {
    std::int64_t due;
    if (bytes < sizeof due + sizeof(Stamp)) throw std::runtime_error("a frame is too short");
    std::memcpy(&due, frame, sizeof due);
    // Sleeps until shortly before, and polls the clock for the rest.
    if (const std::int64_t left = due - os::monotonic_ns() - 300'000; left > 0)
      std::this_thread::sleep_for(std::chrono::nanoseconds(left));
    while (os::monotonic_ns() < due) {
    }
    Stamp stamp;
    std::memcpy(&stamp, frame + sizeof due, sizeof stamp);
    tracer_.event(stamp.sequence);
    receiver_.message(frame + sizeof due, bytes - sizeof due);
  }

  const Tracer tracer_;
  Receiver& receiver_;
  StreamReceiver stream_;
};

}  // namespace

PeerInfo peer_info() {
  return {
      "synthetic", "", "a known delay (setting delay_us), losses on purpose (drop_every): checks the tool", {"delay"}};
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned index) {
  return std::make_unique<SyntheticPublisher>(plan, index);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned index, Receiver& receiver) {
  return std::make_unique<SyntheticSubscriber>(plan, index, receiver);
}

}  // namespace baton::perf
