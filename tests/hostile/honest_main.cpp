// SPDX-License-Identifier: Apache-2.0
// An honest process beside a hostile one: victim or bystander. honest.py is the same in Python, and scene.py drives both.
//
//   baton_honest run <name> <topic it publishes> <topics it subscribes>...
//     publishes 50 checksummed messages a second, holds the newest two of each topic and checks them again when it lets them go.
//     It also reads "/image" and "/deep", on which only hostile processes publish, and in poll() "/polled", likewise.
//     Commands on standard input, each answered by one line: "report" (what happened since the last one, as JSON), "pause" (stops
//     publishing and lets all samples go), "resume", "renew" (goes on in a new data segment). Ends at the end of its input.
//   baton_honest newcomer <topic> <held>
//     joins, takes eight messages of which it holds <held> together, and says "served". Ends when it is done, or with 1.
#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "baton/baton.hpp"
#include "baton/msg/diagnostic_msgs/diagnostic_array.hpp"
#include "baton/msg/sensor_msgs/image.hpp"
#include "baton/msg/std_msgs/string.hpp"

using namespace std::chrono_literals;
using baton::msg::diagnostic_msgs::DiagnosticArray;
using baton::msg::sensor_msgs::Image;
using baton::msg::std_msgs::String;

namespace {

constexpr auto kPatience = 30s;
constexpr auto kPeriod = 20ms;
constexpr std::uint32_t kDepth = 200;
constexpr std::size_t kFiller = 900;
constexpr std::size_t kKept = 2;
constexpr std::size_t kMostPages = 16384;  // of a hostile message that are read

std::int64_t now_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// CRC-32 as zlib has it.
std::uint32_t checksum(const char* bytes, std::size_t size) {
  std::uint32_t crc = ~0U;
  for (std::size_t i = 0; i < size; ++i) {
    crc ^= static_cast<unsigned char>(bytes[i]);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320U : 0);
  }
  return ~crc;
}

// Eight hexadecimal digits of the checksum, then the bytes that it covers.
std::string checksummed(const std::string& body) {
  std::array<char, 9> digits{};
  std::snprintf(digits.data(), digits.size(), "%08x", checksum(body.data(), body.size()));
  return digits.data() + body;
}

bool intact(const std::string& text) { return text.size() > 8 && checksummed(text.substr(8)) == text; }

struct Topic {
  std::string name;
  baton::Subscription<String> subscription;
  std::deque<baton::Sample<String>> held;
  std::uint64_t received = 0, torn = 0, torn_held = 0, errors = 0, lost_before = 0;
  std::uint64_t since = 0, longest_wait = 0;  // messages of other topics since the last of this one
  std::vector<std::int64_t> latencies_ns;
};

class Honest {
 public:
  Honest(const std::string& name, const std::string& topic, const std::vector<std::string>& topics)
      : node_(name, options()), name_(name), publisher_(node_.advertise<String>(topic, baton::QoS(kDepth))) {
    for (const std::string& each : topics) {
      topics_.push_back({});
      topics_.back().name = each;
      topics_.back().subscription = node_.subscribe<String>(each, baton::QoS(kDepth));
      wait_set_.add(topics_.back().subscription.reader()).or_throw();
    }
    images_ = node_.subscribe<Image>("/image", baton::QoS(10));
    deep_ = node_.subscribe<DiagnosticArray>("/deep", baton::QoS(10));
    polled_ = node_.subscribe<String>("/polled", baton::QoS(10));
    poller_ = std::thread([this] { poll(); });
  }
  ~Honest() {
    ends_ = true;
    poller_.join();
  }
  Honest(const Honest&) = delete;
  Honest& operator=(const Honest&) = delete;

  void run() {
    ::fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    auto due = std::chrono::steady_clock::now();
    for (;;) {
      const auto now = std::chrono::steady_clock::now();
      if (now >= due) {
        due = std::max(due + kPeriod, now);
        if (!paused_) publish();
        if (!obey()) return;
      }
      (void)wait_set_.wait(std::max<std::chrono::nanoseconds>(due - std::chrono::steady_clock::now(), 0ns));
      for (Topic& topic : topics_) take(topic);
      read_hostile();
    }
  }

