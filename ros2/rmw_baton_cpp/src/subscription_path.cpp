// SPDX-License-Identifier: Apache-2.0
#include "subscription_path.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "baton/native/native_take.hpp"
#include "baton/os/clock.hpp"
#include "baton/os/hot_path.hpp"
#include "endpoints.hpp"
#include "handles.hpp"
#include "peer_faults.hpp"
#include "rcutils/logging_macros.h"

namespace baton::rmw {
namespace {

transport::Gid gid_of(const rmw_message_info_t& info) {
  transport::Gid gid{};
  std::memcpy(gid.data(), info.publisher_gid.data, gid.size());
  return gid;
}

bool succeeded(rmw_ret_t result) { return result == RMW_RET_OK; }
bool succeeded(const Result<void>& result) { return result.ok(); }

}  // namespace

SubscriptionPath::SerializedMessage::~SerializedMessage() {
  if (rmw_serialized_message_fini(&bytes) != RMW_RET_OK) rcutils_reset_error();
}

SubscriptionPath::SubscriptionPath(std::shared_ptr<BatonContext> baton_context, const rmw_node_t* inner_node,
                                   const rmw_subscription_t* inner, const rosidl_message_type_support_t* type_handle,
                                   std::shared_ptr<const TypeSupport> type, std::shared_ptr<transport::Reader> reader,
                                   const QoS& qos, ReadySignal& signal, Event& lost_event)
    : reader_(std::move(reader)),
      type_(std::move(type)),
      signal_(signal),
      ignore_local_(inner->options.ignore_local_publications),
      expires_(qos.lifespan != kInfinite),
      merge_(*this, {qos.depth, qos.history == History::kKeepLast, qos.reliability == Reliability::kReliable,
                     qos.lifespan != kInfinite ? qos.lifespan.count() : INT64_MAX}),
      baton_context_(std::move(baton_context)),
      topic_(inner->topic_name),
      inner_node_(inner_node),
      inner_(inner),
      type_handle_(type_handle),
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
  if (!qos || !may_be_served(profile) || inner->is_cft_enabled) return nullptr;
  Result<std::shared_ptr<const TypeSupport>> type_support =
      type_support_of(type, warn_of_type("subscription", inner->topic_name));
  if (!type_support) return nullptr;
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
  std::shared_ptr<SubscriptionPath> path(new SubscriptionPath(baton_context, inner_node, inner, type, *type_support,
                                                              *reader, *qos, signal, events[RMW_EVENT_MESSAGE_LOST]));
  if (qos->deadline != kInfinite) {
    Event& missed = events[RMW_EVENT_REQUESTED_DEADLINE_MISSED];
    missed.counts_underlying = false;
    const auto newest_ns = [reader = *reader, &signal] { return std::max(reader->newest_ns(), signal.last_ns()); };
    path->deadline_ = baton_context->deadlines().add({qos->deadline, newest_ns, [&missed] { missed.happened(1); }});
  }
  return path;
}

SubscriptionPath::~SubscriptionPath() {
  if (wait_set_) wait_set_->remove(reader_);
  RCUTILS_LOG_DEBUG_NAMED(kLogger,
                          "subscription of %s: %lu messages through Baton (%lu bytes copied out), %lu through the "
                          "underlying RMW, %lu duplicates",
                          topic_.c_str(), through_baton_, copied_bytes_.load(), through_underlying_,
                          merge_.duplicates());
}

void SubscriptionPath::stop() {
  signal_.forget_fetch();  // the callback continues with messages of the underlying RMW
  set_callback_wait_set(nullptr);
  if (deadline_ != 0) baton_context_->deadlines().remove(deadline_);
  deadline_ = 0;
}

// The sources.

BATON_HOT bool SubscriptionPath::take_baton(FromBaton* message) {
  for (; takes_left_ != 0; --takes_left_) {
    Result<transport::TakenSample> sample = reader_->take();
    if (!sample) {
      if (!may_take_again(sample.error())) return false;
      continue;
    }
    if (!*sample) return false;
    baton_seen_ = true;
    const memory::ChunkHeader& header = sample->header();
    message->publisher = sample->publisher();
    if (ignore_local_ && is_local(message->publisher)) continue;
    message->expires_ns = sample->expires_ns();
    const bool expires = message->expires_ns < INT64_MAX;
    message->source_time_ns = header.source_time_ns;
    message->reception_time_ns = os::realtime_ns();
    if (const std::optional<OrderHeader> order = OrderHeader::decode(header))
      message->position =
          PathOrder::Position{*order, sample->sequence(), expires, message->source_time_ns, message->reception_time_ns};
    message->expired = expires && message->expires_ns < os::monotonic_ns();
    message->sample = std::move(*sample);
    --takes_left_;
    return true;
  }
  return false;
}

