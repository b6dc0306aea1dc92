// SPDX-License-Identifier: Apache-2.0
// Messages of Baton that follow one that went by TCPROS and has not come (docs/format/tcpros.md, "Messages that Baton cannot carry"). Each
// publisher's wait for its own; those of other publishers do not wait.
//
// Thread rules: externally synchronised.
// Invariants: (1) the messages of a publisher leave in their order, each once; (2) while release() runs, no other call takes a message out:
// a callback may spin, and so come here again; (3) all that waits has a bound (docs/format/bounds.md).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <utility>

#include "by_bytes.hpp"

namespace baton::ros1::detail {

/// `Sample`: transport::TakenSample, or what a test has: publisher(), and follows(sample).
template <class Sample>
class HeldBack {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Gid = transport::Gid;

  /// A message that does not come within this time is not waited for any more.
  static constexpr std::chrono::seconds kPatience{5};
  /// Publishers with a number of a message that came by TCPROS.
  static constexpr std::size_t kMostByBytes = 1024;
  /// Publishers with messages that wait, and messages of one of them.
  static constexpr std::size_t kMostHeldBack = 64;
  static constexpr std::size_t kMostOfOneHeldBack = 4;

  bool empty() const noexcept { return waiting_.empty(); }

  /// True: `sample` was taken over, and waits for release().
  bool hold(Sample& sample, Time now) {
    const std::uint64_t number = follows(sample);
    auto held = waiting_.find(sample.publisher());
    if (held == waiting_.end()) {
      if (number == 0 || has_come(sample.publisher(), number) || waiting_.size() >= kMostHeldBack) return false;
      held = waiting_.emplace(sample.publisher(), Waiting{{}, now, false}).first;
    }
    held->second.samples.push_back(std::move(sample));
    return true;
  }

  /// The message of this number came by TCPROS. What waited for it can be released.
  void came(const Trailer& trailer, Time now) {
    if (by_bytes_.size() >= kMostByBytes && by_bytes_.count(trailer.writer) == 0) by_bytes_.clear();
    std::uint64_t& newest = by_bytes_[trailer.writer];
    newest = std::max(newest, trailer.number);
    if (const auto held = waiting_.find(trailer.writer); held != waiting_.end()) {
      held->second.since = now;  // the link brings them, however slowly
      held->second.was_late = false;
    }
  }

  /// Calls deliver(Sample&&) for what has waited for its message, long enough, or in too great a number. False: deliver() returned false,
  /// since the subscription has ended. If a call runs already, that one delivers.
  template <class Deliver>
  bool release(Time now, Deliver&& deliver) {
    if (releases_) return true;
    struct Releasing {
      explicit Releasing(bool& flag) : releases(flag) { releases = true; }
      ~Releasing() { releases = false; }  // also if the callback throws
      bool& releases;
    } const releasing(releases_);
    for (auto each = waiting_.begin(); each != waiting_.end();) {
      std::deque<Sample>& samples = each->second.samples;
      // Twice: what was in the callback queue at the first look was called before the second.
      const bool is_late = now - each->second.since >= kPatience;
      const bool gives_up = (is_late && each->second.was_late) || samples.size() > kMostOfOneHeldBack;
      each->second.was_late = is_late;
      while (!samples.empty()) {
        const std::uint64_t number = follows(samples.front());
        if (!gives_up && number != 0 && !has_come(each->first, number)) break;
        Sample sample = std::move(samples.front());
        samples.pop_front();
        if (!deliver(std::move(sample))) return false;
      }
      each = samples.empty() ? waiting_.erase(each) : std::next(each);
    }
    return true;
  }

 private:
  struct Waiting {
    std::deque<Sample> samples;
    Time since;
    bool was_late = false;  // at the last look
  };
  bool has_come(const Gid& publisher, std::uint64_t number) const {
    const auto newest = by_bytes_.find(publisher);
    return newest != by_bytes_.end() && newest->second >= number;
  }

  std::map<Gid, Waiting> waiting_;
  std::map<Gid, std::uint64_t> by_bytes_;  // the newest messages that came by TCPROS because Baton could not carry them
  bool releases_ = false;
};

}  // namespace baton::ros1::detail
