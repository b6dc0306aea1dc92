// SPDX-License-Identifier: Apache-2.0
#include "outbound.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "baton/os/process.hpp"

namespace baton::link {
namespace {

using Count = std::shared_ptr<std::atomic<std::size_t>>;

/// A message that is under way: the sample keeps the publisher's memory as it is.
struct SentSample final : Outgoing {
  SentSample(transport::TakenSample taken, Count counted) : sample(std::move(taken)), count(std::move(counted)) {
    count->fetch_add(1, std::memory_order_relaxed);  // a count: orders nothing
    bytes = reinterpret_cast<const std::byte*>(&sample.header());
    size_bytes = sizeof(memory::ChunkHeader) + sample.size_bytes();
    publisher = sample.publisher();
  }
  ~SentSample() override { count->fetch_sub(1, std::memory_order_relaxed); }
  const transport::TakenSample sample;
  const Count count;
};

/// A message that is under way, in memory of its own.
struct SentCopy final : Outgoing {
  SentCopy(const SentSample& sample, Count counted)
      : memory(new std::byte[sample.size_bytes + kPadding]), count(std::move(counted)) {
    size_bytes = sample.size_bytes;
    publisher = sample.publisher;
    bytes = memory.get();
    std::memcpy(memory.get(), sample.bytes, size_bytes);
    count->fetch_add(size_bytes, std::memory_order_relaxed);
  }
  ~SentCopy() override { count->fetch_sub(size_bytes, std::memory_order_relaxed); }
  static constexpr std::size_t kPadding = 3;  // the engine may read a multiple of 4
  const std::unique_ptr<std::byte[]> memory;
  const Count count;
};

/// The far end says only every few milliseconds what has arrived, and until then a message is kept, to be sent again. So that a burst of
/// small messages need not wait, they are copied where the samples that may be held are used up, and up to so many bytes.
constexpr std::size_t kSmallBytes = std::size_t{64} << 10, kMostCopiedBytes = std::size_t{16} << 20;
/// Messages of one topic before the others get their turn.
constexpr int kAtOnce = 8;
/// How long the thread waits while all messages that it may hold are under way.
constexpr std::chrono::microseconds kHeldPause{500};
constexpr std::size_t kStackBytes = std::size_t{1} << 20;  // Cyclone writes on it

}  // namespace

Outbound::Outbound(std::shared_ptr<Saying> saying)
    : saying_(std::move(saying)), copied_bytes_(std::make_shared<std::atomic<std::size_t>>(0)) {}

Result<void> Outbound::start() {
  Result<pthread_t> thread = os::start_thread("baton-link", kStackBytes, [this] { run(); });
  if (!thread) return thread.error();
  thread_ = *thread;
  return {};
}

Outbound::~Outbound() {
  stop_.store(true, std::memory_order_release);  // pairs with the acquire in run()
  wait_set_.wake();
  if (thread_) pthread_join(*thread_, nullptr);
}

namespace {
struct Wish {
  explicit Wish(std::atomic<int>& to) : wishes(to) { wishes.fetch_add(1, std::memory_order_relaxed); }
  ~Wish() { wishes.fetch_sub(1, std::memory_order_relaxed); }
  std::atomic<int>& wishes;
};
}  // namespace

Result<void> Outbound::add(const std::string& channel, const std::string& topic,
                           std::shared_ptr<transport::Reader> reader, std::shared_ptr<Outlet> outlet,
                           std::set<Gid> publishers, std::size_t held) {
  auto added = std::make_unique<Topic>();
  added->channel = channel;
  added->topic = topic;
  added->reader = std::move(reader);
  added->outlet = std::move(outlet);
  added->publishers = std::move(publishers);
  added->held = held;
  added->samples = std::make_shared<std::atomic<std::size_t>>(0);
  const Wish wish(wishes_);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (Result<void> ok = wait_set_.add(added->reader); !ok) return ok;
  topics_.push_back(std::move(added));
  wait_set_.wake();
  return {};
}

void Outbound::set_publishers(const std::string& channel, std::set<Gid> publishers) {
  const Wish wish(wishes_);
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& topic : topics_) {
    if (topic->channel == channel) topic->publishers = std::move(publishers);
  }
}

void Outbound::remove(const std::string& channel) {
  std::unique_ptr<Topic> removed;  // destroyed without the lock
  const Wish wish(wishes_);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found =
      std::find_if(topics_.begin(), topics_.end(), [&](const auto& topic) { return topic->channel == channel; });
  if (found == topics_.end()) return;
  removed = std::move(*found);
  topics_.erase(found);
  wait_set_.remove(removed->reader);
}

std::shared_ptr<const Outgoing> Outbound::outgoing(const Topic& topic, transport::TakenSample sample) const {
  auto sent = std::make_shared<SentSample>(std::move(sample), topic.samples);
  const bool is_last = topic.samples->load(std::memory_order_relaxed) >= topic.held;
  if (!is_last || sent->size_bytes > kSmallBytes ||
      copied_bytes_->load(std::memory_order_relaxed) + sent->size_bytes > kMostCopiedBytes) {
    return sent;
  }
  return std::make_shared<SentCopy>(*sent, copied_bytes_);
}

Outbound::Found Outbound::send_some(Topic& topic) {
  Found found = Found::kNothing;
  for (int i = 0; i < kAtOnce; ++i) {
    Result<transport::TakenSample> taken = topic.reader->take();
    if (!taken) {
      if (taken.error().code == Errc::held_limit) return found == Found::kSome ? found : Found::kHeld;
      saying_->say_rarely("take " + topic.topic, Saying::Level::kError, taken.error().code, taken.error().message);
      return Found::kSome;
    }
    if (!*taken) return found;
    found = Found::kSome;
    // What came from abroad, or travels on another channel, is not sent here.
    if (topic.publishers.count(taken->publisher()) == 0) continue;
    if (std::memcmp(taken->header().publisher_id, taken->publisher().data(), taken->publisher().size()) != 0) continue;
    const Result<void> written = topic.outlet->write(outgoing(topic, std::move(*taken)));
    if (written) {
      sent_.fetch_add(1, std::memory_order_relaxed);
    } else {
      saying_->say_rarely("write " + topic.topic, Saying::Level::kWarning, written.error().code,
                          "a message of '" + topic.topic + "' is not sent to other hosts: " + written.error().message);
    }
  }
  return found;
}

void Outbound::run() {
  while (!stop_.load(std::memory_order_acquire)) {
    bool some = false, held = false;
    while (wishes_.load(std::memory_order_relaxed) > 0) std::this_thread::sleep_for(kHeldPause);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (const auto& topic : topics_) {
        const Found found = send_some(*topic);
        some = some || found == Found::kSome;
        held = held || found == Found::kHeld;
        if (wishes_.load(std::memory_order_relaxed) > 0) break;
      }
    }
    if (some) continue;
    // A reader whose samples are all under way looks readable: waiting for it would return at once.
    if (held) {
      std::this_thread::sleep_for(kHeldPause);
    } else if (const Result<bool> waited = wait_set_.wait(std::chrono::hours(1)); !waited) {
      saying_->say_rarely("wait", Saying::Level::kError, waited.error().code, waited.error().message);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
}

}  // namespace baton::link
