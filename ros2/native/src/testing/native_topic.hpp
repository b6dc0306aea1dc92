// SPDX-License-Identifier: Apache-2.0
// A topic of one ROS 2 type between two ends of one process, below the RMW: for tests of what is copied.
// Thread rules: one thread.
#pragma once

#include "baton/containers/heap.hpp"
#include "baton/message/validate.hpp"
#include "baton/native/native_loan.hpp"
#include "baton/native/native_take.hpp"
#include "endpoint_test_support.hpp"

namespace baton::containers::test {

using namespace transport::test;
using transport::TakenSample;

/// Arrays from this size on are aliased here, so that the messages may be small.
constexpr std::size_t kWorthwhile = std::size_t{16} << 10;

/// A publisher, a subscription, and the plans of one type.
struct Topic {
  explicit Topic(const rosidl_message_type_support_t* handle) {
    if (!active()) throw std::runtime_error(reason());
    loans = NativeLoanPlan::compile(handle, rosidl::NativePlan::compile(handle).or_throw()).or_throw();
    capacities = std::make_unique<Capacities>(*loans);
    const message::Type& type = loans->plan().type();
    transport::TypeInfo info;
    info.name = type.name;
    info.hash[0] = 1;
    info.definition = loans->plan().definition();
    info.skeleton_bytes = type.size;
    memory::PoolOptions pool;
    pool.max_message_bytes = std::size_t{16} << 20;
    participant = domain.join();
    writer = make_writer(*participant, "t", QoS(4), info, pool);
    reader = make_reader(*participant, "t", QoS(4), info);
    if (!matched(*writer, 1) || !matched(*reader, 1)) throw std::runtime_error("no match");
  }

  /// Lends `native`, lets the program fill it, publishes it.
  template <class Fill>
  NativeLoan::Filled publish(void* native, Fill fill) {
    NativeLoan loan = NativeLoan::begin(writer, *loans, *capacities, native).or_throw();
    fill();
    const NativeLoan::Filled filled = loan.fill().or_throw();
    writer->publish(filled.chunk).or_throw();
    loan.published();
    return filled;
  }

  /// Takes into `native`. Returns the bytes of arrays that were not copied.
  std::uint64_t take(void* native) {
    TakenSample sample = take_sample(*reader);
    const Result<void> valid =
        message::validate(loans->plan().type(), static_cast<const std::byte*>(sample.message()), sample.size_bytes());
    if (!valid) throw std::runtime_error(valid.error().message);
    const NativeTaken taken = take_into_native(loans->plan(), std::move(sample), native, quota, kWorthwhile).or_throw();
    copied_bytes = taken.copied_bytes;
    return taken.aliased_bytes;
  }

  /// Messages that nobody gave back.
  std::size_t alive() {
    writer->abandon(writer->loan_growing().or_throw());
    return writer->memory_account().published_slots + writer->memory_account().loaned_slots;
  }

  TestDomain domain;
  std::shared_ptr<const NativeLoanPlan> loans;
  std::unique_ptr<Capacities> capacities;
  std::shared_ptr<transport::Participant> participant;
  std::shared_ptr<transport::Writer> writer;
  std::shared_ptr<transport::Reader> reader;
  Quota quota{4};
  std::uint64_t copied_bytes = 0;  ///< of arrays, at the last take
};

}  // namespace baton::containers::test
