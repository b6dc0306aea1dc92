// SPDX-License-Identifier: Apache-2.0
// Engines for tests, with real sockets on the loopback interface, and a line between them that can be cut. With BATON_LINK_TLS all engines
// have certificates of one CA.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "arriving_chunk_test_support.hpp"
#include "host_network.hpp"
#include "loopback_test_support.hpp"
#ifdef BATON_LINK_TLS
#include "certificates_test_support.hpp"
#endif

namespace baton::link {

using namespace std::chrono_literals;

inline constexpr std::size_t kHeader = sizeof(memory::ChunkHeader);
inline constexpr int kDomain = 77;

inline bool wait_until(const std::function<bool()>& condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return condition();
}

/// Forwards bytes between its port and another, until it is cut.
class Line {
 public:
  explicit Line(std::uint16_t to) : to_(to), listening_(listen_on_loopback(0)), port_(port_of(listening_)) {
    thread_ = std::thread([this] { run(); });
  }
  ~Line() {
    stop_ = true;
    thread_.join();
    ::close(listening_);
  }
  std::uint16_t port() const { return port_; }
  /// Ends the connections that there are `times` times, each time after it has forwarded `bytes` more.
  void cut_each(std::size_t bytes, int times) {
    each_ = bytes;
    cuts_ = times;
  }
  int cuts_left() const { return cuts_; }
  /// Carries this many connections at a time: ends the newest of more, and takes no further one.
  void carry(std::size_t connections) { most_ = connections; }
  /// Ends each connection that was made beside another one when so many bytes have gone over it.
  void carry_beside(std::size_t bytes) { beside_ = bytes; }
  /// Bytes of connections that were made beside another one.
  std::size_t second_bytes() const { return second_bytes_; }

 private:
  void run() {
    std::vector<std::pair<int, int>> pairs;
    std::vector<char> buffer(65536);
    std::size_t forwarded = 0, newest_bytes = 0;
    while (!stop_) {
      if (cuts_ > 0 && forwarded >= each_) {
        --cuts_;
        forwarded = 0;
        for (const auto& [a, b] : pairs) ::close(a), ::close(b);
        pairs.clear();
      }
      for (; pairs.size() > most_; pairs.pop_back()) ::close(pairs.back().first), ::close(pairs.back().second);
      std::vector<pollfd> waiting{{listening_, POLLIN, 0}};
      for (const auto& [a, b] : pairs) {
        waiting.push_back({a, POLLIN, 0});
        waiting.push_back({b, POLLIN, 0});
      }
      if (::poll(waiting.data(), waiting.size(), 5) <= 0) continue;
      for (std::size_t i = 1; i < waiting.size(); ++i) {
        if (waiting[i].revents == 0) continue;
        const auto& [a, b] = pairs[(i - 1) / 2];
        const int to = waiting[i].fd == a ? b : a;
        const ssize_t got = ::recv(waiting[i].fd, buffer.data(), buffer.size(), 0);
        for (ssize_t sent = 0; sent < got;) {
          const ssize_t now = ::send(to, buffer.data() + sent, static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
          if (now <= 0) break;
          sent += now;
        }
        if (got > 0) forwarded += static_cast<std::size_t>(got);
        if (got > 0 && i > 2) second_bytes_ += static_cast<std::size_t>(got);
        if (got > 0 && i > 2) newest_bytes += static_cast<std::size_t>(got);
        if (got <= 0 || (i > 2 && newest_bytes > beside_)) {
          newest_bytes = 0;
          ::close(a), ::close(b);
          pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>((i - 1) / 2));
          break;
        }
      }
      if (waiting[0].revents != 0) {
        const int from = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
        const int other = pairs.size() < most_ ? connect_to(to_) : -1;
        if (other >= 0) {
          pairs.emplace_back(from, other);
        } else {
          ::close(from);
        }
      }
    }
    for (const auto& [a, b] : pairs) ::close(a), ::close(b);
  }
  const std::uint16_t to_;
  const int listening_;
  const std::uint16_t port_;
  std::atomic<bool> stop_{false};
  std::atomic<std::size_t> each_{0};
  std::atomic<int> cuts_{0};
  std::atomic<std::size_t> most_{SIZE_MAX}, beside_{SIZE_MAX}, second_bytes_{0};
  std::thread thread_;
};

struct Bytes final : OutgoingChunk {
  Bytes(std::uint64_t number, std::size_t size) : memory(kHeader + size) {
    memory::ChunkHeader header{};
    header.sequence = number;
    header.size_bytes = static_cast<std::uint32_t>(size);
    std::memcpy(memory.data(), &header, sizeof header);
    for (std::size_t i = 0; i < size; ++i) memory[kHeader + i] = static_cast<std::byte>(number + i * 7);
    bytes = memory.data();
    size_bytes = memory.size();
  }
  std::vector<std::byte> memory;
};

class Queue final : public ChunkSource {
 public:
  NextChunk next(std::shared_ptr<const OutgoingChunk>& chunk) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (chunks_.empty()) return NextChunk::kNothing;
    chunk = std::move(chunks_.front());
    chunks_.pop_front();
    return NextChunk::kChunk;
  }
  bool empty() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return chunks_.empty();
  }
  void add(std::uint64_t number, std::size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    chunks_.push_back(std::make_shared<Bytes>(number, size));
  }

 private:
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<const OutgoingChunk>> chunks_;
};

