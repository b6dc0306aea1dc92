// SPDX-License-Identifier: Apache-2.0
// How much of this machine's memory and of the window's addresses the messages of each other host may take, and how many of them were lost.
// Each host has shares of its own, so a host that sends without end takes nothing from another.
// Thread rules: any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "baton/os/lock.hpp"
#include "baton/os/result.hpp"
#include "host_network.hpp"

namespace baton::link {

class HostBudgets {
 public:
  /// Staged messages of one host: their publisher is not known yet, so no proxy has memory for them.
  static constexpr std::size_t kMostStagedBytes = std::size_t{64} << 20;
  /// What a staged message weighs beside its bytes: the objects that keep it, and more.
  static constexpr std::size_t kStagedMessageBytes = 1024;
  /// Once staged messages of all hosts take one of so many parts of the memory for messages, a host gets only what each may always have.
  static constexpr std::size_t kPartsForStaged = 4;
  /// Publishers of one host with messages above the ordinary size. Each takes addresses for several messages.
  static constexpr std::size_t kMostLarge = 8;
  /// Publishers of all hosts take three quarters of the window's addresses at most. A host that has such large messages gets at most one of so
  /// many parts of these.
  static constexpr std::size_t kPartsOfAddresses = 4;
  /// The memory for messages of all hosts is one of so many parts of the machine's.
  static constexpr std::size_t kPartOfMemory = 2;
  static constexpr std::size_t kLeastBytes = std::size_t{2} << 30;
  /// One host gets one of so many parts of the memory that the others leave. So all hosts together never use it up, in whatever order they come.
  static constexpr std::size_t kPartsOfMemory = 2;
  /// Each host may always have one of so many parts of it, whatever the others have.
  static constexpr std::size_t kPartsForEach = 512;

  explicit HostBudgets(std::size_t machine_bytes = SIZE_MAX, std::size_t window_bytes = SIZE_MAX)
      : most_bytes_(std::max(machine_bytes / kPartOfMemory, kLeastBytes)), most_addresses_(window_bytes / 4 * 3) {}