BATON_COLD bool SubscriptionPath::is_local(const transport::Gid& publisher) const {
  return ContextAnnouncement::same_context(publisher, reader_->gid());
}

bool SubscriptionPath::take_underlying(FromUnderlying* message) {
  while (fetch_underlying(message)) {
    const bool repeated = reader_->matched() != 0 &&
                          baton_context_->link_writers().repeats(baton_context_->participant(), message->publisher);
    if (!repeated) return true;
    release(*message);
  }
  return false;
}

bool SubscriptionPath::fetch_underlying(FromUnderlying* message) {
  if (signal_.dirty() && spare_.empty()) {
    SerializedMessage& added = buffers_.emplace_back();
    const rcutils_allocator_t allocator = rcutils_get_default_allocator();
    if (rmw_serialized_message_init(&added.bytes, 0, &allocator) != RMW_RET_OK) {
      rcutils_reset_error();
      buffers_.pop_back();
      return false;
    }
    spare_.push_back(buffers_.size() - 1);
  }
  bool taken = false;
  if (signal_.dirty() && signal_.clear()) {  // dirty() first: it writes nothing
    SerializedMessage& buffer = buffers_[spare_.back()];
    const rmw_ret_t result =
        underlying()->rmw_take_serialized_message_with_info(inner_, &buffer.bytes, &taken, &buffer.info, nullptr);
    if (result != RMW_RET_OK) {
      rcutils_reset_error();
      taken = false;
    }
  }
  if (!taken) {
    notifications_.underlying_is_empty();
    return false;
  }
  signal_.set();  // there may be more
  message->buffer = spare_.back();
  spare_.pop_back();
  const rmw_message_info_t& info = buffers_[message->buffer].info;
  message->publisher = gid_of(info);
  message->number = info.publication_sequence_number;
  message->source_time_ns = info.source_timestamp;
  message->received_ns = info.received_timestamp > 0 ? info.received_timestamp : os::realtime_ns();
  message->notified = notifications_.taken_from_underlying();
  return true;
}

std::size_t SubscriptionPath::matched_only_in_baton() const {
  const std::size_t matched = reader_->matched();
  if (matched == 0) return 0;
  transport::Participant& participant = baton_context_->participant();
  const std::optional<std::vector<transport::Gid>> known = known_publishers(inner_node_, topic_.c_str());
  const std::vector<transport::EndpointInfo> graph = participant.endpoints();
  const auto own =
      std::find_if(graph.begin(), graph.end(), [&](const auto& each) { return each.gid == reader_->gid(); });
  if (!known || own == graph.end()) return 0;
  const auto count = std::count_if(graph.begin(), graph.end(), [&](const transport::EndpointInfo& each) {
    return each.is_writer && each.topic == topic_ && each.type_hash == own->type_hash &&
           incompatibility(each.qos, own->qos).empty() &&
           std::find(known->begin(), known->end(), each.gid) == known->end() &&
           // The underlying RMW may not have met an end of another context yet: it counts that one when it has.
           baton_context_->announcement().context_of(participant, each.gid) == ContextState::kUnknown;
  });
  return std::min(matched, static_cast<std::size_t>(count));  // one that is being connected gives no messages yet
}

bool SubscriptionPath::underlying_matched() {
  std::size_t matched = 0;
  if (underlying()->rmw_subscription_count_matched_publishers(inner_, &matched) != RMW_RET_OK) rcutils_reset_error();
  return matched != 0;
}

BATON_COLD bool SubscriptionPath::baton_is_unused() const {
  // matched() first: a publisher that came, published and ended since has left messages in the queue.
  return merge_.size() == 0 && reader_->matched() == 0 && !reader_->has_data();
}

/// Forgets publishers from which no message can come any more. If the merge has no room for the messages that have
/// come, the next take tries again.
void SubscriptionPath::forget_all_ended_publishers() {
  if (!merge_.fetch_everything()) return;
  std::optional<std::vector<transport::Gid>> needed = known_publishers(inner_node_, topic_.c_str());
  if (!needed) return;
  for (const transport::EndpointInfo& endpoint : baton_context_->participant().endpoints()) {
    if (endpoint.is_writer && endpoint.topic == topic_) needed->push_back(endpoint.gid);
  }
  // Publishers that have ended since may have sent messages.
  if (!underlying_has_data() && !baton_has_data()) merge_.forget(std::move(*needed));
}

