// SPDX-License-Identifier: Apache-2.0
// The memory of a whole domain: adds up what the processes report, tells them when this process's account changed, and refuses
// growth beyond BATON_DOMAIN_MEMORY_LIMIT. Without a lock across processes two of them may grow at the same moment: the limit
// can be exceeded by what they took until each heard of the other (about kReportDelay).
// Thread rules: thread-safe; takes only its own lock and, inside it, the hub's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "frames.hpp"
#include "hub.hpp"

namespace baton::transport {

class DomainAccount {
 public:
  static constexpr std::chrono::milliseconds kReportDelay{20};

  /// `report` is called on the background thread, at most once per kReportDelay, after the account changed.
  void start(Hub* hub, std::function<void()> report);
  /// Nothing is called after this returns, except a report that the hub is running right now.
  void stop();

  void peer_reported(PeerId peer, const AccountFrame& frame);
  void peer_gone(PeerId peer);
  std::size_t peers_backed_bytes() const;
  AccountFrame own() const;
  /// BATON_DOMAIN_MEMORY_LIMIT (bytes, with K, M, G or T); SIZE_MAX without it, invalid_argument if it is no size.
  static const Result<std::size_t>& limit();
  static std::size_t limit_bytes() { return limit().ok() ? *limit() : SIZE_MAX; }

 private:
  /// Shared with the account's watch, which may be running while this object ends.
  struct State {
    mutable std::mutex mutex;
    Hub* hub = nullptr;
    std::uint32_t generation = 0;
    std::function<void()> report;
    bool reporting = false;
    std::unordered_map<PeerId, std::uint64_t> peers;
  };
  static Result<void> changed(const std::shared_ptr<State>& state, std::ptrdiff_t bytes);

  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::shared_ptr<void> watch_;
};

}  // namespace baton::transport
