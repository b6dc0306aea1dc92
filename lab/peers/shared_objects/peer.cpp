// SPDX-License-Identifier: Apache-2.0
// LOT's graph by shared objects instead of topics: pushers make a frame in the shared heap and push a pointer to the
// frame into the queue of each subscriber; pullers pop. A subscriber owns its queue; the table of queues holds weak
// pointers.
// Thread rules: as peer.hpp.
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "baton/objects/mutex.hpp"
#include "baton/objects/queue.hpp"
#include "baton/objects/shared_ptr.hpp"
#include "peer.hpp"

namespace baton::perf {

namespace bs = objects;

constexpr std::size_t kDepth = 10;  // the plan's default

template <std::size_t Bytes>
struct Frame {
  Frame() {}  // as in a loan: a user that needs zeroes writes them
  std::size_t bytes;
  std::byte payload[Bytes];
};
template <std::size_t Bytes>
using Frames = bs::queue<bs::shared_ptr<const Frame<Bytes>>, kDepth>;

template <std::size_t Bytes>
struct Topic {
  bs::mutex lock;  // protects queues
  bs::stored<bs::weak_ptr<Frames<Bytes>>> queues[64];
};

}  // namespace baton::perf

template <std::size_t Bytes>
struct baton::objects::declared_shareable<baton::perf::Topic<Bytes>> : baton::objects::recoverable {};

namespace baton::perf {
namespace {

bs::Heap open_heap(const RunPlan& plan) {
  bs::HeapOptions options;
  options.name = plan.topic;
  options.domain = 0;
  options.runtime_directory = plan.directory;
  options.limit_bytes = std::size_t{4} << 30;
  return bs::Heap::open(options).or_throw();
}

template <std::size_t Bytes>
class Publisher : public PublisherEnd {
 public:
  explicit Publisher(const RunPlan& plan)
      : heap_(open_heap(plan)), topic_(bs::find_or_make<Topic<Bytes>>(heap_, plan.topic.c_str())) {}
  std::byte* begin(std::size_t) override {
    frame_ = bs::make_shared<Frame<Bytes>>(heap_);
    return frame_->payload;
  }
  void publish(std::size_t bytes) override {
    frame_->bytes = bytes;
    const bs::shared_ptr<const Frame<Bytes>> finished = std::move(frame_);
    for (const auto& queue : subscribers()) {
      if (!queue->push_for(finished, std::chrono::seconds(5))) throw std::runtime_error("a subscriber does not pop");
    }
  }
  int matched() override { return static_cast<int>(subscribers().size()); }

 private:
  std::vector<bs::shared_ptr<Frames<Bytes>>> subscribers() {
    const std::lock_guard<bs::mutex> lock(topic_->lock);
    if (topic_->lock.owner_died()) topic_->lock.consistent();  // each place is complete in itself
    std::vector<bs::shared_ptr<Frames<Bytes>>> out;
    for (const auto& place : topic_->queues) {
      if (auto queue = place.lock()) out.push_back(std::move(queue));
    }
    return out;
  }

  bs::Heap heap_;
  bs::shared_ptr<Topic<Bytes>> topic_;
  bs::shared_ptr<Frame<Bytes>> frame_;
};

template <std::size_t Bytes>
class Subscriber : public SubscriberEnd {
 public:
  Subscriber(const RunPlan& plan, Receiver& receiver)
      : heap_(open_heap(plan)), spin_(plan.spin), receiver_(receiver), queue_(bs::make_shared<Frames<Bytes>>(heap_)) {
    const auto topic = bs::find_or_make<Topic<Bytes>>(heap_, plan.topic.c_str());
    const std::lock_guard<bs::mutex> lock(topic->lock);
    if (topic->lock.owner_died()) topic->lock.consistent();
    for (auto& place : topic->queues) {
      if (!place.expired()) continue;
      place = queue_;
      return;
    }
    throw std::runtime_error("the topic has no place left");
  }
  void receive(std::chrono::nanoseconds timeout) override {
    auto frame = spin_ || timeout.count() == 0 ? queue_->try_pop() : queue_->pop_for(timeout);
    for (; frame; frame = queue_->try_pop()) receiver_.message((*frame)->payload, (*frame)->bytes);
  }

 private:
  bs::Heap heap_;
  const bool spin_;
  Receiver& receiver_;
  bs::shared_ptr<Frames<Bytes>> queue_;
};

constexpr std::size_t kKiB = 1024, kLargest = 16 * 1024 * kKiB;

/// Calls make(size) with the smallest type that has enough room.
template <class Made, class Make>
Made with_size(std::size_t bytes, Make&& make) {
  if (bytes <= 512) return make(std::integral_constant<std::size_t, 512>());
  if (bytes <= 4 * kKiB) return make(std::integral_constant<std::size_t, 4 * kKiB>());
  if (bytes <= 64 * kKiB) return make(std::integral_constant<std::size_t, 64 * kKiB>());
  if (bytes <= 1024 * kKiB) return make(std::integral_constant<std::size_t, 1024 * kKiB>());
  if (bytes <= 4 * 1024 * kKiB) return make(std::integral_constant<std::size_t, 4 * 1024 * kKiB>());
  if (bytes <= kLargest) return make(std::integral_constant<std::size_t, kLargest>());
  throw std::runtime_error("larger than 16 MB");
}

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{
      "Baton, shared objects",
      "",
      "LOT's roles: shared_ptr in a bounded queue per subscriber (10), in one shared heap; a full queue waits",
      {"queue"}};
  info.can_spin = true;
  info.largest = kLargest;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned) {
  return with_size<std::unique_ptr<PublisherEnd>>(
      plan.bytes, [&](auto size) { return std::make_unique<Publisher<decltype(size)::value>>(plan); });
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned, Receiver& receiver) {
  return with_size<std::unique_ptr<SubscriberEnd>>(
      plan.bytes, [&](auto size) { return std::make_unique<Subscriber<decltype(size)::value>>(plan, receiver); });
}

}  // namespace baton::perf