BATON_HOT Merge::Now SubscriptionPath::now(std::int64_t monotonic_ns) const {
  return {monotonic_ns, expires_ ? os::realtime_ns() : 0};
}

// Taking.

/// The second half of notify_lost().
void SubscriptionPath::count_lost(std::unique_lock<std::mutex>* lock) {
  std::uint64_t more = 0;
  const std::uint64_t lost = reader_->statuses().lost_total + merge_.evicted() + refused_;
  if (lost > lost_) more = lost - std::exchange(lost_, lost);
  lock->unlock();
  if (more != 0) lost_event_.happened(more);
}

/// The message that was chosen cannot be delivered.
BATON_COLD void SubscriptionPath::lose(const Error& why, std::unique_lock<std::mutex>* lock) {
  ++refused_;
  count_lost(lock);
  warn_of_peer(why.code, "a message of " + topic_ + " was dropped: " + why.message);
  lock->lock();
}

BATON_HOT rmw_ret_t SubscriptionPath::take(const Taking& taking, bool* taken, rmw_message_info_t* info) {
  std::unique_lock<std::mutex> lock(mutex_);
  takes_left_ = kMostTaken;
  *taken = false;
  forget_ended_publishers();
  if (direct()) return take_direct(taking, taken, info);
  std::int64_t look_again_ns = INT64_MAX;
  const Merge::Next next = merge_.choose(now(os::monotonic_ns()), &look_again_ns);
  if (next.source == Merge::Source::kNone) {
    if (notifications_.found_nothing(look_again_ns)) baton_context_->callback_thread().wake_at(look_again_ns);
  } else {
    // Wait sets of other threads check this subscription while the message is copied.
    notifications_.taken(next.notified);
    Result<void> delivered;
    if (next.source == Merge::Source::kBaton) {
      {
        FromBaton message = merge_.take_baton(next);
        ++through_baton_;
        notify_lost(&lock);
        delivered = deliver(message, taking, info);
      }
      lock.lock();
    } else {
      delivered = take_chosen_underlying(next, taking, info, &lock);
    }
    *taken = delivered.ok();
    if (!delivered) lose(delivered.error(), &lock);
  }
  if (callback_wait_set_) wake_callback_thread();
  return RMW_RET_OK;
}

/// REQUIRES: there is a callback. The callback thread looks again if it has left its wait set, or may have to notify.
void SubscriptionPath::wake_callback_thread() {
  if (wait_set_ != nullptr && !notifications_.pending() && !signal_.dirty()) return;
  join(callback_wait_set_);
  callback_wait_set_->wake();
}

/// Unlocks while the message is copied out.
Result<void> SubscriptionPath::take_chosen_underlying(const Merge::Next& next, const Taking& taking,
                                                      rmw_message_info_t* info, std::unique_lock<std::mutex>* lock) {
  const FromUnderlying message = merge_.take_underlying(next);
  SerializedMessage& buffer = buffers_[message.buffer];
  buffer.info.publication_sequence_number = message.number;
  ++through_underlying_;
  notify_lost(lock);
  Result<void> delivered = deliver(buffer, taking, info);
  lock->lock();
  release(message);
  return delivered;
}

/// Lends a message of our own, filled by `fill(taking)`. Lends none if that fails, or if there is no message (`taken`).
template <class Fill>
auto SubscriptionPath::lend_copy(const Taking& taking, const bool& taken, Fill&& fill) {
  Copy copy(type_->loans->make(), Destroy{type_->loans.get()});
  if (!copy) throw std::bad_alloc();
  void* const native = copy.get();
  lent_copies_.add(native, std::move(copy));  // before a message is taken, which would be lost without memory for this
                                              // entry
  auto result = fill(Taking{native, nullptr, taking.allocation, nullptr});
  if (succeeded(result) && taken)
    *taking.lent = native;
  else
    lent_copies_.remove(native);
  return result;
}

