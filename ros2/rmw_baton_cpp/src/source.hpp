// SPDX-License-Identifier: Apache-2.0
// Something that an application waits for: a subscription, service, client or event. An application waits in a wait set, or has a
// callback ("on new message") that the context's CallbackThread calls.
//
//   without a callback: the source's reader lies in the wait set in which rmw_wait() sleeps. An event has no reader, and wakes that wait set.
//   with a callback: the reader lies in the wait set of the CallbackThread, which wakes once for each message.
//
// Thread rules: all functions from any thread. The application's callback runs with no lock held, and may call everything, also what ends this
// source.
// Invariants: (1) one call of a callback runs at a time, and none of a former callback once set_callback() has returned, except on the thread
// that is in that call; (2) with a callback, ready() is false until the callback was notified of what is unread: an application that waits
// until its callback has run may wait in a wait set; (3) a callback is notified of a message at most once, and of at most kMostNotified that it
// has not taken: an executor takes as often as it was notified, and a publisher whose messages are passed over refills the queue meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "baton/transport/transport.hpp"
#include "callback_thread.hpp"
#include "rmw/event_callback_type.h"

namespace baton::rmw {

class Source : public std::enable_shared_from_this<Source>, public CallbackThread::Called {
 public:
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source();

  /// Unique in this process.
  std::uint64_t id() const noexcept { return id_; }
  /// Whether the application may take now.
  bool ready();
  /// From now on wakes this wait set.
  void wait_in(const std::shared_ptr<transport::WaitSet>& wait_set);
  void leave(const std::shared_ptr<transport::WaitSet>& wait_set);

  /// Null: no callback. Otherwise calls it, in this thread, for what came before and no former callback was notified of.
  void set_callback(rmw_event_callback_t callback, const void* user_data);
  bool call() final;

  /// No callback is called afterwards, and no wait set is woken. Call it before the handle of the source ends.
  void stop();

 protected:
  /// `reader`: null for a source without one.
  Source(std::shared_ptr<CallbackThread> thread, std::shared_ptr<transport::Reader> reader);
  /// How many things a take would find now.
  virtual std::size_t unread() const = 0;
  virtual bool has_data() const { return unread() != 0; }

  /// Something has happened that wakes no reader. REQUIRES: no lock that unread() takes.
  void happened();
  /// Call after each take, whether it has found something or not.
  void taken();

 private:
  static constexpr std::size_t kMostNotified = 256;
  void join(const std::shared_ptr<transport::WaitSet>& wait_set);  // with mutex_

  static inline std::atomic<std::uint64_t> last_id_{0};
  const std::uint64_t id_ = last_id_.fetch_add(1, std::memory_order_relaxed) + 1;  // only uniqueness matters
  const std::shared_ptr<CallbackThread> thread_;
  const std::shared_ptr<transport::Reader> waited_reader_;
  std::atomic<bool> counts_{
      false};  // there is a callback, or `notified_` is not 0. relaxed: under mutex_ all is read again
  std::mutex mutex_;
  std::shared_ptr<transport::WaitSet> waiting_;  // where the application waits
  std::shared_ptr<transport::WaitSet> joined_;   // where the reader lies
  rmw_event_callback_t callback_ = nullptr;
  const void* user_data_ = nullptr;
  std::size_t notified_ = 0;  // of what is unread
  bool calling_ = false;
};

}  // namespace baton::rmw
