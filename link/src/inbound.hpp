// SPDX-License-Identifier: Apache-2.0
// What other hosts send: a publisher of another host has a publisher in this domain that stands for it, with its id. A chunk that
// arrives is written into a loan of this publisher, once; then it is checked, and published with its number and time.
// Thread rules: begin() and deliver() on the engine's thread of the channel, the rest on any thread.
// Invariants: (1) no byte of a message reaches a subscription before the validator has passed it; (2) no chunk is published for a
// publisher that its header's channel and definition do not fit.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "baton/message/definition.hpp"
#include "engine.hpp"
#include "saying.hpp"
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

class InboundChannel final : public Receiver {
 public:
  InboundChannel(std::string topic, std::shared_ptr<const CarriedType> type, std::shared_ptr<Saying> saying);
  ~InboundChannel() override;
  /// Chunks of this publisher that came before are published now.
  void add(const std::shared_ptr<transport::Writer>& writer);
  void remove(const Gid& publisher);

  std::unique_ptr<Arriving> begin(const memory::ChunkHeader& header, std::size_t arriving_bytes) override;
  void deliver(std::unique_ptr<Arriving> arriving) override;

  std::uint64_t delivered() const noexcept { return delivered_.load(std::memory_order_relaxed); }
  std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }

 private:
  struct InLoan;
  struct Parked;
  void refuse(Errc code, const std::string& why);
  void publish(InLoan& arriving);

  /// Chunks whose publisher the other host has not announced yet.
  static constexpr std::size_t kMostParked = 256;
  static constexpr std::size_t kMostParkedBytes = std::size_t{64} << 20;

  const std::string topic_;
  const std::shared_ptr<const CarriedType> type_;
  const std::shared_ptr<Saying> saying_;
  std::mutex mutex_;
  std::map<Gid, std::shared_ptr<transport::Writer>> writers_;
  std::deque<std::unique_ptr<Parked>> parked_;
  std::atomic<std::size_t> parked_bytes_{0};              // a bound that need not be exact: orders nothing
  std::atomic<std::uint64_t> delivered_{0}, refused_{0};  // counters: order nothing
};

}  // namespace baton::link
