// SPDX-License-Identifier: Apache-2.0
// A publisher's way into Baton's memory, and the decision, per message, whether the underlying RMW must carry it too.
//
// Thread rules: all functions from any thread; a mutex per publisher, held over both hand-overs, keeps the order of the two paths
// the same.
// Invariants: (1) Baton gets a message first; (2) the underlying path is left out only if Baton has handed the message over and
// every subscription that the underlying RMW has matched, or is about to, is served by Baton or was until it left.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "baton/message/builder.hpp"
#include "baton_context.hpp"
#include "departure.hpp"
#include "event.hpp"
#include "path_order.hpp"
#include "type_support.hpp"
#include "underlying.hpp"

namespace baton::rmw {

class PublisherPath {
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

  /// Native messages that lie in a loan, if the type has a fixed size; whose arrays do (docs/heap.md), with libbaton_heap.so.
  bool lends() const noexcept { return may_alias() || type_->native->same_layout(); }
  rmw_ret_t borrow(void** native);
  rmw_ret_t give_back(void* native);
  rmw_ret_t publish_loaned(void* native, rmw_publisher_allocation_t* allocation);

  void assert_liveliness() { writer_->assert_liveliness(); }

 private:
  PublisherPath(std::shared_ptr<BatonContext> baton_context, const rmw_node_t* inner_node, const rmw_publisher_t* inner)
      : baton_context_(std::move(baton_context)), inner_node_(inner_node), inner_(inner) {}
  template <class Fill, class Below>
  rmw_ret_t hand_over(memory::Selection selection, std::size_t room, Fill&& fill, Below&& below);
  template <class Make, class Below>
  rmw_ret_t hand_over_made(memory::Selection selection, Make&& make, Below&& below);
  struct Lent;
  std::shared_ptr<Lent> return_of(void* native);
  rmw_ret_t publish_in_place(Lent& lent, rmw_publisher_allocation_t* allocation);
  bool someone_below();
  void look_who_is_below(std::int64_t now_ns);
  std::string describe();

  const std::shared_ptr<BatonContext> baton_context_;
  const rmw_node_t* const inner_node_;
  const rmw_publisher_t* const inner_;
  std::shared_ptr<const TypeSupport> type_;
  std::shared_ptr<transport::Writer> writer_;
  rmw_qos_profile_t qos_{};
  bool always_ = false;   // both paths for every message
  bool durable_ = false;  // Baton keeps messages for those who come later
  bool manual_liveliness_ = false;
  std::uint64_t deadline_ = 0;  // of the baton_context's; 0: none
  std::atomic<std::int64_t> last_publish_ns_{0};

  std::unique_ptr<heap::Capacities> capacities_;
  std::mutex lent_mutex_;
  std::vector<std::shared_ptr<Lent>> lent_;  // few at a time

  std::mutex mutex_;
  OrderHeader last_;
  ReadySignal* matched_rings_ =
      nullptr;                 // when somebody below has come or gone; null: that must be asked for each message
  bool below_failed_ = false;  // the last number given to a message below was not used
  // What the last look found, and when it is to be repeated.
  std::size_t matched_below_ = 0, matched_here_ = 0;
  bool needed_ = true, looked_ = false;
  std::vector<transport::Gid> fresh_;                  // served, but Baton has not handed them any message
  OlderUnderlying older_ = OlderUnderlying::kUnknown;  // for those, by the last look
  std::int64_t next_look_ns_ = 0;
  std::map<transport::Gid, Origin> served_;  // by Baton
  struct Judged {
    transport::Gid gid;
    std::string node;
    bool below;
    const char* why;
  };
  std::vector<Judged> judged_;  // the readers that the underlying RMW knows
  struct Left {
    Origin origin;
    std::int64_t since_ns;
  };
  std::map<transport::Gid, Left> left_;  // were served, and the underlying RMW may not know yet that they are gone
  std::uint64_t through_baton_ = 0, through_below_ = 0, copied_bytes_ = 0;
};

}  // namespace baton::rmw
