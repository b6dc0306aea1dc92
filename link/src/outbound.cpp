// SPDX-License-Identifier: Apache-2.0
#include "outbound.hpp"

#include <algorithm>
#include <cstring>

#include "baton/os/clock.hpp"
#include "words.hpp"

namespace baton::link {
namespace {

using Count = std::shared_ptr<std::atomic<std::size_t>>;

/// A message that is under way: the sample keeps the publisher's memory as it is.
struct SentSample final : Outgoing {
  SentSample(transport::TakenSample taken, Count counted) : sample(std::move(taken)), count(std::move(counted)) {
    count->fetch_add(1, std::memory_order_relaxed);  // a count: orders nothing
    bytes = reinterpret_cast<const std::byte*>(&sample.header());
    size_bytes = sizeof(memory::ChunkHeader) + sample.size_bytes();
  }
  ~SentSample() override { count->fetch_sub(1, std::memory_order_relaxed); }
  const transport::TakenSample sample;
  const Count count;
};

/// A message that is under way, in memory of its own.
struct SentCopy final : Outgoing {
  SentCopy(const SentSample& sample, Count counted)
      : memory(new std::byte[sample.size_bytes]), count(std::move(counted)) {
    size_bytes = sample.size_bytes;
    bytes = memory.get();
    std::memcpy(memory.get(), sample.bytes, size_bytes);
    count->fetch_add(size_bytes, std::memory_order_relaxed);
  }
  ~SentCopy() override { count->fetch_sub(size_bytes, std::memory_order_relaxed); }
  const std::unique_ptr<std::byte[]> memory;
  const Count count;
};

/// A sign of life: a header without a message.
struct SentSign final : Outgoing {
  explicit SentSign(const Gid& publisher) {
    header.magic = memory::kChunkMagic;
    header.version = memory::kChunkVersion;
    header.byte_order = memory::kNativeByteOrder;
    header.sequence = 1;
    std::memcpy(header.publisher_id, publisher.data(), publisher.size());
    std::memcpy(header.type_hash, kSignTag, sizeof kSignTag);
    bytes = reinterpret_cast<const std::byte*>(&header);
    size_bytes = sizeof header;
  }
  memory::ChunkHeader header{};
};

/// Until the far end says that it has delivered a message, it is kept, to be sent again. So that a burst of small messages need not
/// wait, they are copied where the samples that may be held are used up, and up to so many bytes.
constexpr std::size_t kSmallBytes = std::size_t{64} << 10, kMostCopiedBytes = std::size_t{16} << 20;
/// What the first call knows may be older than the message.
constexpr int kCallsToDecide = 2;

}  // namespace

TopicSource::TopicSource(std::string topic, std::shared_ptr<transport::Reader> reader, std::size_t held,
                         CopiedBytes copied, std::shared_ptr<Saying> saying)
    : topic_(std::move(topic)),
      held_(held),
      copied_bytes_(std::move(copied)),
      saying_(std::move(saying)),
      samples_(std::make_shared<std::atomic<std::size_t>>(0)),
      readers_(std::move(reader)) {}

bool TopicSource::is_replacing() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return readers_.is_replacing();
}

Result<void> TopicSource::replace(std::shared_ptr<transport::Reader> reader) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return readers_.replace(std::move(reader));
}

std::set<Gid> TopicSource::readers() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return readers_.readers();
}

std::uint64_t TopicSource::lost() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return readers_.lost() + tally_.dropped();
}

void TopicSource::lose(Errc code, const std::string& why) {
  tally_.dropped(why);
  saying_->say(About::kSubscriptions, Saying::Level::kError, code,
               "a message of '" + topic_ + "' is lost for other hosts: " + why);
}

bool TopicSource::set_publishers(std::set<Gid> publishers, std::shared_ptr<const std::set<Gid>> known) {
  const std::lock_guard<std::mutex> lock(mutex_);
  publishers_ = std::move(publishers);
  known_ = std::move(known);
  for (auto at = signs_.begin(); at != signs_.end();)
    at = publishers_.count(at->first) != 0 ? std::next(at) : signs_.erase(at);
  readers_.forget([this](const Gid& publisher) { return !is_decided(publisher); });
  const bool waited = calls_left_ > 0;
  if (waited) calls_left_ = is_decided(undecided_publisher_) ? 0 : calls_left_ - 1;
  return waited;
}

bool TopicSource::waits() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return calls_left_ > 0;
}

/// With mutex_.
bool TopicSource::is_decided(const Gid& publisher) const {
  return publishers_.count(publisher) != 0 || known_->count(publisher) != 0;
}

