// SPDX-License-Identifier: Apache-2.0
// A subscription's two sources, merged: Baton's queue, and the underlying subscription. Every message once, in its publisher's
// order (path_order.hpp).
//
// While no Baton publisher is there, the underlying subscription is taken from directly. From the first one on, what comes from
// below is taken serialized: most of it are copies of what Baton brought, and those are dropped without being deserialized.
//
// Thread rules: all functions from any thread; one mutex per subscription, not held while a message is copied out, nor while the
// application's code runs.
// Invariants: (1) a sample in baton_ counts against the held limit, so few are taken ahead: one, or all where an order must be
// found out; (2) what Baton has brought settles what is older of that publisher, also if it was not delivered: expired, or one too
// many. None of that is taken from below.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "baton/heap/received.hpp"
#include "baton_context.hpp"
#include "event.hpp"
#include "path_order.hpp"
#include "ready_signal.hpp"
#include "rmw/types.h"
#include "type_support.hpp"
#include "underlying.hpp"

namespace baton::rmw {

/// Where a taken message goes: a native struct, a serialized message, or what is lent; the others are null.
struct Taking {
  void* native = nullptr;
  rmw_serialized_message_t* serialized = nullptr;
  rmw_subscription_allocation_t* allocation = nullptr;
  void** lent = nullptr;  // only if lends()
};

class SubscriptionPath {
 public:
  /// `inner_node`, `inner`, `signal` and `events` outlive this, or its stop(). Null if Baton does not serve this subscription.
  static std::shared_ptr<SubscriptionPath> make(const std::shared_ptr<BatonContext>& baton_context,
                                                const transport::Gid& gid, const rmw_node_t* inner_node,
                                                const rmw_subscription_t* inner,
                                                const rosidl_message_type_support_t* type, ReadySignal& signal,
                                                Events& events);
  ~SubscriptionPath();
  SubscriptionPath(const SubscriptionPath&) = delete;
  SubscriptionPath& operator=(const SubscriptionPath&) = delete;

  /// No event is counted here after it has returned, and the CallbackThread is not here. A wait set may keep this alive a little longer.
  void stop();

  /// `info` may be null.
  rmw_ret_t take(const Taking& taking, bool* taken, rmw_message_info_t* info);

  /// Types of fixed size are lent: where they lie, read-only, or as a copy (what came from below; bools that are none; while half of
  /// kHeld are lent in place). A loan stays as it is until give_back(), or the end of this object.
  bool lends() const noexcept { return type_->native->same_layout(); }
  rmw_ret_t give_back(void* lent);
  bool has_lent();

  enum class Ready : std::uint8_t { kNo, kYes, kAskBelow };
  /// Whether take() would take something. `look_again_ns` is lowered to when that may change by itself.
  Ready ready(std::int64_t now_ns, std::int64_t* look_again_ns);

  /// Not used again in this process.
  std::uint64_t id() const noexcept { return id_; }
  /// The wait set that Baton's side of this subscription wakes.
  void wait_in(const std::shared_ptr<transport::WaitSet>& wait_set);
  void leave(const std::shared_ptr<transport::WaitSet>& wait_set);

  /// As ReadySignal::set_callback(). While there is one, Baton wakes only the CallbackThread; without, the CallbackThread is not here afterwards.
  void call_back(rmw_event_callback_t callback, const void* user_data, std::size_t limit);

  /// Samples that this subscription may hold per publisher; half of them as messages that the application keeps.
  static constexpr std::uint32_t kHeld = 8;

 private:
  struct FromBaton {
    transport::TakenSample sample;
    transport::Gid publisher{};
    std::optional<PathOrder::Queued> place;  // empty: not of ROS 2
    bool told = false;                       // to a callback
  };
  struct FromBelow {
    rmw_serialized_message_t bytes;
    rmw_message_info_t info;
    transport::Gid publisher;
    bool told = false;
  };
  /// A message that the application has: the sample that it lies in, or one of our own.
  struct Lent {
    transport::TakenSample sample;
    struct Destroy {
      const heap::NativeLoanPlan* plan;  // plans live for ever
      void operator()(void* native) const noexcept { plan->destroy(native); }
    };
    std::unique_ptr<void, Destroy> copy{nullptr, Destroy{nullptr}};
  };
  enum class Choice : std::uint8_t { kNothing, kBaton, kBelow, kDirect };
  struct Chosen {
    Choice choice = Choice::kNothing;
    std::size_t index = 0;
  };
  struct Fetched {
    bool from_below = false;
    bool all_of_baton = false;  // nothing was left in its queue
  };

