// SPDX-License-Identifier: Apache-2.0
// A subscription: from the chunks of its reader to native or serialized messages, and loans.
//
// Thread rules: all functions from any thread; no lock is held while a message is copied out.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "baton/containers/received.hpp"
#include "baton/os/hot_memory.hpp"
#include "baton/os/hot_path.hpp"
#include "context.hpp"
#include "endpoint_events.hpp"
#include "loan_table.hpp"
#include "matching.hpp"
#include "rmw/types.h"
#include "source.hpp"
#include "type_support.hpp"

namespace baton::rmw {

/// The destination of a taken message: one of the pointers; the others are null.
struct Taking {
  void* native = nullptr;
  rmw_serialized_message_t* serialized = nullptr;
  void** lent = nullptr;  ///< only if lends()
};

class SubscriptionPath final : public os::Hot, public Source {
 public:
  /// Errors: those of type_support_of() and create_reader().
  static Result<std::shared_ptr<SubscriptionPath>> make(Context& context, const std::string& node, const char* topic,
                                                        const rosidl_message_type_support_t* type, const QoS& qos,
                                                        bool ignore_local);
  SubscriptionPath(const std::shared_ptr<CallbackThread>& thread, std::shared_ptr<transport::Reader> reader,
                   std::shared_ptr<const TypeSupport> type, std::unique_ptr<Matching> matching, std::string topic,
                   const QoS& qos, bool ignore_local);
  ~SubscriptionPath();

  /// Call it before the subscription's handle ends.
  void stop();

  /// `info` may be null. A message that cannot be delivered is lost (peer_faults.hpp): nothing is taken, and the event counts it. The
  /// next take is for the next message.
  rmw_ret_t take(const Taking& taking, bool* taken, rmw_message_info_t* info);

  /// Messages of types of fixed size are lent: in place, read-only, or as a copy. These are copied: messages with a bool that is neither 0
  /// nor 1, and all messages while half of kHeld are lent in place. A loan is valid until give_back(), or until the end of this object.
  bool lends() const noexcept { return type_->native->same_layout(); }
  rmw_ret_t give_back(void* lent);

  /// As PublisherPath's.
  std::size_t matched();
  const QoS& qos() const noexcept { return qos_; }
  EndpointEvents& events() noexcept { return *events_; }

  /// Samples that a subscription may hold per publisher. The application may keep half of them.
  static constexpr std::uint32_t kHeld = 8;

 private:
  /// Messages that one call takes from the queue, most of which it passes over: of this context, or lost. A publisher can send them as fast
  /// as a call drops them.
  static constexpr unsigned kMostTaken = 256;
  struct Destroy {
    const containers::NativeLoanPlan* type;  // lives for ever
    void operator()(void* native) const noexcept { type->destroy(native); }
  };
  using Copy = std::unique_ptr<void, Destroy>;

  std::size_t unread() const override { return reader_->unread(); }
  BATON_HOT bool has_data() const override { return reader_->has_data(); }
  transport::TakenSample next();
  // Errors of these are faults of the message, or a shortage of memory for it.
  Result<void> deliver(transport::TakenSample sample, const Taking& taking);
  Result<void> lend(transport::TakenSample sample, void** lent);

  const std::shared_ptr<transport::Reader> reader_;
  const std::shared_ptr<const TypeSupport> type_;
  const std::unique_ptr<Matching> matching_;
  const bool ignore_local_;
  const containers::Quota quota_{may_alias() ? kHeld / 2 : 0};
  const std::string topic_;
  const QoS qos_;
  const std::shared_ptr<std::atomic<std::uint64_t>>
      refused_;  // messages that could not be delivered: a statistic, relaxed
  std::atomic<std::uint64_t> messages_{0}, copied_bytes_{0};  // for the log: relaxed
  const std::shared_ptr<EndpointEvents> events_;
  LoanTable<transport::TakenSample> lent_in_place_{kHeld / 2};
  LoanTable<Copy> lent_copies_;
};

}  // namespace baton::rmw
