// SPDX-License-Identifier: Apache-2.0
// A publisher: from native or serialized messages to chunks of its writer, and loans.
//
// Thread rules: all functions from any thread.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "baton/os/hot_memory.hpp"
#include "context.hpp"
#include "endpoint_events.hpp"
#include "loan_table.hpp"
#include "matching.hpp"
#include "rmw/types.h"
#include "type_support.hpp"

namespace baton::rmw {

class PublisherPath final : public os::Hot {
 public:
  /// Errors: those of type_support_of() and create_writer().
  static Result<std::unique_ptr<PublisherPath>> make(Context& context, const std::string& node, const char* topic,
                                                     const rosidl_message_type_support_t* type, const QoS& qos);
  ~PublisherPath();
  PublisherPath(const PublisherPath&) = delete;
  PublisherPath& operator=(const PublisherPath&) = delete;

  rmw_ret_t publish(const void* native);
  rmw_ret_t publish_serialized(const rmw_serialized_message_t& serialized);

  /// Types of fixed size are lent in a chunk, others if the arrays can be (libbaton_heap.so).
  bool lends() const noexcept { return type_->native->same_layout() || may_alias(); }
  rmw_ret_t borrow(void** native);
  rmw_ret_t give_back(void* native);
  rmw_ret_t publish_loaned(void* native);

  /// Those of this process that the graph knows are among them, or have had their time (matching.hpp).
  std::size_t matched();
  transport::Writer& writer() const noexcept { return *writer_; }
  const QoS& qos() const noexcept { return qos_; }
  EndpointEvents& events() noexcept { return *events_; }

 private:
  struct Lent;
  PublisherPath() = default;
  bool is_idle();
  rmw_ret_t hand_over(const memory::Chunk& chunk, memory::Selection selection);
  void count_copied(std::uint64_t bytes) noexcept { copied_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  template <class Fill>
  rmw_ret_t publish_filled(memory::Selection selection, std::size_t room, Fill&& fill);

  std::shared_ptr<transport::Writer> writer_;
  std::shared_ptr<const TypeSupport> type_;
  std::unique_ptr<Matching> matching_;
  bool idle_ = false;  // a message that nobody gets has no effect
  std::unique_ptr<containers::Capacities> capacities_;
  LoanTable<std::shared_ptr<Lent>> lent_;
  std::string topic_;
  QoS qos_;
  std::atomic<std::uint64_t> messages_{0}, copied_bytes_{0};  // for the log: relaxed
  std::shared_ptr<EndpointEvents> events_;
};

}  // namespace baton::rmw
