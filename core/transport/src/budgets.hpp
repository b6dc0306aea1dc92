// SPDX-License-Identifier: Apache-2.0
// How much other processes make this process keep, in bytes and in descriptors: an account for each process and one for
// each user. Numbers and rules: docs/format/connection.md, section 5 (normative).
// Thread rules: Budgets is externally synchronised (Participant::Impl::mutex_). A Charge may end in any thread.
// Invariants: (1) an amount is charged before it is kept, and given back when the Charge ends; (2) a charge that outlives
// its connection still counts for its process, which may connect again, and for its user; (3) ending a charge allocates
// nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "baton/os/result.hpp"
#include "hub.hpp"

namespace baton::transport {

/// This process, where a PeerId is expected (the hub never gives out 0).
inline constexpr PeerId kSelf = 0;

enum class Keep : std::uint8_t {
  kAnnouncements,  ///< bytes
  kConnections,    ///< bytes
  kSegments,       ///< descriptors of data segments
  kAreas           ///< memory areas of connections; those of data segments: memory/window_share.hpp
};
inline constexpr std::size_t kKeeps = 4;
/// Of a connection: its two segments, and for the first one of a process the page that they share.
inline constexpr std::size_t kAreasOfConnection = 3;

// Bytes, for one process and for all processes of one user.
inline constexpr std::size_t kAnnouncedBytesOfProcess = std::size_t{64} << 20;
inline constexpr std::size_t kAnnouncedBytesOfUser = std::size_t{512} << 20;
inline constexpr std::size_t kConnectionBytesOfProcess = std::size_t{256} << 20;
inline constexpr std::size_t kConnectionBytesOfUser = std::size_t{1024} << 20;
/// Of the bytes of connections, what a pair takes that rests (resting.hpp): at the writer and at the reader.
inline constexpr std::size_t kRestingBytes = 160;
// Parts of RLIMIT_NOFILE, as it is when something is charged: one of so many (of a user: three of so many).
inline constexpr std::size_t kDescriptorsPartOfProcess = 2;
inline constexpr std::size_t kDescriptorsPartOfUser = 4;
// Parts of vm.max_map_count.
inline constexpr std::size_t kAreasPartOfProcess = 8;
inline constexpr std::size_t kAreasPartOfUser = 4;

struct BudgetLimits {
  std::size_t per_process[kKeeps] = {kAnnouncedBytesOfProcess, kConnectionBytesOfProcess, kOfDescriptors, kOfAreas};
  std::size_t per_user[kKeeps] = {kAnnouncedBytesOfUser, kConnectionBytesOfUser, kOfDescriptors, kOfAreas};

  static constexpr std::size_t kOfDescriptors = SIZE_MAX;
  static constexpr std::size_t kOfAreas = SIZE_MAX - 1;
  std::size_t of_process(Keep keep) const;
  std::size_t of_user(Keep keep) const;
};

/// An amount that is kept for a peer; given back at destruction. Empty for what this process keeps for itself.
class Charge {
 public:
  Charge() = default;
  Charge(Charge&& other) noexcept;
  Charge& operator=(Charge&& other) noexcept;
  ~Charge();
  /// Joins a charge of the same peer and kind to this one.
  void add(Charge&& other) noexcept;
  /// Gives `amount` back before the end, or all that is left.
  void give_back(std::size_t amount) noexcept;
  /// Gives back all but `amount`, and the areas.
  void keep(std::size_t amount) noexcept;

 private:
  friend class Budgets;
  struct User {
    std::uint32_t uid = 0;
    std::atomic<std::size_t> kept[kKeeps]{};
  };
  struct Account {
    std::shared_ptr<User> user;
    std::shared_ptr<std::atomic<std::size_t>> returned;
    std::atomic<std::size_t> kept[kKeeps]{};
    PeerId ending = 0;  ///< this connection is ending, and its amounts are being given back
  };
  std::shared_ptr<Account> account_;
  std::size_t amount_ = 0;
  std::size_t areas_ = 0;  // of kAreas, beside the amount
  Keep keep_ = Keep::kAnnouncements;
};

class Budgets {
 public:
  /// If a user's budget is exceeded, `end_peer` is called with the peer that keeps most of it, and must disconnect it.
  explicit Budgets(std::function<void(PeerId, const Error&)> end_peer = nullptr, const BudgetLimits& limits = {})
      : end_peer_(std::move(end_peer)), limits_(limits) {}

  /// `process`: identifies the peer's process (PeerInfo::identity); 0: not known, then each connection counts alone.
  /// Strong guarantee. A peer that is already known keeps its account.
  void add_peer(PeerId peer, std::uint64_t process, std::uint32_t uid);
  void remove_peer(PeerId peer) noexcept;
  /// Charges `amount`. limit_reached, with the numbers, if the peer's process has no room left; nothing was charged
  /// then. For kSelf and unknown peers nothing is counted. `areas`: so much of Keep::kAreas is charged beside it.
  Result<Charge> charge(PeerId peer, Keep keep, std::size_t amount, std::size_t areas = 0);
  /// The charged amount of the peer's process, over all its connections.
  std::size_t kept(PeerId peer, Keep keep) const;
  std::size_t kept_of_user(std::uint32_t uid, Keep keep) const;
  /// The bytes given back since the last call with `reset`.
  std::size_t returned(bool reset) noexcept;

 private:
  using Accounts = std::map<PeerId, std::shared_ptr<Charge::Account>>;
  Result<void> allow(Accounts::iterator found, Keep keep, std::size_t amount);
  std::function<void(PeerId, const Error&)> end_peer_;
  const BudgetLimits limits_;
  std::shared_ptr<std::atomic<std::size_t>> returned_ = std::make_shared<std::atomic<std::size_t>>(0);
  Accounts accounts_;                                                     // of connections that are up
  std::map<std::uint64_t, std::weak_ptr<Charge::Account>> of_processes_;  // also of those with charges only
  std::map<std::uint32_t, std::shared_ptr<Charge::User>> users_;
};

}  // namespace baton::transport
