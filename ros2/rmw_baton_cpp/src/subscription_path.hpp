// SPDX-License-Identifier: Apache-2.0
// A subscription that Baton serves. Wires its parts: the sources (Baton's reader and the underlying subscription), the
// merge of both (merge.hpp), the account of callback notifications (notifications.hpp), and the tables of loans
// (loan_table.hpp).
//
// Until a Baton publisher is seen, messages are taken from the underlying subscription directly. From then on they are
// taken from it in serialized form: most of them are copies of Baton's messages, and a copy is dropped without being
// deserialized.
//
// Thread rules: all functions from any thread; one mutex per subscription, not held while a message is copied out, nor
// while the application's code runs.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "baton/containers/received.hpp"
#include "baton/os/hot_memory.hpp"
#include "baton/os/hot_path.hpp"
#include "baton_context.hpp"
#include "event.hpp"
#include "loan_table.hpp"
#include "notifications.hpp"
#include "ready_signal.hpp"
#include "rmw/types.h"
#include "type_support.hpp"
#include "underlying.hpp"
#include "wait_set_member.hpp"

namespace baton::rmw {

/// The destination of a taken message: a native struct, a serialized message, or a loan. The other pointers are null.
struct Taking {
  void* native = nullptr;
  rmw_serialized_message_t* serialized = nullptr;
  rmw_subscription_allocation_t* allocation = nullptr;
  void** lent = nullptr;  // only if lends()
};

class SubscriptionPath final : public os::Hot, private MergeSources, public WaitSetMember {
 public:
  /// `inner_node`, `inner`, `signal` and `events` must live until stop(). Null if Baton does not serve this
  /// subscription.
  static std::shared_ptr<SubscriptionPath> make(const std::shared_ptr<BatonContext>& baton_context,
                                                const transport::Gid& gid, const rmw_node_t* inner_node,
                                                const rmw_subscription_t* inner,
                                                const rosidl_message_type_support_t* type, ReadySignal& signal,
                                                Events& events);
  ~SubscriptionPath();
  SubscriptionPath(const SubscriptionPath&) = delete;
  SubscriptionPath& operator=(const SubscriptionPath&) = delete;

  /// Afterwards no event is counted, and the callback thread does not use this object. A wait set may keep this object
  /// alive a little longer.
  void stop();

  /// Publishers of Baton that this subscription gets messages from, and that the underlying RMW does not know. Thread-safe.
  std::size_t matched_only_in_baton() const;

  /// `info` may be null. A message that cannot be delivered is lost (peer_faults.hpp): nothing is taken, and the event
  /// counts it. The next take is for the next message.
  rmw_ret_t take(const Taking& taking, bool* taken, rmw_message_info_t* info);

  /// Messages of types of fixed size are lent: in place, read-only, or as a copy. These are copied: messages from the
  /// underlying RMW, messages with a bool that is neither 0 nor 1, and all messages while half of kHeld are lent in
  /// place. A loan is valid until give_back(), or until the end of this object.
  bool lends() const noexcept { return type_->native->same_layout(); }
  rmw_ret_t give_back(void* lent);
  bool has_lent() const { return !lent_in_place_.empty() || !lent_copies_.empty(); }

  enum class Ready : std::uint8_t { kNo, kYes, kAskUnderlying };
  /// Whether take() would take a message. `look_again_ns` is lowered to the time when the answer may change by itself.
  Ready ready(std::int64_t now_ns, std::int64_t* look_again_ns);

  void wait_in(const std::shared_ptr<transport::WaitSet>& wait_set) override;
  void leave(const std::shared_ptr<transport::WaitSet>& wait_set) override;

  /// As ReadySignal::set_callback(). With a callback, Baton's reader wakes the callback thread only. Without a
  /// callback, the callback thread does not use this object after the call.
  void set_callback(rmw_event_callback_t callback, const void* user_data, std::size_t limit);

  /// Samples that this subscription may hold per publisher. The application may keep half of them.
  static constexpr std::uint32_t kHeld = 8;

 private:
  /// Messages that one call takes from Baton's queue, most of which it passes over: duplicates, expired, of this context, or lost. A
  /// publisher can send them as fast as a call drops them.
  static constexpr unsigned kMostTaken = 256;
  struct SerializedMessage {
    SerializedMessage() = default;
    ~SerializedMessage();
    SerializedMessage(const SerializedMessage&) = delete;
    SerializedMessage& operator=(const SerializedMessage&) = delete;
    rmw_serialized_message_t bytes = rmw_get_zero_initialized_serialized_message();
    rmw_message_info_t info = rmw_get_zero_initialized_message_info();
  };
  struct Destroy {
    const containers::NativeLoanPlan* type;  // lives for ever
    void operator()(void* native) const noexcept { type->destroy(native); }
  };
  using Copy = std::unique_ptr<void, Destroy>;

