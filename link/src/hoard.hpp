// SPDX-License-Identifier: Apache-2.0
// What messages of each other host may keep of this machine's memory, and how many of them were lost. Each host has shares of its own, so
// that one that sends without end takes nothing from another.
// Thread rules: any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "engine.hpp"

namespace baton::link {

class Hoard {
 public:
  /// Messages of one host in no publisher's memory yet, because their publisher is not known here.
  static constexpr std::size_t kMostParkedBytes = std::size_t{64} << 20;
  /// Publishers of one host with messages above the size that a publisher has room for by itself: each takes addresses for 16 messages.
  static constexpr std::size_t kMostLarge = 8;
  /// All messages of one host keep this part of the machine's memory at most: one of so many.
  static constexpr std::size_t kShareOfMemory = 4;
  static constexpr std::size_t kLeastShareBytes = std::size_t{1} << 30;

  explicit Hoard(std::size_t machine_bytes = SIZE_MAX)
      : share_bytes_(std::max(machine_bytes / kShareOfMemory, kLeastShareBytes)) {}

  /// False: the host would have too much parked.
  bool park(const Gid& host, std::size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::size_t& parked = parked_[host];
    if (bytes > kMostParkedBytes - parked) return false;
    parked += bytes;
    return true;
  }
  void unpark(const Gid& host, std::size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = parked_.find(host);
    if ((found->second -= bytes) == 0) parked_.erase(found);
  }
  /// False: too many publishers of the host have large messages already.
  bool may_be_large(const Gid& host, const Gid& publisher) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::set<Gid>& large = large_[host];
    if (large.size() >= kMostLarge && large.count(publisher) == 0) return false;
    large.insert(publisher);
    return true;
  }
  struct Losses {
    std::uint64_t messages = 0;
    std::string why;  ///< of the last
  };
  /// A message of the host has not reached the subscriptions of this one.
  void lost(const Gid& host, const std::string& why) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Losses& losses = losses_[host];
    ++losses.messages;
    losses.why = why;
  }
  Losses losses(const Gid& host) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = losses_.find(host);
    return found == losses_.end() ? Losses{} : found->second;
  }
  /// Forgets the losses of hosts that are not known any more.
  void keep(const std::set<Gid>& hosts) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto at = losses_.begin(); at != losses_.end();)
      at = hosts.count(at->first) != 0 ? std::next(at) : losses_.erase(at);
  }
  /// The publishers that there are, each with its host and the bytes that it has now. Others are forgotten. Returns the hosts with more than
  /// their share, which get no more.
  std::set<Gid> account(const std::map<Gid, std::pair<Gid, std::size_t>>& publishers) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::map<Gid, std::size_t> sums;
    for (const auto& [publisher, of] : publishers) sums[of.first] += of.second;
    over_.clear();
    for (const auto& [host, bytes] : sums)
      if (bytes > share_bytes_) over_.insert(host);
    for (auto at = large_.begin(); at != large_.end();) {
      for (auto each = at->second.begin(); each != at->second.end();) {
        const auto known = publishers.find(*each);
        each = known == publishers.end() || known->second.first != at->first ? at->second.erase(each) : std::next(each);
      }
      at = at->second.empty() ? large_.erase(at) : std::next(at);
    }
    return over_;
  }
  bool is_over(const Gid& host) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return over_.count(host) != 0;
  }

 private:
  const std::size_t share_bytes_;
  mutable std::mutex mutex_;
  std::map<Gid, std::size_t> parked_;
  std::map<Gid, std::set<Gid>> large_;
  std::map<Gid, Losses> losses_;
  std::set<Gid> over_;
};

}  // namespace baton::link
