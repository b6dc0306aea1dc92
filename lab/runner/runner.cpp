// SPDX-License-Identifier: Apache-2.0
// One process of a measurement; main() of every baton_perf_<peer>. A run has four steps: all ends are made; publishers
// send warm-up messages until every subscriber has received from every publisher, and some more; the plan's schedule
// runs; the results go to files.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "baton/os/clock.hpp"
#include "baton/os/process.hpp"
#include "baton/os/real_time.hpp"
#include "live.hpp"
#include "marks.hpp"
#include "peer.hpp"
#include "plan.hpp"
#include "sync.hpp"
#include "usage.hpp"

namespace baton::perf {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr std::uint64_t kWarmUp = std::uint64_t{1} << 63;
constexpr auto kGiveUp = 60s;    // for ends that never find each other
constexpr auto kQuiet = 1000ms;  // nothing new for this long after the last publish: the rest is lost

void sleep_until(std::int64_t when, bool spin) {
  while (spin && os::monotonic_ns() < when) {
  }
  if (!spin)
    if (const std::int64_t left = when - os::monotonic_ns(); left > 0)
      std::this_thread::sleep_for(std::chrono::nanoseconds(left));
}

template <class Condition>
void wait_for(SyncPage& sync, Condition&& condition, const char* what) {
  const std::int64_t end = os::monotonic_ns() + std::chrono::nanoseconds(kGiveUp).count();
  while (!condition()) {
    if (sync.failed.load(std::memory_order_relaxed) != 0)
      throw std::runtime_error("another process of this run failed");
    if (os::monotonic_ns() > end) throw std::runtime_error(what);
    std::this_thread::sleep_for(500us);
  }
}

/// Bytes that this host has sent to the other one, headers included: those of all devices but the loopback (proc_pid_net(5)). 0: unknown.
std::uint64_t wire_bytes() {
  std::ifstream file("/proc/self/net/dev");
  std::uint64_t sum = 0;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.find("lo:") != std::string::npos) continue;
    std::istringstream fields(line.substr(colon + 1));
    std::uint64_t value = 0;
    for (int i = 0; i < 9; ++i) fields >> value;  // eight of reception, then the bytes that were sent
    sum += value;
  }
  return sum;
}

std::byte filling(std::uint64_t sequence) { return static_cast<std::byte>(sequence * 7 + 1); }

/// The size of message `sequence`; with `varying` spread evenly over the upper half, the same for every peer.
std::size_t size_of(const RunPlan& plan, std::uint64_t sequence) {
  if (!plan.varying) return plan.bytes;
  const std::size_t half = plan.bytes / 2;
  return std::max(kSmallestPayload, plan.bytes - (sequence * 2654435761U % 1024) * half / 1024);
}

/// Columns of a JSON object: one row per received message.
class Samples : public Receiver {
 public:
  Samples(const RunPlan& plan, SyncPage& sync, unsigned index, PublisherEnd* back)
      : plan_(plan), sync_(sync), index_(index), back_(back) {
    rows_.reserve(std::size_t{plan.messages} * plan.publishers + 16);
  }

