// SPDX-License-Identifier: Apache-2.0
// The typed publisher. Thread rules: all functions are thread-safe (one process-private mutex per publisher inside).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "baton/message/type.hpp"
#include "baton/node/call_forms.hpp"
#include "baton/node/loan.hpp"
#include "baton/node/not_empty.hpp"
#include "baton/node/reference_habit.hpp"
#include "baton/node/sample.hpp"
#include "baton/node/service_events.hpp"
#include "baton/os/hot_path.hpp"
#include "baton/os/shortage.hpp"
#include "baton/sfm/size.hpp"
#include "baton/transport/transport.hpp"

namespace baton {

/// Counters since the publisher was made. `copied_*` counts messages that were built elsewhere and had to be copied in;
/// of an object that publish() handed over and left to the program, nothing is copied.
struct PublisherCounters {
  std::uint64_t published = 0;
  std::uint64_t copied_messages = 0;
  std::uint64_t copied_bytes = 0;
};

namespace detail {

/// The untyped part of a publisher: loans, publishing, counters. Publisher<T> and Python's publisher are built on it.
/// Thread-safe.
class PublisherCore {
 public:
  PublisherCore(std::shared_ptr<transport::Writer> writer, std::string topic)
      : writer_(std::move(writer)), topic_(std::move(topic)) {}
  /// Of a service's requests or responses.
  PublisherCore(std::shared_ptr<transport::Writer> writer, std::string topic, std::shared_ptr<ServiceEvents> events)
      : writer_(std::move(writer)), events_(std::move(events)), topic_(std::move(topic)) {}
  const std::shared_ptr<transport::Writer>& writer() const noexcept { return writer_; }
  const std::string& topic() const noexcept { return topic_; }
  /// Null unless it is a service's. It sees what publish() with a PublishInfo publishes.
  const std::shared_ptr<ServiceEvents>& events() const noexcept { return events_; }

  /// Memory for one message of this type, uninitialised.
  Result<memory::Chunk> loan(const message::Type& type) {
    return type.fixed ? writer_->loan_sized(type.size) : writer_->loan_growing();
  }
  /// The same for a type that the compiler knows (`fixed` and `bytes`: Type::fixed and Type::size), with a share of the writer for the
  /// loan. Out of line, as publish(), so that counting shares is code of the library, beside what the message runs through.
  Result<memory::Chunk> loan(bool fixed, std::size_t bytes, transport::WriterShare* share);
  /// The same for the members of an empty loan; throws the error.
  BATON_NO_PLT void loan(bool fixed, std::size_t bytes, transport::WriterShare* share, memory::Chunk* chunk);
  /// Publishes the chunk. On success the writer owns the chunk again, and the loan's share, if there is one, is dropped.
  Result<std::uint64_t> publish(const memory::Chunk& chunk, const transport::PublishInfo& info,
                                transport::WriterShare* share = nullptr);
  /// The same for the members of a loan, which are empty afterwards; throws the error. Nothing is sent beside the message.
  BATON_NO_PLT std::uint64_t publish(memory::Chunk* chunk, transport::WriterShare* share);
  /// Of a loan that this publisher cannot publish.
  Error not_its_loan() const;
  /// publish() that events() sees.
  Result<std::uint64_t> publish_seen(const memory::Chunk& chunk, const transport::PublishInfo& info);
  /// Counts a message that was built elsewhere and copied into a chunk.
  void count_copy(std::size_t bytes) noexcept {
    copied_messages_.fetch_add(1, std::memory_order_relaxed);  // statistics: order nothing
    copied_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  /// What the program does with objects that it publishes by reference.
  ReferenceHabit& habit() noexcept { return habit_; }
  PublisherCounters counters() const noexcept {
    return {published_.load(std::memory_order_relaxed), copied_messages_.load(std::memory_order_relaxed),
            copied_bytes_.load(std::memory_order_relaxed)};
  }

 private:
  const std::shared_ptr<transport::Writer> writer_;
  std::atomic<std::uint64_t> published_{0};  // beside it: every message touches both
  const std::shared_ptr<ServiceEvents> events_;
  const std::string topic_;
  std::atomic<std::uint64_t> copied_messages_{0}, copied_bytes_{0};
  ReferenceHabit habit_;
};

/// TZC's allocate (Fig. 6): reserves a chunk of `core`'s writer and points the data part of the private message at it.
/// See Publisher::allocate.
Result<void> allocate_data_part(const std::shared_ptr<PublisherCore>& core, const message::Type& type, void* message);
/// Finds the chunk that allocate() reserved for this message at this writer. If there is one, writes the control part
/// of `message` into the chunk by `copy_control` (copy construction), moves the data part's references from `message`
/// to the chunk, and returns the chunk as a loan, ready to publish. Throws what copying throws; `message` is then
/// unchanged.
bool take_allocated(transport::Writer& writer, const message::Type& type, void* message, memory::Chunk* chunk,
                    void (*copy_control)(void* to, const void* from));

/// Publishes the chunk that allocate() reserved for this message and leaves `message` to the program: its arrays stay at
/// their addresses, and what is written there from now on is the program's own (memory/own_copy.hpp). True: `*result` has
/// the outcome; on an error of it `message` is as it was. False: this message has to be copied. Throws what copying the
/// control part throws.
bool publish_in_place(PublisherCore& core, const message::Type& type, void* message, Result<std::uint64_t>* result,
                      void (*copy_control)(void* to, const void* from));

}  // namespace detail

/// Publishes messages of type T on a topic. Copies of a Publisher refer to the same endpoint, which lives as long as
/// one copy or one loan. A default-made or moved-from Publisher is empty: all functions but the try_ ones then throw
/// invalid_argument, and the try_ ones return it.
template <class T>
class Publisher {
 public:
  Publisher() = default;
  explicit Publisher(std::shared_ptr<detail::PublisherCore> core) : core_(std::move(core)) {}
  explicit operator bool() const noexcept { return core_ != nullptr; }