rmw_ret_t SubscriptionPath::take_direct(const Taking& taking, bool* taken, rmw_message_info_t* info) {
  if (taking.lent != nullptr)
    return lend_copy(taking, *taken, [&](const Taking& copy) { return take_direct(copy, taken, info); });
  const Underlying& rmw = *underlying();
  rmw_message_info_t own_info = rmw_get_zero_initialized_message_info();
  if (info == nullptr) info = &own_info;
  signal_.clear();
  // The underlying RMW resizes the arrays, and libbaton_heap.so does not see its frees.
  if (taking.native != nullptr && !type_->loans->detach(taking.native)) return RMW_RET_BAD_ALLOC;
  const rmw_ret_t result =
      taking.native != nullptr
          ? rmw.rmw_take_with_info(inner_, taking.native, taken, info, taking.allocation)
          : rmw.rmw_take_serialized_message_with_info(inner_, taking.serialized, taken, info, taking.allocation);
  if (result != RMW_RET_OK || !*taken) {
    notifications_.underlying_is_empty();
    return result;
  }
  signal_.set();  // there may be more
  notifications_.taken_from_underlying();
  ++through_underlying_;
  // If Baton brings the same message later, that message is a duplicate.
  info->publication_sequence_number = merge_.delivered_directly(gid_of(*info), info->publication_sequence_number);
  return RMW_RET_OK;
}

BATON_HOT Result<void> SubscriptionPath::deliver(FromBaton& message, const Taking& taking, rmw_message_info_t* info) {
  if (info != nullptr) {
    *info = {};
    info->source_timestamp = message.source_time_ns;
    info->received_timestamp = message.reception_time_ns;
    info->publication_sequence_number = message.position ? message.position->header.number : message.sample.sequence();
    info->reception_sequence_number = RMW_MESSAGE_INFO_SEQUENCE_NUMBER_UNSUPPORTED;
    info->publisher_gid.implementation_identifier = kIdentifier;
    std::memcpy(info->publisher_gid.data, message.publisher.data(), message.publisher.size());
  }
  if (taking.lent != nullptr) return lend(message, taking);
  if (taking.native == nullptr)
    return serialize({message.sample.message(), message.sample.size_bytes()}, *taking.serialized);
  Result<containers::NativeTaken> filled =
      containers::take_into_native(*type_->native, std::move(message.sample), taking.native, quota_);
  if (!filled) return out_of_line([&] { return Result<void>(filled.error()); });
  copied_bytes_.fetch_add(filled->copied_bytes, std::memory_order_relaxed);  // a statistic: orders nothing
  return {};
}

BATON_HOT Result<void> SubscriptionPath::lend(FromBaton& message, const Taking& taking) {
  const message::Bytes bytes(message.sample.message(), message.sample.size_bytes());
  // Native code gets a pointer to non-const; the mapping is read-only all the same.
  void* const native = const_cast<void*>(message.sample.message());
  if (!type_->native->is_native(bytes) || !lent_in_place_.add(native, std::move(message.sample)))
    return lend_copy(taking, true, [&](const Taking& copy) { return deliver(message, copy, nullptr); });
  *taking.lent = native;
  return {};
}

namespace {

Result<void> make_room(rmw_serialized_message_t& serialized, std::size_t bytes) {
  if (rmw_serialized_message_resize(&serialized, bytes) == RMW_RET_OK) return {};
  rcutils_reset_error();
  return Error{Errc::out_of_memory, "no memory for " + std::to_string(bytes) + " bytes of a serialized message"};
}

}  // namespace

Result<void> SubscriptionPath::serialize(message::Bytes bytes, rmw_serialized_message_t& serialized) const {
  Result<std::size_t> size = type_->cdr.encoded_size(bytes);
  if (!size) return size.error();
  if (Result<void> room = make_room(serialized, *size); !room) return room;
  size = type_->cdr.encode(bytes, {serialized.buffer, *size});
  if (!size) return size.error();
  serialized.buffer_length = *size;
  return {};
}

Result<void> SubscriptionPath::deliver(SerializedMessage& message, const Taking& taking, rmw_message_info_t* info) {
  message.info.publisher_gid.implementation_identifier = kIdentifier;
  if (info != nullptr) *info = message.info;
  if (taking.lent != nullptr)
    return lend_copy(taking, true, [&](const Taking& copy) { return deliver(message, copy, nullptr); });
  if (taking.native != nullptr) {
    if (underlying()->rmw_deserialize(&message.bytes, type_handle_, taking.native) == RMW_RET_OK) return {};
    const std::string why = rcutils_get_error_string().str;
    rcutils_reset_error();
    return Error{Errc::malformed_message, "the underlying RMW cannot read it: " + why};
  }
  if (Result<void> room = make_room(*taking.serialized, message.bytes.buffer_length); !room) return room;
  std::memcpy(taking.serialized->buffer, message.bytes.buffer, message.bytes.buffer_length);
  taking.serialized->buffer_length = message.bytes.buffer_length;
  return {};
}