  void message(const std::byte* data, std::size_t bytes) override {
    baton_perf_mark(kMarkReceived, data);
    const std::int64_t received = os::monotonic_ns();
    Stamp stamp;
    if (bytes < kSmallestPayload) return refuse("shorter than a stamp");
    std::memcpy(&stamp, data, sizeof stamp);
    if (stamp.magic != Stamp::kMagic || stamp.payload_bytes > bytes || stamp.publisher >= kMostEnds)
      return refuse("no stamp of ours");
    if (stamp.sequence & kWarmUp) {
      // relaxed: it orders nothing.
      sync_.heard[index_].fetch_or(std::uint64_t{1} << stamp.publisher, std::memory_order_relaxed);
      sync_.warmed.fetch_add(1, std::memory_order_relaxed);
      if (back_ != nullptr) send_back(data, stamp.payload_bytes);
      begin_ = usage_now();  // only the last of these counts
      return;
    }
    std::int64_t read = received;
    bool torn = data[stamp.payload_bytes - 1] != filling(stamp.sequence) && stamp.payload_bytes > kSmallestPayload;
    if (plan_.read_all) {
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i + 8 <= stamp.payload_bytes; i += 8) {
        std::uint64_t word;
        std::memcpy(&word, data + i, 8);
        sum += word;
      }
      sink_ = sum;
      read = os::monotonic_ns();
    }
    if (back_ != nullptr) send_back(data, stamp.payload_bytes);
    Stamp again;
    std::memcpy(&again, data, sizeof again);
    torn = torn || again.sequence != stamp.sequence;
    torn_ += torn;
    rows_.push_back({stamp, received, read});
    // release: pairs with the acquire of the publisher that waits in a closed loop.
    sync_.received[index_].value.fetch_add(1, std::memory_order_release);
  }

  std::size_t count() const { return rows_.size(); }

  /// Call after the subscriber's end is destroyed: message() is not called any more.
  json result(const Usage& end_usage) const {
    json out = {{"torn", torn_}, {"refused", refused_}};
    json columns = {{"publisher", json::array()},    {"sequence", json::array()}, {"publish_ns", json::array()},
                    {"hand_over_ns", json::array()}, {"fill_ns", json::array()},  {"construct_ns", json::array()},
                    {"read_ns", json::array()}};
    for (const Row& row : rows_) {
      columns["publisher"].push_back(row.stamp.publisher);
      columns["sequence"].push_back(row.stamp.sequence);
      columns["publish_ns"].push_back(row.stamp.publish_ns);
      columns["hand_over_ns"].push_back(row.received - row.stamp.publish_ns);
      columns["fill_ns"].push_back(row.received - row.stamp.fill_ns);
      columns["construct_ns"].push_back(row.received - row.stamp.construct_ns);
      columns["read_ns"].push_back(row.read - row.received);
    }
    out["samples"] = std::move(columns);
    if (!rows_.empty()) out["usage"] = usage_between(begin_, end_usage);
    return out;
  }

 private:
  struct Row {
    Stamp stamp;
    std::int64_t received, read;
  };

  void refuse(const char* why) {
    if (refused_++ == 0) std::fprintf(stderr, "subscriber %u received something that is %s\n", index_, why);
  }
  void send_back(const std::byte* data, std::size_t bytes) {
    std::byte* const answer = back_->begin(bytes);
    std::memcpy(answer, data, plan_.echo ? bytes : kSmallestPayload);
    answer[bytes - 1] = data[bytes - 1];
    back_->publish(bytes);
  }

  const RunPlan& plan_;
  SyncPage& sync_;
  const unsigned index_;
  PublisherEnd* back_;
  std::vector<Row> rows_;
  std::uint64_t torn_ = 0, refused_ = 0;
  volatile std::uint64_t sink_ = 0;
  Usage begin_{};
};

RunPlan way_back(const RunPlan& plan) {
  RunPlan back = plan;
  back.topic += "_back";
  back.publishers = back.subscribers = 1;
  back.publishers_host = 1;
  return back;
}

json run_subscriber(const RunPlan& plan, SyncPage& sync, unsigned index) {
  std::unique_ptr<PublisherEnd> back;
  if (plan.round_trip) back = make_publisher(way_back(plan), 0);
  Samples samples(plan, sync, index, back.get());
  Usage usage;
  {
    const std::unique_ptr<SubscriberEnd> end = make_subscriber(plan, index, samples);
    sync.subscribers_ready.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t expected = std::uint64_t{plan.messages} * plan.publishers;
    std::uint64_t before = 0;
    std::int64_t changed = os::monotonic_ns();
    const std::chrono::nanoseconds timeout = plan.spin ? 0ns : 100ms;
    for (unsigned round = 0;; ++round) {
      end->receive(timeout);
      // acquire: pairs with receive()'s own thread in peers that call back; the count is what the loop needs.
      const std::uint64_t now = sync.received[index].value.load(std::memory_order_acquire);
      if (now >= expected) break;
      if (plan.spin && now == before && round % 64 != 0) continue;  // the clock is read only now and then
      const std::int64_t time = os::monotonic_ns();
      if (now != before || sync.publishers_done.load(std::memory_order_relaxed) < plan.publishers) changed = time;
      before = now;
      if (time - changed > std::chrono::nanoseconds(kQuiet).count()) break;
      if (sync.failed.load(std::memory_order_relaxed) != 0)
        throw std::runtime_error("another process of this run failed");
    }
    usage = usage_now();
    if (plan.round_trip)  // its last answer may still be in this process
      wait_for(
          sync, [&] { return sync.publishers_done.load(std::memory_order_relaxed) >= plan.publishers; },
          "the publisher did not finish");
    sync.subscribers_done.fetch_add(1, std::memory_order_relaxed);
    // No end leaves before all are served: some transports lose messages in flight when an end leaves.
    wait_for(
        sync, [&] { return sync.subscribers_done.load(std::memory_order_relaxed) >= plan.subscribers; },
        "the other subscribers did not finish");
  }
  return samples.result(usage);
}

