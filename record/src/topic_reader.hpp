// SPDX-License-Identifier: Apache-2.0
// The subscriptions by which one topic is recorded: they take what every publisher of the type offers, and make no publisher wait.
// A subscription that asks for transient_local matches only publishers that offer it, so a topic with publishers of both kinds has two
// subscriptions. Of a publisher that both match the messages of the first one count.
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

/// The node that records, if nothing else is said.
inline constexpr char kNode[] = "baton_record";

class TopicReader {
 public:
  using Participant = transport::Participant;
  /// Error malformed_message: the definition is none. It may come from any process.
  static Result<std::unique_ptr<TopicReader>> make(std::shared_ptr<Participant> participant, std::string node,
                                                   std::string topic, const transport::TypeInfo& type);
  ~TopicReader();
  TopicReader(const TopicReader&) = delete;
  TopicReader& operator=(const TopicReader&) = delete;

  /// Makes the subscriptions that these publishers need, and adds them to the wait set.
  Result<void> match(const std::vector<transport::EndpointInfo>& publishers, transport::WaitSet& wait_set);
  /// The next message that was published until `last_ns` (CLOCK_MONOTONIC of the machine); an empty sample if there is none. Error held_limit:
  /// so many samples are kept that there is none before some are released; forked.
  Result<transport::TakenSample> take(std::int64_t last_ns);
  /// Whether the last take() gave up after many messages that it passed over, so there may be one.
  bool is_behind() const noexcept { return behind_; }
  /// Messages that wait, at most: some of them are passed over, and publishers that are still being connected may have any number.
  std::uint64_t most_waiting() const;
  /// Whether there are publishers that offer transient_local, and others.
  bool is_mixed() const noexcept { return readers_[kKept] && readers_[kVolatile]; }
  /// Whether a subscription is still being connected to a publisher, whose first messages cannot be taken yet.
  bool is_connecting() const;
  transport::Losses losses() const;

  const std::string& topic() const noexcept { return topic_; }
  const message::Type& type() const noexcept { return definition_.type(); }
  const transport::TypeInfo& info() const noexcept { return info_; }
  const message::CdrCodec& codec() const noexcept { return *codec_; }
  /// The different ones, 16 at most.
  const std::vector<QoS>& offered() const noexcept { return offered_; }

 private:
  enum Kind : std::size_t { kKept, kVolatile };  ///< the subscriptions, in their order
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
      kept_;  // publishers that offer transient_local, also those that have left: their messages may wait
  bool behind_ = false;
  mutable os::Mutex mutex_;  // of the pointers, which losses() reads
  std::array<std::shared_ptr<transport::Reader>, 2> readers_;
};

}  // namespace baton::record
