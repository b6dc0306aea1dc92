// SPDX-License-Identifier: Apache-2.0
#include "merge.hpp"
#include "baton/os/hot_path.hpp"

#include <algorithm>

namespace baton::rmw {
namespace {

using Verdict = PathOrder::Verdict;

FromUnderlying take_out(std::deque<FromUnderlying>& queue, std::size_t index) {
  const FromUnderlying taken = queue[index];
  queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(index));
  return taken;
}

BATON_HOT FromBaton take_out(os::HotVector<FromBaton>& queue, std::size_t index) {
  const auto place = queue.begin() + static_cast<std::ptrdiff_t>(index);
  FromBaton taken = std::move(*place);
  if (place + 1 != queue.end()) out_of_line([&] { std::move(place + 1, queue.end(), place); });
  queue.pop_back();
  return taken;
}

}  // namespace

BATON_HOT bool Merge::fetch_baton() {
  for (;;) {
    FromBaton& message = baton_.emplace_back();
    try {
      if (!sources_.take_baton(&message)) break;
      if (!is_dropped(message)) {
        for (FromUnderlying& other : underlying_) move_mark(other);
        return true;
      }
    } catch (...) {
      baton_.pop_back();
      throw;
    }
    baton_.pop_back();
  }
  baton_.pop_back();
  return false;
}

/// Whether the newest message in baton_ is dropped at once, because it has expired or is a duplicate.
BATON_HOT bool Merge::is_dropped(FromBaton& message) {
  if (!message.position) return message.expired;
  message.order = &orders_.of(message.publisher);
  message.order->memory_arrived();
  if (unlikely(!message.order->trusted())) {
    message.position.reset();
    return message.expired;
  }
  const OrderHeader& header = message.position->header;
  const bool settled = header.also_underlying && header.underlying_count <= message.order->settled_underlying();
  return (settled || message.expired) && out_of_line([&] {
           const bool is_duplicate = settled && oldest_of(message.publisher, baton_.size() - 1) == nullptr;
           if (is_duplicate) ++duplicates_;
           if (is_duplicate || message.expired) message.order->settle(*message.position);
           return is_duplicate || message.expired;
         });
}

/// Takes one more message that is no duplicate from the underlying subscription. False: there is none.
bool Merge::fetch_underlying() {
  for (FromUnderlying message; sources_.take_underlying(&message); message = {}) {
    PathOrder& order = orders_.of(message.publisher);
    if (!order.arrived_underlying(message.number, message.source_time_ns, message.received_ns))
      distrust(message.publisher);
    if (message.number > order.settled_underlying()) {
      underlying_.push_back(message);
      return true;
    }
    ++duplicates_;
    sources_.release(message);
  }
  return false;
}

/// The publisher's messages from Baton are those of another publisher (path_order.hpp, invariant 4).
BATON_COLD void Merge::distrust(const transport::Gid& publisher) {
  for (FromBaton& message : baton_) {
    if (message.publisher == publisher) message.position.reset();
  }
}

/// Fetches as many as may wait in the merge: KEEP_LAST evicts all but `depth` messages, and copies of messages in
/// Baton's queue are dropped.
bool Merge::fetch_all_underlying() {
  const std::size_t most = options_.keep_last ? 2 * options_.depth : options_.depth;
  bool fetched = false;
  for (std::size_t i = 0; i < options_.depth && underlying_.size() < most && fetch_underlying(); ++i) fetched = true;
  return fetched;
}

/// The underlying subscription comes first: a message that both paths carry was in Baton's queue before.
void Merge::fetch_ahead() {
  fetch_all_underlying();
  while (may_fetch_baton() && fetch_baton()) {
  }
}

/// The next message may depend on all messages that have come. The underlying subscription comes first, as in
/// fetch_ahead().
Merge::Fetched Merge::fetch_both() {
  Fetched fetched;
  fetched.from_underlying = fetch_all_underlying();
  while (!underlying_.empty() && fetch_baton()) {
  }
  if (options_.keep_last) evict_beyond_depth();
  while (!underlying_.empty() && fetch_baton()) {  // replaces evicted messages
  }
  fetched.all_of_baton = !underlying_.empty() && !sources_.baton_has_data();
  return fetched;
}

bool Merge::fetch_everything() {
  fetch_all_underlying();
  while (fetch_baton()) {
  }
  return !sources_.underlying_has_data() && !sources_.baton_has_data();
}

