// SPDX-License-Identifier: Apache-2.0
// What other hosts send: a publisher of another host has a publisher in this domain that stands for it, with its id. A chunk that
// arrives is written into a loan of this publisher, once; then it is checked, and published with its number and time.
// Thread rules: begin() and deliver() one call at a time, the rest on any thread.
// Invariants: (1) no byte of a message reaches a subscription before the validator has passed it; (2) no chunk is published for a
// publisher that its header's channel and definition do not fit, or that is another host's; (3) a message that arrives in parts has memory
// for what has come, and not for what its host says will come.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "baton/message/definition.hpp"
#include "engine.hpp"
#include "hoard.hpp"
#include "saying.hpp"
#include "tally.hpp"
#include "words.hpp"

namespace baton::link {

/// A type as this host defines it.
struct CarriedType {
  transport::TypeInfo info;
  message::Definition definition;
};

/// A header of either byte order, in this machine's. Error protocol_violation: it is no header of a chunk of which
/// `message_bytes` came behind it.
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
    const std::lock_guard<std::mutex> lock(mutex_);
    clients_ = std::move(clients);
  }
  bool has(const Gid& host, const Gid& client) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return clients_.count({host, client}) != 0;
  }

 private:
  mutable std::mutex mutex_;
  Clients clients_;
};

class InboundChannel final : public Receiver {
 public:
  /// `answerable`: of requests; each waits aside until its response can travel, and holds no other client's up. Null: any message is
  /// delivered at once.
  InboundChannel(std::string topic, std::shared_ptr<const CarriedType> type, std::shared_ptr<Saying> saying,
                 std::shared_ptr<Hoard> hoard, std::shared_ptr<const Answerable> answerable = nullptr);
  ~InboundChannel() override;
  /// `writer` stands for a publisher of `host`, whose chunks alone it publishes. `first_readers`: its first chunks wait until it has a
  /// subscription, or has had the time for one.
  void add(const Gid& host, const std::shared_ptr<transport::Writer>& writer, bool first_readers);
  void remove(const Gid& publisher);
  /// Publishers for which no publisher here stands, because there are too many: their messages are refused, and hold no other up.
  void leave_out(std::shared_ptr<const std::set<Gid>> publishers);
  /// Delivers the requests that waited aside and need not any more. Call it when `answerable` has changed, and every second. True: a server
  /// has no room; call again soon.
  bool offer_aside();

  std::unique_ptr<Arriving> begin(const Gid& host, const memory::ChunkHeader& header, std::size_t message_bytes,
                                  std::size_t come_bytes) override;
  bool deliver(const Gid& host, Arriving& arriving) override;

  const std::string& topic() const noexcept { return book_->topic; }
  const std::string& type_name() const noexcept { return type_->info.name; }
  const Tally& tally() const noexcept { return book_->tally; }
  std::uint64_t delivered() const noexcept { return book_->tally.messages(); }
  std::uint64_t refused() const noexcept { return book_->tally.dropped(); }

 private:
  struct InLoan;
  struct Parked;
  struct Sign;
  /// What has been carried and lost; chunks that arrive may outlive the channel.
  struct Book {
    Book(std::string of, std::shared_ptr<Saying> to, std::shared_ptr<Hoard> also)
        : topic(std::move(of)), saying(std::move(to)), hoard(std::move(also)) {}
    void refuse(const Gid& host, Errc code, const std::string& why);
    const std::string topic;
    const std::shared_ptr<Saying> saying;
    const std::shared_ptr<Hoard> hoard;
    Tally tally;
  };
  struct Known {
    Gid host{};
    std::shared_ptr<transport::Writer> writer;
    std::chrono::steady_clock::time_point waits_until;  ///< for its first subscription
  };
  std::optional<Known> find(const Gid& host, const memory::ChunkHeader& header) const;
  Result<std::unique_ptr<InLoan>> make_loan(const Known& known, const ArrivedHeader& arrived, std::size_t come_bytes);
  bool is_left_out(const Gid& publisher) const;
  bool publish(const Gid& host, InLoan& arriving);
  bool publish_now(InLoan& arriving);
  bool is_answerable(const Gid& host, const InLoan& request) const;
  bool deliver_parked(const Gid& host, Parked& parked);

  /// Requests of clients whose responses cannot travel: beyond this number the next one waits in front of all that follow.
  static constexpr std::size_t kMostAside = 256;
  struct Aside {
    Gid host;
    std::unique_ptr<InLoan> request;
  };

  const std::shared_ptr<Book> book_;
  const std::shared_ptr<const CarriedType> type_;
  const std::shared_ptr<Hoard> hoard_;
  const std::shared_ptr<const Answerable> answerable_;
  mutable std::mutex mutex_;
  std::map<Gid, Known> writers_;
  std::shared_ptr<const std::set<Gid>> left_out_;
  std::mutex aside_mutex_;  // taken before mutex_
  std::deque<Aside> aside_;
};

}  // namespace baton::link