 private:
  // Reads what hostile processes publish: a byte of each page of an image, every string of a deep message.
  void read_hostile() {
    for (int i = 0; i < 4; ++i) {
      auto image = images_.try_take();
      if (!image.ok() || !*image) break;
      ++hostile_;
      const auto& data = (*image)->data;
      for (std::size_t page = 0; page < kMostPages && page * 4096 < data.size(); ++page) sum_ += data[page * 4096];
      sum_ += (*image)->encoding.str().size();
    }
    for (int i = 0; i < 4; ++i) {
      auto deep = deep_.try_take();
      if (!deep.ok() || !*deep) break;
      ++hostile_;
      for (const auto& status : (*deep)->status) sum_ += status.name.size() + status.values.size();
    }
  }

  // Sleeps on the descriptor of "/polled".
  void poll() {
    pollfd entry{polled_.pollable_fd(), POLLIN, 0};
    while (!ends_) {
      (void)::poll(&entry, 1, 100);
      for (auto text = polled_.try_take(); text.ok() && *text; text = polled_.try_take()) ++hostile_;
    }
  }

  baton::NodeOptions options() {
    baton::NodeOptions options;
    options.on_diagnostic = [this](const baton::transport::Diagnostic& diagnostic) {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++diagnostics_;
      if (texts_.size() < 8) texts_.push_back(diagnostic.text);
    };
    return options;
  }

  void publish() {
    auto loan = publisher_.try_loan();
    if (!loan.ok()) {
      ++refused_[baton::errc_name(loan.error().code)];
      return;
    }
    ++number_;
    const std::string filler(kFiller, static_cast<char>('a' + number_ % 26));
    (*loan)->data = checksummed(std::to_string(number_) + " " + name_ + filler);
    const auto sequence = publisher_.try_publish(*loan);
    if (sequence.ok())
      ++published_;
    else
      ++refused_[baton::errc_name(sequence.error().code)];
  }

  void let_go(Topic& topic) {
    topic.torn_held += !intact(topic.held.front()->data.str());
    topic.held.pop_front();
  }

  void take(Topic& topic) {
    for (;;) {
      auto taken = topic.subscription.try_take();
      if (!taken.ok()) {
        ++topic.errors;
        return;
      }
      baton::Sample<String> sample = std::move(*taken);
      if (!sample) return;
      topic.latencies_ns.push_back(now_ns(CLOCK_MONOTONIC) - sample.info().source_monotonic_ns);
      ++topic.received;
      topic.torn += !intact(sample->data.str());
      for (Topic& other : topics_) {
        if (&other != &topic) other.longest_wait = std::max(other.longest_wait, ++other.since);
      }
      topic.since = 0;
      if (paused_) continue;
      topic.held.push_back(std::move(sample));
      if (topic.held.size() > kKept) let_go(topic);
    }
  }

  // False at the end of the input.
  bool obey() {
    std::array<char, 256> bytes;
    const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (got == 0) return false;
    if (got < 0) return true;
    input_.append(bytes.data(), static_cast<std::size_t>(got));
    for (std::size_t end = 0; (end = input_.find('\n')) != std::string::npos; input_.erase(0, end + 1)) {
      const std::string command = input_.substr(0, end);
      if (command == "report") {
        report();
        continue;
      }
      if (command == "renew") {
        publisher_.trim();
        say("ok");
        continue;
      }
      paused_ = command == "pause";
      for (Topic& topic : topics_) {
        while (!topic.held.empty()) let_go(topic);
      }
      say("ok");
    }
    return true;
  }