void Merge::forget(std::vector<transport::Gid> needed) {
  for (const FromBaton& message : baton_) needed.push_back(message.publisher);
  for (const FromUnderlying& message : underlying_) needed.push_back(message.publisher);
  orders_.forget(std::move(needed));
}

/// Searches the first `before` messages in baton_.
const PathOrder::Position* Merge::oldest_of(const transport::Gid& publisher, std::size_t before) const {
  for (std::size_t i = 0; i < std::min(before, baton_.size()); ++i) {
    if (baton_[i].position && baton_[i].publisher == publisher) return &*baton_[i].position;
  }
  return nullptr;
}

PathOrder::Verdict Merge::verdict_of(const FromUnderlying& message) {
  return orders_.of(message.publisher).of_underlying(message.number, oldest_of(message.publisher));
}

/// Finds the first of Baton's messages that may be delivered now. Drops duplicates on the way.
bool Merge::choose_baton(std::int64_t now_ns, std::int64_t* look_again_ns, std::size_t* index) {
  for (std::size_t i = 0; i < baton_.size();) {
    const FromBaton& message = baton_[i];
    Verdict verdict = Verdict::kNow;
    if (message.position) {
      PathOrder& order = *message.order;
      bool underlying_matched = false;
      bool waits = oldest_of(message.publisher, i) != nullptr;
      if (!waits && message.position->header.older_underlying() > order.settled_underlying()) {
        waits = older_waits(message, order);  // choose_underlying() finds it
        if (!waits) underlying_matched = sources_.underlying_matched();
      }
      if (waits) {
        ++i;
        continue;
      }
      verdict = order.of_baton(*message.position, underlying_matched, {options_.reliable, !options_.keep_last}, now_ns);
      if (verdict == Verdict::kNotYet) *look_again_ns = std::min(*look_again_ns, order.waits_until());
    }
    if (verdict == Verdict::kNow) {
      *index = i;
      return true;
    }
    if (verdict == Verdict::kNever) {
      settle_and_drop_baton(i);
      ++duplicates_;
    } else {
      ++i;
    }
  }
  return false;
}

/// True if a message from the underlying RMW waits in the merge that is older than this message, and no duplicate.
bool Merge::older_waits(const FromBaton& message, const PathOrder& order) const {
  return std::any_of(underlying_.begin(), underlying_.end(), [&](const FromUnderlying& other) {
    return other.publisher == message.publisher && other.number > order.settled_underlying() &&
           other.number <= message.position->header.older_underlying();
  });
}

/// Finds the first message of the underlying RMW that may be delivered now. Drops duplicates on the way.
/// `baton_is_seen`: Baton's queue was emptied after these messages were fetched. Otherwise only publishers with an
/// oldest Baton message in baton_ count.
bool Merge::choose_underlying(bool baton_is_seen, std::int64_t now_ns, std::int64_t* look_again_ns,
                              std::size_t* index) {
  for (std::size_t i = 0; i < underlying_.size();) {
    const FromUnderlying& message = underlying_[i];
    const bool blocked = std::any_of(underlying_.begin(), underlying_.begin() + static_cast<std::ptrdiff_t>(i),
                                     [&](const FromUnderlying& older) { return older.publisher == message.publisher; });
    const bool decidable = !blocked && (baton_is_seen || oldest_of(message.publisher) != nullptr) &&
                           !waits_for_copy(message, now_ns, look_again_ns);
    const Verdict verdict = decidable ? verdict_of(message) : Verdict::kNotYet;
    if (verdict == Verdict::kNow) {
      *index = i;
      return true;
    }
    if (verdict == Verdict::kNever)
      drop_underlying(i);
    else
      ++i;
  }
  return false;
}

/// True if the publisher's oldest message in Baton's queue cannot be taken yet: nothing is known of what it copies.
bool Merge::may_be_copy(const FromUnderlying& message) {
  return sources_.baton_awaits(message.publisher) && oldest_of(message.publisher) == nullptr &&
         orders_.of(message.publisher).trusted();
}

bool Merge::waits_for_copy(const FromUnderlying& message, std::int64_t now_ns, std::int64_t* look_again_ns) {
  if (!may_be_copy(message)) return false;
  PathOrder& order = orders_.of(message.publisher);
  if (!order.may_wait_for_memory(now_ns)) return false;
  *look_again_ns = std::min(*look_again_ns, order.waits_for_memory_until());
  return true;
}