  /// A new message in shared memory, default-initialised. Publishing it copies nothing. Throws a Shortage (limit_reached or
  /// out_of_memory) when the policy found no memory, and forked in a forked child.
  Loan<T> loan() {
    Loan<T> loan;
    const message::Type& type = message::type_of<T>();
    core().loan(type.fixed, type.size, &loan.writer_, &loan.chunk_);
    new (loan.chunk_.message()) T();
    return loan;
  }
  Result<Loan<T>> try_loan() {
    if (!core_) return detail::empty_error("publisher");
    Loan<T> loan;
    const message::Type& type = message::type_of<T>();
    Result<memory::Chunk> chunk = core().loan(type.fixed, type.size, &loan.writer_);
    if (!chunk.ok()) return chunk.error();
    loan.chunk_ = *chunk;
    new (chunk->message()) T();
    return Result<Loan<T>>(std::move(loan));
  }

  /// Hands the loan over; it is empty afterwards. Returns the sequence number. Throws queue_full (a KEEP_ALL reliable
  /// subscription has no room; `loan` then still holds the message) or forked. `info` is sent beside the message: the
  /// ids that connect a response to its request (services), and ATSA's selection for a message that was converted from
  /// another object.
  std::uint64_t publish(Loan<T>&& loan) { return core().publish(&loan.chunk_, &loan.writer_); }
  std::uint64_t publish(Loan<T>&& loan, const transport::PublishInfo& info) {
    return std::move(try_publish(loan, info)).or_throw();
  }
  Result<std::uint64_t> try_publish(Loan<T>& loan, const transport::PublishInfo& info = {}) {
    if (!core_) return detail::empty_error("publisher");
    if (!loan || loan.writer_.get() != core().writer().get()) return core().not_its_loan();
    Result<std::uint64_t> sequence = core().publish(loan.chunk_, info, &loan.writer_);
    if (sequence.ok()) loan.chunk_ = {};
    return sequence;
  }

  /// Publishes a copy of an ordinary object (stack, heap, member, received sample): exactly one copy, into a chunk of
  /// the exact size. Later changes of `message` do not change what readers see.
  std::uint64_t publish(const T& message) { return lent_or_throw(try_publish_copy(message)); }
  /// The same promise for an object that the program may change. If allocate() has prepared it, it has at least
  /// memory::OwnCopy::kLeastBytes, and the program has left its last objects alone after publishing them, nothing is
  /// copied: readers get the memory, `message` keeps its contents and addresses, and a page of them is copied when the
  /// program writes it. That page costs more than its part of a whole copy; so a program that fills one object again and
  /// again, without allocate(), is copied from the second publication on. The memory comes back when `message` has ended
  /// or got other contents, and no reader has it. Like every change of `message`, this call needs it alone.
  std::uint64_t publish(T& message) {
    Result<std::uint64_t> sequence = std::uint64_t{0};
    const bool in_place =
        detail::publish_in_place(core(), message::type_of<T>(), &message, &sequence,
                                 [](void* to, const void* from) { new (to) T(*static_cast<const T*>(from)); });
    return in_place ? lent_or_throw(std::move(sequence)) : publish(static_cast<const T&>(message));
  }

