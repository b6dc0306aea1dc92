// SPDX-License-Identifier: Apache-2.0
// A subscription whose quality of service changes while messages come. A reader's depth is fixed, so another reader takes its place. Both
// are read until the new one is connected to every publisher of the one before, and each message is taken once.
// Thread rules: externally synchronised.
// Invariants: (1) the messages of a publisher are taken in order; (2) none is taken twice, also if a reader gets what a transient_local
// publisher keeps; (3) none is lost that one of the readers has.
#pragma once

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
  explicit ReplaceableReader(std::shared_ptr<transport::Reader> reader) : reader_(std::move(reader)) {}

  /// From now on takes from this reader, which was just made, and from the one before for a while. REQUIRES: !is_replacing().
  Result<void> replace(std::shared_ptr<transport::Reader> reader);
  /// The reader before the newest one is not done with yet.
  bool is_replacing() const noexcept { return before_ != nullptr; }

  /// The next message; an empty sample: there is none, or is_spent(). Errors: those of Reader::take().
  Result<transport::TakenSample> take();
  /// The last take() has passed over as many messages as one call may (docs/format/bounds.md), so there may be more: call it again.
  bool is_spent() const noexcept { return spent_; }
  /// False: take() has nothing.
  bool has_data() const;
  /// How often take() has had nothing: if this has grown, everything that had come before has been taken.
  std::uint64_t times_empty() const noexcept { return times_empty_; }
  /// Forgets what was taken of the publishers that are gone.
  void forget(const std::function<bool(const transport::Gid& publisher)>& is_gone);

  const transport::Reader& newest() const noexcept { return *reader_; }
  std::set<transport::Gid> readers() const;
  /// Those of which a message may be in a reader's queue.
  std::set<transport::Gid> publishers() const;
  transport::Losses losses() const;  ///< of all readers that there were

  /// The wait set that waits for the readers, until detach().
  Result<void> attach(transport::WaitSet& wait_set);
  void detach();

 private:
  /// Messages that one take() passes over because they were taken before: a publisher can repeat old numbers without end.
  static constexpr int kMostPassed = 256;

  bool is_replaced() const;
  bool is_new(const transport::TakenSample& sample);

  std::shared_ptr<transport::Reader> reader_, before_;
  transport::TakenSample newer_;                   // of reader_; waits until before_ is empty once more
  std::map<transport::Gid, std::uint64_t> taken_;  // the last number of each publisher
  transport::Losses lost_before_;
  std::uint64_t times_empty_ = 0;
  bool spent_ = false;
  transport::WaitSet* wait_set_ = nullptr;
};

}  // namespace baton::link
