// SPDX-License-Identifier: Apache-2.0
// The messages that an application has on loan, by the address that the application has.
//
// Thread rules: all functions from any thread.
// Invariants: (1) a loan ends without the table's lock held, since its end may run foreign code: so remove() returns
// the loan.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "baton/os/lock.hpp"

namespace baton::rmw {

template <class Loan>
class LoanTable {
 public:
  /// `most`: how many loans there may be at a time.
  explicit LoanTable(std::size_t most = SIZE_MAX) : most_(most) {}

  /// False, and `loan` is unchanged: the table is full, or the message is on loan already.
  bool add(const void* message, Loan&& loan) {
    const os::Lock lock(mutex_);
    if (loans_.size() >= most_ || find(message) != loans_.end()) return false;
    loans_.emplace_back(message, std::move(loan));
    return true;
  }

  /// Empty if the message is not on loan.
  std::optional<Loan> remove(const void* message) {
    const os::Lock lock(mutex_);
    const auto found = find(message);
    if (found == loans_.end()) return std::nullopt;
    std::optional<Loan> loan(std::move(found->second));
    if (found != loans_.end() - 1) *found = std::move(loans_.back());
    loans_.pop_back();
    return loan;
  }

  bool empty() const {
    const os::Lock lock(mutex_);
    return loans_.empty();
  }

 private:
  using Loans = std::vector<std::pair<const void*, Loan>>;  // few at a time, and no allocation once there is room
  typename Loans::iterator find(const void* message) BATON_REQUIRES(mutex_) {
    return std::find_if(loans_.begin(), loans_.end(), [&](const auto& loan) { return loan.first == message; });
  }

  const std::size_t most_;
  mutable os::Mutex mutex_;
  Loans loans_ BATON_GUARDED_BY(mutex_);
};

}  // namespace baton::rmw
