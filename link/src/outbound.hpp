// SPDX-License-Identifier: Apache-2.0
// What this host sends: one thread takes the messages of the topics that others want, as an ordinary subscription, and hands their
// chunks to the engine as they lie. It is the only thread that writes to the network, so no other waits for it.
// Thread rules: any thread, but for the thread of this class itself.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "baton/os/process.hpp"
#include "baton/transport/transport.hpp"
#include "engine.hpp"
#include "saying.hpp"

namespace baton::link {

class Outbound {
 public:
  explicit Outbound(std::shared_ptr<Saying> saying);
  Result<void> start();
  ~Outbound();  ///< waits for a write that is under way
  Outbound(const Outbound&) = delete;
  Outbound& operator=(const Outbound&) = delete;

  /// `publishers`: whose messages travel. `held`: samples that the reader may hold. The outlet ends when the topic is removed.
  Result<void> add(const std::string& channel, const std::string& topic, std::shared_ptr<transport::Reader> reader,
                   std::shared_ptr<Outlet> outlet, std::set<Gid> publishers, std::size_t held);
  void set_publishers(const std::string& channel, std::set<Gid> publishers);
  /// Waits for a write of the channel that is under way.
  void remove(const std::string& channel);

  std::uint64_t sent() const noexcept { return sent_.load(std::memory_order_relaxed); }

 private:
  struct Topic {
    std::string channel, topic;
    std::shared_ptr<transport::Reader> reader;
    std::shared_ptr<Outlet> outlet;
    std::set<Gid> publishers;
    std::size_t held = 0;
    std::shared_ptr<std::atomic<std::size_t>> samples;  // under way
  };
  enum class Found : std::uint8_t { kNothing, kSome, kHeld };
  void run();
  Found send_some(Topic& topic);
  std::shared_ptr<const Outgoing> outgoing(const Topic& topic, transport::TakenSample sample) const;

  const std::shared_ptr<Saying> saying_;
  const std::shared_ptr<std::atomic<std::size_t>> copied_bytes_;  // under way
  transport::WaitSet wait_set_;
  std::mutex mutex_;  // topics; held while one is sent
  std::vector<std::unique_ptr<Topic>> topics_;
  std::atomic<int> wishes_{0};  // calls that wait for mutex_; the thread lets them first. A hint: mutex_ orders
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> sent_{0};  // a counter: orders nothing
  std::optional<pthread_t> thread_;
};

}  // namespace baton::link
