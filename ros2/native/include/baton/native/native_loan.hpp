// SPDX-License-Identifier: Apache-2.0
// The message that borrow_loaned_message() lends for types with arrays: a native message whose arrays of scalars have
// capacity in a loan's chunk. Arrays that are still in the chunk at publish are not copied. An array that the program
// outgrew or took is copied, once.
//
// Thread rules: NativeLoanPlan is immutable; any threads may use Capacities; one thread at a time may use a NativeLoan.
// Invariants: (1) fields that cannot be lent (strings, vector<bool>, arrays inside arrays of messages) are copied at
// publish, as always; (2) a chunk is never published while the program has a buffer of it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "baton/containers/loaned.hpp"
#include "baton/rosidl/native_plan.hpp"
#include "rosidl_runtime_c/message_type_support_struct.h"

namespace baton::containers {

/// The arrays of a type that can be lent: sequences of scalars at fixed places of the native struct.
class NativeLoanPlan {
 public:
  struct Array {
    std::string name;           ///< "header.stamps", as in a message definition
    std::size_t native_offset;  ///< of the std::vector or C sequence in the native struct
    std::size_t words_offset;   ///< of its words in the message's skeleton
    std::size_t element_bytes;
    std::size_t bound;  ///< of a bounded sequence; 0: none
    bool c;
  };

  /// `plan` and `handle` are of one type. Errors: those of NativePlan::compile.
  static Result<std::shared_ptr<const NativeLoanPlan>> compile(const rosidl_message_type_support_t* handle,
                                                               std::shared_ptr<const rosidl::NativePlan> plan);

  const std::vector<Array>& arrays() const noexcept { return arrays_; }
  const rosidl::NativePlan& plan() const noexcept { return *plan_; }

  /// An initialised message of the type, for borrow_loaned_message(); null if there is no memory. Destroy it with
  /// destroy().
  void* make() const;
  void destroy(void* native) const noexcept;
  /// Makes an initialised message at `place`, which has plan().native_bytes(), aligned to 8. REQUIRES:
  /// plan().same_layout(): then the message needs no destruction.
  void make_at(void* place) const noexcept;

  /// Copies every array of `native` that lies in Baton's memory to the ordinary heap, at any place in the message. Call
  /// it before other code gets the message and may free its arrays in a way that is not seen (heap.hpp). Returns the
  /// bytes copied. Error: out_of_memory; the message is still valid then.
  Result<std::size_t> detach(void* native) const;

  struct Node;

 private:
  std::vector<Array> arrays_;
  std::shared_ptr<const Node> root_;
  const void* members_ = nullptr;  // of the introspection
  std::shared_ptr<const rosidl::NativePlan> plan_;
};

/// How much room the next loan's arrays get, in bytes: the most that an array ever needed (learned), and at least the
/// size that was asked for (given, REP 157's constraints). One per topic.
class Capacities {
 public:
  explicit Capacities(const NativeLoanPlan& plan) : bytes_(plan.arrays().size()) {}
  std::size_t of(std::size_t array) const noexcept { return bytes_[array].load(std::memory_order_relaxed); }
  void need(std::size_t array, std::size_t bytes) noexcept;

 private:
  std::vector<std::atomic<std::size_t>> bytes_;  // each orders nothing: relaxed
};

class NativeLoan {
 public:
  /// Makes a loan of `writer`, and buffers in it for the arrays of `native`, which must be initialised and stays the
  /// caller's. An array without a known capacity gets no buffer. `plan`, `capacities` and `native` must outlive this.
  /// Errors: unsupported (not active()); those of loan_growing() and Loaned::buffer().
  static Result<NativeLoan> begin(std::shared_ptr<transport::Writer> writer, const NativeLoanPlan& plan,
                                  Capacities& capacities, void* native);
  NativeLoan(NativeLoan&& other) noexcept;
  NativeLoan& operator=(NativeLoan&&) = delete;
  /// Afterwards every array of `native` that lay in Baton's memory is empty; the caller destroys the rest.
  ~NativeLoan();

  struct Filled {
    memory::Chunk chunk;             ///< the caller publishes or abandons it
    std::size_t in_place = 0;        ///< arrays that were not copied
    std::uint64_t copied_bytes = 0;  ///< bytes of other arrays that could have been lent
  };
  /// Makes the message from `native`. The content of `native` stays readable, and must not change, until the end of
  /// this object. Call it once. Errors: malformed_message (a bound), those of NativePlan::write, loan_growing().
  Result<Filled> fill();
  /// Call when the chunk of fill() was published.
  void published() noexcept;

 private:
  struct InPlace {
    const NativeLoanPlan::Array* array;
    void* begin;
    std::uint32_t count;
  };
  NativeLoan(Loaned loaned, std::shared_ptr<transport::Writer> writer, const NativeLoanPlan* plan,
             Capacities* capacities, void* native) noexcept
      : loaned_(std::move(loaned)), writer_(std::move(writer)), plan_(plan), capacities_(capacities), native_(native) {}
  Result<Filled> fill_another_chunk(std::uint64_t copied_bytes);
  void forget_in_place() noexcept;

  std::optional<Loaned> loaned_;  // empty once published
  std::shared_ptr<transport::Writer> writer_;
  const NativeLoanPlan* plan_;
  Capacities* capacities_;
  void* native_;  // null if moved from
  std::vector<InPlace> in_place_;
  memory::Chunk another_;  // filled because the program kept a buffer of the loan
};

}  // namespace baton::containers