/// Keeps the numbers of the chunks that came, and whether all their bytes were right.
class Shelf final : public ChunkReceiver {
 public:
  std::unique_ptr<ArrivingChunk> begin(const Gid&, const memory::ChunkHeader&, std::size_t bytes,
                                       std::size_t) override {
    return std::make_unique<Buffer>(bytes);
  }
  bool deliver(const Gid&, ArrivingChunk& arriving) override {
    if (full) return false;
    for (std::size_t i = 0; i < arriving.size_bytes; ++i) {
      if (arriving.message[i] != static_cast<std::byte>(arriving.header.sequence + i * 7)) damaged = true;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    numbers_.push_back(arriving.header.sequence);
    return true;
  }
  std::vector<std::uint64_t> numbers() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return numbers_;
  }
  std::atomic<bool> full{false}, damaged{false};

 private:
  mutable std::mutex mutex_;
  std::vector<std::uint64_t> numbers_;
};

class Ears final : public HostListener {
 public:
  void joined(const Gid&) override { ++joins; }
  void connected(const Gid&, bool connected) override { ++(connected ? connections : breaks); }
  void gone(const Gid&) override { ++departures; }
  std::atomic<int> joins{0}, connections{0}, breaks{0}, departures{0};
};

/// A network with its listener.
struct Host {
  explicit Host(std::uint8_t number, std::vector<std::string> peers = {}, int domain = kDomain,
                const std::function<void(HostNetworkOptions&)>& change = {}) {
    options.domain = domain;
    options.interface = "127.0.0.1";
    options.port = free_port();
    options.host.fill(number);
    options.multicast = false;
    options.host_name = "host" + std::to_string(number);
    options.peers = std::move(peers);
#ifdef BATON_LINK_TLS
    static const stream::Authority authority("CA of tests");
    static const stream::Enclave enclave(authority, "tests");
    options.security = enclave.directory();
#endif
    if (change) change(options);
    options.say = [this](About, transport::Diagnostic::Level, Errc, std::string text) {
      const std::lock_guard<std::mutex> lock(mutex);
      said += text + "\n";
    };
    start();
  }
  void start() {
    Result<std::unique_ptr<HostNetwork>> made = make_host_network(options, ears);
    ASSERT_TRUE(made) << made.error().message;
    network = std::move(*made);
  }
  Gid id() const { return network->id(); }
  std::string address() const { return "127.0.0.1:" + std::to_string(options.port); }
  bool connected_to(std::size_t count) const {
    const std::vector<HostState> hosts = network->hosts();
    return static_cast<std::size_t>(std::count_if(hosts.begin(), hosts.end(),
                                                  [](const HostState& each) { return each.connected; })) == count;
  }
  bool says(const std::string& words) {
    return wait_until([&] {
      const std::lock_guard<std::mutex> lock(mutex);
      return said.find(words) != std::string::npos;
    });
  }
  HostNetworkOptions options;
  std::mutex mutex;
  std::string said;
  std::shared_ptr<Ears> ears = std::make_shared<Ears>();
  std::unique_ptr<HostNetwork> network;
};

inline std::vector<std::uint64_t> up_to(std::uint64_t last) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 1; i <= last; ++i) out.push_back(i);
  return out;
}

}  // namespace baton::link
