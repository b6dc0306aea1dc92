// SPDX-License-Identifier: Apache-2.0
// The memory of a whole domain: adds up the reports of the processes, reports changes of this process's account, and
// refuses growth beyond BATON_DOMAIN_MEMORY_LIMIT. There is no lock across processes, so two of them may grow at the
// same moment. They can then exceed the limit by the memory that they took until each got the other's report (about
// kReportDelay).
// What another process says is a claim: others count at most as much as the shared memory that the kernel counts.
// Thread rules: thread-safe; takes only its own lock and, inside it, the hub's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "baton/os/lock.hpp"
#include "frames.hpp"
#include "hub.hpp"

namespace baton::transport {

class DomainAccount {
 public:
  static constexpr std::chrono::milliseconds kReportDelay{20};
  /// The kernel counts shared memory late: 125 pages of each CPU, for two seconds.
  static constexpr std::uint64_t kUncounted = 64 << 20;

  /// `report` is called on the background thread, at most once per kReportDelay, after the account changed.
  void start(Hub* hub, std::function<void()> report);
  /// No callback runs after this returns, except a report that the hub is running right now.
  void stop();

  void peer_reported(PeerId peer, const AccountFrame& frame);
  void peer_gone(PeerId peer);
  /// As far as it is believed.
  std::size_t peers_backed_bytes() const;
  /// What `claimed` bytes of all other processes together count, if the machine's shared memory is `shared`, of which `own` bytes are this
  /// process's.
  static std::uint64_t believed_bytes(std::uint64_t claimed, std::uint64_t shared, std::uint64_t own) noexcept;
  AccountFrame own() const;
  /// BATON_DOMAIN_MEMORY_LIMIT (bytes, with K, M, G or T); SIZE_MAX if it is not set, invalid_argument if it is no
  /// size.
  static const Result<std::size_t>& limit();
  static std::size_t limit_bytes() { return limit().ok() ? *limit() : SIZE_MAX; }

 private:
  /// Shared with the account's watch, which may still run while this object is destroyed.
  struct State {
    mutable os::Mutex mutex;
    Hub* hub BATON_GUARDED_BY(mutex) = nullptr;
    std::uint32_t generation = 0;
    std::function<void()> report BATON_GUARDED_BY(mutex);
    bool reporting BATON_GUARDED_BY(mutex) = false;
    std::unordered_map<PeerId, std::uint64_t> peers BATON_GUARDED_BY(mutex);

    std::uint64_t claimed() const noexcept BATON_REQUIRES(mutex);  // by all peers
  };
  static Result<void> changed(const std::shared_ptr<State>& state, std::ptrdiff_t bytes);

  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::shared_ptr<void> watch_;
};

}  // namespace baton::transport
