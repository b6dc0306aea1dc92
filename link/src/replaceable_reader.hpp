// SPDX-License-Identifier: Apache-2.0
// A subscription whose quality of service changes while messages come. A reader's depth is fixed, so another reader replaces it. Both readers
// are read until the new one is connected to every publisher of the old one, and the old one waits for none. Each message is taken once.
// Thread rules: externally synchronised.
// Invariants: (1) the messages of a publisher are taken in order; (2) no message is taken twice, even if the new reader gets the history of a
// transient_local publisher; (3) a message that one of the readers has is not lost, unless a later one of its
// publisher was taken; (4) no publisher stops the others for longer than kLongestWait; (5) a lost message counts once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "baton/os/result.hpp"
#include "baton/transport/transport.hpp"

namespace baton::link {

class ReplaceableReader {
 public:
  /// So long the messages of a topic wait for one publisher that keeps an older one for the old reader.
  static constexpr std::chrono::milliseconds kLongestWait{5000};

  explicit ReplaceableReader(std::shared_ptr<transport::Reader> reader,
                             std::chrono::milliseconds longest_wait = kLongestWait)
      : longest_wait_(longest_wait), reader_(std::move(reader)) {}

  /// From now on takes from this reader, which was just made, and for a while also from the old one. REQUIRES: !is_replacing(), and
  /// ReaderOptions::connects_at_once.
  Result<void> replace(std::shared_ptr<transport::Reader> reader);
  /// Whether the old reader is still read.
  bool is_replacing() const noexcept { return before_ != nullptr; }

  /// The next message. An empty sample: there is none, or is_spent(). Errors: those of Reader::take().
  Result<transport::TakenSample> take();
  /// The last take() has passed over as many messages as one call may (docs/format/bounds.md), so there may be more: call it again.
  bool is_spent() const noexcept { return spent_; }
  /// False: take() has nothing.
  bool has_data() const;
  std::size_t unread() const;  ///< messages, about
  /// Forgets what was taken of the publishers that are gone.
  void forget(const std::function<bool(const transport::Gid& publisher)>& is_gone);

  const transport::Reader& newest() const noexcept { return *reader_; }
  std::set<transport::Gid> readers() const;
  /// The publishers of which a message may be in a reader's queue.
  std::set<transport::Gid> publishers() const;
  transport::Losses losses() const;  ///< of all readers, also those that were replaced

  /// The wait set that waits for the readers, until detach().
  Result<void> attach(transport::WaitSet& wait_set);
  void detach();

 private:
  /// Messages that one take() passes over because they were taken before: a publisher can repeat old numbers without end.
  static constexpr int kMostPassed = 256;

  using Publishers = std::map<transport::Gid, bool>;  // as of Reader::publishers()
  static bool has_all(const Publishers& now, const Publishers& before);
  Publishers awaited();
  bool waits_for_before(const Publishers& before) const;
  bool is_new(const transport::TakenSample& sample);

  using Clock = std::chrono::steady_clock;
  struct Connecting {
    Clock::time_point since;
    bool given_up = false;
  };

  const std::chrono::milliseconds longest_wait_;
  std::shared_ptr<transport::Reader> reader_, before_;
  std::map<transport::Gid, Connecting> connecting_;  // publishers to which before_ is still connecting
  transport::TakenSample newer_;                     // of reader_; waits until before_ is found empty
  std::map<transport::Gid, std::uint64_t> taken_;    // the last number of each publisher
  transport::Losses lost_before_;
  bool spent_ = false;
  transport::WaitSet* wait_set_ = nullptr;
};

}  // namespace baton::link