  void report() {
    const auto account = publisher_.memory_account();
    std::string line = "{\"cpu_ns\":" + std::to_string(now_ns(CLOCK_PROCESS_CPUTIME_ID)) +
                       ",\"published\":" + std::to_string(published_) +
                       ",\"matched\":" + std::to_string(publisher_.matched()) +
                       ",\"hostile\":" + std::to_string(hostile_) +
                       ",\"published_slots\":" + std::to_string(account.published_slots) + ",\"refused\":{";
    for (const auto& [code, count] : refused_)
      line += (line.back() == '{' ? "\"" : ",\"") + code + "\":" + std::to_string(count);
    line += "},\"topics\":{";
    for (Topic& topic : topics_) {
      const std::uint64_t lost = topic.subscription.statuses().lost_total;
      line += (line.back() == '{' ? "\"" : ",\"") + topic.name + "\":{\"received\":" + std::to_string(topic.received) +
              ",\"matched\":" + std::to_string(topic.subscription.matched()) +
              ",\"lost\":" + std::to_string(lost - topic.lost_before) +
              ",\"copied\":" + std::to_string(topic.subscription.statuses().copied_total) +
              ",\"torn\":" + std::to_string(topic.torn) + ",\"torn_held\":" + std::to_string(topic.torn_held) +
              ",\"errors\":" + std::to_string(topic.errors) +
              ",\"longest_wait\":" + std::to_string(topic.longest_wait) + ",\"latencies_ns\":[";
      for (const std::int64_t latency : topic.latencies_ns)
        line += (line.back() == '[' ? "" : ",") + std::to_string(latency);
      line += "]}";
      topic.received = topic.torn = topic.torn_held = topic.errors = topic.since = topic.longest_wait = 0;
      topic.lost_before = lost;
      topic.latencies_ns.clear();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    line += "},\"diagnostics\":" + std::to_string(diagnostics_) + ",\"texts\":[";
    for (const std::string& text : texts_) line += (line.back() == '[' ? "\"" : ",\"") + printable(text) + "\"";
    say(line + "]}");
    published_ = diagnostics_ = hostile_ = 0;
    refused_.clear();
    texts_.clear();
  }

  static std::string printable(std::string text) {
    for (char& c : text) {
      if (c < ' ' || c == '"' || c == '\\' || c == '\x7f') c = '\'';
    }
    return text;
  }

 public:
  static void say(const std::string& line) {
    std::puts(line.c_str());
    std::fflush(stdout);
  }

 private:
  std::mutex mutex_;  // of the next two, which the background thread writes
  std::uint64_t diagnostics_ = 0;
  std::vector<std::string> texts_;
  baton::Node node_;
  std::string name_;
  baton::Publisher<String> publisher_;
  std::deque<Topic> topics_;
  baton::Subscription<Image> images_;
  baton::Subscription<DiagnosticArray> deep_;
  baton::Subscription<String> polled_;
  std::thread poller_;
  std::atomic<bool> ends_{false};
  std::atomic<std::uint64_t> hostile_{0};
  std::size_t sum_ = 0;
  baton::transport::WaitSet wait_set_;
  std::map<std::string, std::uint64_t> refused_;
  std::uint64_t number_ = 0, published_ = 0;
  bool paused_ = false;
  std::string input_;
};

int newcomer(const std::string& topic, std::uint32_t held) {
  constexpr std::size_t kWanted = 8;
  baton::Node node("newcomer");
  auto subscription = node.subscribe<String>(topic, baton::QoS(kDepth).hold(held));
  std::deque<baton::Sample<String>> samples;
  std::size_t taken = 0;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (taken < kWanted && std::chrono::steady_clock::now() < end) {
    if (samples.size() == held) samples.pop_front();
    auto sample = subscription.take();
    if (!sample) {
      std::this_thread::sleep_for(1ms);
      continue;
    }
    ++taken;
    samples.push_back(std::move(sample));
  }
  for (const auto& sample : samples) {
    if (!intact(sample->data.str())) return 1;
  }
  Honest::say(taken == kWanted ? "served"
                               : "got " + std::to_string(taken) + " of " + std::to_string(kWanted) + " messages from " +
                                     std::to_string(subscription.matched()) + " publishers");
  return taken == kWanted ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 3 && arguments[0] == "newcomer") {
    try {
      return newcomer(arguments[1], static_cast<std::uint32_t>(std::stoul(arguments[2])));
    } catch (const std::exception& error) {
      Honest::say(error.what());
      return 1;
    }
  }
  if (arguments.size() < 3 || arguments[0] != "run") return 2;
  Honest honest(arguments[1], arguments[2], {arguments.begin() + 3, arguments.end()});
  Honest::say("ready");
  honest.run();
  return 0;
}
