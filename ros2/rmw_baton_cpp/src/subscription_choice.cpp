// SPDX-License-Identifier: Apache-2.0
// Which of a subscription's messages comes next, and which do not come at all: doubles, expired ones, and what gives way.
#include <algorithm>
#include <cstring>
#include <utility>

#include "baton/os/clock.hpp"
#include "endpoints.hpp"
#include "handles.hpp"
#include "rcutils/logging_macros.h"
#include "subscription_path.hpp"

namespace baton::rmw {
namespace {

constexpr unsigned kTurn = 4;  // messages from Baton, then the underlying subscription has its turn

}  // namespace

/// Nothing can have come twice.
[[gnu::hot]] bool SubscriptionPath::direct() const {
  // matched() first: who came, published and left since has left something.
  return !baton_was_there_ && baton_.empty() && below_.empty() && reader_->matched() == 0 && !reader_->has_data();
}

/// Takes one more message over from Baton's queue. False: there is none, or no more may be held.
[[gnu::hot]] bool SubscriptionPath::fetch_baton() {
  for (;;) {
    Result<transport::TakenSample> sample = reader_->take();
    if (!sample) {
      if (sample.error().code != Errc::held_limit) {
        RCUTILS_LOG_WARN_NAMED(kLogger, "%s", sample.error().message.c_str());
        continue;  // that publisher's connection was ended
      }
      return false;
    }
    if (!*sample) return false;
    baton_was_there_ = true;
    FromBaton entry;
    std::memcpy(entry.publisher.data(), sample->header().publisher_id, entry.publisher.size());
    if (ignore_local_ && ContextAnnouncement::same_context(entry.publisher, reader_->gid())) continue;
    if (const std::optional<Ordinal> ordinal = Ordinal::decode(sample->header())) {
      entry.place = PathOrder::Queued{*ordinal, sample->sequence(), sample->expires_ns() < INT64_MAX};
      PathOrder& order = publishers_.of(entry.publisher);
      if (ordinal->also && ordinal->below <= order.done_below() &&
          oldest_of(entry.publisher, baton_.size()) == nullptr) {  // it came from below before
        order.delivered(*entry.place);
        ++doubles_;
        continue;
      }
    }
    entry.sample = std::move(*sample);
    if (entry.sample.expires_ns() < INT64_MAX && entry.sample.expires_ns() < os::monotonic_ns()) {
      if (entry.place) publishers_.of(entry.publisher).delivered(*entry.place);  // nor is it taken from below
      continue;
    }
    baton_.push_back(std::move(entry));
    return true;
  }
}

/// Takes one more message over from the underlying subscription, doubles excepted. False: there is none.
[[gnu::hot]] bool SubscriptionPath::fetch_below() {
  while (signal_.dirty() && signal_.clear()) {  // asked first: that writes nothing
    FromBelow entry{};
    if (spare_.empty()) {
      entry.bytes = rmw_get_zero_initialized_serialized_message();
      const rcutils_allocator_t allocator = rcutils_get_default_allocator();
      if (rmw_serialized_message_init(&entry.bytes, 0, &allocator) != RMW_RET_OK) {
        rcutils_reset_error();
        return false;
      }
    } else {
      entry.bytes = spare_.back();
      spare_.pop_back();
    }
    bool taken = false;
    const rmw_ret_t result =
        underlying()->rmw_take_serialized_message_with_info(inner_, &entry.bytes, &taken, &entry.info, nullptr);
    if (result != RMW_RET_OK || !taken) {
      if (result != RMW_RET_OK) rcutils_reset_error();
      recycle(entry);
      break;
    }
    signal_.set();  // there may be more
    entry.told = told_below_ != 0;
    if (entry.told) --told_below_;
    entry.publisher = gid_of(entry.info);
    PathOrder& order = publishers_.of(entry.publisher);
    order.saw_below(entry.info.publication_sequence_number);
    if (entry.info.publication_sequence_number <= order.done_below()) {
      ++doubles_;
      recycle(entry);
      continue;
    }
    below_.push_back(entry);
    return true;
  }
  told_below_ = 0;
  return false;
}

/// As much as may wait here. KEEP_LAST lets all but n of it give way, and the copies of what is still in Baton's queue.
[[gnu::hot]] bool SubscriptionPath::fetch_all_below() {
  bool fetched = false;
  for (std::size_t i = 0; i < depth_ && below_.size() < (keep_last_ ? 2 * depth_ : depth_) && fetch_below(); ++i)
    fetched = true;
  return fetched;
}

/// Publishers of which nothing can come any more. If there is too much to take it over now, the next take looks again.
void SubscriptionPath::forget_who_left() {
  fetch_all_below();
  bool more = true;
  while (more) more = fetch_baton();
  const auto all_is_here = [this] { return !signal_.dirty() && !reader_->has_data(); };
  if (!all_is_here()) return;  // asking for the graph is dear
  std::optional<std::vector<transport::Gid>> needed = known_publishers(inner_node_, topic_.c_str());
  if (!needed) return;
  for (const transport::EndpointInfo& endpoint : baton_context_->participant().endpoints()) {
    if (endpoint.is_writer && endpoint.topic == topic_) needed->push_back(endpoint.gid);
  }
  if (!all_is_here()) return;  // again: of those who left while the others were counted
  for (const FromBaton& entry : baton_) needed->push_back(entry.publisher);
  for (const FromBelow& entry : below_) needed->push_back(entry.publisher);
  publishers_.forget(std::move(*needed));
}

[[gnu::hot]] void SubscriptionPath::recycle(FromBelow& entry) { spare_.push_back(entry.bytes); }

[[gnu::hot]] const SubscriptionPath::FromBaton* SubscriptionPath::oldest_of(const transport::Gid& publisher,
                                                                            std::size_t before) const {
  for (std::size_t i = 0; i < before; ++i) {
    if (baton_[i].place && baton_[i].publisher == publisher) return &baton_[i];
  }
  return nullptr;
}

/// The first message of Baton's that may be delivered now; doubles of what came from below are dropped on the way.
[[gnu::hot]] bool SubscriptionPath::choose_baton(std::int64_t now_ns, std::int64_t* look_again_ns, std::size_t* index) {
  for (std::size_t i = 0; i < baton_.size();) {
    const FromBaton& entry = baton_[i];
    PathOrder::Verdict verdict = PathOrder::Verdict::kNow;
    if (entry.place) {
      if (oldest_of(entry.publisher, i) != nullptr) {  // an older one of the same publisher waits
        ++i;
        continue;
      }
      PathOrder& order = publishers_.of(entry.publisher);
      std::size_t matched = 0;
      if (PathOrder::older_below(entry.place->ordinal) > order.done_below()) {
        if (older_is_here(entry, order)) {  // choose_below() finds it
          ++i;
          continue;
        }
        if (underlying()->rmw_subscription_count_matched_publishers(inner_, &matched) != RMW_RET_OK)
          rcutils_reset_error();
      }
      verdict = order.of_baton(*entry.place, matched != 0, {reliable_, !keep_last_}, now_ns);
      if (verdict == PathOrder::Verdict::kNotYet) *look_again_ns = std::min(*look_again_ns, order.waits_until());
    }
    if (verdict == PathOrder::Verdict::kNow) {
      *index = i;
      return true;
    }
    if (verdict == PathOrder::Verdict::kNever) {
      publishers_.of(entry.publisher).delivered(*entry.place);
      ++doubles_;
      baton_.erase(baton_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return false;
}

/// A message from below that is older than this one, and not a double, waits here.
bool SubscriptionPath::older_is_here(const FromBaton& entry, const PathOrder& order) const {
  return std::any_of(below_.begin(), below_.end(), [&](const FromBelow& other) {
    const std::uint64_t number = other.info.publication_sequence_number;
    return other.publisher == entry.publisher && number > order.done_below() &&
           number <= PathOrder::older_below(entry.place->ordinal);
  });
}

/// The first message from below that may be delivered now. `baton_is_seen`: Baton's queue was emptied after they were fetched;
/// else only publishers are looked at of which Baton's oldest message is here.
bool SubscriptionPath::choose_below(bool baton_is_seen, std::size_t* index) {
  for (std::size_t i = 0; i < below_.size();) {
    const FromBelow& entry = below_[i];
    const FromBaton* oldest = oldest_of(entry.publisher, baton_.size());
    const bool blocked = std::any_of(below_.begin(), below_.begin() + static_cast<std::ptrdiff_t>(i),
                                     [&](const FromBelow& older) { return older.publisher == entry.publisher; });
    const PathOrder::Verdict verdict =
        blocked || (oldest == nullptr && !baton_is_seen)
            ? PathOrder::Verdict::kNotYet
            : publishers_.of(entry.publisher)
                  .of_below(entry.info.publication_sequence_number, oldest != nullptr ? &*oldest->place : nullptr);
    if (verdict == PathOrder::Verdict::kNow) {
      *index = i;
      return true;
    }
    if (verdict == PathOrder::Verdict::kNever) {
      ++doubles_;
      recycle(below_[i]);
      below_.erase(below_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return false;
}

/// What waits here from below and is settled, or whose copy waits here, too.
void SubscriptionPath::drop_doubles() {
  for (std::size_t i = 0; i < below_.size();) {
    const FromBelow& entry = below_[i];
    const auto copy = std::find_if(baton_.begin(), baton_.end(), [&](const FromBaton& other) {
      return other.place && other.publisher == entry.publisher && other.place->ordinal.also &&
             other.place->ordinal.below == entry.info.publication_sequence_number;
    });
    const bool twice = copy != baton_.end();
    if (twice && entry.told) copy->told = true;
    const FromBaton* oldest = oldest_of(entry.publisher, baton_.size());
    if (!twice && publishers_.of(entry.publisher)
                          .of_below(entry.info.publication_sequence_number,
                                    oldest != nullptr ? &*oldest->place : nullptr) != PathOrder::Verdict::kNever) {
      ++i;
      continue;
    }
    ++doubles_;
    recycle(below_[i]);
    below_.erase(below_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// Without being delivered, and so what is older, too.
void SubscriptionPath::give_way(bool from_below, std::size_t index) {
  if (from_below) {
    FromBelow& entry = below_[index];
    publishers_.of(entry.publisher).delivered_below(entry.info.publication_sequence_number);
    recycle(entry);
    below_.erase(below_.begin() + static_cast<std::ptrdiff_t>(index));
  } else {
    const FromBaton& entry = baton_[index];
    if (entry.place) publishers_.of(entry.publisher).delivered(*entry.place);
    baton_.erase(baton_.begin() + static_cast<std::ptrdiff_t>(index));
  }
}

/// What was looked at in time, and is too old by now.
[[gnu::hot]] void SubscriptionPath::drop_expired(std::int64_t now_ns) {
  for (std::size_t i = 0; i < baton_.size();) {
    if (baton_[i].sample.expires_ns() >= now_ns)
      ++i;
    else
      give_way(false, i);
  }
  if (below_.empty() || lifespan_ == kInfinite) return;
  const std::int64_t realtime_ns = os::realtime_ns();
  for (std::size_t i = 0; i < below_.size();) {
    if (realtime_ns - below_[i].info.source_timestamp <= lifespan_.count())
      ++i;
    else
      give_way(true, i);
  }
}

/// Whether a message that waits here from below is one more, and not settled, nor the copy of one that is still in Baton's queue.
/// REQUIRES: no copies of what is in baton_ wait here.
bool SubscriptionPath::is_one_more(const FromBelow& entry, std::size_t unread) {
  const PathOrder& order = publishers_.of(entry.publisher);
  const FromBaton* oldest = oldest_of(entry.publisher, baton_.size());
  const PathOrder::Verdict verdict =
      order.of_below(entry.info.publication_sequence_number, oldest != nullptr ? &*oldest->place : nullptr);
  if (verdict == PathOrder::Verdict::kNever) return false;
  if (unread == 0) return true;
  // Baton carries all that follows what it carried once; what found no memory there is taken for a copy.
  return oldest != nullptr ? verdict == PathOrder::Verdict::kNow : !order.known_to_baton();
}

/// KEEP_LAST n counts over both paths, and what was looked at as what was not: of what is unread, the oldest gives way.
[[gnu::hot]] void SubscriptionPath::keep_last() {
  if (!keep_last_ || baton_.size() + below_.size() == 0) return;
  const std::uint64_t told = gave_way_;
  drop_doubles();
  for (;;) {
    const std::size_t unread = reader_->unread();
    if (unread != 0 && !below_.empty() &&
        fetch_baton()) {  // of a publisher met just now: what is here from below may be its copy
      drop_doubles();
      continue;
    }
    std::size_t count = baton_.size() + unread;
    const FromBelow* oldest = nullptr;
    for (const FromBelow& entry : below_) {
      if (!is_one_more(entry, unread)) continue;
      ++count;
      if (oldest == nullptr || entry.info.source_timestamp < oldest->info.source_timestamp) oldest = &entry;
    }
    if (count <= depth_ || (baton_.empty() && oldest == nullptr)) break;
    const bool from_below = oldest != nullptr && (baton_.empty() || oldest->info.source_timestamp <
                                                                        baton_.front().sample.header().source_time_ns);
    std::size_t index = 0;
    while (from_below && &below_[index] != oldest) ++index;
    give_way(from_below, index);
    ++gave_way_;
  }
  if (gave_way_ == told) return;
  drop_doubles();  // also where the application looks and looks, and takes nothing
  count_lost();
}

/// What comes next may depend on all that has come: what is taken from below was in Baton's queue before, if Baton carries it, and
/// the oldest of both gives way. So all that has come from below is looked at first, and then all of Baton's, as much as may be held.
[[gnu::hot]] SubscriptionPath::Fetched SubscriptionPath::fetch_both() {
  Fetched fetched;
  fetched.from_below = fetch_all_below();
  while (!below_.empty() && fetch_baton()) {
  }
  keep_last();
  while (!below_.empty() && fetch_baton()) {  // in the place of what gave way
  }
  fetched.all_of_baton = !below_.empty() && !reader_->has_data();
  return fetched;
}

[[gnu::hot]] SubscriptionPath::Chosen SubscriptionPath::choose(std::int64_t now_ns, std::int64_t* look_again_ns) {
  if (publishers_.crowded()) forget_who_left();
  if (direct()) return {Choice::kDirect, 0};
  drop_expired(now_ns);
  for (;;) {
    Fetched fetched;
    if (keep_last_) fetched = fetch_both();
    if (baton_.empty()) fetch_baton();
    std::size_t index = 0;
    const bool from_baton = choose_baton(now_ns, look_again_ns, &index);
    if (!from_baton && baton_.empty() && fetch_baton()) continue;  // the one that was there was a double
    const bool turn_below = in_a_row_ >= kTurn;
    if (from_baton && !turn_below) return {Choice::kBaton, index};
    in_a_row_ = 0;
    if (!keep_last_) fetched = fetch_both();
    if (!below_.empty()) {
      std::size_t below_index = 0;
      if (choose_below(fetched.all_of_baton, &below_index)) return {Choice::kBelow, below_index};
      if (fetched.from_below) continue;  // what was fetched was a double, or waits for Baton's
      // Something has come to Baton's queue just now. It may be nothing for us: then what is from below need not wait.
      if (!fetched.all_of_baton && baton_.empty() && (fetch_baton() || !reader_->has_data())) continue;
    }
    if (choose_baton(now_ns, look_again_ns, &index)) return {Choice::kBaton, index};
    return {};
  }
}

[[gnu::hot]] SubscriptionPath::Ready SubscriptionPath::ready(std::int64_t now_ns, std::int64_t* look_again_ns) {
  std::unique_lock<std::mutex> lock(mutex_);
  const Chosen chosen = choose(now_ns, look_again_ns);
  const Choice choice = chosen.choice;
  bool callback_is_first = false;
  if (listener_ && has_untold()) {
    callback_is_first = untold_ != 0 || (choice == Choice::kBaton && !baton_[chosen.index].told) ||
                        (choice == Choice::kBelow && !below_[chosen.index].told);
    join(listener_);
    listener_->wake();
  }
  tell_lost(&lock);
  if (callback_is_first && choice != Choice::kDirect) return Ready::kNo;
  switch (choice) {
    case Choice::kNothing:
      return Ready::kNo;
    case Choice::kDirect:
      return Ready::kAskBelow;
    default:
      return Ready::kYes;
  }
}

}  // namespace baton::rmw
