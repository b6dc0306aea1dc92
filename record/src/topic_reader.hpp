// SPDX-License-Identifier: Apache-2.0
// The subscriptions by which one topic is recorded: they match every publisher of the type, and make no publisher wait.
// A subscription that asks for transient_local matches only publishers that offer it, so a topic with publishers of both kinds has two
// subscriptions. Messages of a publisher that both subscriptions match are taken from the first one.
// Thread rules: one thread; losses() by any.
#pragma once

#include <array>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "baton/message/cdr_codec.hpp"
#include "baton/message/definition.hpp"
#include "baton/message/validate.hpp"
#include "baton/os/lock.hpp"
#include "baton/transport/transport.hpp"

namespace baton::record {

/// The default name of the node that records.
inline constexpr char kNode[] = "baton_record";

class TopicReader {
 public:
  using Participant = transport::Participant;
  /// Error malformed_message: the definition, which may come from any process, cannot be parsed.
  static Result<std::unique_ptr<TopicReader>> make(std::shared_ptr<Participant> participant, std::string node,
                                                   std::string topic, const transport::TypeInfo& type);
  ~TopicReader();
  TopicReader(const TopicReader&) = delete;
  TopicReader& operator=(const TopicReader&) = delete;

  /// Makes the subscriptions that these publishers need, and adds them to the wait set.
  Result<void> match(const std::vector<transport::EndpointInfo>& publishers, transport::WaitSet& wait_set);
  /// The next message that was published until `last_ns` (CLOCK_MONOTONIC of the machine); an empty sample if there is none. Errors: held_limit:
  /// the caller must release samples before it can take another one; forked.
  Result<transport::TakenSample> take(std::int64_t last_ns);
  /// Whether the last take() passed over many messages and gave up: the queues may still have a message for it.
  bool is_behind() const noexcept { return behind_; }
  /// Upper bound of the messages that wait: take() will pass over some of them, and a publisher that is still being connected counts as many.
  std::uint64_t most_waiting() const;
  /// Whether some publishers offer transient_local, and others do not.
  bool is_mixed() const noexcept { return readers_[kKept] && readers_[kVolatile]; }
  /// Whether a subscription is still being connected to a publisher, whose first messages cannot be taken yet.
  bool is_connecting() const;
  transport::Losses losses() const;

  const std::string& topic() const noexcept { return topic_; }
  const message::Type& type() const noexcept { return definition_.type(); }
  const transport::TypeInfo& info() const noexcept { return info_; }
  const message::CdrCodec& codec() const noexcept { return *codec_; }
  /// The different QoS that publishers have offered, 16 at most.
  const std::vector<QoS>& offered() const noexcept { return offered_; }

 private:
  enum Kind : std::size_t { kKept, kVolatile };  ///< indices into readers_
  TopicReader(std::shared_ptr<Participant> participant, std::string node, std::string topic,
              const transport::TypeInfo& info, message::Definition definition)
      : participant_(std::move(participant)),
        node_(std::move(node)),
        topic_(std::move(topic)),
        info_(info),
        definition_(std::move(definition)) {}
  Result<void> subscribe(Kind kind, transport::WaitSet& wait_set);

  const std::shared_ptr<Participant> participant_;
  const std::string node_, topic_;
  transport::TypeInfo info_;
  message::Definition definition_;
  std::shared_ptr<const message::Validation> validation_;
  std::shared_ptr<const message::CdrCodec> codec_;
  std::vector<QoS> offered_;
  std::set<transport::Gid>
      kept_;  // publishers that offer transient_local; those that have left, too, because their messages may still wait
  bool behind_ = false;
  mutable os::Mutex mutex_;  // protects the pointers in readers_, which losses() reads
  std::array<std::shared_ptr<transport::Reader>, 2> readers_;
};

}  // namespace baton::record
