// SPDX-License-Identifier: Apache-2.0
// Messages of other hosts. A publisher of another host has a proxy in this domain, a publisher with the same id. A chunk that arrives is
// written once, into a loan of the proxy. Then it is validated, and published with the number and time of the original.
// Thread rules: begin() and deliver() one call at a time, the rest on any thread.
// Invariants: (1) no byte of a message reaches a subscription before the validator has passed the message; (2) a chunk is published only if
// its channel, its definition and its host are those of its publisher; (3) a message that arrives in parts has memory for the bytes that have
// arrived, and not for the size that its header claims; (4) the messages of a publisher are published in order; (5) a message that waits for a
// first subscription, or for the path of its response, is pending and delays no other publisher. A message delays other publishers only until
// the advertisement that names its publisher has come, or until a subscription that keeps all has room.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "advertisement.hpp"
#include "baton/message/definition.hpp"
#include "baton/os/lock.hpp"
#include "host_budgets.hpp"
#include "host_network.hpp"
#include "link_log.hpp"
#include "traffic_counter.hpp"

namespace baton::link {

/// A type as this host defines it.
struct LocalType {
  transport::TypeInfo info;
  message::Definition definition;
};

/// A header of either byte order, converted to this machine's. Error protocol_violation: it is no header of a chunk whose message has
/// `message_bytes`.
struct ArrivedHeader {
  memory::ChunkHeader header;
  bool foreign_order = false;
};
Result<ArrivedHeader> read_header(const memory::ChunkHeader& arrived, std::size_t message_bytes);

/// The clients of other hosts whose responses can travel: the link's subscription to the responses is connected.
/// Thread rules: any thread.
class Answerable {
 public:
  using Clients = std::set<std::pair<Gid, Gid>>;  ///< by host
  void set(Clients clients) {
    const os::Lock lock(mutex_);
    clients_ = std::move(clients);
  }
  bool has(const Gid& host, const Gid& client) const {
    const os::Lock lock(mutex_);
    return clients_.count({host, client}) != 0;
  }

 private:
  mutable os::Mutex mutex_;
  Clients clients_ BATON_GUARDED_BY(mutex_);
};

class InboundChannel final : public ChunkReceiver {
 public:
  /// `answerable`: for a channel of requests, each of which is pending until its response can travel. Null: for a channel of messages.
  InboundChannel(std::string topic, std::shared_ptr<const LocalType> type, std::shared_ptr<LinkLog> log,
                 std::shared_ptr<HostBudgets> budgets, std::shared_ptr<const Answerable> answerable = nullptr);
  ~InboundChannel() override;
  /// `writer` is the proxy of a publisher of `host`, and publishes only chunks of that host. `first_readers`: its first chunks wait until it has
  /// a subscription, at most kFirstReaders.
  void add(const Gid& host, const std::shared_ptr<transport::Writer>& writer, bool first_readers);
  void remove(const Gid& publisher);
  using Publishers = std::shared_ptr<const std::set<Gid>>;
  using PublishersOfHosts = std::shared_ptr<const std::set<std::pair<Gid, Gid>>>;
  /// `left_out`: publishers, by host, that get no proxy: their messages are refused. `advertised`: all publishers that other hosts advertise
  /// now. A message of another publisher is refused after a time within which its advertisement would have come.
  void set_others(PublishersOfHosts left_out, Publishers advertised);
  /// Delivers the pending messages that need not wait any more. Call it when `answerable` or a publisher's subscriptions have changed, and every
  /// second. True: some still wait for a subscription, or for room in one; call again soon.
  bool deliver_pending();
  /// Whether messages of this publisher, or of any, are pending. They wait a short time, during which their proxy has to stay. False for a
  /// channel of requests: their client has ended.
  bool has_pending(const Gid& publisher) const;
  bool has_pending() const;

  std::unique_ptr<ArrivingChunk> begin(const Gid& host, const memory::ChunkHeader& header, std::size_t message_bytes,
                                       std::size_t come_bytes) override;
  bool deliver(const Gid& host, ArrivingChunk& arriving) override;

