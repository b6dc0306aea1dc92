// SPDX-License-Identifier: Apache-2.0
// What this host sends to one other of one channel: the messages that an ordinary subscription of the link takes, as they lie. Each host
// has a subscription of its own, so a slow one holds up no other, and its queue drops or refuses as its QoS says.
// Thread rules: the members of Source by the engine, the rest by any thread.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "engine.hpp"
#include "saying.hpp"
#include "succession.hpp"
#include "tally.hpp"

namespace baton::link {

/// Bytes of small messages that are copied because they are under way to a host, of all channels. Each host has its own: one that takes nothing
/// leaves the others theirs.
using CopiedBytes = std::shared_ptr<std::atomic<std::size_t>>;

class TopicSource final : public Source {
 public:
  /// `held`: samples that the reader may hold.
  TopicSource(std::string topic, std::shared_ptr<transport::Reader> reader, std::size_t held, CopiedBytes copied,
              std::shared_ptr<Saying> saying);
  /// Whose messages travel; those of others on the topic came from abroad, or travel on another channel. `known`: all publishers of the
  /// host at that time. A message of one that is not among them came before it was known, and waits for the next calls. True: one has
  /// waited; the flow is to be woken.
  bool set_publishers(std::set<Gid> publishers, std::shared_ptr<const std::set<Gid>> known);
  /// Whether a message waits for set_publishers(), and then for Flow::wake().
  bool waits() const;
  /// Sends on the signs of life of publishers with manual liveliness that came by no message. True: the flow is to be woken.
  bool look_for_signs();
  /// Of responses of a service: whose travel.
  void set_clients(std::set<Gid> clients);

  /// As Succession's.
  Result<void> replace(std::shared_ptr<transport::Reader> reader);
  bool is_replacing() const;
  std::set<Gid> readers() const;
  std::uint64_t lost() const;  ///< messages that the readers have lost, or that were given up here: tally() says why

  Found next(std::shared_ptr<const Outgoing>& chunk) override;
  void attach(transport::WaitSet& wait_set) override;
  void detach(transport::WaitSet& wait_set) override;
  bool empty() const override;
  const Tally& tally() const noexcept { return tally_; }

 private:
  std::shared_ptr<const Outgoing> outgoing(transport::TakenSample sample) const;
  std::shared_ptr<const Outgoing> next_sign();
  bool is_decided(const Gid& publisher) const;
  Result<transport::TakenSample> take(bool& waits);
  void lose(Errc code, const std::string& why);

  const std::string topic_;
  const std::size_t held_;
  const CopiedBytes copied_bytes_;
  const std::shared_ptr<Saying> saying_;
  const std::shared_ptr<std::atomic<std::size_t>> samples_;  // under way
  Tally tally_;
  mutable std::mutex mutex_;
  Succession readers_;
  transport::TakenSample undecided_;
  std::set<Gid> publishers_;
  std::shared_ptr<const std::set<Gid>> known_ = std::make_shared<const std::set<Gid>>();
  Gid undecided_publisher_{};
  int calls_left_ = 0;  // of set_publishers() until undecided_ waits no more; 0: it does not
  std::map<Gid, std::int64_t>
      signs_;                   // CLOCK_MONOTONIC of the last sign of life that was sent, by a message or without
  std::set<Gid> unsent_signs_;  // publishers

  std::optional<std::set<Gid>> clients_;
};

}  // namespace baton::link
