// SPDX-License-Identifier: Apache-2.0
// ZeroMQ PUB/SUB over ipc. The publisher's buffers are handed to ZeroMQ without a copy and come back to a pool when it
// has sent them.
#include <malloc.h>
#include <zmq.hpp>

#include <algorithm>
#include <mutex>
#include <vector>

#include "peer.hpp"

namespace baton::perf {
namespace {

std::string address_of(const RunPlan& plan, unsigned publisher) {
  return "ipc://" + plan.directory + "/" + plan.topic + "_" + std::to_string(publisher);
}

/// ZeroMQ's default (1000); less only if the default would be more than 512 MB. ZeroMQ updates its counters of read
/// messages in batches, so a mark as low as the depth drops messages although none waits.
int high_water_mark(const RunPlan& plan) {
  const std::size_t most = std::min<std::size_t>(1000, (std::size_t{512} << 20) / plan.bytes);
  return static_cast<int>(std::max<std::size_t>(most, 2 * plan.depth));
}

/// Buffers that ZeroMQ's thread returns.
class Pool {
 public:
  using Buffer = std::unique_ptr<std::vector<std::byte>>;
  Buffer take(std::size_t bytes) {
    Buffer buffer;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!free_.empty()) {
        buffer = std::move(free_.back());  // the last returned buffer is the warmest
        free_.pop_back();
      }
    }
    if (!buffer) buffer = std::make_unique<std::vector<std::byte>>();
    if (buffer->size() < bytes) buffer->resize(bytes);
    return buffer;
  }
  void give(Buffer buffer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(std::move(buffer));
  }

 private:
  std::mutex mutex_;
  std::vector<Buffer> free_;
};

/// A buffer in flight, and the pool that it belongs to.
struct Lent {
  Pool* pool;
  Pool::Buffer buffer;
};
void give_back(void*, void* hint) {
  const std::unique_ptr<Lent> lent(static_cast<Lent*>(hint));
  lent->pool->give(std::move(lent->buffer));
}

class ZmqPublisher : public PublisherEnd {
 public:
  ZmqPublisher(const RunPlan& plan, unsigned index) : socket_(context_, zmq::socket_type::pub) {
    socket_.set(zmq::sockopt::sndhwm, high_water_mark(plan));
    socket_.set(zmq::sockopt::linger, 0);
    socket_.bind(address_of(plan, index));
  }
  std::byte* begin(std::size_t bytes) override {
    buffer_ = pool_.take(bytes);
    return buffer_->data();
  }
  void publish(std::size_t bytes) override {
    void* const data = buffer_->data();
    auto lent = std::make_unique<Lent>(Lent{&pool_, std::move(buffer_)});
    zmq::message_t message(data, bytes, give_back, lent.release());
    socket_.send(message, zmq::send_flags::dontwait);
  }

 private:
  Pool pool_;  // outlives the context, whose end returns the last buffers
  Pool::Buffer buffer_;
  zmq::context_t context_;
  zmq::socket_t socket_;
};

class ZmqSubscriber : public SubscriberEnd {
 public:
  ZmqSubscriber(const RunPlan& plan, Receiver& receiver)
      : receiver_(receiver), socket_(context_, zmq::socket_type::sub) {
    ::mallopt(M_MMAP_THRESHOLD, 32 << 20);  // ZeroMQ allocates each received message anew: avoid fresh pages each time
    ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
    socket_.set(zmq::sockopt::rcvhwm, high_water_mark(plan));
    socket_.set(zmq::sockopt::reconnect_ivl, 5);  // the publisher may start later
    socket_.set(zmq::sockopt::rcvtimeo, 100);
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::subscribe, "");
    for (unsigned i = 0; i < plan.publishers; ++i) socket_.connect(address_of(plan, i));
  }
  void receive(std::chrono::nanoseconds timeout) override {
    zmq::message_t message;
    auto flags = timeout.count() == 0 ? zmq::recv_flags::dontwait : zmq::recv_flags::none;
    while (socket_.recv(message, flags)) {
      receiver_.message(message.data<std::byte>(), message.size());
      flags = zmq::recv_flags::dontwait;
    }
  }

 private:
  Receiver& receiver_;
  zmq::context_t context_;
  zmq::socket_t socket_;
};

}  // namespace

PeerInfo peer_info() {
  const auto [major, minor, patch] = zmq::version();
  PeerInfo info{"ZeroMQ",
                std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch),
                "PUB/SUB over ipc, zero-copy send from a pool of buffers, default high-water marks (at most 512 MB), "
                "malloc keeps its "
                "memory, blocking recv() (or polling it)",
                {"ipc"}};
  info.can_spin = true;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned index) {
  return std::make_unique<ZmqPublisher>(plan, index);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned, Receiver& receiver) {
  return std::make_unique<ZmqSubscriber>(plan, receiver);
}

}  // namespace baton::perf