  SubscriptionPath(std::shared_ptr<BatonContext> baton_context, const rmw_node_t* inner_node,
                   const rmw_subscription_t* inner, const rosidl_message_type_support_t* type_handle,
                   std::shared_ptr<const TypeSupport> type, std::shared_ptr<transport::Reader> reader, const QoS& qos,
                   ReadySignal& signal, Event& lost_event);

  // MergeSources, with mutex_
  bool take_baton(FromBaton* message) override;
  bool baton_has_data() const override { return reader_->has_data(); }
  BATON_HOT std::size_t baton_unread() const override { return reader_->unread(); }
  bool baton_awaits(const transport::Gid& publisher) const override { return reader_->awaits_memory(publisher); }
  bool take_underlying(FromUnderlying* message) override;
  BATON_HOT bool underlying_has_data() override {
    if (signal_.dirty()) return true;
    notifications_.underlying_is_empty();  // as a take that finds nothing there
    return false;
  }
  void release(const FromUnderlying& message) override { spare_.push_back(message.buffer); }
  bool underlying_matched() override;

  // With mutex_
  bool fetch_underlying(FromUnderlying* message);
  /// True if no message can have come over both paths.
  bool direct() const { return !baton_seen_ && baton_is_unused(); }
  bool baton_is_unused() const;
  void forget_ended_publishers() {
    if (merge_.crowded()) forget_all_ended_publishers();
  }
  void forget_all_ended_publishers();
  Merge::Now now(std::int64_t monotonic_ns) const;
  void join(const std::shared_ptr<transport::WaitSet>& wait_set);
  rmw_ret_t take_direct(const Taking& taking, bool* taken, rmw_message_info_t* info);
  Result<void> take_chosen_underlying(const Merge::Next& next, const Taking& taking, rmw_message_info_t* info,
                                      std::unique_lock<std::mutex>* lock);
  void lose(const Error& why, std::unique_lock<std::mutex>* lock);
  bool is_local(const transport::Gid& publisher) const;
  bool callback_is_first(const Merge::Next& next);
  void wake_callback_thread();

  /// Unlocks, because the event wakes wait sets and callbacks.
  void notify_lost(std::unique_lock<std::mutex>* lock) {
    if (merge_.exchange_lost())
      count_lost(lock);
    else
      lock->unlock();
  }
  void count_lost(std::unique_lock<std::mutex>* lock);
  void set_callback_wait_set(const std::shared_ptr<transport::WaitSet>& wait_set);
  std::size_t fetch_for_callback(std::size_t arrived);
  // Errors of these are faults of the message, or a shortage of memory for it.
  Result<void> deliver(FromBaton& message, const Taking& taking, rmw_message_info_t* info);
  Result<void> lend(FromBaton& message, const Taking& taking);
  Result<void> serialize(message::Bytes bytes, rmw_serialized_message_t& serialized) const;
  Result<void> deliver(SerializedMessage& message, const Taking& taking, rmw_message_info_t* info);
  template <class Fill>
  auto lend_copy(const Taking& taking, const bool& taken, Fill&& fill);

  // What every message needs, side by side.
  const std::shared_ptr<transport::Reader> reader_;
  const std::shared_ptr<const TypeSupport> type_;
  ReadySignal& signal_;
  std::shared_ptr<transport::WaitSet> wait_set_;           // the wait set that the reader wakes
  std::shared_ptr<transport::WaitSet> callback_wait_set_;  // the callback thread's, while there is a callback
  std::mutex mutex_;
  const bool ignore_local_, expires_;
  bool baton_seen_ = false;
  unsigned takes_left_ =
      kMostTaken;  // of this call; when there are none, Baton's queue is left as it is, and wakes the next wait
  std::uint64_t through_baton_ = 0, through_underlying_ = 0;
  std::atomic<std::uint64_t> copied_bytes_{0};
  Notifications notifications_{merge_};
  Merge merge_;

  const containers::Quota quota_{may_alias() ? kHeld / 2 : 0};
  const std::shared_ptr<BatonContext> baton_context_;
  const std::string topic_;
  const rmw_node_t* const inner_node_;
  const rmw_subscription_t* const inner_;  // may be gone in the destructor, which a wait set can delay
  const rosidl_message_type_support_t* const type_handle_;
  Event& lost_event_;
  std::uint64_t deadline_ = 0;  // of the context's; 0: none
  std::uint64_t lost_ = 0;      // lost messages that the event has counted
  std::uint64_t refused_ = 0;   // messages that could not be delivered

  LoanTable<transport::TakenSample> lent_in_place_{kHeld / 2};
  LoanTable<Copy> lent_copies_;

  std::deque<SerializedMessage> buffers_;
  std::vector<std::size_t> spare_;  // of buffers_
};

}  // namespace baton::rmw
