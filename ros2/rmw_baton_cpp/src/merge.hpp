// SPDX-License-Identifier: Apache-2.0
// Merges a subscription's two sources, Baton's queue and the underlying subscription: which message comes next, and
// which messages are dropped. Every message is delivered once, and in its publisher's order (path_order.hpp).
//
// The merge only decides. MergeSources brings messages and facts, the caller brings the time.
// Thread rules: no locks; one thread at a time.
// Invariants:
// (1) A sample that waits in the merge counts against the reader's limit of held samples. The merge takes one sample
//     ahead, or, while a message of the underlying RMW waits, as many as may be held.
// (2) A message that was delivered, expired or evicted settles all older messages of its publisher. None of them is
//     delivered later.
// (3) KEEP_LAST n counts over both sources and includes messages that are still in Baton's queue. The oldest message by
//     source time is evicted.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "baton/os/hot_memory.hpp"
#include "path_order.hpp"

namespace baton::rmw {

struct FromBaton {
  transport::TakenSample sample;  ///< kept only; empty in tests
  transport::Gid publisher{};
  std::optional<PathOrder::Position> position;  ///< empty: the publisher is not of ROS 2
  std::int64_t source_time_ns = 0;              ///< CLOCK_REALTIME
  std::int64_t reception_time_ns = 0;           ///< CLOCK_REALTIME when it was taken from the queue, maybe ahead of use
  std::int64_t expires_ns = INT64_MAX;          ///< CLOCK_MONOTONIC
  bool expired = false;                         ///< before it was taken from the queue
  bool notified = false;                        ///< a callback was notified of this message
  PathOrder* order = nullptr;                   ///< of the publisher, set by the merge; null without `position`
};

struct FromUnderlying {
  transport::Gid publisher{};
  std::uint64_t number = 0;         ///< the underlying RMW's publication sequence number
  std::int64_t source_time_ns = 0;  ///< CLOCK_REALTIME
  std::size_t buffer = 0;           ///< of the source: where the message lies
  bool notified = false;
  std::int64_t received_ns = 0;  ///< CLOCK_REALTIME
};

class MergeSources {
 public:
  /// False: Baton's queue is empty, no more samples may be held, or this call has taken as many as it may.
  virtual bool take_baton(FromBaton* message) = 0;
  virtual bool baton_has_data() const = 0;
  /// Messages in Baton's queue, without those of baton_awaits().
  virtual std::size_t baton_unread() const = 0;
  /// True if a take has passed over messages of this publisher, because their memory has not arrived yet.
  virtual bool baton_awaits(const transport::Gid& publisher) const = 0;
  /// False: nothing has come.
  virtual bool take_underlying(FromUnderlying* message) = 0;
  virtual bool underlying_has_data() = 0;
  /// The message was dropped; its buffer may be reused.
  virtual void release(const FromUnderlying& message) = 0;
  /// Whether the underlying subscription has publishers.
  virtual bool underlying_matched() = 0;

 protected:
  ~MergeSources() = default;
};

class Merge {
 public:
  struct Options {
    std::size_t depth = 1;
    bool keep_last = true;
    bool reliable = false;
    std::int64_t lifespan_ns = INT64_MAX;
  };
  struct Now {
    std::int64_t monotonic_ns, realtime_ns;
  };
  enum class Source : std::uint8_t { kNone, kBaton, kUnderlying };
  struct Next {
    Source source = Source::kNone;
    std::size_t index = 0;
    bool notified = false;
  };

  /// Messages from Baton in a row while messages of the underlying RMW wait.
  static constexpr unsigned kTurn = 4;

  /// `sources` outlives this.
  Merge(MergeSources& sources, Options options) : sources_(sources), options_(options) {}

  /// The next message, which stays in the merge. `look_again_ns` is lowered to the time when the answer may change by
  /// itself.
  Next choose(Now now, std::int64_t* look_again_ns);
  /// Takes out the chosen message, which counts as delivered.
  FromBaton take_baton(const Next& next);
  /// The message's `number`, until now that of the underlying RMW, becomes the number over both paths.
  FromUnderlying take_underlying(const Next& next);
  /// Records a message that was delivered without the merge. Returns its number over both paths.
  std::uint64_t delivered_directly(const transport::Gid& publisher, std::uint64_t number) {
    return orders_.of(publisher).settle_underlying(number);
  }

  /// Fetches the messages of both sources, as many as may be held.
  void fetch_ahead();
  /// Takes one more message from Baton's queue. False: there is none, or no more may be held.
  bool fetch_baton();

  std::size_t size() const noexcept { return baton_.size() + underlying_.size(); }
  bool may_fetch_baton() const noexcept { return baton_.size() < options_.depth; }
  bool baton_has_data() const { return sources_.baton_has_data(); }
  std::size_t depth() const noexcept { return options_.depth; }
  /// How many of the waiting messages a callback was notified of.
  std::size_t notified() const;
  /// Marks all waiting messages that are no duplicates. Returns how many were not marked before.
  std::size_t mark_notified();

  /// True if messages were evicted or skipped since the last call.
  bool exchange_lost() noexcept { return std::exchange(lost_, false); }
  std::uint64_t evicted() const noexcept { return evicted_; }
  std::uint64_t duplicates() const noexcept { return duplicates_; }

  /// True if it is time to find out which publishers are gone.
  bool crowded() const noexcept { return orders_.crowded(); }
  /// Fetches all messages. False: more are left than may be held, and no publisher may be forgotten now.
  bool fetch_everything();
  /// Forgets publishers that are not `needed` and have no waiting message.
  void forget(std::vector<transport::Gid> needed);

 private:
  struct Fetched {
    bool from_underlying = false;
    bool all_of_baton = false;  // nothing was left in Baton's queue
  };

  bool is_dropped(FromBaton& message);
  bool still_counts(const FromBaton& message, Now now) const;
  bool is_next(const FromBaton& message) const;
  Next choose_of_all(bool fetched_one, Now now, std::int64_t* look_again_ns);
  bool fetch_underlying();
  bool fetch_all_underlying();
  Fetched fetch_both();
  bool choose_baton(std::int64_t now_ns, std::int64_t* look_again_ns, std::size_t* index);
  bool choose_underlying(bool baton_is_seen, std::int64_t now_ns, std::int64_t* look_again_ns, std::size_t* index);
  void drop_expired(Now now);
  void drop_duplicates();
  void evict_beyond_depth();
  void settle_and_drop_baton(std::size_t index);
  void settle_and_drop_underlying(std::size_t index);
  void drop_underlying(std::size_t index);
  const PathOrder::Position* oldest_of(const transport::Gid& publisher, std::size_t before = SIZE_MAX) const;
  PathOrder::Verdict verdict_of(const FromUnderlying& message);
  bool older_waits(const FromBaton& message, const PathOrder& order) const;
  bool counts(const FromUnderlying& message, std::size_t unread);
  bool may_be_copy(const FromUnderlying& message);
  bool waits_for_copy(const FromUnderlying& message, std::int64_t now_ns, std::int64_t* look_again_ns);
  void distrust(const transport::Gid& publisher);
  FromBaton* copy_of(const FromUnderlying& message);
  void move_mark(FromUnderlying& message);

  friend struct Simulation;  // counts the samples in baton_, in tests

  MergeSources& sources_;
  const Options options_;
  os::HotVector<FromBaton> baton_;  // rarely more than one
  unsigned in_a_row_ = 0;           // from Baton
  bool lost_ = false;
  PathOrders orders_;
  std::deque<FromUnderlying> underlying_;
  std::uint64_t evicted_ = 0, duplicates_ = 0;
};

}  // namespace baton::rmw
