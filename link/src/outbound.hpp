// SPDX-License-Identifier: Apache-2.0
// What this host sends to one other host on one channel: the messages that an ordinary subscription of the link takes, unchanged. Each host
// has a subscription of its own, so a slow host delays no other, and its queue drops or refuses as its QoS says.
// Thread rules: the members of ChunkSource by threads of the network, the rest by any thread.
// Invariants: (1) the messages of a publisher leave in order; (2) no publisher waits for another one: a message whose publisher is not known
// yet is undecided; (3) each message that is given up is counted with its reason.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "advertisement.hpp"
#include "baton/os/lock.hpp"
#include "host_network.hpp"
#include "link_log.hpp"
#include "replaceable_reader.hpp"
#include "traffic_counter.hpp"

namespace baton::link {

/// Bytes of small messages that are copied because they are under way to a host, on all channels. Each host has its own count, so a host that
/// acknowledges nothing takes no copies from another.
using CopiedBytes = std::shared_ptr<std::atomic<std::size_t>>;

/// How many messages of each publisher are under way. Thread rules: any thread.
class UnderWay {
 public:
  void add(const Gid& publisher) {
    const os::Lock lock(mutex_);
    ++counts_[publisher];
  }
  void remove(const Gid& publisher) {
    const os::Lock lock(mutex_);
    const auto found = counts_.find(publisher);
    if (--found->second == 0) counts_.erase(found);
  }
  void append_to(std::set<Gid>& publishers) const {
    const os::Lock lock(mutex_);
    for (const auto& [publisher, count] : counts_) publishers.insert(publisher);
  }

 private:
  mutable os::Mutex mutex_;
  std::map<Gid, std::size_t> counts_ BATON_GUARDED_BY(mutex_);
};

class TopicSource final : public ChunkSource {
 public:
  /// `held`: samples that the reader may hold.
  TopicSource(std::string topic, std::shared_ptr<transport::Reader> reader, std::size_t held, CopiedBytes copied,
              std::shared_ptr<LinkLog> log);
  /// The publishers whose messages travel. Messages of other publishers of the topic came from other hosts, or travel on another channel.
  /// `known`: all publishers of this host now. A message of a publisher that is not in `known` is undecided during the next calls. True: a
  /// message is not undecided any more; wake the flow.
  bool set_publishers(std::set<Gid> publishers, std::shared_ptr<const std::set<Gid>> known);
  /// Whether a message is undecided: it waits for set_publishers(), and then for Flow::wake().
  bool waits() const;
  /// The publishers of which a message may still be in a queue here, or has not been acknowledged.
  std::set<Gid> under_way() const;
  /// Looks for signs of life of publishers with manual liveliness that came without a message. True: there are some to forward; wake the flow.
  bool look_for_signs();
  /// For responses of a service: the clients whose responses travel.
  void set_clients(std::set<Gid> clients);

  /// As the functions of ReplaceableReader.
  Result<void> replace(std::shared_ptr<transport::Reader> reader);
  bool is_replacing() const;
  std::set<Gid> readers() const;
  /// Messages that the readers have lost, or that were given up here.
  struct Lost {
    std::uint64_t messages = 0;
    std::string why;  ///< of most of them; empty: none
  };
  Lost lost() const;

  NextChunk next(std::shared_ptr<const OutgoingChunk>& chunk) override;
  void attach(transport::WaitSet& wait_set) override;
  void detach(transport::WaitSet& wait_set) override;
  bool empty() const override;
  std::size_t waiting_bytes() const override;
  const TrafficCounter& traffic() const noexcept { return traffic_; }  ///< of what was forwarded

 private:
  /// Messages that one next() passes over, so that the other flows have their turn whatever a publisher sends.
  static constexpr int kMostPassed = 256;
  /// Messages whose publisher is not known yet, of one process and of all. At the first bound only that process loses.
  static constexpr std::size_t kMostUndecidedOfProcess = 64;
  static constexpr std::size_t kMostUndecided = 512;
  /// Why messages are given up here.
  enum class GivenUp : std::uint8_t { kEnded, kTooMany, kOtherName };
  static constexpr std::array<const char*, 3> kGivenUp{"its publisher had ended before it was known",
                                                       "too many messages are of publishers that are not known yet",
                                                       "its header names another publisher"};
  struct Undecided {
    transport::TakenSample sample;
    int calls_left = 0;  // of set_publishers() until it waits no more
  };

  std::shared_ptr<const OutgoingChunk> outgoing(transport::TakenSample sample) const BATON_REQUIRES(mutex_);
  std::shared_ptr<const OutgoingChunk> next_sign() BATON_REQUIRES(mutex_);
  bool is_decided(const Gid& publisher) const BATON_REQUIRES(mutex_);
  Result<transport::TakenSample> take() BATON_REQUIRES(mutex_);
  void add_undecided(transport::TakenSample sample) BATON_REQUIRES(mutex_);
  bool travels(const transport::TakenSample& sample) BATON_REQUIRES(mutex_);
  void lose(GivenUp why, Errc code) BATON_REQUIRES(mutex_);

  const std::string topic_;
  const std::size_t held_;
  const CopiedBytes copied_bytes_;
  const std::shared_ptr<LinkLog> log_;
  const std::shared_ptr<std::atomic<std::size_t>> samples_;  // under way
  const std::shared_ptr<UnderWay> under_way_ = std::make_shared<UnderWay>();
  TrafficCounter traffic_;
  mutable os::Mutex mutex_;
  ReplaceableReader readers_ BATON_GUARDED_BY(mutex_);
  std::deque<Undecided> undecided_ BATON_GUARDED_BY(mutex_);
  std::map<std::uint64_t, std::size_t> undecided_of_ BATON_GUARDED_BY(mutex_);  // by process
  std::deque<transport::TakenSample> decided_
      BATON_GUARDED_BY(mutex_);  // were undecided; are sent before the samples of the readers
  std::array<std::uint64_t, kGivenUp.size()> given_up_ BATON_GUARDED_BY(mutex_){};
  std::set<Gid> publishers_ BATON_GUARDED_BY(mutex_);
  std::shared_ptr<const std::set<Gid>> known_ BATON_GUARDED_BY(mutex_) = std::make_shared<const std::set<Gid>>();
  std::map<Gid, std::int64_t> signs_
      BATON_GUARDED_BY(mutex_);  // CLOCK_MONOTONIC of the last sign of life that was sent, by a message or without
  std::set<Gid> unsent_signs_ BATON_GUARDED_BY(mutex_);  // publishers

  std::optional<std::set<Gid>> clients_;
};

}  // namespace baton::link
