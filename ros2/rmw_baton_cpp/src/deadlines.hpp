// SPDX-License-Identifier: Apache-2.0
// The deadlines of the endpoints that Baton serves. The underlying RMW does not see messages that only Baton carries,
// so it would report missed deadlines that were met. Its deadline events are replaced by these.
//
// A deadline counts from the first message on and is missed once per period without a message, as in DDS.
// Thread rules: add() and remove() from any thread, but not from `missed`. One background thread, which starts with the
// first deadline and is joined by the destructor.
// Invariants: (1) neither function of a Deadline is called after remove() has returned.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

namespace baton::rmw {

class Deadlines {
 public:
  struct Deadline {
    std::chrono::nanoseconds period;
    std::function<std::int64_t()> newest_ns;  ///< when the newest message was sent or received, os::monotonic_ns(); 0:
                                              ///< none yet
    std::function<void()> missed;             ///< on the background thread
  };

  Deadlines() = default;
  ~Deadlines();
  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;

  std::uint64_t add(Deadline deadline);
  void remove(std::uint64_t id);

  static constexpr std::int64_t kShortestNs = 1'000'000;  ///< of a period: a shorter period is checked no more often

  /// When to check again a deadline that was due at `due_ns` and whose newest message has the time `newest_ns`.
  /// `missed` becomes true if the deadline was missed.
  static std::int64_t next_due(std::int64_t due_ns, std::int64_t newest_ns, std::int64_t period_ns, std::int64_t now_ns,
                               bool* missed) noexcept {
    *missed = newest_ns != 0 && newest_ns + period_ns <= now_ns;
    if (newest_ns == 0) return now_ns + period_ns;
    if (!*missed) return newest_ns + period_ns;
    return due_ns + period_ns > now_ns ? due_ns + period_ns : now_ns + kShortestNs;
  }

 private:
  struct Entry {
    Deadline deadline;
    std::int64_t due_ns;
  };
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Entry> entries_;
  std::uint64_t last_id_ = 0;
  bool stop_ = false;
  std::optional<pthread_t> thread_;
};

}  // namespace baton::rmw
