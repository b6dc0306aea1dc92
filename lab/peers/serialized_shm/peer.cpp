// SPDX-License-Identifier: Apache-2.0
// Serialize into shared memory, as ETHZ-ASL's transport and Ach do. The message is built on the publisher's heap,
// copied into a ring buffer in shared memory (one per publisher, for all subscribers; the oldest message is
// overwritten, as in Ach), and copied out by each subscriber. Better than both outside the scheme: there is no lock, so
// a subscriber that copies delays no other process (each slot has a sequence lock); one futex call wakes all sleepers,
// and is made only if a subscriber sleeps.
#include <atomic>
#include <cstring>
#include <stdexcept>

#include "baton/os/clock.hpp"
#include "baton/os/futex.hpp"
#include "baton/os/shared_memory.hpp"
#include "stream.hpp"

namespace baton::perf {
namespace {

struct RingSlot {
  std::atomic<std::uint64_t> turn;  ///< 2 n + 1 while message n is written, 2 n + 2 when it is complete
  std::atomic<std::uint64_t> bytes;
};

/// In front of the ring; the slots' descriptions and then their payloads follow.
struct Ring {
  alignas(64) std::atomic<std::uint32_t> head;  ///< messages written; sleepers sleep on it
  alignas(64) std::atomic<std::uint32_t> sleepers;
};
RingSlot* slots_of(std::byte* base) { return reinterpret_cast<RingSlot*>(base + sizeof(Ring)); }

struct Shape {
  unsigned slots;
  std::size_t payload, stride, total;
  explicit Shape(const RunPlan& plan) {
    const auto set = plan.settings.find("slots");
    slots = set == plan.settings.end() ? plan.depth + 1 : static_cast<unsigned>(std::stoul(set->second));
    if (slots < 2) throw std::runtime_error("a ring has at least two slots");
    stride = (plan.bytes + 63) & ~std::size_t{63};
    payload = (sizeof(Ring) + slots * sizeof(RingSlot) + 63) & ~std::size_t{63};
    total = os::round_to_pages(payload + slots * stride);
  }
};

class RingPublisher : public PublisherEnd {
 public:
  RingPublisher(const RunPlan& plan, unsigned index)
      : shape_(plan),
        spin_(plan.spin),
        segment_(os::create_segment("baton-perf-ring", shape_.total, os::Writers::kBothEnds).or_throw()),
        sender_(plan, index, Family::kUnix, [this](int fd) { send_descriptor(fd, segment_.fd.get()); }),
        message_(plan.bytes) {}

  std::byte* begin(std::size_t) override {
    sender_.accept_new();
    return message_.data();
  }
  void publish(std::size_t bytes) override {
    Ring& ring = *reinterpret_cast<Ring*>(segment_.mapping.base());
    RingSlot& slot = slots_of(segment_.mapping.base())[count_ % shape_.slots];
    slot.turn.store(2 * count_ + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);  // pairs with the acquire fence of a reader that was overtaken
    slot.bytes.store(bytes, std::memory_order_relaxed);
    std::memcpy(segment_.mapping.base() + shape_.payload + count_ % shape_.slots * shape_.stride, message_.data(),
                bytes);
    slot.turn.store(2 * count_ + 2, std::memory_order_release);  // pairs with the acquire in take()
    ++count_;
    ring.head.store(static_cast<std::uint32_t>(count_),
                    std::memory_order_seq_cst);  // pairs with a sleeper's check after it announced its sleep
    if (!spin_ && ring.sleepers.load(std::memory_order_seq_cst) > 0) os::futex_wake(&ring.head, 1 << 30);
  }

 private:
  const Shape shape_;
  const bool spin_;
  os::CreatedSegment segment_;
  StreamSender sender_;
  Buffer message_;
  std::uint64_t count_ = 0;
};

class RingSubscriber : public SubscriberEnd {
 public:
  RingSubscriber(const RunPlan& plan, Receiver& receiver)
      : shape_(plan),
        publishers_(plan.publishers),
        receiver_(receiver),
        message_(plan.bytes),
        rendezvous_(
            plan, Family::kUnix, [](std::byte*, std::size_t, unsigned) {}, [this](int fd, unsigned) { add(fd); }) {}

  void receive(std::chrono::nanoseconds timeout) override {
    if (rings_.size() < publishers_) rendezvous_.receive(rings_.empty() ? timeout : std::chrono::nanoseconds(0));
    bool any = false;
    for (Reader& reader : rings_) any |= take(reader);
    if (any || timeout.count() == 0 || rings_.empty()) return;
    waits_.clear();
    for (Reader& reader : rings_) {
      reader.ring().sleepers.fetch_add(1, std::memory_order_seq_cst);
      waits_.push_back({&reader.ring().head, static_cast<std::uint32_t>(reader.next)});
    }
    // If a message came since the check above, its word has changed, so this returns at once.
    const std::int64_t wait = rings_.size() < publishers_ ? 2'000'000 : timeout.count();
    if (os::futex_waits(waits_.data(), waits_.size(), os::monotonic_ns() + wait) == os::WaitOutcome::kUnsupported)
      throw std::runtime_error("several publishers need futex_waitv (Linux 5.16)");
    for (Reader& reader : rings_) reader.ring().sleepers.fetch_sub(1, std::memory_order_relaxed);
    for (Reader& reader : rings_) take(reader);
  }

 private:
  struct Reader {
    os::SharedMapping mapping;
    std::uint64_t next;
    Ring& ring() const { return *reinterpret_cast<Ring*>(mapping.base()); }
  };

  void add(int fd) {
    const os::UniqueFd segment = receive_descriptor(fd);
    Reader reader{os::map_segment(segment, shape_.total, os::Writers::kBothEnds).or_throw(), 0};
    reader.next = reader.ring().head.load(std::memory_order_acquire);
    rings_.push_back(std::move(reader));
  }

  /// Copies out and delivers all new messages.
  bool take(Reader& reader) {
    Ring& ring = reader.ring();
    bool any = false;
    for (;;) {
      const auto behind = ring.head.load(std::memory_order_acquire) - static_cast<std::uint32_t>(reader.next);
      if (behind == 0) return any;
      if (behind > shape_.slots) reader.next += behind - shape_.slots;  // overwritten
      const std::uint64_t n = reader.next++;
      const RingSlot& slot = slots_of(reader.mapping.base())[n % shape_.slots];
      if (slot.turn.load(std::memory_order_acquire) != 2 * n + 2) continue;  // overtaken
      const std::size_t bytes = slot.bytes.load(std::memory_order_relaxed);
      if (bytes > message_.capacity()) continue;
      std::memcpy(message_.data(), reader.mapping.base() + shape_.payload + n % shape_.slots * shape_.stride, bytes);
      std::atomic_thread_fence(std::memory_order_acquire);  // pairs with the release fence in publish()
      if (slot.turn.load(std::memory_order_relaxed) != 2 * n + 2) continue;
      receiver_.message(message_.data(), bytes);
      any = true;
    }
  }

  const Shape shape_;
  const std::size_t publishers_;
  Receiver& receiver_;
  Buffer message_;
  std::vector<Reader> rings_;
  std::vector<os::FutexWait> waits_;
  StreamReceiver rendezvous_;
};

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{"serialize into shared memory",
                "",
                "ring of depth + 1 messages, copied in and out, no lock; futex, woken only if a subscriber sleeps",
                {"ring"}};
  info.can_spin = true;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned index) {
  return std::make_unique<RingPublisher>(plan, index);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned, Receiver& receiver) {
  return std::make_unique<RingSubscriber>(plan, receiver);
}

}  // namespace baton::perf
