// SPDX-License-Identifier: Apache-2.0
#include "topic_reader.hpp"

#include <algorithm>
#include <tuple>

namespace baton::record {
namespace {

/// Messages that wait for the recorder in a queue. A queue's slots belong to the publisher, which may give up the oldest (docs/format/qos.md).
constexpr std::uint32_t kDepth = 1000;
/// As many as every publisher grants. Further messages wait unread, which holds them as well.
constexpr std::uint32_t kHeld = 8;

void add(transport::Losses& sum, const transport::Losses& more) {
  using transport::Losses;
  for (std::uint64_t Losses::*const reason : {&Losses::overflow, &Losses::held, &Losses::limit, &Losses::memory,
                                              &Losses::malformed, &Losses::interrupted, &Losses::lifespan})
    sum.*reason += more.*reason;
}

/// Whether two publishers offer the same QoS.
bool same(const QoS& a, const QoS& b) {
  const auto offered = [](const QoS& qos) {
    // Every policy by name: the compiler refuses this line when QoS has one more.
    const auto& [reliability, history, depth, durability, deadline, lifespan, liveliness, lease, held] = qos;
    static_cast<void>(held);  // a policy of subscriptions alone
    return std::tie(reliability, history, depth, durability, deadline, lifespan, liveliness, lease);
  };
  return offered(a) == offered(b);
}

}  // namespace

Result<std::unique_ptr<TopicReader>> TopicReader::make(std::shared_ptr<Participant> participant, std::string node,
                                                       std::string topic, const transport::TypeInfo& type) {
  Result<message::Definition> definition = message::Definition::parse(type.definition, type.hash);
  if (!definition) return definition.error();
  if (definition->type().size != type.skeleton_bytes)
    return Error{Errc::malformed_message, "its definition describes another layout"};
  std::unique_ptr<TopicReader> made(
      new TopicReader(std::move(participant), std::move(node), std::move(topic), type, std::move(*definition)));
  made->info_.fixed_size = made->type().fixed;
  Result<message::CdrCodec> codec = message::CdrCodec::compile(made->type());
  if (!codec) return codec.error();
  made->codec_ = std::make_shared<const message::CdrCodec>(std::move(*codec));
  made->validation_ = std::make_shared<const message::Validation>(made->type());
  return Result<std::unique_ptr<TopicReader>>(std::move(made));
}

TopicReader::~TopicReader() = default;

Result<void> TopicReader::match(const std::vector<transport::EndpointInfo>& publishers, transport::WaitSet& wait_set) {
  constexpr std::size_t kMostLatched = 10'000;  // remembered; then those that have left are forgotten
  if (kept_.size() > kMostLatched) kept_.clear();
  bool any_volatile = false;
  for (const transport::EndpointInfo& publisher : publishers) {
    if (publisher.qos.durability == Durability::kTransientLocal)
      kept_.insert(publisher.gid);
    else
      any_volatile = true;
    constexpr std::size_t kMostOffered = 16;  // different ones that a bag mentions
    if (offered_.size() < kMostOffered &&
        std::none_of(offered_.begin(), offered_.end(), [&](const QoS& qos) { return same(qos, publisher.qos); }))
      offered_.push_back(publisher.qos);
  }
  if (!kept_.empty() && !readers_[kKept]) {
    if (const Result<void> made = subscribe(kKept, wait_set); !made) return made;
  }
  if (any_volatile && !readers_[kVolatile]) return subscribe(kVolatile, wait_set);
  return {};
}

Result<void> TopicReader::subscribe(Kind kind, transport::WaitSet& wait_set) {
  Participant::ReaderOptions options;
  options.topic = topic_;
  options.node = node_;
  options.type = info_;
  options.qos.keep_last(kDepth).best_effort().hold(kHeld);
  if (kind == kKept) options.qos.transient_local();
  options.validate = message::Validation::check;
  options.validate_context = validation_;
  Result<std::shared_ptr<transport::Reader>> reader = participant_->create_reader(options);
  if (!reader) return reader.error();
  if (const Result<void> added = wait_set.add(*reader); !added) return added;
  const os::Lock lock(mutex_);
  readers_[kind] = std::move(*reader);
  return {};
}

Result<transport::TakenSample> TopicReader::take(std::int64_t last_ns) {
  const auto is_late = [&](const transport::TakenSample& taken) {
    return taken.header().source_monotonic_ns > last_ns;
  };
  behind_ = false;
  if (readers_[kKept]) {
    Result<transport::TakenSample> taken = readers_[kKept]->take_next();
    if (!taken || (*taken && !is_late(*taken))) return taken;
    behind_ = !*taken && readers_[kKept]->has_data();
  }
  constexpr int kMostPassed = 256;
  for (int passed = 0; readers_[kVolatile] && passed < kMostPassed; ++passed) {
    Result<transport::TakenSample> taken = readers_[kVolatile]->take_next();
    if (!taken) return taken;
    if (!*taken || is_late(*taken)) {
      behind_ = behind_ || (!*taken && readers_[kVolatile]->has_data());
      return transport::TakenSample();
    }
    if (!readers_[kKept] || kept_.count(taken->publisher()) == 0) return taken;
    if (passed + 1 == kMostPassed) behind_ = true;
  }
  return transport::TakenSample();
}

std::uint64_t TopicReader::most_waiting() const {
  std::uint64_t sum = 0;
  for (const auto& reader : readers_) {
    if (!reader) continue;
    sum += reader->unread();
    for (const auto& [publisher, connected] : reader->publishers())
      if (!connected || reader->awaits_memory(publisher)) sum += kDepth;
  }
  return sum;
}

bool TopicReader::is_connecting() const {
  for (const auto& reader : readers_) {
    if (!reader) continue;
    for (const auto& [publisher, connected] : reader->publishers())
      if (!connected || reader->awaits_memory(publisher)) return true;
  }
  return false;
}

transport::Losses TopicReader::losses() const {
  const os::Lock lock(mutex_);
  transport::Losses sum;
  for (const auto& reader : readers_)
    if (reader) add(sum, reader->losses());
  return sum;
}

}  // namespace baton::record
