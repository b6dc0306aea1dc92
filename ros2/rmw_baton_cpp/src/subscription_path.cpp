// SPDX-License-Identifier: Apache-2.0
#include "subscription_path.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "baton/os/clock.hpp"
#include "handles.hpp"
#include "native_take.hpp"
#include "rcutils/logging_macros.h"
#include "served.hpp"

namespace baton::rmw {
namespace {

constexpr unsigned kTurn = 4;  // messages from Baton, then the underlying subscription has its turn

std::atomic<std::uint64_t> last_id{0};

transport::Gid gid_of(const rmw_message_info_t& info) {
  transport::Gid gid{};
  std::memcpy(gid.data(), info.publisher_gid.data, gid.size());
  return gid;
}

}  // namespace

SubscriptionPath::SubscriptionPath(std::shared_ptr<Presence> presence, const rmw_node_t* inner_node,
                                   const rmw_subscription_t* inner, Inlet& inlet, Event& lost_event)
    : presence_(std::move(presence)),
      id_(++last_id),
      topic_(inner->topic_name),
      inner_node_(inner_node),
      inner_(inner),
      inlet_(inlet),
      lost_event_(lost_event) {}

std::shared_ptr<SubscriptionPath> SubscriptionPath::make(const std::shared_ptr<Presence>& presence,
                                                         const transport::Gid& gid, const rmw_node_t* inner_node,
                                                         const rmw_subscription_t* inner,
                                                         const rosidl_message_type_support_t* type, Inlet& inlet,
                                                         Events& events) {
  rmw_qos_profile_t profile{};
  if (underlying()->rmw_subscription_get_actual_qos(inner, &profile) != RMW_RET_OK) {
    rcutils_reset_error();
    return nullptr;
  }
  const std::optional<QoS> qos = qos_of(profile);
  if (!qos || !may_be_served(inner->topic_name, profile) || inner->is_cft_enabled) return nullptr;
  std::shared_ptr<SubscriptionPath> path(
      new SubscriptionPath(presence, inner_node, inner, inlet, events[RMW_EVENT_MESSAGE_LOST]));
  Result<std::shared_ptr<const TypePlan>> plan = plan_of(type);
  if (plan) {
    path->plan_ = *plan;
    path->type_ = type;
    transport::Participant::ReaderOptions options;
    options.topic = inner->topic_name;
    options.node = full_name(*inner_node);
    options.type = (*plan)->info;
    options.qos = *qos;
    options.qos.held = kHeld;
    options.gid = gid;
    Result<std::shared_ptr<transport::Reader>> reader = presence->participant().create_reader(options);
    if (reader) {
      path->reader_ = std::move(*reader);
    } else {
      plan = reader.error();
    }
  }
  if (!plan) {
    RCUTILS_LOG_WARN_NAMED(kLogger, "subscription of %s takes the underlying RMW only: %s", inner->topic_name,
                           plan.error().message.c_str());
    return nullptr;
  }
  path->ignore_local_ = inner->options.ignore_local_publications;
  path->depth_ = qos->depth;
  path->lifespan_ = qos->lifespan;
  path->keep_last_ = qos->history == History::kKeepLast;
  if (qos->deadline != kInfinite) {
    Event& missed = events[RMW_EVENT_REQUESTED_DEADLINE_MISSED];
    missed.below = false;
    const auto newest_ns = [reader = path->reader_, &inlet] {
      return std::max(reader->newest_ns(), inlet.rang_at_ns());
    };
    path->deadline_ = presence->deadlines().add({qos->deadline, newest_ns, [&missed] { missed.happened(1); }});
  }
  return path;
}

void SubscriptionPath::stop() {
  if (deadline_ != 0) presence_->deadlines().remove(deadline_);
  deadline_ = 0;
}

/// With mutex_.
[[gnu::hot]] void SubscriptionPath::count_lost() {
  const std::uint64_t lost = reader_->statuses().lost_total + gave_way_;
  if (lost > lost_) untold_lost_ += lost - std::exchange(lost_, lost);
}

/// Unlocks: the event wakes whoever waits for it.
[[gnu::hot]] void SubscriptionPath::tell_lost(std::unique_lock<std::mutex>* lock) {
  const std::uint64_t lost = std::exchange(untold_lost_, 0);
  lock->unlock();
  if (lost != 0) lost_event_.happened(lost);
}

SubscriptionPath::~SubscriptionPath() {
  if (!reader_) return;
  if (wait_set_) wait_set_->remove(reader_);
  for (FromBelow& entry : below_) recycle(entry);
  for (rmw_serialized_message_t& bytes : spare_) {
    if (rmw_serialized_message_fini(&bytes) != RMW_RET_OK) rcutils_reset_error();
  }
  RCUTILS_LOG_DEBUG_NAMED(
      kLogger, "subscription of %s: %lu messages through Baton (%lu bytes copied out), %lu from below, %lu doubles",
      topic_.c_str(), through_baton_, copied_bytes_.load(), through_below_, doubles_);
}

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
    if (ignore_local_ && Beacon::same_context(entry.publisher, reader_->gid())) continue;
    if (const std::optional<Ordinal> ordinal = Ordinal::decode(sample->header())) {
      entry.place = PathOrder::Queued{*ordinal, sample->sequence()};
    }
    entry.sample = std::move(*sample);
    baton_.push_back(std::move(entry));
    return true;
  }
}

