// SPDX-License-Identifier: Apache-2.0
// What the hosts advertise to each other: this host's advertisement on its way to another host, and the other hosts with theirs.
// Thread rules: any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "advertisement.hpp"
#include "baton/os/lock.hpp"
#include "host_network.hpp"
#include "link_log.hpp"

namespace baton::link {

/// This host's advertisement, as a chunk.
struct AdvertisementChunk final : OutgoingChunk {
  AdvertisementChunk(const Gid& host, std::uint64_t sequence, const std::vector<std::byte>& advertisement);
  const std::unique_ptr<std::byte[]> memory;
};

/// Gives the newest advertisement.
class AdvertisementSource final : public ChunkSource {
 public:
  void set(std::shared_ptr<const OutgoingChunk> advertisement) {
    const os::Lock lock(mutex_);
    advertisement_ = std::move(advertisement);
  }
  NextChunk next(std::shared_ptr<const OutgoingChunk>& chunk) override {
    const os::Lock lock(mutex_);
    if (!advertisement_) return NextChunk::kNothing;
    chunk = std::move(advertisement_);
    return NextChunk::kChunk;
  }
  bool empty() const override {
    const os::Lock lock(mutex_);
    return !advertisement_;
  }

 private:
  mutable os::Mutex mutex_;
  std::shared_ptr<const OutgoingChunk> advertisement_ BATON_GUARDED_BY(mutex_);
};

/// The memory of the other hosts' advertisements: of each host what it has advertised, or what of newer ones has come if that is more. A host may
/// send several at once, on as many flows as there may be. Thread rules: any thread.
class AdvertisementBudget {
 public:
  /// One host may have half of what the others leave of this.
  static constexpr std::size_t kMostBytesOfAll = std::size_t{256} << 20;
  /// And always this.
  static constexpr std::size_t kBytesForEach = std::size_t{1} << 20;

  /// False: the host may have no more, and nothing is counted.
  bool arrive(const Gid& host, std::size_t bytes);
  void end(const Gid& host, std::size_t bytes) noexcept;  ///< of those that arrive
  void keep(const Gid& host, std::size_t bytes);          ///< in place of what it has advertised before; 0: nothing

 private:
  struct Bytes {
    std::size_t kept = 0, arriving = 0;
    std::size_t greater() const noexcept { return std::max(kept, arriving); }
  };
  void settle(std::map<Gid, Bytes>::iterator of, std::size_t before) noexcept BATON_REQUIRES(mutex_);
  os::Mutex mutex_;
  std::map<Gid, Bytes> hosts_ BATON_GUARDED_BY(mutex_);
  std::size_t all_ BATON_GUARDED_BY(mutex_) = 0;  // of greater()
};

/// The other hosts, and their advertisements. `changed` is called by any thread.
class Hosts final : public HostListener, public ChunkReceiver {
 public:
  /// `remembered`: how long a host is that is not reached.
  Hosts(std::string own_name, std::chrono::milliseconds remembered, std::shared_ptr<LinkLog> log,
        std::function<void()> changed)
      : own_name_(std::move(own_name)), remembered_(remembered), log_(std::move(log)), changed_(std::move(changed)) {}

  /// This link ends: hosts that are gone from now on are not reported as lost.
  void end() { ends_.store(true, std::memory_order_relaxed); }  // a hint for the text of a diagnostic: orders nothing

  void joined(const Gid& host) override;
  void connected(const Gid& host, bool connected) override;
  void gone(const Gid& host) override;
  std::unique_ptr<ArrivingChunk> begin(const Gid& host, const memory::ChunkHeader& header, std::size_t message_bytes,
                                       std::size_t come_bytes) override;
  bool deliver(const Gid& host, ArrivingChunk& arriving) override;

  std::set<Gid> all() const;
  std::vector<HostAdvertisement> advertisements() const;

 private:
  void no_advertisement();
  const std::string own_name_;
  const std::chrono::milliseconds remembered_;
  const std::shared_ptr<LinkLog> log_;
  const std::function<void()> changed_;
  std::atomic<bool> ends_{false};
  mutable os::Mutex mutex_;
  std::map<Gid, std::optional<HostAdvertisement>> hosts_ BATON_GUARDED_BY(mutex_);
  std::set<Gid> lost_ BATON_GUARDED_BY(mutex_);  // were reported as not reached
  const std::shared_ptr<AdvertisementBudget> budget_ = std::make_shared<AdvertisementBudget>();
};

}  // namespace baton::link
