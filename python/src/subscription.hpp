// SPDX-License-Identifier: Apache-2.0
// Subscriptions of Python: threads that wait take from them, or an executor runs them.
//
// Thread rules: everything with the GIL held, which waiting releases; Executable's functions are called without it.
// Invariant: the reader is in a wait set only while a thread waits, and one thread waits at a time.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "baton/node/node.hpp"
#include "callback.hpp"
#include "core.hpp"
#include "endpoints_shared.hpp"

namespace baton::python {

class PySubscription {
 public:
  PySubscription(std::shared_ptr<transport::Reader> reader_, const ClassRecord* record_, std::string topic_,
                 std::shared_ptr<transport::Participant> participant_)
      : reader(std::move(reader_)), record(record_), topic(std::move(topic_)), participant(std::move(participant_)) {}

  nb::object take(const Seconds& timeout) {
    // A call that may not wait always fails, not only when it would have to wait.
    if (!timeout || *timeout > 0) {
      if (registration)
        raise(PyExc_TypeError,
              "'" + topic + "' has a callback, which an executor runs; take(0) polls it, nobody else may wait");
      if (polled_)
        throw Exception({Errc::already_exists, "'" + topic +
                                                   "' is polled by its descriptor (fileno() or asyncio); take(0) " +
                                                   "polls it too, and another subscription can be waited for"});
    }
    Taken taken = take_from(*reader);
    if (!taken.sample.ok() || *taken.sample || (timeout && *timeout <= 0)) return to_message(record, std::move(taken));
    const SteadyTime deadline = deadline_after(timeout);
    const Waiting waiting(*this, deadline);
    for (;;) {
      const Nanoseconds left = left_until(deadline);
      if (left <= Nanoseconds::zero()) return nb::none();
      wait_once(*wait_set_, left);
      taken = take_from(*reader);
      if (!taken.sample.ok() || *taken.sample) return to_message(record, std::move(taken));
    }
  }
  nb::object next() { return take(std::nullopt); }

  int fileno() {
    const int descriptor = std::move(reader->pollable_fd()).or_throw();
    polled_ = true;
    return descriptor;
  }

  std::shared_ptr<transport::Reader> reader;
  const ClassRecord* record;
  std::string topic;
  std::shared_ptr<transport::Participant> participant;
  std::shared_ptr<Callback> callback;
  std::shared_ptr<baton::detail::Executable> registration;

 private:
  /// The turn of a waiting thread. One thread at a time has the turn, and the reader is in the wait set only during a
  /// turn, so that it may be polled afterwards. A thread whose deadline passes first gets no turn, and finds that no
  /// time is left.
  class Waiting {
   public:
    Waiting(PySubscription& subscription, SteadyTime deadline) : s_(subscription) {
      std::unique_lock<std::timed_mutex> turn(s_.turn_, std::try_to_lock);
      while (!turn) {
        {
          const WithoutGil without;
          (void)turn.try_lock_until(
              std::min(deadline, std::chrono::steady_clock::now() + std::chrono::milliseconds(20)));
        }
        check_signals();
        if (!turn && left_until(deadline) <= Nanoseconds::zero()) return;
      }
      if (!s_.wait_set_) s_.wait_set_ = std::make_unique<transport::WaitSet>();
      s_.wait_set_->add(s_.reader).or_throw();
      turn_ = std::move(turn);
    }
    ~Waiting() {
      if (turn_) s_.wait_set_->remove(s_.reader);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    PySubscription& s_;
    std::unique_lock<std::timed_mutex> turn_;
  };
  bool polled_ = false;  // GIL
  std::timed_mutex turn_;
  std::unique_ptr<transport::WaitSet> wait_set_;  // under turn_
};

class PythonSubscriptionExecutable final : public baton::detail::ReaderExecutable {
 public:
  PythonSubscriptionExecutable(std::shared_ptr<CallbackGroup> group, std::shared_ptr<transport::Reader> reader,
                               const ClassRecord* record, std::shared_ptr<Callback> callback)
      : ReaderExecutable(std::move(group), std::move(reader)), record_(record), callback_(std::move(callback)) {}

 private:
  bool on_message(transport::TakenSample&& message) override {
    Taken taken(std::move(message));
    const WithGil gil;
    const nb::object received = to_message(record_, std::move(taken));
    run_callback([&] { call_with(*reader(), received, [&] { (*callback_)(received); }); });
    return true;
  }
  const ClassRecord* record_;
  std::shared_ptr<Callback> callback_;
};

}  // namespace baton::python