/// Takes one more message over from the underlying subscription, doubles excepted. False: there is none.
[[gnu::hot]] bool SubscriptionPath::fetch_below() {
  while (inlet_.clear()) {
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
      return false;
    }
    inlet_.set();  // there may be more
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
  return false;
}

/// As much as may wait here.
[[gnu::hot]] bool SubscriptionPath::fetch_all_below() {
  bool fetched = false;
  for (std::size_t i = 0; i < depth_ && (keep_last_ || below_.size() < depth_) && fetch_below(); ++i) fetched = true;
  return fetched;
}

/// Publishers of which nothing can come any more. If there is too much to take it over now, the next take looks again.
void SubscriptionPath::forget_who_left() {
  fetch_all_below();
  bool more = true;
  while (more) more = fetch_baton();
  const auto all_is_here = [this] { return !inlet_.dirty() && !reader_->has_data(); };
  if (!all_is_here()) return;  // asking for the graph is dear
  std::optional<std::vector<transport::Gid>> needed = known_publishers(inner_node_, topic_.c_str());
  if (!needed) return;
  for (const transport::EndpointInfo& endpoint : presence_->participant().endpoints()) {
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
      verdict = order.of_baton(*entry.place, matched != 0, now_ns);
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

/// What waits here from below although Baton's copy waits here, too.
void SubscriptionPath::drop_doubles() {
  for (std::size_t i = 0; i < below_.size();) {
    const FromBelow& entry = below_[i];
    const bool twice = std::any_of(baton_.begin(), baton_.end(), [&](const FromBaton& other) {
      return other.place && other.publisher == entry.publisher && other.place->ordinal.also &&
             other.place->ordinal.below == entry.info.publication_sequence_number;
    });
    if (!twice) {
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

/// KEEP_LAST n counts over both paths, and what was looked at as what was not: of what is unread, the oldest gives way.
[[gnu::hot]] void SubscriptionPath::keep_last() {
  if (!keep_last_ || baton_.size() + below_.size() == 0) return;
  const std::uint64_t told = gave_way_;
  const std::size_t unread = reader_->unread();
  // Of what comes from below it is known only now whether Baton has it too.
  const bool both = unread == 0;
  if (both) drop_doubles();
  while (baton_.size() + unread + (both ? below_.size() : 0) > depth_ && (!baton_.empty() || both)) {
    const auto oldest =
        std::min_element(below_.begin(), below_.end(), [](const FromBelow& one, const FromBelow& other) {
          return one.info.source_timestamp < other.info.source_timestamp;
        });
    const bool from_below =
        both && oldest != below_.end() &&
        (baton_.empty() || oldest->info.source_timestamp < baton_.front().sample.header().source_time_ns);
    give_way(from_below, from_below ? static_cast<std::size_t>(oldest - below_.begin()) : 0);
    ++gave_way_;
  }
  if (gave_way_ > told) count_lost();
}

[[gnu::hot]] SubscriptionPath::Chosen SubscriptionPath::choose(std::int64_t now_ns, std::int64_t* look_again_ns) {
  if (publishers_.crowded()) forget_who_left();
  if (direct()) return {Choice::kDirect, 0};
  drop_expired(now_ns);
  keep_last();
  for (;;) {
    if (baton_.empty()) fetch_baton();
    std::size_t index = 0;
    const bool from_baton = choose_baton(now_ns, look_again_ns, &index);
    if (!from_baton && baton_.empty() && fetch_baton()) continue;  // the one that was there was a double
    const bool turn_below = in_a_row_ >= kTurn;
    if (from_baton && !turn_below) return {Choice::kBaton, index};
    in_a_row_ = 0;
    // All of it: what is not taken from there is not known there as what should give way.
    const bool fetched = fetch_all_below();
    if (!below_.empty()) {
      // What Baton carried of the same publisher is in its queue by now: all of it must be seen.
      bool more = true;
      while (more) more = fetch_baton();
      const bool emptied = !reader_->has_data();
      keep_last();
      std::size_t below_index = 0;
      if (choose_below(emptied, &below_index)) return {Choice::kBelow, below_index};
      if (fetched) continue;  // what was fetched was a double, or waits for Baton's
    }
    if (choose_baton(now_ns, look_again_ns, &index)) return {Choice::kBaton, index};
    return {};
  }
}

[[gnu::hot]] SubscriptionPath::Ready SubscriptionPath::ready(std::int64_t now_ns, std::int64_t* look_again_ns) {
  std::unique_lock<std::mutex> lock(mutex_);
  const Choice choice = choose(now_ns, look_again_ns).choice;
  tell_lost(&lock);
  switch (choice) {
    case Choice::kNothing:
      return Ready::kNo;
    case Choice::kDirect:
      return Ready::kAskBelow;
    default:
      return Ready::kYes;
  }
}

[[gnu::hot]] rmw_ret_t SubscriptionPath::take(const Taking& taking, bool* taken, rmw_message_info_t* info) {
  std::unique_lock<std::mutex> lock(mutex_);
  *taken = false;
  std::int64_t look_again_ns = INT64_MAX;
  const Chosen chosen = choose(os::monotonic_ns(), &look_again_ns);
  rmw_ret_t result = RMW_RET_OK;
  switch (chosen.choice) {
    case Choice::kNothing:
      return RMW_RET_OK;
    case Choice::kDirect:
      if (taking.lent == nullptr) return take_direct(taking, taken, info);
      return lend_copy(taking, *taken, [&](const Taking& copy) { return take_direct(copy, taken, info); });
    case Choice::kBaton: {
      FromBaton entry = std::move(baton_[chosen.index]);
      baton_.erase(baton_.begin() + static_cast<std::ptrdiff_t>(chosen.index));
      ++in_a_row_;
      ++through_baton_;
      if (entry.place) {
        PathOrder& order = publishers_.of(entry.publisher);
        if (order.skips(*entry.place)) count_lost();
        order.delivered(*entry.place);
      }
      tell_lost(&lock);  // wait sets of other threads look at this subscription while it is copied
      result = deliver(std::move(entry), taking, info);
      lock.lock();
      break;
    }
    case Choice::kBelow: {
      FromBelow entry = below_[chosen.index];
      below_.erase(below_.begin() + static_cast<std::ptrdiff_t>(chosen.index));
      ++through_below_;
      entry.info.publication_sequence_number =
          publishers_.of(entry.publisher).delivered_below(entry.info.publication_sequence_number);
      tell_lost(&lock);
      result = deliver(entry, taking, info);
      lock.lock();
      recycle(entry);
      break;
    }
  }
  *taken = result == RMW_RET_OK;
  if (listener_ && wait_set_ == nullptr) {
    join(listener_);
    listener_->wake();
  }
  return result;
}

rmw_ret_t SubscriptionPath::take_direct(const Taking& taking, bool* taken, rmw_message_info_t* info) {
  const Underlying& rmw = *underlying();
  rmw_message_info_t own_info = rmw_get_zero_initialized_message_info();
  if (info == nullptr) info = &own_info;
  inlet_.clear();
  // The underlying RMW resizes the arrays, and its frees are not seen.
  if (taking.native != nullptr && !plan_->loans->detach(taking.native)) return RMW_RET_BAD_ALLOC;
  const rmw_ret_t result =
      taking.native != nullptr
          ? rmw.rmw_take_with_info(inner_, taking.native, taken, info, taking.allocation)
          : rmw.rmw_take_serialized_message_with_info(inner_, taking.serialized, taken, info, taking.allocation);
  if (result != RMW_RET_OK || !*taken) return result;
  inlet_.set();  // there may be more
  ++through_below_;
  // Should Baton bring the same message, it came already.
  info->publication_sequence_number = publishers_.of(gid_of(*info)).delivered_below(info->publication_sequence_number);
  return RMW_RET_OK;
}

[[gnu::hot]] rmw_ret_t SubscriptionPath::deliver(FromBaton entry, const Taking& taking, rmw_message_info_t* info) {
  if (info != nullptr) {
    *info = rmw_get_zero_initialized_message_info();
    info->source_timestamp = entry.sample.header().source_time_ns;
    info->received_timestamp = entry.sample.reception_time_ns();
    info->publication_sequence_number = entry.place ? entry.place->ordinal.number : entry.sample.sequence();
    info->reception_sequence_number = RMW_MESSAGE_INFO_SEQUENCE_NUMBER_UNSUPPORTED;
    info->publisher_gid.implementation_identifier = kIdentifier;
    std::memcpy(info->publisher_gid.data, entry.publisher.data(), entry.publisher.size());
  }
  if (taking.lent != nullptr) {
    if (lend_in_place(entry.sample, taking)) return RMW_RET_OK;
    return lend_copy(taking, true, [&](const Taking& copy) { return deliver(std::move(entry), copy, nullptr); });
  }
  if (taking.native != nullptr) {
    Result<TakenBytes> filled = take_into_native(*plan_, std::move(entry.sample), taking.native, quota_);
    if (!filled) {
      RMW_SET_ERROR_MSG(filled.error().message.c_str());
      return filled.error().code == Errc::out_of_memory ? RMW_RET_BAD_ALLOC : RMW_RET_ERROR;
    }
    copied_bytes_.fetch_add(filled->copied, std::memory_order_relaxed);  // a statistic: orders nothing
    return RMW_RET_OK;
  }
  const message::Bytes message(entry.sample.message(), entry.sample.size_bytes());
  Result<std::size_t> size = plan_->cdr.encoded_size(message);
  if (size) {
    if (rmw_serialized_message_resize(taking.serialized, *size) != RMW_RET_OK) return RMW_RET_BAD_ALLOC;
    size = plan_->cdr.encode(message, {taking.serialized->buffer, *size});
  }
  if (!size) {
    RMW_SET_ERROR_MSG(size.error().message.c_str());
    return RMW_RET_ERROR;
  }
  taking.serialized->buffer_length = *size;
  return RMW_RET_OK;
}

rmw_ret_t SubscriptionPath::deliver(FromBelow& entry, const Taking& taking, rmw_message_info_t* info) {
  entry.info.publisher_gid.implementation_identifier = kIdentifier;
  if (info != nullptr) *info = entry.info;
  if (taking.lent != nullptr)
    return lend_copy(taking, true, [&](const Taking& copy) { return deliver(entry, copy, nullptr); });
  rmw_ret_t result = RMW_RET_OK;
  if (taking.native != nullptr) {
    result = underlying()->rmw_deserialize(&entry.bytes, type_, taking.native);
  } else {
    result = rmw_serialized_message_resize(taking.serialized, entry.bytes.buffer_length);
    if (result == RMW_RET_OK) {
      std::memcpy(taking.serialized->buffer, entry.bytes.buffer, entry.bytes.buffer_length);
      taking.serialized->buffer_length = entry.bytes.buffer_length;
    }
  }
  return result;
}

/// False, with nothing changed: it is to be copied.
[[gnu::hot]] bool SubscriptionPath::lend_in_place(transport::TakenSample& sample, const Taking& taking) {
  if (!plan_->native->is_native({sample.message(), sample.size_bytes()})) return false;
  const std::lock_guard<std::mutex> lock(lent_mutex_);
  if (lent_in_place_ >= kHeld / 2) return false;
  const auto [place, is_new] = lent_.try_emplace(sample.message());
  if (!is_new) return false;  // a publisher that hands out one chunk twice
  // Native code gets a pointer to non-const; the mapping is read-only all the same.
  *taking.lent = const_cast<void*>(sample.message());
  place->second.sample = std::move(sample);
  ++lent_in_place_;
  return true;
}

/// Lends a message of our own, filled by `fill(taking)`, unless that fails or there is none (`taken`).
template <class Fill>
rmw_ret_t SubscriptionPath::lend_copy(const Taking& taking, const bool& taken, Fill&& fill) {
  std::unique_ptr<void, Lent::Destroy> copy(plan_->loans->make(), Lent::Destroy{plan_->loans.get()});
  if (!copy) return RMW_RET_BAD_ALLOC;
  void* const native = copy.get();
  {
    const std::lock_guard<std::mutex> lock(lent_mutex_);
    lent_[native].copy = std::move(copy);
  }
  const rmw_ret_t result = fill(Taking{native, nullptr, taking.allocation, nullptr});
  if (result == RMW_RET_OK && taken) {
    *taking.lent = native;
  } else {
    give_back(native);
  }
  return result;
}

bool SubscriptionPath::has_lent() {
  const std::lock_guard<std::mutex> lock(lent_mutex_);
  return !lent_.empty();
}

[[gnu::hot]] rmw_ret_t SubscriptionPath::give_back(void* lent) {
  Lent ended;  // released without the lock
  const std::lock_guard<std::mutex> lock(lent_mutex_);
  const auto found = lent_.find(lent);
  if (found == lent_.end()) {
    RMW_SET_ERROR_MSG("this message was not taken as a loan from this subscription");
    return RMW_RET_ERROR;
  }
  if (found->second.sample) --lent_in_place_;
  ended = std::move(found->second);
  lent_.erase(found);
  return RMW_RET_OK;
}

/// With mutex_. Null: in none.
[[gnu::hot]] void SubscriptionPath::join(const std::shared_ptr<transport::WaitSet>& wait_set) {
  if (wait_set_ == wait_set) return;
  if (wait_set_) wait_set_->remove(reader_);
  wait_set_ = nullptr;
  if (!wait_set) return;
  if (Result<void> added = wait_set->add(reader_); added) {
    wait_set_ = wait_set;
  } else {
    RCUTILS_LOG_WARN_NAMED(kLogger, "%s", added.error().message.c_str());
  }
}

[[gnu::hot]] void SubscriptionPath::wait_in(const std::shared_ptr<transport::WaitSet>& wait_set) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!listener_) join(wait_set);
}

void SubscriptionPath::leave(const std::shared_ptr<transport::WaitSet>& wait_set) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (wait_set_ == wait_set) join(nullptr);
}

void SubscriptionPath::listen_in(const std::shared_ptr<transport::WaitSet>& wait_set) {
  const std::lock_guard<std::mutex> lock(mutex_);
  listener_ = wait_set;
  untold_ = wait_set ? baton_.size() : 0;
  join(wait_set);
  if (untold_ != 0) wait_set->wake();
}

void SubscriptionPath::call_back(bool on) {
  Listener& listener = presence_->listener();
  listen_in(on ? listener.wait_set() : nullptr);
  if (on) {
    listener.add(inlet_, [this] { return fetch_for_callback(); });
  } else {
    listener.remove(inlet_);
    if (inlet_.has_callback()) listener.add(inlet_);
  }
}

/// Takes over what is new, as much as may be held: how much that is. For the rest, the next take() wakes the Listener again.
std::size_t SubscriptionPath::fetch_for_callback() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!listener_) return 0;
  while (baton_.size() < depth_ && fetch_baton()) ++untold_;
  if (reader_->has_data()) join(nullptr);  // or the Listener would not sleep
  return std::exchange(untold_, 0);
}

}  // namespace baton::rmw
