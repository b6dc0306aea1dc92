// SPDX-License-Identifier: Apache-2.0
// Messages of one topic from one side to the other: one reader for all writers of one class of QoS, and for each of these writers a writer of
// its own on the other side, so that receivers tell them apart.
// Thread rules: forward() on the thread of the reader's side; route() and waiting() on any thread.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "side.hpp"
#include "updater.hpp"

namespace baton::bridge {

/// Writers' QoS that decides which readers they serve. A reader of the weakest class would get the messages of all, and lose the reliability
/// and the history of some.
struct QosClass {
  bool reliable = false, durable = false;

  auto key() const { return std::tie(reliable, durable); }
  bool operator<(const QosClass& other) const { return key() < other.key(); }
  bool operator==(const QosClass& other) const { return key() == other.key(); }
};
QosClass class_of(const rmw_qos_profile_t& qos);

/// The way of one writer's messages.
struct MessageRoute {
  std::shared_ptr<RmwWriter>
      writer;        ///< that stands for it on the other side; null: its messages come by another reader
  bool open = true;  ///< false: the writer has not met all that subscribe; messages wait
};
using Routes = std::map<Gid, MessageRoute>;
/// In Routes: the way of the messages of all writers that have none of their own.
inline constexpr Gid kAnyWriter{};

class TopicBridge {
 public:
  /// Messages whose route is not open, or not known yet, wait: so many, and so many bytes. Then the oldest are lost, which is logged.
  static constexpr std::size_t kMostWaiting = 1000;
  static constexpr std::size_t kMostWaitingBytes = 64 << 20;

  /// `updater` outlives this.
  TopicBridge(std::string topic, Updater& updater) : topic_(std::move(topic)), updater_(updater) {}

  void forward(const Gid& writer, const rmw_serialized_message_t& message);
  /// The graph's routes as of now. Messages that wait take those that are open. Unless `patient`, those of a writer that is still unknown take
  /// the first one.
  void route(Routes routes, bool patient);
  /// Messages that wait.
  std::size_t waiting();

 private:
  struct Waiting {
    Gid writer;
    std::vector<std::uint8_t> bytes;
  };
  void publish(RmwWriter& writer, const rmw_serialized_message_t& message);

  std::string topic_;
  Updater& updater_;
  void keep(const Gid& writer, const rmw_serialized_message_t& message);
  Routes::const_iterator route_of(const Gid& writer) const;

  std::mutex mutex_;  // guards all below
  Routes routes_;
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
};

}  // namespace baton::bridge