FromBaton* Merge::copy_of(const FromUnderlying& message) {
  const auto copy = std::find_if(baton_.begin(), baton_.end(), [&](const FromBaton& other) {
    return other.position && other.publisher == message.publisher && other.position->header.also_underlying &&
           other.position->header.underlying_count == message.number;
  });
  return copy == baton_.end() ? nullptr : &*copy;
}

/// A callback that was notified of a message takes its copy instead.
void Merge::move_mark(FromUnderlying& message) {
  if (!message.notified) return;
  if (FromBaton* const copy = copy_of(message)) copy->notified = std::exchange(message.notified, false);
}

void Merge::drop_underlying(std::size_t index) {
  ++duplicates_;
  move_mark(underlying_[index]);
  sources_.release(take_out(underlying_, index));
}

/// Drops messages of the underlying RMW that are settled, or whose copies wait in baton_.
void Merge::drop_duplicates() {
  for (std::size_t i = 0; i < underlying_.size();) {
    const FromUnderlying& message = underlying_[i];
    if (copy_of(message) != nullptr || verdict_of(message) == Verdict::kNever)
      drop_underlying(i);
    else
      ++i;
  }
}

void Merge::settle_and_drop_baton(std::size_t index) {
  const FromBaton message = take_out(baton_, index);
  if (message.position) message.order->settle(*message.position);
}

void Merge::settle_and_drop_underlying(std::size_t index) {
  const FromUnderlying message = take_out(underlying_, index);
  orders_.of(message.publisher).settle_underlying(message.number);
  sources_.release(message);
}

/// Drops messages that were fetched in time, and have expired since.
void Merge::drop_expired(Now now) {
  for (std::size_t i = baton_.size(); i-- != 0;) {
    if (baton_[i].expires_ns < now.monotonic_ns) settle_and_drop_baton(i);
  }
  if (options_.lifespan_ns == INT64_MAX) return;
  for (std::size_t i = underlying_.size(); i-- != 0;) {
    if (now.realtime_ns - underlying_[i].source_time_ns > options_.lifespan_ns) settle_and_drop_underlying(i);
  }
}

/// Whether a message of the underlying RMW counts for KEEP_LAST: it is neither settled nor a copy of a message in
/// Baton's queue. REQUIRES: drop_duplicates() was called.
bool Merge::counts(const FromUnderlying& message, std::size_t unread) {
  const Verdict verdict = verdict_of(message);
  if (verdict == Verdict::kNever) return false;
  if (unread == 0) return true;
  // Baton carries all messages after the first one that it carried. A message for which Baton had no memory is taken
  // for a copy.
  return oldest_of(message.publisher) != nullptr ? verdict == Verdict::kNow
                                                 : !orders_.of(message.publisher).known_to_baton();
}

/// KEEP_LAST (invariant 3).
void Merge::evict_beyond_depth() {
  if (size() == 0) return;
  const std::uint64_t evicted_before = evicted_;
  drop_duplicates();
  for (;;) {
    if (sources_.baton_unread() != 0 && !underlying_.empty() && fetch_baton()) {
      drop_duplicates();  // of a publisher whose first Baton message came just now
      continue;
    }
    // After the fetch, which finds out what it must pass over: such a message may be a copy, and evicts nothing.
    const std::size_t unread = sources_.baton_unread();
    std::size_t count = baton_.size() + unread;
    std::size_t oldest = underlying_.size();  // the oldest that counts
    for (std::size_t i = 0; i < underlying_.size(); ++i) {
      if (!counts(underlying_[i], unread)) continue;
      ++count;
      if (oldest == underlying_.size() || underlying_[i].source_time_ns < underlying_[oldest].source_time_ns)
        oldest = i;
    }
    const bool has_underlying = oldest != underlying_.size();
    if (count <= options_.depth || (baton_.empty() && !has_underlying)) break;
    if (has_underlying && (baton_.empty() || underlying_[oldest].source_time_ns < baton_.front().source_time_ns)) {
      settle_and_drop_underlying(oldest);
    } else {
      settle_and_drop_baton(0);
    }
    ++evicted_;
  }
  if (evicted_ == evicted_before) return;
  drop_duplicates();  // otherwise duplicates would collect while the application only waits, and takes nothing
  lost_ = true;
}