class PublisherRun : Receiver {
 public:
  PublisherRun(const RunPlan& plan, SyncPage& sync, unsigned index) : plan_(plan), sync_(sync), index_(index) {}

  json run() {
    if (plan_.round_trip) back_ = make_subscriber(way_back(plan_), 0, *this);
    end_ = make_publisher(plan_, index_);
    wait_for(
        sync_, [&] { return sync_.subscribers_ready.load(std::memory_order_relaxed) >= plan_.subscribers; },
        "not all subscribers started");
    warm_up();
    sync_.publishers_ready.fetch_add(1, std::memory_order_relaxed);
    wait_for(
        sync_, [&] { return sync_.publishers_ready.load(std::memory_order_relaxed) >= plan_.publishers; },
        "not all publishers started");

    const std::uint64_t wire = wire_bytes();
    const Usage begin = usage_now();
    std::vector<std::int64_t> fill, publish;
    fill.reserve(plan_.messages);
    publish.reserve(plan_.messages);
    const std::int64_t period = plan_.rate > 0 ? static_cast<std::int64_t>(1e9 / plan_.rate) : 0;
    // Each publisher starts a little later than the previous one, as independent sensors do.
    std::int64_t next = os::monotonic_ns() + 20'000'000 + period * index_ / plan_.publishers;
    std::uint64_t lost = 0, late = 0;
    for (std::uint64_t sequence = 0; sequence < plan_.messages; ++sequence) {
      if (period > 0) {
        late += os::monotonic_ns() > next + period;
        sleep_until(next, plan_.spin);
        next += period;
      }
      const auto [filled, published] = send(sequence);
      fill.push_back(filled);
      publish.push_back(published);
      if (plan_.round_trip || plan_.rate <= 0) lost += !answered(sequence);
    }
    json out = {{"sent", plan_.messages}, {"unanswered", lost}, {"behind_schedule", late}};
    out["samples"] = {{"fill_ns", fill}, {"publish_call_ns", publish}};
    if (plan_.round_trip) {
      out["samples"]["round_trip_ns"] = round_trips_;
      out["samples"]["construct_round_trip_ns"] = construct_round_trips_;
      out["torn_answers"] = torn_;
    }
    sync_.publishers_done.fetch_add(1, std::memory_order_relaxed);
    wait_for(
        sync_, [&] { return sync_.subscribers_done.load(std::memory_order_relaxed) >= plan_.subscribers; },
        "the subscribers did not finish");
    out["usage"] = usage_between(begin, usage_now());
    if (!plan_.hosts.empty()) out["wire_bytes"] = wire_bytes() - wire;
    return out;
  }

