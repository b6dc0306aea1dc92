// SPDX-License-Identifier: Apache-2.0
#include "budgets.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "baton/os/process.hpp"

namespace baton::transport {
namespace {

constexpr const char* kNames[kKeeps] = {"announced endpoints and nodes", "connections", "data segments", "connections"};

std::string in_units(Keep keep, std::size_t amount) {
  return std::to_string(amount) + (keep == Keep::kSegments ? " descriptors"
                                   : keep == Keep::kAreas  ? " memory areas"
                                                           : " bytes");
}

const char* way_out(Keep keep) {
  if (keep == Keep::kAreas) return "; raise vm.max_map_count (sysctl)";
  return keep == Keep::kSegments ? "; raise RLIMIT_NOFILE (ulimit -n)" : "";
}

}  // namespace

std::size_t BudgetLimits::of_process(Keep keep) const {
  const std::size_t given = per_process[static_cast<std::size_t>(keep)];
  if (given == kOfAreas) return os::most_memory_areas() / kAreasPartOfProcess;
  return given != kOfDescriptors ? given
                                 : std::max<std::size_t>(16, os::descriptor_limit() / kDescriptorsPartOfProcess);
}

std::size_t BudgetLimits::of_user(Keep keep) const {
  const std::size_t given = per_user[static_cast<std::size_t>(keep)];
  if (given == kOfAreas) return os::most_memory_areas() / kAreasPartOfUser;
  return given != kOfDescriptors ? given
                                 : std::max<std::size_t>(24, os::descriptor_limit() / kDescriptorsPartOfUser * 3);
}

// All counters are relaxed: they order nothing, and a check may miss an amount that another thread gives back at that
// moment.

Charge::Charge(Charge&& other) noexcept
    : account_(std::move(other.account_)),
      amount_(std::exchange(other.amount_, 0)),
      areas_(std::exchange(other.areas_, 0)),
      keep_(other.keep_) {}

Charge& Charge::operator=(Charge&& other) noexcept {
  std::swap(account_, other.account_);
  std::swap(amount_, other.amount_);
  std::swap(areas_, other.areas_);
  std::swap(keep_, other.keep_);
  return *this;
}

Charge::~Charge() { keep(0); }

void Charge::keep(std::size_t amount) noexcept {
  give_back(amount_ - std::min(amount, amount_));
  const std::size_t areas = std::exchange(areas_, 0);
  if (!account_ || areas == 0) return;
  account_->kept[static_cast<std::size_t>(Keep::kAreas)].fetch_sub(areas, std::memory_order_relaxed);
  account_->user->kept[static_cast<std::size_t>(Keep::kAreas)].fetch_sub(areas, std::memory_order_relaxed);
}

void Charge::add(Charge&& other) noexcept {
  if (!account_) {
    *this = std::move(other);
    return;
  }
  amount_ += std::exchange(other.amount_, 0);
  areas_ += std::exchange(other.areas_, 0);
}

void Charge::give_back(std::size_t amount) noexcept {
  if (!account_) return;
  amount = std::min(amount, amount_);
  amount_ -= amount;
  const auto keep = static_cast<std::size_t>(keep_);
  account_->kept[keep].fetch_sub(amount, std::memory_order_relaxed);
  account_->user->kept[keep].fetch_sub(amount, std::memory_order_relaxed);
  if (keep_ != Keep::kSegments) account_->returned->fetch_add(amount, std::memory_order_relaxed);
}

void Budgets::add_peer(PeerId peer, std::uint64_t process, std::uint32_t uid) {
  if (accounts_.count(peer) != 0) return;
  std::shared_ptr<Charge::Account> account;
  if (process != 0) {
    const auto known = of_processes_.find(process);
    if (known != of_processes_.end()) account = known->second.lock();
  }
  if (!account) {
    account = std::make_shared<Charge::Account>();
    std::shared_ptr<Charge::User>& user = users_[uid];
    if (!user) {
      user = std::make_shared<Charge::User>();
      user->uid = uid;
    }
    account->user = user;
    account->returned = returned_;
    if (process != 0) of_processes_[process] = account;
  }
  accounts_.emplace(peer, std::move(account));
}

void Budgets::remove_peer(PeerId peer) noexcept {
  const auto found = accounts_.find(peer);
  if (found == accounts_.end()) return;
  // Bytes not given back by now are pinned until its process ends, and count again.
  if (found->second->ending == peer) found->second->ending = 0;
  accounts_.erase(found);
  for (auto at = of_processes_.begin(); at != of_processes_.end();) {
    at = at->second.expired() ? of_processes_.erase(at) : std::next(at);
  }
  // Remove users with nothing left: only this map refers to them then.
  for (auto at = users_.begin(); at != users_.end();)
    at = at->second.use_count() == 1 ? users_.erase(at) : std::next(at);
}

Result<Charge> Budgets::charge(PeerId peer, Keep keep, std::size_t amount, std::size_t areas) {
  const auto found = accounts_.find(peer);
  if (peer == kSelf || found == accounts_.end()) return Charge();
  if (Result<void> allowed = allow(found, keep, amount); !allowed) return allowed.error();
  if (Result<void> allowed = areas > 0 ? allow(found, Keep::kAreas, areas) : Result<void>(); !allowed)
    return allowed.error();
  Charge charge;
  charge.account_ = found->second;
  charge.amount_ = amount;
  charge.areas_ = areas;
  charge.keep_ = keep;
  for (auto* kept : {found->second->kept, found->second->user->kept}) {
    kept[static_cast<std::size_t>(keep)].fetch_add(amount, std::memory_order_relaxed);
    kept[static_cast<std::size_t>(Keep::kAreas)].fetch_add(areas, std::memory_order_relaxed);
  }
  return charge;
}

/// Whether the process of `found` may keep `amount` more.
Result<void> Budgets::allow(Accounts::iterator found, Keep keep, std::size_t amount) {
  const PeerId peer = found->first;
  const auto which = static_cast<std::size_t>(keep);
  Charge::Account& account = *found->second;
  Charge::User& user = *account.user;
  const std::size_t mine = account.kept[which].load(std::memory_order_relaxed) + amount;
  if (account.ending == peer) return Error{Errc::limit_reached, "it is being disconnected"};
  if (const std::size_t most = limits_.of_process(keep); mine > most) {
    return Error{Errc::limit_reached, std::string("its ") + kNames[which] + " would take " + in_units(keep, mine) +
                                          " in this process; one process may take " + in_units(keep, most) +
                                          way_out(keep)};
  }
  const std::size_t all = user.kept[which].load(std::memory_order_relaxed) + amount;
  const std::size_t most_of_user = limits_.of_user(keep);
  if (all > most_of_user) {
    // End the peer that keeps most, not the newest: otherwise a greedy process could keep the other processes of its
    // user out. A process with several connections appears several times, and is counted once.
    auto most = found;
    std::size_t most_kept = mine;
    std::size_t connected = mine;
    std::size_t returning = 0;
    std::vector<const Charge::Account*> counted;
    for (auto at = accounts_.begin(); at != accounts_.end(); ++at) {
      const Charge::Account& other = *at->second;
      if (other.user != account.user || std::find(counted.begin(), counted.end(), &other) != counted.end()) continue;
      const std::size_t kept = other.kept[which].load(std::memory_order_relaxed);
      counted.push_back(&other);
      if (other.ending != 0) {
        returning += kept;
        continue;
      }
      if (&other == &account) continue;
      connected += kept;
      if (kept > most_kept) {
        most = at;
        most_kept = kept;
      }
    }
    if (all - std::min(all, returning) > most_of_user) {
      // What processes hold that left, and live, does not come back by the end of one that took no more than it may.
      const bool left_hold = connected <= most_of_user;
      if (left_hold) most = found;
      const std::size_t taken = all - std::min(all, returning);
      Error error{
          Errc::limit_reached,
          std::string("the ") + kNames[which] + " of user " + std::to_string(user.uid) + " would take " +
              in_units(keep, taken) + " in this process; one user may take " + in_units(keep, most_of_user) +
              (left_hold ? ", and processes of that user that left still hold " + in_units(keep, taken - connected)
                         : ", and this process of that user takes most: " + in_units(keep, most_kept)) +
              way_out(keep)};
      if (most == found) return error;
      if (end_peer_) end_peer_(most->first, error);
      most->second->ending = most->first;
    }
  }
  return {};
}

std::size_t Budgets::kept(PeerId peer, Keep keep) const {
  const auto found = accounts_.find(peer);
  return found == accounts_.end() ? 0
                                  : found->second->kept[static_cast<std::size_t>(keep)].load(std::memory_order_relaxed);
}

std::size_t Budgets::kept_of_user(std::uint32_t uid, Keep keep) const {
  const auto found = users_.find(uid);
  return found == users_.end() ? 0
                               : found->second->kept[static_cast<std::size_t>(keep)].load(std::memory_order_relaxed);
}

std::size_t Budgets::returned(bool reset) noexcept {
  return reset ? returned_->exchange(0, std::memory_order_relaxed) : returned_->load(std::memory_order_relaxed);
}

}  // namespace baton::transport