BATON_HOT Merge::Next Merge::choose(Now now, std::int64_t* look_again_ns) {
  // The usual case, in a few instructions: nothing comes through the underlying RMW, and at most one message waits.
  // choose_of_all() would give the same answer.
  bool fetched_one = false;
  if (underlying_.empty() && !sources_.underlying_has_data()) {
    if (baton_.empty()) {
      if (!fetch_baton()) {
        in_a_row_ = 0;
        return {};
      }
      fetched_one = true;
    }
    if (baton_.size() == 1 && (fetched_one || still_counts(baton_[0], now)) && is_next(baton_[0])) {
      if (in_a_row_ >= kTurn) in_a_row_ = 0;
      return {Source::kBaton, 0, baton_[0].notified};
    }
  }
  return choose_of_all(fetched_one, now, look_again_ns);
}

/// Whether the only message that waits has neither expired, nor become too old for KEEP_LAST.
BATON_HOT bool Merge::still_counts(const FromBaton& message, Now now) const {
  return message.expires_ns >= now.monotonic_ns && (!options_.keep_last || sources_.baton_unread() < options_.depth);
}

/// Whether the only message that waits is no duplicate, and waits for no older message of the underlying RMW.
BATON_HOT bool Merge::is_next(const FromBaton& message) const {
  if (!message.position) return true;
  const OrderHeader& header = message.position->header;
  const std::uint64_t settled = message.order->settled_underlying();
  return header.older_underlying() <= settled && !(header.also_underlying && header.underlying_count <= settled);
}

/// `fetched_one`: choose() has taken the message that waits from Baton's queue just now.
Merge::Next Merge::choose_of_all(bool fetched_one, Now now, std::int64_t* look_again_ns) {
  drop_expired(now);
  for (;; fetched_one = false) {
    Fetched fetched;
    if (options_.keep_last && !fetched_one) fetched = fetch_both();
    if (baton_.empty()) fetch_baton();
    std::size_t index = 0;
    const bool from_baton = choose_baton(now.monotonic_ns, look_again_ns, &index);
    if (!from_baton && baton_.empty() && fetch_baton()) continue;  // the previous message was a duplicate
    if (from_baton && in_a_row_ < kTurn) return {Source::kBaton, index, baton_[index].notified};
    in_a_row_ = 0;
    if (!options_.keep_last) fetched = fetch_both();
    if (!underlying_.empty()) {
      std::size_t underlying_index = 0;
      if (choose_underlying(fetched.all_of_baton, now.monotonic_ns, look_again_ns, &underlying_index))
        return {Source::kUnderlying, underlying_index, underlying_[underlying_index].notified};
      if (fetched.from_underlying) continue;  // the fetched messages were duplicates, or wait for Baton's
      // A message has entered Baton's queue just now. If this reader drops it, the underlying RMW's messages need not
      // wait.
      if (!fetched.all_of_baton && baton_.empty() && (fetch_baton() || !sources_.baton_has_data())) continue;
    }
    if (choose_baton(now.monotonic_ns, look_again_ns, &index)) return {Source::kBaton, index, baton_[index].notified};
    return {};
  }
}

BATON_HOT FromBaton Merge::take_baton(const Next& next) {
  FromBaton message = take_out(baton_, next.index);
  ++in_a_row_;
  if (message.position) {
    PathOrder& order = *message.order;
    if (order.skips(*message.position)) lost_ = true;
    order.settle(*message.position);
  }
  return message;
}

FromUnderlying Merge::take_underlying(const Next& next) {
  FromUnderlying message = take_out(underlying_, next.index);
  message.number = orders_.of(message.publisher).settle_underlying(message.number);
  return message;
}

std::size_t Merge::notified() const {
  const auto is_notified = [](const auto& message) { return message.notified; };
  return static_cast<std::size_t>(std::count_if(baton_.begin(), baton_.end(), is_notified) +
                                  std::count_if(underlying_.begin(), underlying_.end(), is_notified));
}

std::size_t Merge::mark_notified() {
  drop_duplicates();
  const std::size_t unread = sources_.baton_unread();
  std::size_t marked = 0;
  for (FromBaton& message : baton_) marked += std::exchange(message.notified, true) ? 0 : 1;
  for (FromUnderlying& message : underlying_) {
    if (message.notified || !counts(message, unread) || may_be_copy(message)) continue;
    message.notified = true;
    ++marked;
  }
  return marked;
}

}  // namespace baton::rmw
