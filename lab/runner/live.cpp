// SPDX-License-Identifier: Apache-2.0
#include "live.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "baton/os/clock.hpp"

namespace baton::perf {
namespace {

using json = nlohmann::ordered_json;  // in the order of the original
using namespace std::chrono_literals;

std::atomic<bool> g_stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

/// Minimum, maximum, mean and variance without keeping the values (Welford).
class Running {
 public:
  void add(double value) {
    ++count_;
    min_ = count_ == 1 ? value : std::min(min_, value);
    max_ = count_ == 1 ? value : std::max(max_, value);
    const double delta = value - mean_;
    mean_ += delta / static_cast<double>(count_);
    squares_ += delta * (value - mean_);
  }
  json take() {  // seconds, as in the original
    json out = {{"min", min_},
                {"max", max_},
                {"mean", mean_},
                {"variance", count_ > 1 ? squares_ / static_cast<double>(count_ - 1) : 0.0}};
    *this = Running();
    return out;
  }

 private:
  std::uint64_t count_ = 0;
  double min_ = 0, max_ = 0, mean_ = 0, squares_ = 0;
};

/// The events of the current second. Any thread.
struct Second {
  std::mutex mutex;
  std::uint64_t sent = 0, received = 0, lost = 0, bytes = 0;
  Running latency, publisher_loop, subscriber_loop;
};

class LiveReceiver : public Receiver {
 public:
  LiveReceiver(Second& second, unsigned publishers) : second_(second), next_(std::max(1U, publishers), 0) {}

  void message(const std::byte* data, std::size_t bytes) override {
    const std::int64_t now = os::monotonic_ns();
    Stamp stamp;
    if (bytes < kSmallestPayload) return;
    std::memcpy(&stamp, data, sizeof stamp);
    if (stamp.magic != Stamp::kMagic) return;
    if (stamp.publisher >= next_.size()) next_.resize(std::min(stamp.publisher + 1, 1024U), 0);
    const std::lock_guard<std::mutex> lock(second_.mutex);
    if (stamp.publisher < next_.size()) {
      std::uint64_t& next = next_[stamp.publisher];
      if (next != 0 && stamp.sequence > next) second_.lost += stamp.sequence - next;
      next = stamp.sequence + 1;
    }
    ++second_.received;
    second_.bytes += bytes;
    second_.latency.add(static_cast<double>(now - stamp.publish_ns) / 1e9);
  }