bool TopicSource::look_for_signs() {
  const std::lock_guard<std::mutex> lock(mutex_);
  bool some = false;
  for (const Gid& publisher : publishers_) {
    const std::int64_t sign_ns = readers_.newest().sign_of_life_ns(publisher);
    if (sign_ns == 0) continue;
    const auto known = signs_.emplace(publisher, sign_ns);  // its first one: it is connected
    if (known.second || sign_ns <= known.first->second) continue;
    known.first->second = sign_ns;
    some = unsent_signs_.insert(publisher).second || some;
  }
  return some;
}

std::shared_ptr<const Outgoing> TopicSource::next_sign() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (unsent_signs_.empty()) return nullptr;
  return std::make_shared<SentSign>(unsent_signs_.extract(unsent_signs_.begin()).value());
}

bool TopicSource::empty() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !readers_.has_data() && unsent_signs_.empty() && !undecided_;
}

void TopicSource::set_clients(std::set<Gid> clients) {
  const std::lock_guard<std::mutex> lock(mutex_);
  clients_ = std::move(clients);
}

void TopicSource::attach(transport::WaitSet& wait_set) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const Result<void> added = readers_.attach(wait_set); !added) {
    saying_->say(About::kSubscriptions, Saying::Level::kError, added.error().code,
                 "messages of '" + topic_ + "' reach other hosts late: " + added.error().message);
  }
}

void TopicSource::detach(transport::WaitSet&) {
  const std::lock_guard<std::mutex> lock(mutex_);
  readers_.detach();
}

std::shared_ptr<const Outgoing> TopicSource::outgoing(transport::TakenSample sample) const {
  auto sent = std::make_shared<SentSample>(std::move(sample), samples_);
  const bool is_last = samples_->load(std::memory_order_relaxed) >= held_;
  if (!is_last || sent->size_bytes > kSmallBytes ||
      copied_bytes_->load(std::memory_order_relaxed) + sent->size_bytes > kMostCopiedBytes) {
    return sent;
  }
  return std::make_shared<SentCopy>(*sent, copied_bytes_);
}

/// The oldest message whose publisher is decided about. An empty sample: there is none now; `waits`: because it must wait.
Result<transport::TakenSample> TopicSource::take(bool& waits) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (undecided_) {
    waits = calls_left_ > 0;
    return waits ? transport::TakenSample() : std::move(undecided_);
  }
  Result<transport::TakenSample> taken = readers_.take();
  if (!taken || !*taken || is_decided(taken->publisher())) return taken;
  undecided_ = std::move(*taken);
  undecided_publisher_ = undecided_.publisher();
  calls_left_ = kCallsToDecide;
  waits = true;
  return transport::TakenSample();
}

Source::Found TopicSource::next(std::shared_ptr<const Outgoing>& chunk) {
  for (;;) {
    bool waits = false;
    Result<transport::TakenSample> taken = take(waits);
    if (waits) return Found::kHeld;
    if (!taken) {
      if (taken.error().code == Errc::held_limit) return Found::kHeld;
      saying_->say(About::kSubscriptions, Saying::Level::kError, taken.error().code, taken.error().message);
      if (taken.error().code == Errc::malformed_message) continue;  // of one publisher
      return Found::kNothing;
    }
    if (!*taken) {
      chunk = next_sign();
      return chunk ? Found::kChunk : Found::kNothing;
    }
    {
      std::unique_lock<std::mutex> lock(mutex_);
      if (const auto sign = signs_.find(taken->publisher()); sign != signs_.end()) {
        sign->second =
            std::max(sign->second, std::min(os::of_process(taken->header().source_monotonic_ns), os::monotonic_ns()));
        unsent_signs_.erase(sign->first);
      }
      if (publishers_.count(taken->publisher()) == 0) {
        const bool stays_here = is_decided(taken->publisher());
        lock.unlock();
        if (!stays_here) lose(Errc::not_found, "its publisher had ended before it was known");
        continue;
      }
      if (clients_) {
        Gid client;
        std::memcpy(client.data(), taken->header().correlation_client, client.size());
        if (clients_->count(client) == 0) continue;
      }
    }
    if (std::memcmp(taken->header().publisher_id, taken->publisher().data(), taken->publisher().size()) != 0) {
      lose(Errc::protocol_violation, "its header names another publisher");
      continue;
    }
    tally_.carried(taken->size_bytes());
    chunk = outgoing(std::move(*taken));
    return Found::kChunk;
  }
}

}  // namespace baton::link
