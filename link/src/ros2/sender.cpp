// SPDX-License-Identifier: Apache-2.0
#include "ros2/sender.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace baton::link::ros2 {
namespace {

constexpr std::size_t kStackBytes = std::size_t{1} << 20;  // DDS writes on it
/// Messages of one subscription that are sent before the other subscriptions have their turn.
constexpr int kAtOnce = 8;
constexpr std::chrono::microseconds kPause{500};
/// After a write that readers have blocked, how long further messages of its publisher are lost at once: so slow readers of some topics
/// take at most a sixth of the time from the others.
constexpr std::chrono::milliseconds kRest{50};

struct MutexWish {
  explicit MutexWish(std::atomic<int>& to) : wishes(to) { wishes.fetch_add(1, std::memory_order_relaxed); }
  ~MutexWish() { wishes.fetch_sub(1, std::memory_order_relaxed); }
  MutexWish(const MutexWish&) = delete;
  MutexWish& operator=(const MutexWish&) = delete;
  std::atomic<int>& wishes;
};

}  // namespace

Result<void> Sender::start() {
  Result<pthread_t> thread = os::start_thread("baton-link-ros2", kStackBytes, [this] { run(); });
  if (!thread) return thread.error();
  thread_ = *thread;
  return {};
}

Sender::~Sender() {
  stop_.store(true, std::memory_order_release);  // pairs with the acquire in run()
  wait_set_.wake();
  if (thread_) pthread_join(*thread_, nullptr);
}

void Sender::add(const Gid& publisher, std::string topic, std::shared_ptr<DdsWriter> writer,
                 std::shared_ptr<const RosType> type, std::size_t depth) {
  const MutexWish wish(wishes_);
  const os::Lock lock(mutex_);
  Target& target = targets_[publisher];
  target = Target{};
  target.topic = std::move(topic);
  target.writer = std::move(writer);
  target.type = std::move(type);
  target.depth = std::max<std::size_t>(depth, 1);
}

void Sender::remove(const Gid& publisher) {
  const MutexWish wish(wishes_);
  const os::Lock lock(mutex_);
  targets_.erase(publisher);
  for (const Subscription& each : subscriptions_) each->forget([&](const Gid& gone) { return gone == publisher; });
}

void Sender::set_ready(const Gid& publisher) {
  const MutexWish wish(wishes_);
  const os::Lock lock(mutex_);
  const auto found = targets_.find(publisher);
  if (found == targets_.end() || std::exchange(found->second.ready, true)) return;
  for (UnsentMessage& each : found->second.waiting) write(found->second, std::move(each.message), each.source_time_ns);
  found->second.waiting.clear();
}

Sender::Subscription Sender::subscribe(std::shared_ptr<transport::Reader> reader) {
  const MutexWish wish(wishes_);
  const os::Lock lock(mutex_);
  auto subscription = std::make_shared<ReplaceableReader>(std::move(reader));
  if (!subscription->attach(wait_set_)) return nullptr;
  subscriptions_.push_back(subscription);
  wait_set_.wake();
  return subscription;
}

void Sender::unsubscribe(const Subscription& subscription) {
  const MutexWish wish(wishes_);
  const os::Lock lock(mutex_);
  subscriptions_.erase(std::remove(subscriptions_.begin(), subscriptions_.end(), subscription), subscriptions_.end());
  subscription->detach();
}

bool Sender::replace(const Subscription& subscription, std::shared_ptr<transport::Reader> reader) {
  const MutexWish wish(wishes_);
  const os::Lock lock(mutex_);
  const bool replaced = !subscription->is_replacing() && subscription->replace(std::move(reader));
  wait_set_.wake();
  return replaced;
}

bool Sender::is_replacing(const Subscription& subscription) {
  const MutexWish wish(wishes_);
  const os::Lock lock(mutex_);
  if (subscription->is_replacing())
    wait_set_.wake();  // its thread takes, and so notices when the replacement is complete
  return subscription->is_replacing();
}

std::uint64_t Sender::times_empty(const Subscription& subscription) {
  const MutexWish wish(wishes_);
  const os::Lock lock(mutex_);
  wait_set_.wake();
  return subscription->times_empty();
}

void Sender::write(Target& target, CdrMessage message, std::int64_t source_time_ns) {
  const auto now = std::chrono::steady_clock::now();
  Result<void> written = now < target.rests_until ? Result<void>(Error{Errc::timed_out, "a subscription is slow"})
                                                  : target.writer->write(std::move(message), source_time_ns);
  if (written) return;
  if (written.error().code == Errc::timed_out && now >= target.rests_until)
    target.rests_until = std::chrono::steady_clock::now() + kRest;
  log_->write(About::kRos2Messages, LinkLog::Level::kWarning, written.error().code,
              "a message of '" + target.topic + "' is not sent to ROS 2 nodes: " + written.error().message);
}

void Sender::send(Target& target, const transport::TakenSample& sample) {
  if (sample.sequence() <= target.last) return;
  target.last = sample.sequence();
  const message::Bytes bytes(sample.message(), sample.size_bytes());
  Result<std::size_t> size = target.type->codec.encoded_size(bytes);
  CdrMessage message;
  if (size) {
    message = CdrMessage(*size);
    size = target.type->codec.encode(bytes, {message.bytes.get(), message.size_bytes});
  }
  if (!size) {
    log_->write(About::kRos2Messages, LinkLog::Level::kError, size.error().code,
                "a message of '" + target.topic + "' is not sent to ROS 2 nodes: " + size.error().message);
    return;
  }
  const std::int64_t time = sample.header().source_time_ns;
  if (target.ready) return write(target, std::move(message), time);
  target.waiting.push_back({std::move(message), time});
  if (target.waiting.size() > target.depth) target.waiting.pop_front();
}

/// True if there may be more.
bool Sender::send_some(ReplaceableReader& subscription) {
  for (int i = 0; i < kAtOnce; ++i) {
    const Result<transport::TakenSample> taken = subscription.take();
    if (!taken) {
      log_->write(About::kRos2Messages, LinkLog::Level::kError, taken.error().code, taken.error().message);
      return true;
    }
    if (!*taken) return i != 0 || subscription.is_spent();
    // Messages that ROS 2 gets by another path have no target.
    const auto target = targets_.find(taken->publisher());
    if (target != targets_.end()) send(target->second, *taken);
  }
  return true;
}

void Sender::run() {
  while (!stop_.load(std::memory_order_acquire)) {
    bool some = false;
    while (wishes_.load(std::memory_order_relaxed) > 0) std::this_thread::sleep_for(kPause);
    {
      const os::Lock lock(mutex_);
      for (const Subscription& subscription : subscriptions_) {
        some = send_some(*subscription) || some;
        if (wishes_.load(std::memory_order_relaxed) > 0) break;
      }
    }
    if (some) continue;
    if (const Result<bool> waited = wait_set_.wait(std::chrono::hours(1)); !waited) {
      log_->write(About::kRos2Messages, LinkLog::Level::kError, waited.error().code, waited.error().message);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
}

}  // namespace baton::link::ros2