 private:
  Second& second_;
  std::vector<std::uint64_t> next_;  // expected sequence number per publisher
};

double seconds_of(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; }

json usage() {
  rusage r{};
  ::getrusage(RUSAGE_SELF, &r);
  // In ns, as in the original.
  return {{"utime", std::llround(seconds_of(r.ru_utime) * 1e9)},
          {"stime", std::llround(seconds_of(r.ru_stime) * 1e9)},
          {"maxrss", r.ru_maxrss},
          {"ixrss", r.ru_ixrss},
          {"idrss", r.ru_idrss},
          {"isrss", r.ru_isrss},
          {"minflt", r.ru_minflt},
          {"majflt", r.ru_majflt},
          {"nswap", r.ru_nswap},
          {"inblock", r.ru_inblock},
          {"oublock", r.ru_oublock},
          {"msgsnd", r.ru_msgsnd},
          {"msgrcv", r.ru_msgrcv},
          {"nsignals", r.ru_nsignals},
          {"nvcsw", r.ru_nvcsw},
          {"nivcsw", r.ru_nivcsw}};
}

void wait_for_matched(const RunPlan& plan, int expected, const std::function<int()>& matched, const char* whom) {
  if (expected < 0) return;
  const std::int64_t end = os::monotonic_ns() + static_cast<std::int64_t>(plan.matched_timeout * 1e9);
  while (!g_stop) {
    const int now = matched();
    if (now < 0) throw std::runtime_error(std::string("this transport cannot tell how many ") + whom + " it has");
    if (now >= expected) return;
    if (os::monotonic_ns() > end)
      throw std::runtime_error("only " + std::to_string(now) + " of " + std::to_string(expected) + " expected " + whom +
                               " came in time");
    std::this_thread::sleep_for(5ms);
  }
}

/// A process that only subscribes touches this file while it receives messages. To a process that only publishes, a
/// change of the file shows that a subscriber receives. The mere existence of the file shows nothing, since an earlier
/// run may have left it.
std::string heard_file(const RunPlan& plan) { return plan.directory + "/heard"; }

void touch(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const bool touched = fd >= 0 && ::futimens(fd, nullptr) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!touched) throw std::system_error(error, std::generic_category(), path);
}

std::int64_t changed_ns(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return 0;
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

/// Set by a publisher whose transport reports a subscriber. Relaxed: it orders nothing.
std::atomic<bool> g_matched{false};

/// Blocks until the other command's end exists, if this process has publishers only or subscribers only. g_stop ends
/// it.
void wait_for_the_other(const RunPlan& plan, Second& second) {
  if (plan.own_publishers > 0 && plan.own_subscribers > 0) return;
  const std::string path = heard_file(plan);
  const std::int64_t before = changed_ns(path);
  for (bool met = false; !met && !g_stop; std::this_thread::sleep_for(5ms)) {
    if (plan.own_publishers > 0) {
      met = g_matched.load(std::memory_order_relaxed) || changed_ns(path) != before;
    } else {
      const std::lock_guard<std::mutex> lock(second.mutex);
      met = second.received > 0;
    }
  }
  if (plan.own_publishers == 0) return;
  const std::lock_guard<std::mutex> lock(second.mutex);
  second.sent = 0;  // messages sent without a receiver
  second.publisher_loop = Running();
}

void publish_loop(const RunPlan& plan, unsigned index, Second& second) {
  const std::unique_ptr<PublisherEnd> end = make_publisher(plan, index);
  wait_for_matched(
      plan, plan.expected_subscribers, [&] { return end->matched(); }, "subscribers");
  const std::int64_t period = plan.rate > 0 ? static_cast<std::int64_t>(1e9 / plan.rate) : 0;
  std::int64_t next = os::monotonic_ns() + period;
  for (std::uint64_t sequence = 0; !g_stop; ++sequence) {
    Stamp stamp{};
    stamp.magic = Stamp::kMagic;
    stamp.publisher = index;
    stamp.sequence = sequence;
    stamp.payload_bytes = plan.bytes;
    stamp.construct_ns = os::monotonic_ns();
    std::byte* payload = end->begin(plan.bytes);
    stamp.fill_ns = os::monotonic_ns();
    std::memset(payload + sizeof stamp, static_cast<int>(sequence), plan.bytes - sizeof stamp);
    stamp.publish_ns = os::monotonic_ns();
    std::memcpy(payload, &stamp, sizeof stamp);
    end->publish(plan.bytes);
    if (plan.own_subscribers == 0 && !g_matched.load(std::memory_order_relaxed) && end->matched() > 0)
      g_matched.store(true, std::memory_order_relaxed);
    const std::int64_t left = next - os::monotonic_ns();
    {
      const std::lock_guard<std::mutex> lock(second.mutex);
      ++second.sent;
      if (period > 0) second.publisher_loop.add(static_cast<double>(left) / 1e9);  // the rest of the period
    }
    if (period == 0) continue;
    if (left > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(left));
    next += period;
    if (left < -period) next = os::monotonic_ns() + period;  // no burst after a pause
  }
}

void subscribe_loop(const RunPlan& plan, unsigned index, Second& second) {
  LiveReceiver receiver(second, plan.publishers);
  const std::unique_ptr<SubscriberEnd> end = make_subscriber(plan, index, receiver);
  wait_for_matched(
      plan, plan.expected_publishers, [&] { return end->matched(); }, "publishers");
  while (!g_stop) end->receive(plan.spin ? 0ns : 100ms);
}

/// Waits until the other side exists, then prints a line per second until the end.
void report(const RunPlan& plan, Second& second) {
  wait_for_the_other(plan, second);
  if (plan.own_publishers == 0 && !g_stop) touch(heard_file(plan));
  const std::int64_t begin = os::monotonic_ns();
  std::int64_t last = begin;
  for (std::int64_t tick = begin + 1'000'000'000; !g_stop; tick += 1'000'000'000) {
    while (!g_stop && os::monotonic_ns() < tick) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const std::int64_t now = os::monotonic_ns();
    const double elapsed = static_cast<double>(now - begin) / 1e9;
    json line;
    {
      const std::lock_guard<std::mutex> lock(second.mutex);
      line = {{"T_experiment", elapsed},
              {"T_loop", static_cast<double>(now - last) / 1e9},
              {"recv", second.received},
              {"sent", second.sent},
              {"lost", second.lost},
              {"data_recv", second.bytes},
              {"relative_loss",
               second.received + second.lost == 0
                   ? 0.0
                   : static_cast<double>(second.lost) / static_cast<double>(second.received + second.lost)},
              {"latency", second.latency.take()},
              {"publisher_loop", second.publisher_loop.take()},
              {"subscriber_loop", second.subscriber_loop.take()}};
      second.sent = second.received = second.lost = second.bytes = 0;
    }
    if (plan.own_publishers == 0 && line["recv"] > 0) touch(heard_file(plan));
    line["usage"] = usage();
    last = now;
    if (elapsed > plan.ignore && !(g_stop && elapsed < 1)) {
      std::printf("%s\n", line.dump().c_str());
      std::fflush(stdout);
    }
    if (plan.max_runtime > 0 && elapsed >= plan.max_runtime) g_stop = true;
  }
}

}  // namespace

void run_live(const RunPlan& plan) {
  for (const int signal : {SIGINT, SIGTERM}) ::signal(signal, [](int) { g_stop = true; });
  Second second;
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::thread> threads;
  const auto start = [&](auto loop, unsigned index) {
    threads.emplace_back([&, loop, index] {
      try {
        loop(plan, index, second);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (!failure) failure = std::current_exception();
        g_stop = true;
      }
    });
  };
  for (unsigned i = 0; i < plan.own_subscribers; ++i) start(subscribe_loop, i);
  for (unsigned i = 0; i < plan.own_publishers; ++i) start(publish_loop, i);
  try {
    report(plan, second);
  } catch (...) {
    g_stop = true;
    for (std::thread& thread : threads) thread.join();
    throw;
  }
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace baton::perf
