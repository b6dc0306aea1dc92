// SPDX-License-Identifier: Apache-2.0
// A publisher that Baton serves: gives each message to Baton, and also to the underlying RMW if a reader needs that
// (underlying_need.hpp).
//
// Thread rules: all functions from any thread. A mutex per publisher is held while both paths get a message, so both
// have the same order.
// Invariants:
// (1) Baton gets a message first.
// (2) The underlying RMW is left out only if Baton has the message, and no reader needs the underlying RMW.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "baton/message/builder.hpp"
#include "baton/os/hot_memory.hpp"
#include "baton_context.hpp"
#include "event.hpp"
#include "loan_table.hpp"
#include "type_support.hpp"
#include "underlying.hpp"
#include "underlying_need.hpp"

namespace baton::rmw {

class PublisherPath : public os::Hot {
 public:
  /// `inner`, `inner_node` and `events` outlive this. Null if Baton does not serve this publisher.
  static std::unique_ptr<PublisherPath> make(const std::shared_ptr<BatonContext>& baton_context,
                                             const rmw_node_t* inner_node, const rmw_publisher_t* inner,
                                             const rosidl_message_type_support_t* type, Events& events);
  ~PublisherPath();
  PublisherPath(const PublisherPath&) = delete;
  PublisherPath& operator=(const PublisherPath&) = delete;

  rmw_ret_t publish(const void* native, rmw_publisher_allocation_t* allocation);
  rmw_ret_t publish_serialized(const rmw_serialized_message_t& serialized, rmw_publisher_allocation_t* allocation);

  /// Whether native messages are lent. Types of fixed size: the whole message, in a chunk. Other types, with
  /// libbaton_heap.so: the arrays (docs/concepts/heap.md).
  bool lends() const noexcept { return may_alias() || type_->native->same_layout(); }
  rmw_ret_t borrow(void** native);
  rmw_ret_t give_back(void* native);
  rmw_ret_t publish_loaned(void* native, rmw_publisher_allocation_t* allocation);

  void assert_liveliness() { writer_->assert_liveliness(); }

  /// How many matched subscriptions are of Baton's own nodes, which the underlying RMW does not count.
  /// `matched_underlying`: how many that RMW counts.
  std::size_t matched_only_in_baton(std::size_t matched_underlying);

 private:
  PublisherPath(std::shared_ptr<BatonContext> baton_context, const rmw_node_t* inner_node, const rmw_publisher_t* inner)
      : baton_context_(std::move(baton_context)), inner_node_(inner_node), inner_(inner) {}
  template <class Fill, class Write>
  rmw_ret_t publish_filled(memory::Selection selection, std::size_t room, Fill&& fill, Write&& write_underlying);
  template <class Make, class Write>
  rmw_ret_t publish_made(memory::Selection selection, Make&& make, Write&& write_underlying);
  template <class Write>
  rmw_ret_t publish_underlying(std::uint64_t number, bool handed, bool also, Write&& write_underlying);
  struct Lent;
  rmw_ret_t publish_in_place(Lent& lent, rmw_publisher_allocation_t* allocation);
  bool underlying_needed();
  bool count_underlying_readers(std::size_t* matched);
  void look(std::size_t matched_underlying, std::size_t matched_baton);
  std::string describe();

  // What every message needs, side by side.
  std::shared_ptr<const TypeSupport> type_;
  std::shared_ptr<transport::Writer> writer_;
  ReadySignal* matched_signal_ = nullptr;  // of the underlying RMW's matched event; null: ask before each message
  std::mutex mutex_;
  OrderHeader last_;
  bool write_failed_ = false;  // the last number announced for the underlying RMW was not used
  bool always_ = false;        // both paths for every message
  bool durable_ = false;       // Baton keeps messages for later readers
  bool manual_liveliness_ = false;
  std::uint64_t deadline_ = 0;  // of the context's; 0: none
  std::uint64_t through_baton_ = 0, through_underlying_ = 0, copied_bytes_ = 0;
  UnderlyingNeed need_;

  std::atomic<std::int64_t> last_publish_ns_{0};
  const std::shared_ptr<BatonContext> baton_context_;
  const rmw_node_t* const inner_node_;
  const rmw_publisher_t* const inner_;
  rmw_qos_profile_t qos_{};
  std::unique_ptr<containers::Capacities> capacities_;
  LoanTable<std::shared_ptr<Lent>> lent_;

  /// The last answer of matched_only_in_baton(), which holds while neither graph changes.
  struct Counted {
    std::uint64_t graph_version = 0;
    std::size_t matched_underlying = 0, count = 0;
  };
  std::mutex counted_mutex_;
  std::optional<Counted> counted_;  // with counted_mutex_
};

}  // namespace baton::rmw