 private:
  /// Returns the durations of the fill and of publish().
  std::pair<std::int64_t, std::int64_t> send(std::uint64_t sequence) {
    Stamp stamp{};
    stamp.magic = Stamp::kMagic;
    stamp.publisher = index_;
    stamp.sequence = sequence;
    stamp.payload_bytes = size_of(plan_, sequence & ~kWarmUp);
    stamp.construct_ns = os::monotonic_ns();
    baton_perf_mark(kMarkBegin, nullptr);
    std::byte* payload = end_->begin(stamp.payload_bytes);
    baton_perf_mark(kMarkBegun, payload);
    stamp.fill_ns = os::monotonic_ns();
    std::memset(payload + sizeof stamp, static_cast<int>(filling(sequence)), stamp.payload_bytes - sizeof stamp);
    stamp.publish_ns = os::monotonic_ns();
    std::memcpy(payload, &stamp, sizeof stamp);
    baton_perf_mark(kMarkPublish, payload);
    end_->publish(stamp.payload_bytes);
    baton_perf_mark(kMarkPublished, payload);
    return {stamp.publish_ns - stamp.fill_ns, os::monotonic_ns() - stamp.publish_ns};
  }

  void warm_up() {
    const std::int64_t give_up = os::monotonic_ns() + std::chrono::nanoseconds(kGiveUp).count();
    const std::uint64_t bit = std::uint64_t{1} << index_;
    const auto all_heard = [&] {
      for (unsigned s = 0; s < plan_.subscribers; ++s)
        if (!(sync_.heard[s].load(std::memory_order_relaxed) & bit)) return s;
      return plan_.subscribers;
    };
    // Slow enough for the slowest peer; as slow as in the run if the run is slower.
    const auto pause = std::chrono::milliseconds(plan_.bytes > (1u << 20) ? 25 : 5);
    std::uint64_t sequence = kWarmUp;
    for (unsigned more = 15; more > 0; ++sequence) {
      send(sequence);
      std::this_thread::sleep_for(pause);
      if (back_) back_->receive(0ns);
      if (const unsigned deaf = all_heard(); deaf == plan_.subscribers) {
        --more;
      } else if (os::monotonic_ns() > give_up) {
        throw std::runtime_error("subscriber " + std::to_string(deaf) + " never heard publisher " +
                                 std::to_string(index_));
      }
      if (sync_.failed.load(std::memory_order_relaxed) != 0)
        throw std::runtime_error("another process of this run failed");
    }
    if (back_) {  // messages on their way back
      const std::int64_t end = os::monotonic_ns() + 200'000'000;
      while (os::monotonic_ns() < end) back_->receive(plan_.spin ? 0ns : 20ms);
    }
    // Wait until the queues are empty: the schedule of a peer that is slower than the warm-up must not begin with a
    // backlog.
    std::uint64_t before = 0, now = sync_.warmed.load(std::memory_order_relaxed);
    for (unsigned round = 0; now != before && round < 100; ++round) {
      before = now;
      std::this_thread::sleep_for(100ms);
      now = sync_.warmed.load(std::memory_order_relaxed);
    }
  }

  /// Closed loop and round trip: waits for the answer to `sequence`.
  bool answered(std::uint64_t sequence) {
    const std::int64_t end = os::monotonic_ns() + static_cast<std::int64_t>(plan_.answer_s * 1e9);
    if (back_) {
      // acquire: pairs with the release in message(), which may run on a thread of the peer's library.
      while (answers_.load(std::memory_order_acquire) <= sequence) {
        back_->receive(plan_.spin ? 0ns : 100ms);
        if (os::monotonic_ns() > end) return false;
      }
      return true;
    }
    for (unsigned s = 0; s < plan_.subscribers; ++s) {
      while (sync_.received[s].value.load(std::memory_order_acquire) <= sequence) {
        if (!plan_.spin) std::this_thread::sleep_for(50us);
        if (os::monotonic_ns() > end) return false;
      }
    }
    if (!plan_.spin) std::this_thread::sleep_for(300us);  // the subscribers are in the kernel again
    return true;
  }

  void message(const std::byte* data, std::size_t bytes) override {
    const std::int64_t now = os::monotonic_ns();
    Stamp stamp;
    if (bytes < kSmallestPayload) return;
    std::memcpy(&stamp, data, sizeof stamp);
    if (stamp.magic != Stamp::kMagic || (stamp.sequence & kWarmUp)) return;
    round_trips_.push_back(now - stamp.publish_ns);
    construct_round_trips_.push_back(now - stamp.construct_ns);
    torn_ += stamp.payload_bytes > kSmallestPayload &&
             (bytes < stamp.payload_bytes || data[stamp.payload_bytes - 1] != filling(stamp.sequence));
    answers_.store(stamp.sequence + 1, std::memory_order_release);
  }

