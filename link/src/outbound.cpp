// SPDX-License-Identifier: Apache-2.0
#include "outbound.hpp"

#include <algorithm>
#include <cstring>

#include "advertisement.hpp"
#include "baton/os/clock.hpp"

namespace baton::link {
namespace {

using Count = std::shared_ptr<std::atomic<std::size_t>>;

/// A message that is under way, as one of its publisher.
struct SentMessage : OutgoingChunk {
  SentMessage(const Gid& of, std::shared_ptr<UnderWay> counted_in) : publisher(of), under_way(std::move(counted_in)) {
    under_way->add(publisher);
  }
  ~SentMessage() override { under_way->remove(publisher); }
  const Gid publisher;
  const std::shared_ptr<UnderWay> under_way;
};

/// The sample keeps the publisher's memory as it is.
struct SentSample final : SentMessage {
  SentSample(transport::TakenSample taken, Count counted, std::shared_ptr<UnderWay> counted_in)
      : SentMessage(taken.publisher(), std::move(counted_in)), sample(std::move(taken)), count(std::move(counted)) {
    count->fetch_add(1, std::memory_order_relaxed);  // a count: orders nothing
    bytes = reinterpret_cast<const std::byte*>(&sample.header());
    size_bytes = sizeof(memory::ChunkHeader) + sample.size_bytes();
  }
  ~SentSample() override { count->fetch_sub(1, std::memory_order_relaxed); }
  const transport::TakenSample sample;
  const Count count;
};

/// In memory of its own.
struct SentCopy final : SentMessage {
  SentCopy(const SentSample& sample, Count counted)
      : SentMessage(sample.publisher, sample.under_way),
        memory(new std::byte[sample.size_bytes]),
        count(std::move(counted)) {
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
struct SentSign final : OutgoingChunk {
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

/// A message is kept until the other host acknowledges it, because it may have to be sent again. So that a burst of small messages need not
/// wait, small messages are copied, up to so many bytes, when the link holds as many samples as it may.
constexpr std::size_t kSmallBytes = std::size_t{64} << 10, kMostCopiedBytes = std::size_t{16} << 20;
/// Calls of set_publishers() before an undecided message is given up: the `known` of the first call may be older than the message.
constexpr int kCallsToDecide = 2;

struct LossReason {
  std::uint64_t transport::Losses::*count;
  const char* why;
};
constexpr const char* kOverwritten = "the host, or the network to it, takes less than is published";
/// Why the link's subscriptions lose messages.
constexpr std::array<LossReason, 6> kReasons{
    {{&transport::Losses::overflow, kOverwritten},
     {&transport::Losses::held, kOverwritten},
     {&transport::Losses::limit, "the process of its publisher has more memory than the link may map and copy"},
     {&transport::Losses::memory, "the link has no memory, memory area or descriptor left"},
     {&transport::Losses::malformed, "a message of its publisher was malformed, which ended the connection to it"},
     {&transport::Losses::interrupted, "the connection to the process of its publisher broke"}}};

}  // namespace

TopicSource::TopicSource(std::string topic, std::shared_ptr<transport::Reader> reader, std::size_t held,
                         CopiedBytes copied, std::shared_ptr<LinkLog> log)
    : topic_(std::move(topic)),
      held_(held),
      copied_bytes_(std::move(copied)),
      log_(std::move(log)),
      samples_(std::make_shared<std::atomic<std::size_t>>(0)),
      readers_(std::move(reader)) {}

bool TopicSource::is_replacing() const {
  const os::Lock lock(mutex_);
  return readers_.is_replacing();
}

Result<void> TopicSource::replace(std::shared_ptr<transport::Reader> reader) {
  const os::Lock lock(mutex_);
  return readers_.replace(std::move(reader));
}

std::set<Gid> TopicSource::readers() const {
  const os::Lock lock(mutex_);
  return readers_.readers();
}

TopicSource::Lost TopicSource::lost() const {
  const os::Lock lock(mutex_);
  std::map<std::string, std::uint64_t> counts;
  const transport::Losses losses = readers_.losses();
  for (const LossReason& reason : kReasons) counts[reason.why] += losses.*reason.count;
  for (std::size_t i = 0; i < kGivenUp.size(); ++i) counts[kGivenUp[i]] += given_up_[i];
  Lost out;
  std::uint64_t most = 0;
  for (const auto& [why, count] : counts) {
    out.messages += count;
    if (count <= most) continue;
    most = count;
    out.why = why;
  }
  return out;
}

void TopicSource::lose(GivenUp why, Errc code) {
  ++given_up_[static_cast<std::size_t>(why)];
  log_->write(About::kSubscriptions, LinkLog::Level::kError, code,
              "a message of '" + topic_ + "' is lost for other hosts: " + kGivenUp[static_cast<std::size_t>(why)]);
}

bool TopicSource::set_publishers(std::set<Gid> publishers, std::shared_ptr<const std::set<Gid>> known) {
  const os::Lock lock(mutex_);
  publishers_ = std::move(publishers);
  known_ = std::move(known);
  for (auto at = signs_.begin(); at != signs_.end();)
    at = publishers_.count(at->first) != 0 ? std::next(at) : signs_.erase(at);
  readers_.forget([this](const Gid& publisher) BATON_REQUIRES(mutex_) { return !is_decided(publisher); });
  const std::size_t before = undecided_.size();
  std::deque<Undecided> still;
  undecided_of_.clear();
  for (Undecided& each : undecided_) {
    if (is_decided(each.sample.publisher())) {
      decided_.push_back(std::move(each.sample));
    } else if (--each.calls_left == 0) {
      lose(GivenUp::kEnded, Errc::not_found);
    } else {
      ++undecided_of_[each.sample.process()];
      still.push_back(std::move(each));
    }
  }
  undecided_ = std::move(still);
  return undecided_.size() < before;
}

bool TopicSource::waits() const {
  const os::Lock lock(mutex_);
  return !undecided_.empty();
}

std::set<Gid> TopicSource::under_way() const {
  const os::Lock lock(mutex_);
  std::set<Gid> out = readers_.publishers();
  for (const Undecided& each : undecided_) out.insert(each.sample.publisher());
  for (const transport::TakenSample& each : decided_) out.insert(each.publisher());
  under_way_->append_to(out);
  return out;
}

bool TopicSource::is_decided(const Gid& publisher) const {
  return publishers_.count(publisher) != 0 || known_->count(publisher) != 0;
}

void TopicSource::add_undecided(transport::TakenSample sample) {
  std::size_t& of_process = undecided_of_[sample.process()];
  if (of_process >= kMostUndecidedOfProcess || undecided_.size() >= kMostUndecided)
    return lose(GivenUp::kTooMany, Errc::limit_reached);
  ++of_process;
  undecided_.push_back({std::move(sample), kCallsToDecide});
}

bool TopicSource::look_for_signs() {
  const os::Lock lock(mutex_);
  bool some = false;
  for (const Gid& publisher : publishers_) {
    const std::int64_t sign_ns = readers_.newest().sign_of_life_ns(publisher);
    if (sign_ns == 0) continue;
    const auto known = signs_.emplace(publisher, sign_ns);  // the first sign: the publisher was just connected
    if (known.second || sign_ns <= known.first->second) continue;
    known.first->second = sign_ns;
    some = unsent_signs_.insert(publisher).second || some;
  }
  return some;
}

std::shared_ptr<const OutgoingChunk> TopicSource::next_sign() {
  if (unsent_signs_.empty()) return nullptr;
  return std::make_shared<SentSign>(unsent_signs_.extract(unsent_signs_.begin()).value());
}

bool TopicSource::empty() const {
  const os::Lock lock(mutex_);
  return !readers_.has_data() && unsent_signs_.empty() && undecided_.empty() && decided_.empty();
}

std::size_t TopicSource::waiting_bytes() const {
  const os::Lock lock(mutex_);
  const std::size_t messages = readers_.unread() + undecided_.size() + decided_.size();
  const std::uint64_t sent = traffic_.messages();
  // The sizes of messages that were not taken are not known: the mean of those that were stands for them.
  return messages * (sizeof(memory::ChunkHeader) + (sent == 0 ? 0 : traffic_.bytes() / sent));
}

void TopicSource::set_clients(std::set<Gid> clients) {
  const os::Lock lock(mutex_);
  clients_ = std::move(clients);
}

void TopicSource::attach(transport::WaitSet& wait_set) {
  const os::Lock lock(mutex_);
  if (const Result<void> added = readers_.attach(wait_set); !added) {
    log_->write(About::kSubscriptions, LinkLog::Level::kError, added.error().code,
                "messages of '" + topic_ + "' reach other hosts late: " + added.error().message);
  }
}

void TopicSource::detach(transport::WaitSet&) {
  const os::Lock lock(mutex_);
  readers_.detach();
}

std::shared_ptr<const OutgoingChunk> TopicSource::outgoing(transport::TakenSample sample) const {
  auto sent = std::make_shared<SentSample>(std::move(sample), samples_, under_way_);
  const bool is_last = samples_->load(std::memory_order_relaxed) >= held_;
  if (!is_last || sent->size_bytes > kSmallBytes ||
      copied_bytes_->load(std::memory_order_relaxed) + sent->size_bytes > kMostCopiedBytes) {
    return sent;
  }
  return std::make_shared<SentCopy>(*sent, copied_bytes_);
}

Result<transport::TakenSample> TopicSource::take() {
  if (decided_.empty()) return readers_.take();
  transport::TakenSample sample = std::move(decided_.front());
  decided_.pop_front();
  return sample;
}

/// Whether a message whose publisher is known, or undecided for too long, leaves this host.
bool TopicSource::travels(const transport::TakenSample& sample) {
  if (const auto sign = signs_.find(sample.publisher()); sign != signs_.end()) {
    sign->second =
        std::max(sign->second, std::min(os::of_process(sample.header().source_monotonic_ns), os::monotonic_ns()));
    unsent_signs_.erase(sign->first);
  }
  if (publishers_.count(sample.publisher()) == 0) return false;
  if (clients_) {
    Gid client;
    std::memcpy(client.data(), sample.header().correlation_client, client.size());
    if (clients_->count(client) == 0) return false;
  }
  if (std::memcmp(sample.header().publisher_id, sample.publisher().data(), sample.publisher().size()) == 0) return true;
  lose(GivenUp::kOtherName, Errc::protocol_violation);
  return false;
}

ChunkSource::NextChunk TopicSource::next(std::shared_ptr<const OutgoingChunk>& chunk) {
  const os::Lock lock(mutex_);
  for (int passed = 0; passed < kMostPassed; ++passed) {
    Result<transport::TakenSample> taken = take();
    if (!taken) {
      if (taken.error().code == Errc::held_limit) return NextChunk::kHeld;
      log_->write(About::kSubscriptions, LinkLog::Level::kError, taken.error().code, taken.error().message);
      if (taken.error().code == Errc::malformed_message) continue;  // of one publisher
      return NextChunk::kNothing;
    }
    if (!*taken) {
      if (readers_.is_spent()) return NextChunk::kMore;
      chunk = next_sign();
      return chunk ? NextChunk::kChunk : NextChunk::kNothing;
    }
    if (!is_decided(taken->publisher())) {
      add_undecided(std::move(*taken));
    } else if (travels(*taken)) {
      traffic_.count(taken->size_bytes());
      chunk = outgoing(std::move(*taken));
      return NextChunk::kChunk;
    }
  }
  return NextChunk::kMore;
}

}  // namespace baton::link
