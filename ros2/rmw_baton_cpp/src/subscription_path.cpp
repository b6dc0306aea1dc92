// SPDX-License-Identifier: Apache-2.0
#include "subscription_path.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "baton/heap/native_take.hpp"
#include "baton/os/clock.hpp"
#include "endpoints.hpp"
#include "handles.hpp"
#include "rcutils/logging_macros.h"

namespace baton::rmw {
namespace {

std::atomic<std::uint64_t> last_id{0};

}  // namespace

SubscriptionPath::SubscriptionPath(std::shared_ptr<BatonContext> baton_context, const rmw_node_t* inner_node,
                                   const rmw_subscription_t* inner, ReadySignal& signal, Event& lost_event)
    : baton_context_(std::move(baton_context)),
      id_(++last_id),
      topic_(inner->topic_name),
      inner_node_(inner_node),
      inner_(inner),
      signal_(signal),
      lost_event_(lost_event) {}

std::shared_ptr<SubscriptionPath> SubscriptionPath::make(const std::shared_ptr<BatonContext>& baton_context,
                                                         const transport::Gid& gid, const rmw_node_t* inner_node,
                                                         const rmw_subscription_t* inner,
                                                         const rosidl_message_type_support_t* type, ReadySignal& signal,
                                                         Events& events) {
  rmw_qos_profile_t profile{};
  if (underlying()->rmw_subscription_get_actual_qos(inner, &profile) != RMW_RET_OK) {
    rcutils_reset_error();
    return nullptr;
  }
  const std::optional<QoS> qos = qos_of(profile);
  if (!qos || !may_be_served(inner->topic_name, profile) || inner->is_cft_enabled) return nullptr;
  Result<std::shared_ptr<const TypeSupport>> type_support = type_support_of(type, "subscription", inner->topic_name);
  if (!type_support) return nullptr;
  std::shared_ptr<SubscriptionPath> path(
      new SubscriptionPath(baton_context, inner_node, inner, signal, events[RMW_EVENT_MESSAGE_LOST]));
  path->type_ = *type_support;
  path->type_handle_ = type;
  transport::Participant::ReaderOptions options;
  options.topic = inner->topic_name;
  options.node = full_name(*inner_node);
  options.type = (*type_support)->info;
  options.qos = *qos;
  options.qos.held = kHeld;
  options.gid = gid;
  options.take_expired = true;
  Result<std::shared_ptr<transport::Reader>> reader = baton_context->participant().create_reader(options);
  if (!reader) {
    RCUTILS_LOG_WARN_NAMED(kLogger, "subscription of %s takes the underlying RMW only: %s", inner->topic_name,
                           reader.error().message.c_str());
    return nullptr;
  }
  path->reader_ = std::move(*reader);
  path->ignore_local_ = inner->options.ignore_local_publications;
  path->depth_ = qos->depth;
  path->reliable_ = qos->reliability == Reliability::kReliable;
  path->lifespan_ = qos->lifespan;
  path->keep_last_ = qos->history == History::kKeepLast;
  if (qos->deadline != kInfinite) {
    Event& missed = events[RMW_EVENT_REQUESTED_DEADLINE_MISSED];
    missed.below = false;
    const auto newest_ns = [reader = path->reader_, &signal] {
      return std::max(reader->newest_ns(), signal.rang_at_ns());
    };
    path->deadline_ = baton_context->deadlines().add({qos->deadline, newest_ns, [&missed] { missed.happened(1); }});
  }
  return path;
}

void SubscriptionPath::stop() {
  CallbackThread& listener = baton_context_->callback_thread();
  listener.remove(signal_);
  listen_in(nullptr);
  if (signal_.has_callback()) listener.add(signal_);  // for what comes from below
  if (deadline_ != 0) baton_context_->deadlines().remove(deadline_);
  deadline_ = 0;
}

transport::Gid SubscriptionPath::gid_of(const rmw_message_info_t& info) {
  transport::Gid gid{};
  std::memcpy(gid.data(), info.publisher_gid.data, gid.size());
  return gid;
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

[[gnu::hot]] rmw_ret_t SubscriptionPath::take(const Taking& taking, bool* taken, rmw_message_info_t* info) {
  std::unique_lock<std::mutex> lock(mutex_);
  *taken = false;
  std::int64_t look_again_ns = INT64_MAX;
  const Chosen chosen = choose(os::monotonic_ns(), &look_again_ns);
  rmw_ret_t result = RMW_RET_OK;
  switch (chosen.choice) {
    case Choice::kNothing:
      // The call that led here came too early for what waits.
      if (listener_ && too_early_ < told_of()) {
        ++too_early_;
        look_again_ns_ = look_again_ns;
        baton_context_->callback_thread().wake_at(look_again_ns);
      }
      break;
    case Choice::kDirect:
      if (taking.lent == nullptr) return take_direct(taking, taken, info);
      return lend_copy(taking, *taken, [&](const Taking& copy) { return take_direct(copy, taken, info); });
    case Choice::kBaton: {
      FromBaton entry = std::move(baton_[chosen.index]);
      if (listener_ && !entry.told) ++untold_;  // one that was told of waits on
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
      if (listener_ && !entry.told) ++untold_;
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
  if (chosen.choice != Choice::kNothing) {
    *taken = result == RMW_RET_OK;
    untold_ += std::exchange(too_early_, 0);  // what waited may have waited for this one
  }
  if (listener_ && (wait_set_ == nullptr || has_untold() || signal_.dirty())) {
    join(listener_);
    listener_->wake();
  }
  return result;
}

rmw_ret_t SubscriptionPath::take_direct(const Taking& taking, bool* taken, rmw_message_info_t* info) {
  const Underlying& rmw = *underlying();
  rmw_message_info_t own_info = rmw_get_zero_initialized_message_info();
  if (info == nullptr) info = &own_info;
  signal_.clear();
  // The underlying RMW resizes the arrays, and its frees are not seen.
  if (taking.native != nullptr && !type_->loans->detach(taking.native)) return RMW_RET_BAD_ALLOC;
  const rmw_ret_t result =
      taking.native != nullptr
          ? rmw.rmw_take_with_info(inner_, taking.native, taken, info, taking.allocation)
          : rmw.rmw_take_serialized_message_with_info(inner_, taking.serialized, taken, info, taking.allocation);
  if (result != RMW_RET_OK || !*taken) {
    told_below_ = 0;
    return result;
  }
  signal_.set();  // there may be more
  told_below_ -= told_below_ != 0 ? 1 : 0;
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
    Result<heap::NativeTaken> filled =
        heap::take_into_native(*type_->native, std::move(entry.sample), taking.native, quota_);
    if (!filled) {
      RMW_SET_ERROR_MSG(filled.error().message.c_str());
      return filled.error().code == Errc::out_of_memory ? RMW_RET_BAD_ALLOC : RMW_RET_ERROR;
    }
    copied_bytes_.fetch_add(filled->copied_bytes, std::memory_order_relaxed);  // a statistic: orders nothing
    return RMW_RET_OK;
  }
  const message::Bytes message(entry.sample.message(), entry.sample.size_bytes());
  Result<std::size_t> size = type_->cdr.encoded_size(message);
  if (size) {
    if (rmw_serialized_message_resize(taking.serialized, *size) != RMW_RET_OK) return RMW_RET_BAD_ALLOC;
    size = type_->cdr.encode(message, {taking.serialized->buffer, *size});
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
    result = underlying()->rmw_deserialize(&entry.bytes, type_handle_, taking.native);
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
  if (!type_->native->is_native({sample.message(), sample.size_bytes()})) return false;
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
  std::unique_ptr<void, Lent::Destroy> copy(type_->loans->make(), Lent::Destroy{type_->loans.get()});
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
  join(wait_set);
  if (!wait_set) return;
  // The rest was taken without a callback.
  untold_ = std::min(untold_ + std::exchange(too_early_, 0), baton_.size() + below_.size() + told_below_);
}

void SubscriptionPath::call_back(rmw_event_callback_t callback, const void* user_data, std::size_t limit) {
  if (callback == nullptr) {
    signal_.set_callback(nullptr, nullptr, limit);
    listen_in(nullptr);
  } else {
    listen_in(baton_context_->callback_thread().wait_set());
    signal_.set_callback(callback, user_data, limit, [this](std::size_t rung) { return fetch_for_callback(rung); });
  }
}

/// With mutex_: how many of those that wait here the callback was told of.
[[gnu::hot]] std::size_t SubscriptionPath::told_of() const {
  const auto told = [](const auto& entry) { return entry.told; };
  return static_cast<std::size_t>(std::count_if(baton_.begin(), baton_.end(), told) +
                                  std::count_if(below_.begin(), below_.end(), told));
}

/// With mutex_: whether there is something that the callback was not told of; perhaps only what turns out to be a double.
[[gnu::hot]] bool SubscriptionPath::has_untold() const {
  return untold_ != 0 || told_of() != baton_.size() + below_.size();
}

/// Takes over what is new on both paths, as much as may be held: how many messages the application was not told of, whoever took them
/// over, and of how many in vain. An application takes once for each it was told of. For the rest, the next take() wakes the CallbackThread
/// again. `rung`: how many came from below.
std::size_t SubscriptionPath::fetch_for_callback(std::size_t rung) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (direct()) {
    told_below_ = std::min(told_below_ + rung, depth_);
    untold_ += rung;
    if (untold_ != 0) signal_.begin_telling();
    return std::exchange(untold_, 0);
  }
  baton_was_there_ = true;  // what rang is not counted: from here on nothing is taken directly
  for (int vain = 0;;) {
    fetch_all_below();  // first: Baton's queue has the copies
    while (baton_.size() < depth_ && fetch_baton()) {
    }
    if (too_early_ != 0) {  // what has come may end the wait, and be a double
      std::int64_t look_again_ns = INT64_MAX;
      if (choose(os::monotonic_ns(), &look_again_ns).choice != Choice::kNothing)
        untold_ += std::exchange(too_early_, 0);
    }
    drop_doubles();
    const std::size_t unread = reader_->unread();
    for (FromBaton& entry : baton_) untold_ += std::exchange(entry.told, true) ? 0 : 1;
    for (FromBelow& entry : below_) {
      if (entry.told || !is_one_more(entry, unread)) continue;
      entry.told = true;
      ++untold_;
    }
    if (!reader_->has_data()) break;
    // Something has come meanwhile, which nobody else takes over; or no more may be held, and the CallbackThread would not sleep.
    if (baton_.size() < depth_ && (fetch_baton() || ++vain < 3)) continue;
    join(nullptr);
    break;
  }
  if (look_again_ns_ <= os::monotonic_ns()) {
    look_again_ns_ = INT64_MAX;
    untold_ += std::exchange(too_early_, 0);
  } else if (look_again_ns_ != INT64_MAX) {
    baton_context_->callback_thread().wake_at(look_again_ns_);  // this wake-up was an earlier one
  }
  if (untold_ != 0) signal_.begin_telling();
  return std::exchange(untold_, 0);
}

}  // namespace baton::rmw
