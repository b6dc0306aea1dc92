// SPDX-License-Identifier: Apache-2.0
// The machine's limit, not a transport: one buffer in shared memory, overwritten by each message, and one word for
// which all subscribers wait, by futex or by polling a cache line. No queue, no life cycle, no safety; no transport can
// hand a payload over faster. Variant `copies`: each end has a buffer of its own and copies once, as a program without
// shared memory must.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "baton/os/child.hpp"
#include "baton/os/clock.hpp"
#include "baton/os/futex.hpp"
#include "baton/os/process.hpp"
#include "baton/os/shared_memory.hpp"
#include "peer.hpp"

namespace baton::perf {
namespace {

struct Page {
  alignas(64) std::atomic<std::uint32_t> word;  // counts messages
  std::atomic<std::uint64_t> bytes;
  alignas(4096) std::byte payload[1];
};

std::string where(const RunPlan& plan) { return plan.directory + "/" + plan.topic + "_bare"; }
std::size_t segment_bytes(const RunPlan& plan) { return os::round_to_pages(sizeof(Page) + plan.bytes); }

class BarePublisher : public PublisherEnd {
 public:
  explicit BarePublisher(const RunPlan& plan) : spin_(plan.spin), own_(plan.variant == "copies" ? plan.bytes : 0) {
    if (plan.publishers != 1) throw std::runtime_error("there is one buffer, so there can be only one publisher");
    os::CreatedSegment segment =
        os::create_segment("baton-perf-bare", segment_bytes(plan), os::Writers::kBothEnds).or_throw();
    mapping_ = std::move(segment.mapping);
    fd_ = std::move(segment.fd);
    // Under another name first: a process that finds the file finds all of it.
    const std::string path = where(plan), temporary = path + ".new";
    std::ofstream(temporary) << os::process_id() << ' ' << fd_.get() << '\n';
    if (std::rename(temporary.c_str(), path.c_str()) != 0) throw std::runtime_error("cannot write " + path);
  }
  std::byte* begin(std::size_t) override { return own_.empty() ? page().payload : own_.data(); }
  void publish(std::size_t bytes) override {
    if (!own_.empty()) std::memcpy(page().payload, own_.data(), bytes);
    page().bytes.store(bytes, std::memory_order_relaxed);
    page().word.fetch_add(1, std::memory_order_release);  // pairs with the acquire in receive()
    if (!spin_) os::futex_wake(&page().word, 1 << 30);
  }

 private:
  Page& page() const { return *reinterpret_cast<Page*>(mapping_.base()); }
  os::SharedMapping mapping_;
  os::UniqueFd fd_;
  const bool spin_;
  std::vector<std::byte> own_;
};

class BareSubscriber : public SubscriberEnd {
 public:
  BareSubscriber(const RunPlan& plan, Receiver& receiver)
      : plan_(plan), receiver_(receiver), own_(plan.variant == "copies" ? plan.bytes : 0) {}

  void receive(std::chrono::nanoseconds timeout) override {
    if (!mapping_ && !open()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return;
    }
    Page& page = *reinterpret_cast<Page*>(mapping_.base());
    std::uint32_t now = page.word.load(std::memory_order_acquire);
    if (now == seen_ && timeout.count() > 0) {
      const os::FutexWait waits[] = {{&page.word, seen_}};
      os::futex_waits(waits, 1, os::monotonic_ns() + timeout.count());
      now = page.word.load(std::memory_order_acquire);
    }
    if (now == seen_) return;
    seen_ = now;
    const std::size_t bytes = std::min<std::size_t>(page.bytes.load(std::memory_order_relaxed), plan_.bytes);
    if (!own_.empty()) std::memcpy(own_.data(), page.payload, bytes);
    receiver_.message(own_.empty() ? page.payload : own_.data(), bytes);
  }

 private:
  bool open() {
    std::ifstream file(where(plan_));
    std::int32_t process;
    int fd;
    if (!(file >> process >> fd)) return false;
    const os::UniqueFd opened = os::open_descriptor_of(process, fd).or_throw();
    mapping_ = os::map_segment(opened, segment_bytes(plan_), os::Writers::kBothEnds).or_throw();
    return true;
  }

  const RunPlan plan_;
  Receiver& receiver_;
  os::SharedMapping mapping_;
  std::vector<std::byte> own_;
  std::uint32_t seen_ = 0;
};

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{
      "the machine's limit",
      "",
      "one shared buffer and one futex word (or polled cache line): no transport; copies: one copy in, one out",
      {"futex", "copies"}};
  info.can_spin = true;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned) {
  return std::make_unique<BarePublisher>(plan);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned, Receiver& receiver) {
  return std::make_unique<BareSubscriber>(plan, receiver);
}

}  // namespace baton::perf