  /// For a message prepared with allocate(): hands its data part over without a copy. The vectors of that part are
  /// empty in `message` afterwards. A message that is not prepared, or that outgrew its place, is copied as by
  /// publish().
  std::uint64_t publish_allocated(T& message) {
    memory::Chunk chunk;
    const bool allocated =
        detail::take_allocated(*core().writer(), message::type_of<T>(), &message, &chunk,
                               [](void* to, const void* from) { new (to) T(*static_cast<const T*>(from)); });
    if (!allocated) return publish(static_cast<const T&>(message));
    Loan<T> loan(*core().writer(), chunk);
    return publish(std::move(loan));
  }
  /// Publishes the message behind a std::shared_ptr or std::unique_ptr: one copy, since the message lies on this process's
  /// heap. A loan() needs no copy. Throws invalid_argument if the pointer is null.
  template <class Pointer,
            class = std::enable_if_t<std::is_same_v<std::remove_const_t<typename Pointer::element_type>, T>>>
  std::uint64_t publish(const Pointer& message) {
    return publish(static_cast<const T&>(detail::not_empty(message, "message pointer")));
  }

  // Does not compile: a loan must be moved, and a sample must be dereferenced.
  template <class Lent, class = std::enable_if_t<std::is_same_v<Lent, Loan<T>>>, class = void>
  void publish(const Lent&) {
    static_assert(detail::kNever<Lent>,
                  "a loan is handed over: write publish(std::move(loan)); publish(*loan) publishes a copy");
  }
  template <class Taken, class = std::enable_if_t<std::is_same_v<Taken, Sample<T>>>, class = void, class = void>
  void publish(const Taken&) {
    static_assert(detail::kNever<Taken>, "write publish(*sample): a received message is published as a copy");
  }

  /// TZC's usage pattern (TZC Fig. 6): resize the arrays of a message on the stack, call allocate(), fill the arrays,
  /// publish(). allocate() moves the data part (every variable-length array of a fixed-length type) into
  /// shared memory; its elements are unspecified afterwards. False if there is no memory under the publisher's policy.
  /// A vector that later outgrows its place moves to the heap and is copied at publish.
  bool allocate(T& message) {
    static_cast<void>(core());
    return try_allocate(message).ok();
  }
  Result<void> try_allocate(T& message) {
    if (!core_) return detail::empty_error("publisher");
    return detail::allocate_data_part(core_, message::type_of<T>(), &message);
  }

  Result<std::uint64_t> try_publish_copy(const T& message, const transport::PublishInfo& info = {}) {
    if (!core_) return detail::empty_error("publisher");
    const std::size_t bytes = sfm::copy_size(message);
    Result<memory::Chunk> chunk = core().writer()->loan_sized(bytes);
    if (!chunk.ok()) return chunk.error();
    Loan<T> loan(*core().writer(), *chunk);
    new (chunk->message()) T(message);
    Result<std::uint64_t> sequence = try_publish(loan, info);
    if (sequence.ok()) core().count_copy(bytes);
    return sequence;
  }

  const std::string& topic() const { return core().topic(); }
  /// How many subscriptions get the messages published from now on. A subscription may count this publisher a little
  /// later (Subscription::matched()); until then messages wait in its queue.
  std::uint32_t matched() const { return core().writer()->matched(); }
  transport::Statuses statuses() const { return core().writer()->statuses(); }
  /// Called on Baton's background thread; must not block or throw.
  void on_event(std::function<void(transport::Event)> callback) { core().writer()->on_event(std::move(callback)); }
  void assert_liveliness() { core().writer()->assert_liveliness(); }
  /// True once every reliable subscription took all messages published so far, or lost them to overwriting.
  bool wait_for_all_acked(os::Nanoseconds timeout) { return core().writer()->wait_for_all_acked(timeout).ok(); }
  const transport::Gid& gid() const { return core().writer()->gid(); }
  memory::Pool::Account memory_account() const { return core().writer()->memory_account(); }
  /// Gives memory that was backed for past, larger messages back to the system when they are released.
  void trim() { core().writer()->trim(); }
  PublisherCounters counters() const { return core().counters(); }

 private:
  detail::PublisherCore& core() const { return detail::not_empty(core_, "publisher"); }

  std::shared_ptr<detail::PublisherCore> core_;
};

}  // namespace baton