BATON_HOT rmw_ret_t SubscriptionPath::give_back(void* lent) {
  if (lent_in_place_.remove(lent) || lent_copies_.remove(lent)) return RMW_RET_OK;
  RMW_SET_ERROR_MSG("this message was not taken as a loan from this subscription");
  return RMW_RET_ERROR;
}

// Waiting.

BATON_HOT SubscriptionPath::Ready SubscriptionPath::ready(std::int64_t now_ns, std::int64_t* look_again_ns) {
  std::unique_lock<std::mutex> lock(mutex_);
  takes_left_ = kMostTaken;
  forget_ended_publishers();
  const bool is_direct = direct();
  const Merge::Next next = is_direct ? Merge::Next{} : merge_.choose(now(now_ns), look_again_ns);
  const bool is_first = notifications_.pending() && callback_is_first(next);
  notify_lost(&lock);
  if (is_direct) return Ready::kAskUnderlying;
  return next.source == Merge::Source::kNone || is_first ? Ready::kNo : Ready::kYes;
}

/// REQUIRES: a callback must be notified. Wakes its thread. True: before the application may take the next message.
bool SubscriptionPath::callback_is_first(const Merge::Next& next) {
  join(callback_wait_set_);
  callback_wait_set_->wake();
  return notifications_.is_first(next);
}

/// Sets the wait set that Baton's reader wakes; null: none.
BATON_HOT void SubscriptionPath::join(const std::shared_ptr<transport::WaitSet>& wait_set) {
  if (wait_set_ == wait_set) return;
  if (wait_set_) wait_set_->remove(reader_);
  wait_set_ = nullptr;
  if (!wait_set) return;
  if (Result<void> added = wait_set->add(reader_); added)
    wait_set_ = wait_set;
  else
    warn_of_peer(added.error().code, added.error().message);
}

BATON_HOT void SubscriptionPath::wait_in(const std::shared_ptr<transport::WaitSet>& wait_set) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!callback_wait_set_) join(wait_set);
}

void SubscriptionPath::leave(const std::shared_ptr<transport::WaitSet>& wait_set) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (wait_set_ == wait_set) join(nullptr);
}

void SubscriptionPath::set_callback_wait_set(const std::shared_ptr<transport::WaitSet>& wait_set) {
  const std::lock_guard<std::mutex> lock(mutex_);
  callback_wait_set_ = wait_set;
  join(wait_set);
  if (wait_set)
    notifications_.start();
  else
    notifications_.stop();
}

void SubscriptionPath::set_callback(rmw_event_callback_t callback, const void* user_data, std::size_t limit) {
  if (callback == nullptr) {
    signal_.set_callback(nullptr, nullptr, limit);
    set_callback_wait_set(nullptr);
  } else {
    set_callback_wait_set(baton_context_->callback_thread().wait_set());
    signal_.set_callback(callback, user_data, limit,
                         [this](std::size_t arrived) { return fetch_for_callback(arrived); });
  }
}

/// Returns how many messages the callback must be notified of. `arrived`: how many the underlying RMW has announced
/// since the last call.
std::size_t SubscriptionPath::fetch_for_callback(std::size_t arrived) {
  const std::lock_guard<std::mutex> lock(mutex_);
  takes_left_ = kMostTaken;
  std::size_t count = 0;
  if (direct()) {
    count = notifications_.count_direct(arrived);
  } else {
    baton_seen_ = true;  // `arrived` is not counted: from now on no message is taken directly
    bool more_waits = false;
    count = notifications_.fetch(now(os::monotonic_ns()), &more_waits);
    // Otherwise the callback thread would not sleep; the next take() joins again. But if this call has taken as many as it may, the reader
    // wakes the thread at once.
    if (more_waits) join(takes_left_ != 0 ? nullptr : callback_wait_set_);
    if (notifications_.look_again_ns() != INT64_MAX)
      baton_context_->callback_thread().wake_at(notifications_.look_again_ns());
  }
  if (count != 0) signal_.begin_notifying();
  return count;
}

}  // namespace baton::rmw
