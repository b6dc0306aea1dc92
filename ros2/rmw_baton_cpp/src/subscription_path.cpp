// SPDX-License-Identifier: Apache-2.0
#include "subscription_path.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "baton/native/native_take.hpp"
#include "baton/os/clock.hpp"
#include "baton/os/hot_path.hpp"
#include "peer_faults.hpp"
#include "qos_profile.hpp"
#include "rcutils/logging_macros.h"
#include "rmw/error_handling.h"

namespace baton::rmw {

SubscriptionPath::SubscriptionPath(const std::shared_ptr<CallbackThread>& thread,
                                   std::shared_ptr<transport::Reader> reader, std::shared_ptr<const TypeSupport> type,
                                   std::unique_ptr<Matching> matching, std::string topic, const QoS& qos,
                                   bool ignore_local)
    : Source(thread, reader),
      reader_(std::move(reader)),
      type_(std::move(type)),
      matching_(std::move(matching)),
      ignore_local_(ignore_local),
      topic_(std::move(topic)),
      qos_(qos),
      refused_(std::make_shared<std::atomic<std::uint64_t>>(0)),
      events_(std::make_shared<EndpointEvents>(thread, [reader = reader_, refused = refused_] {
        transport::Statuses statuses = reader->statuses();
        statuses.lost_total += refused->load(std::memory_order_relaxed);
        return statuses;
      })) {
  reader_->on_event([weak = std::weak_ptr<EndpointEvents>(events_)](transport::Event event) {
    if (const std::shared_ptr<EndpointEvents> events = weak.lock()) events->happened(false, event);
  });
}

SubscriptionPath::~SubscriptionPath() {
  reader_->on_event({});
  RCUTILS_LOG_DEBUG_NAMED(kLogger, "subscription of %s: %lu messages through Baton (%lu bytes copied out)",
                          topic_.c_str(), messages_.load(), copied_bytes_.load());
}

Result<std::shared_ptr<SubscriptionPath>> SubscriptionPath::make(Context& context, const std::string& node,
                                                                 const char* topic,
                                                                 const rosidl_message_type_support_t* type,
                                                                 const QoS& qos, bool ignore_local) {
  Result<std::shared_ptr<const TypeSupport>> type_support = type_support_of(type);
  if (!type_support) return type_support.error();
  transport::Participant::ReaderOptions options;
  options.topic = topic;
  options.node = node;
  options.type = (*type_support)->info;
  options.qos = qos;
  options.qos.held = kHeld;
  options.part = context.part();
  Result<std::shared_ptr<transport::Reader>> reader = context.participant().create_reader(options);
  if (!reader) return reader.error();
  auto matching = std::make_unique<Matching>(context.shared_participant(), options, Matching::Partners::kOfThisProcess);
  return std::make_shared<SubscriptionPath>(context.callback_thread(), std::move(*reader), std::move(*type_support),
                                            std::move(matching), topic, qos, ignore_local);
}

void SubscriptionPath::stop() {
  Source::stop();
  events_->stop();
}

std::size_t SubscriptionPath::matched() {
  matching_->await([this](std::size_t known) { return reader_->matched() >= known; });
  return reader_->matched();
}

/// Empty: there is none.
BATON_HOT transport::TakenSample SubscriptionPath::next() {
  for (unsigned left = kMostTaken; left != 0; --left) {
    Result<transport::TakenSample> sample = reader_->take();
    if (!sample) {
      if (!may_take_again(sample.error())) return {};
      continue;
    }
    if (*sample && ignore_local_ && Context::same_context(sample->publisher(), reader_->gid())) continue;
    return std::move(*sample);
  }
  return {};
}

BATON_HOT rmw_ret_t SubscriptionPath::take(const Taking& taking, bool* taken, rmw_message_info_t* info) {
  *taken = false;
  transport::TakenSample sample = next();
  if (sample) {
    if (info != nullptr) {
      *info = {};
      info->source_timestamp = sample.header().source_time_ns;
      info->received_timestamp = os::realtime_ns();
      info->publication_sequence_number = sample.sequence();
      info->reception_sequence_number = RMW_MESSAGE_INFO_SEQUENCE_NUMBER_UNSUPPORTED;
      info->publisher_gid = gid_of(sample.publisher());
    }
    const Result<void> delivered = deliver(std::move(sample), taking);
    *taken = delivered.ok();
    messages_.fetch_add(1, std::memory_order_relaxed);
    if (!delivered) {
      out_of_line([&] {
        refused_->fetch_add(1, std::memory_order_relaxed);
        events_->happened(false, transport::Event::kMessageLost);
        warn_of_peer(delivered.error().code, "a message of " + topic_ + " was dropped: " + delivered.error().message);
      });
    }
  }
  Source::taken();
  return RMW_RET_OK;
}

BATON_HOT Result<void> SubscriptionPath::deliver(transport::TakenSample sample, const Taking& taking) {
  if (taking.lent != nullptr) return lend(std::move(sample), taking.lent);
  if (taking.native == nullptr)
    return write_cdr(type_->cdr, {sample.message(), sample.size_bytes()}, *taking.serialized, kReceivedUnit);
  Result<containers::NativeTaken> filled =
      containers::take_into_native(*type_->native, std::move(sample), taking.native, quota_);
  if (!filled) return out_of_line([&] { return Result<void>(filled.error()); });
  copied_bytes_.fetch_add(filled->copied_bytes, std::memory_order_relaxed);
  return {};
}

BATON_HOT Result<void> SubscriptionPath::lend(transport::TakenSample sample, void** lent) {
  const message::Bytes bytes(sample.message(), sample.size_bytes());
  // Native code gets a pointer to non-const; the mapping is read-only all the same.
  void* const in_place = const_cast<void*>(sample.message());
  if (type_->native->is_native(bytes) && lent_in_place_.add(in_place, std::move(sample))) {
    *lent = in_place;
    return {};
  }
  Copy copy(type_->loans->make(), Destroy{type_->loans.get()});
  if (!copy) return Error{Errc::out_of_memory, "no memory for a copy to lend"};
  void* const native = copy.get();
  if (Result<void> filled = deliver(std::move(sample), Taking{native}); !filled) return filled;
  lent_copies_.add(native, std::move(copy));
  *lent = native;
  return {};
}

BATON_HOT rmw_ret_t SubscriptionPath::give_back(void* lent) {
  if (lent_in_place_.remove(lent) || lent_copies_.remove(lent)) return RMW_RET_OK;
  RMW_SET_ERROR_MSG("this message was not taken as a loan from this subscription");
  return RMW_RET_ERROR;
}

}  // namespace baton::rmw
