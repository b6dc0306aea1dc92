// SPDX-License-Identifier: Apache-2.0
// Sends messages of local publishers to ROS 2. One thread takes the messages from an ordinary subscription, serializes each, and writes it to
// the DDS writer of its publisher. No other thread writes to DDS, so no other thread waits for DDS.
// Thread rules: any thread, but for the thread of this class itself.
// Invariants: (1) each message of a publisher is written once and in order, even if it is taken twice: a new subscription gets the history of a
// transient_local publisher again, which the DDS writer already has. (2) Messages in a subscription's queue are written before those of the
// subscription that replaces it, and before its writer ends.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "baton/os/lock.hpp"
#include "baton/os/process.hpp"
#include "baton/transport/transport.hpp"
#include "link_log.hpp"
#include "replaceable_reader.hpp"
#include "ros2/dds.hpp"
#include "ros2/ros_types.hpp"

namespace baton::link::ros2 {

class Sender {
 public:
  explicit Sender(std::shared_ptr<LinkLog> log) : log_(std::move(log)) {}
  Result<void> start();
  ~Sender();  ///< waits for a write that is under way
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  /// The writer that gets the messages of `publisher`. Until it is `ready`, messages wait, as many as `depth`.
  void add(const Gid& publisher, std::string topic, std::shared_ptr<DdsWriter> writer,
           std::shared_ptr<const RosType> type, std::size_t depth);
  void remove(const Gid& publisher);
  /// The writer's readers have been found, or the time to wait for them is over.
  void set_ready(const Gid& publisher);
  /// One subscription in Baton, with its readers.
  using Subscription = std::shared_ptr<ReplaceableReader>;
  /// Null: there is no memory, or no descriptor, for the wait set.
  Subscription subscribe(std::shared_ptr<transport::Reader> reader);
  void unsubscribe(const Subscription& subscription);
  /// The subscription continues with this reader. False: nothing has changed, since the subscription still reads two readers.
  bool replace(const Subscription& subscription, std::shared_ptr<transport::Reader> reader);
  bool is_replacing(const Subscription& subscription);
  /// If this number grows, every message that had come before has been written.
  std::uint64_t times_empty(const Subscription& subscription);

 private:
  struct UnsentMessage {
    CdrMessage message;
    std::int64_t source_time_ns = 0;
  };
  struct Target {
    std::string topic;
    std::shared_ptr<DdsWriter> writer;
    std::shared_ptr<const RosType> type;
    std::size_t depth = 1;
    std::uint64_t last = 0;  ///< number of the last message written
    bool ready = false;
    std::chrono::steady_clock::time_point rests_until;  ///< readers have not kept up
    std::deque<UnsentMessage> waiting;
  };
  void run();
  bool send_some(ReplaceableReader& subscription) BATON_REQUIRES(mutex_);
  void send(Target& target, const transport::TakenSample& sample) BATON_REQUIRES(mutex_);
  void write(Target& target, CdrMessage message, std::int64_t source_time_ns) BATON_REQUIRES(mutex_);

  const std::shared_ptr<LinkLog> log_;
  transport::WaitSet wait_set_;
  os::Mutex mutex_;  // held while messages are written
  std::vector<Subscription> subscriptions_ BATON_GUARDED_BY(mutex_);
  std::map<Gid, Target> targets_ BATON_GUARDED_BY(mutex_);
  std::atomic<int> wishes_{0};  // calls that wait for mutex_; the thread lets them go first. A hint: mutex_ orders
  std::atomic<bool> stop_{false};
  std::optional<pthread_t> thread_;
};

}  // namespace baton::link::ros2