  const RunPlan& plan_;
  SyncPage& sync_;
  const unsigned index_;
  std::unique_ptr<PublisherEnd> end_;
  std::vector<std::int64_t> round_trips_, construct_round_trips_;
  std::uint64_t torn_ = 0;  // answers
  std::atomic<std::uint64_t> answers_{0};
  std::unique_ptr<SubscriberEnd> back_;  // destroyed first: it calls message()
};

void write_result(const RunPlan& plan, const char* role, unsigned index, json result) {
  result["role"] = role;
  result["index"] = index;
  result["pid"] = os::process_id();
  result["cpus"] = os::allowed_cpus();
  const std::string path = plan.directory + "/" + role + "_" + std::to_string(index) + ".json";
  std::ofstream file(path);
  file << result;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

/// All ends of the plan as threads of this process. Returns when the last has ended; throws the first failure.
void run_in_one_process(const RunPlan& plan, SyncPage& sync) {
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::thread> threads;
  const auto start = [&](auto work) {
    threads.emplace_back([&, work] {
      try {
        work();
      } catch (...) {
        sync.failed.store(1, std::memory_order_relaxed);
        const std::lock_guard<std::mutex> lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    });
  };
  for (unsigned i = 0; i < plan.subscribers; ++i)
    start([&, i] { write_result(plan, "subscriber", i, run_subscriber(plan, sync, i)); });
  for (unsigned i = 0; i < plan.publishers; ++i)
    start([&, i] { write_result(plan, "publisher", i, PublisherRun(plan, sync, i).run()); });
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

int run(int argc, char** argv) {
  CLI::App app("One process of a measurement; started by `baton perf`.");
  std::string plan_path, role;
  unsigned index = 0, host = 0;
  std::vector<int> cpus;
  bool describe_only = false;
  app.add_flag("--describe", describe_only, "print what this peer is, as JSON");
  app.add_option("--plan", plan_path, "the run's plan, a JSON file");
  app.add_option("--role", role)->check(CLI::IsMember({"publisher", "subscriber", "both"}));
  app.add_option("--index", index)->check(CLI::Range(0u, kMostEnds - 1));
  app.add_option("--host", host, "of the plan's hosts, the one on which this process is")->check(CLI::Range(0u, 1u));
  app.add_option("--cpus", cpus, "stay on these CPUs")->delimiter(',');
  CLI11_PARSE(app, argc, argv);
  if (describe_only) {
    std::printf("%s\n", describe(peer_info()).dump().c_str());
    return 0;
  }
  if (plan_path.empty() || role.empty()) {
    std::fprintf(stderr, "%s: --plan and --role are needed (this program is started by `baton perf`)\n", argv[0]);
    return 2;
  }
  if (!cpus.empty()) os::stay_on_cpus(cpus).or_throw();
  RunPlan plan = read_plan(plan_path);
  plan.host = host;
  plan.process = role == "subscriber" ? plan.publishers + index : index;
  if (plan.priority > 0) {
    os::lock_memory().or_throw();
    os::run_fifo(plan.priority).or_throw();
    os::touch_stack(256 * 1024);
  }
  if (plan.live) {
    run_live(plan);
    return 0;
  }
  SyncPage& sync = map_sync_page(plan.directory);
  try {
    if (role == "both") {
      run_in_one_process(plan, sync);
    } else if (role == "subscriber") {
      write_result(plan, "subscriber", index, run_subscriber(plan, sync, index));
    } else {
      write_result(plan, "publisher", index, PublisherRun(plan, sync, index).run());
    }
  } catch (...) {
    sync.failed.store(1, std::memory_order_relaxed);
    throw;
  }
  return 0;
}

}  // namespace
}  // namespace baton::perf

int main(int argc, char** argv) {
  try {
    return baton::perf::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
    return 1;
  }
}