  SubscriptionPath(std::shared_ptr<BatonContext> baton_context, const rmw_node_t* inner_node,
                   const rmw_subscription_t* inner, ReadySignal& signal, Event& lost_event);
  static transport::Gid gid_of(const rmw_message_info_t& info);

  // subscription_choice.cpp, with mutex_
  Chosen choose(std::int64_t now_ns, std::int64_t* look_again_ns);
  bool choose_baton(std::int64_t now_ns, std::int64_t* look_again_ns, std::size_t* index);
  bool choose_below(bool baton_is_seen, std::size_t* index);
  bool older_is_here(const FromBaton& entry, const PathOrder& order) const;
  void drop_doubles();
  void drop_expired(std::int64_t now_ns);
  void give_way(bool from_below, std::size_t index);
  bool fetch_baton();
  bool fetch_below();
  bool fetch_all_below();
  void forget_who_left();
  bool is_one_more(const FromBelow& entry, std::size_t unread);
  void keep_last();
  Fetched fetch_both();
  const FromBaton* oldest_of(const transport::Gid& publisher, std::size_t before) const;
  bool direct() const;
  void recycle(FromBelow& entry);

  void join(const std::shared_ptr<transport::WaitSet>& wait_set);
  void listen_in(const std::shared_ptr<transport::WaitSet>& wait_set);
  std::size_t fetch_for_callback(std::size_t rung);
  std::size_t told_of() const;
  bool has_untold() const;
  template <class Fill>
  rmw_ret_t lend_copy(const Taking& taking, const bool& taken, Fill&& fill);
  bool lend_in_place(transport::TakenSample& sample, const Taking& taking);
  rmw_ret_t deliver(FromBaton entry, const Taking& taking, rmw_message_info_t* info);
  rmw_ret_t deliver(FromBelow& entry, const Taking& taking, rmw_message_info_t* info);
  rmw_ret_t take_direct(const Taking& taking, bool* taken, rmw_message_info_t* info);
  void count_lost();
  void tell_lost(std::unique_lock<std::mutex>* lock);

  const std::shared_ptr<BatonContext> baton_context_;
  const std::uint64_t id_;
  const std::string topic_;
  const rmw_node_t* const inner_node_;
  const rmw_subscription_t* const inner_;  // may be gone in the destructor, which a wait set can be late to run
  ReadySignal& signal_;
  Event& lost_event_;
  const rosidl_message_type_support_t* type_handle_ = nullptr;
  std::shared_ptr<const TypeSupport> type_;
  std::shared_ptr<transport::Reader> reader_;
  const heap::Quota quota_{may_alias() ? kHeld / 2 : 0};
  bool ignore_local_ = false, keep_last_ = true, reliable_ = false;
  std::size_t depth_ = 1;
  std::chrono::nanoseconds lifespan_ = kInfinite;

  std::mutex lent_mutex_;
  std::map<const void*, Lent> lent_;  // by native message
  std::size_t lent_in_place_ = 0;

  mutable std::mutex mutex_;
  std::deque<FromBaton> baton_;
  std::deque<FromBelow> below_;
  std::vector<rmw_serialized_message_t> spare_;
  PathOrders publishers_;
  bool baton_was_there_ = false;
  unsigned in_a_row_ = 0;  // from Baton
  std::shared_ptr<transport::WaitSet> wait_set_, listener_;
  // With a callback: what it was not told of yet, beside what waits here; for how many it looked while they still had to wait, and
  // until when; what it was told of and is still below.
  std::size_t untold_ = 0, too_early_ = 0, told_below_ = 0;
  std::int64_t look_again_ns_ = INT64_MAX;
  std::uint64_t gave_way_ = 0, lost_ = 0, untold_lost_ = 0;  // by keep_last(); in all; of these not told to the event
  std::uint64_t deadline_ = 0;                               // of the baton_context's; 0: none
  std::uint64_t through_baton_ = 0, through_below_ = 0, doubles_ = 0;
  std::atomic<std::uint64_t> copied_bytes_{0};
};

}  // namespace baton::rmw