  /// False: the host would have too much staged, or has more than its share.
  bool stage(const Gid& host, std::size_t bytes) {
    const os::Lock lock(mutex_);
    if (over_.count(host) != 0) return false;
    const auto staged = staged_.find(host);
    const std::size_t before = staged == staged_.end() ? 0 : staged->second;
    if (bytes > kMostStagedBytes - before) return false;
    if (all_staged_ + bytes > most_bytes_ / kPartsForStaged && before + bytes > most_bytes_ / kPartsForEach)
      return false;
    staged_[host] += bytes;
    all_staged_ += bytes;
    return true;
  }
  void unstage(const Gid& host, std::size_t bytes) {
    const os::Lock lock(mutex_);
    const auto found = staged_.find(host);
    if ((found->second -= bytes) == 0) staged_.erase(found);
    all_staged_ -= bytes;
  }
  /// Counts addresses for large messages of a publisher. Error limit_reached: its host has too many addresses, or too many such publishers.
  Result<void> enlarge(const Gid& host, const Gid& publisher, std::size_t address_bytes) {
    const os::Lock lock(mutex_);
    std::set<Gid>& large = large_[host];
    if (large.size() >= kMostLarge && large.count(publisher) == 0) {
      return Error{Errc::limit_reached, "more than " + std::to_string(kMostLarge) +
                                            " publishers of its host have messages above the ordinary limit"};
    }
    std::size_t all = 0;
    for (const auto& [other, bytes] : addresses_) all += bytes;
    std::size_t& own = addresses_[host];
    if (own + address_bytes > most_addresses_ / kPartsOfAddresses || all + address_bytes > most_addresses_) {
      return Error{Errc::limit_reached,
                   "messages of its size need more of the link's window than is left for " +
                       std::string(all + address_bytes > most_addresses_ ? "all hosts" : "one host") +
                       "; raise BATON_WINDOW of the link"};
    }
    own += address_bytes;
    large.insert(publisher);
    return {};
  }
  struct HostLosses {
    std::uint64_t messages = 0;
    std::string why;  ///< of the last
  };
  /// A message of the host has not reached the subscriptions of this one.
  void lost(const Gid& host, const std::string& why) {
    const os::Lock lock(mutex_);
    HostLosses& losses = losses_[host];
    ++losses.messages;
    losses.why = why;
  }
  HostLosses losses(const Gid& host) const {
    const os::Lock lock(mutex_);
    const auto found = losses_.find(host);
    return found == losses_.end() ? HostLosses{} : found->second;
  }
  /// Forgets the losses of hosts that are not known any more.
  void keep(const std::set<Gid>& hosts) {
    const os::Lock lock(mutex_);
    for (auto at = losses_.begin(); at != losses_.end();)
      at = hosts.count(at->first) != 0 ? std::next(at) : losses_.erase(at);
  }
  struct HostUsage {
    Gid host{};
    std::size_t bytes = 0, address_bytes = 0;
  };
  /// `publishers`: all that exist, each with its host and what it has now. All others are forgotten. Returns the hosts with more than their
  /// share of the memory, or of the addresses if all hosts together have too many. These hosts get no more.
  std::set<Gid> account(const std::map<Gid, HostUsage>& publishers) {
    const os::Lock lock(mutex_);
    std::map<Gid, std::size_t> sums = staged_;
    addresses_.clear();
    for (const auto& [publisher, taken] : publishers) {
      sums[taken.host] += taken.bytes;
      addresses_[taken.host] += taken.address_bytes;
    }
    over_.clear();
    std::size_t all = 0;
    for (const auto& [host, bytes] : sums) all += bytes;
    for (const auto& [host, bytes] : sums) {
      const std::size_t others = all - bytes, left = others < most_bytes_ ? most_bytes_ - others : 0;
      if (bytes > std::max(left / kPartsOfMemory, most_bytes_ / kPartsForEach)) over_.insert(host);
    }
    // Each host has the same share, or what it has taken if that is less. The hosts with most are over their share.
    std::vector<std::pair<std::size_t, Gid>> smallest_first;
    for (const auto& [host, bytes] : addresses_) smallest_first.emplace_back(bytes, host);
    std::sort(smallest_first.begin(), smallest_first.end());
    std::size_t left = most_addresses_, hosts = smallest_first.size();
    for (const auto& [bytes, host] : smallest_first) {
      if (bytes > left / hosts) {
        over_.insert(host);
        continue;
      }
      left -= bytes;
      --hosts;
    }
    for (auto at = large_.begin(); at != large_.end();) {
      for (auto each = at->second.begin(); each != at->second.end();) {
        const auto known = publishers.find(*each);
        each = known == publishers.end() || known->second.host != at->first ? at->second.erase(each) : std::next(each);
      }
      at = at->second.empty() ? large_.erase(at) : std::next(at);
    }
    return over_;
  }
  bool is_over(const Gid& host) const {
    const os::Lock lock(mutex_);
    return over_.count(host) != 0;
  }

 private:
  const std::size_t most_bytes_, most_addresses_;
  mutable os::Mutex mutex_;
  std::map<Gid, std::size_t> staged_ BATON_GUARDED_BY(mutex_);
  std::size_t all_staged_ BATON_GUARDED_BY(mutex_) = 0;
  std::map<Gid, std::set<Gid>> large_ BATON_GUARDED_BY(mutex_);
  std::map<Gid, std::size_t> addresses_ BATON_GUARDED_BY(mutex_);  // at the last look, and what was enlarged since
  std::map<Gid, HostLosses> losses_ BATON_GUARDED_BY(mutex_);
  std::set<Gid> over_ BATON_GUARDED_BY(mutex_);
};

}  // namespace baton::link