  const std::string& topic() const noexcept { return channel_traffic_->topic; }
  const std::string& type_name() const noexcept { return type_->info.name; }
  const TrafficCounter& traffic() const noexcept { return channel_traffic_->traffic; }
  std::uint64_t delivered() const noexcept { return channel_traffic_->traffic.messages(); }
  std::uint64_t refused() const noexcept { return channel_traffic_->traffic.dropped(); }

 private:
  struct InLoan;
  struct StagedMessage;
  struct LivelinessSign;
  /// Counts of the channel, and where it reports losses. Shared, because chunks that arrive may outlive the channel.
  struct ChannelTraffic {
    ChannelTraffic(std::string of, std::shared_ptr<LinkLog> to, std::shared_ptr<HostBudgets> also)
        : topic(std::move(of)), log(std::move(to)), budgets(std::move(also)) {}
    void refuse(const Gid& host, Errc code, const std::string& why);
    const std::string topic;
    const std::shared_ptr<LinkLog> log;
    const std::shared_ptr<HostBudgets> budgets;
    TrafficCounter traffic;
  };
  struct ProxyOfHost {
    Gid host{};
    std::shared_ptr<transport::Writer> writer;
    std::chrono::steady_clock::time_point waits_until;  ///< for its first subscription
  };
  std::optional<ProxyOfHost> find(const Gid& host, const memory::ChunkHeader& header) const;
  Result<std::unique_ptr<InLoan>> make_loan(const ProxyOfHost& known, const ArrivedHeader& arrived,
                                            std::size_t come_bytes);
  /// A pending message of a publisher.
  struct PendingMessage {
    Gid host;
    std::unique_ptr<ArrivingChunk> arriving;  ///< an InLoan, or a StagedMessage if its publisher had no memory for it
  };
  enum class Offered : std::uint8_t { kDone, kWaits, kSoon };
  enum class PendingSpace : std::uint8_t { kThere, kNone, kFlowWaits };
  bool is_left_out(const Gid& host, const Gid& publisher) const;
  bool is_advertised(const Gid& publisher) const;
  bool publish(const Gid& host, InLoan& arriving);
  bool publish_now(InLoan& arriving);
  bool is_answerable(const Gid& host, const InLoan& request) const;
  static bool is_too_early(const InLoan& arriving);
  bool deliver_staged(const Gid& host, StagedMessage& staged);
  std::unique_ptr<InLoan> loan_for(const Gid& host, StagedMessage& staged, Error& why);
  PendingSpace pending_space(const Gid& host, const Gid& publisher) const BATON_REQUIRES(pending_mutex_);
  void add_pending(const Gid& host, const Gid& publisher, std::unique_ptr<ArrivingChunk> arriving)
      BATON_REQUIRES(pending_mutex_);
  void remove_pending(const Gid& host, const Gid& publisher) BATON_REQUIRES(pending_mutex_);
  Offered offer(PendingMessage& pending) BATON_REQUIRES(pending_mutex_);

  /// Pending messages of one process of a host, and of the host. Beyond these the next one is lost.
  static constexpr std::size_t kMostPendingOfProcess = 1024;
  static constexpr std::size_t kMostPending = 4096;
  /// Messages that one deliver_pending() delivers: the channel's other messages wait meanwhile.
  static constexpr std::size_t kMostOffered = 256;

  const std::shared_ptr<ChannelTraffic> channel_traffic_;
  const std::shared_ptr<const LocalType> type_;
  const std::shared_ptr<HostBudgets> budgets_;
  const std::shared_ptr<const Answerable> answerable_;
  mutable os::Mutex mutex_;
  std::map<Gid, ProxyOfHost> writers_ BATON_GUARDED_BY(mutex_);
  PublishersOfHosts left_out_ BATON_GUARDED_BY(mutex_);
  Publishers advertised_ BATON_GUARDED_BY(mutex_);
  mutable os::Mutex pending_mutex_;  // taken before mutex_
  std::map<Gid, std::deque<PendingMessage>> pending_ BATON_GUARDED_BY(pending_mutex_);
  std::map<std::pair<Gid, IdPrefix>, std::size_t> pending_of_process_ BATON_GUARDED_BY(pending_mutex_);  // by host
  std::map<Gid, std::size_t> pending_of_host_ BATON_GUARDED_BY(pending_mutex_);
};

}  // namespace baton::link
