// SPDX-License-Identifier: Apache-2.0
// Messages of DDS writers of ROS 2 nodes on one topic. Each message is decoded into a loan of its writer's proxy, a publisher in Baton, and
// published with the writer's number and time.
// Thread rules: arrived() on a thread of the DDS, the rest on any thread.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "baton/os/lock.hpp"
#include "link_log.hpp"
#include "ros2/dds.hpp"
#include "ros2/ros_types.hpp"

namespace baton::link::ros2 {

class DdsInbound {
 public:
  DdsInbound(std::string topic, std::shared_ptr<const RosType> type, std::shared_ptr<LinkLog> log);
  /// Messages of this DDS writer that came before this call are published now.
  void add(const Gid& from, std::shared_ptr<transport::Writer> publisher);
  void remove(const Gid& from);
  /// DDS writers whose messages are dropped; those of all others wait for add().
  void set_ignored(std::set<Gid> ignored);
  void arrived(DdsMessage message);

 private:
  static constexpr std::size_t kMostWaiting = 256;
  static constexpr std::size_t kMostWaitingBytes = std::size_t{64} << 20;
  void publish(transport::Writer& publisher, const DdsMessage& message);
  void lose(Errc code, const std::string& why);

  const std::string topic_;
  const std::shared_ptr<const RosType> type_;
  const std::shared_ptr<LinkLog> log_;
  os::Mutex mutex_;
  std::map<Gid, std::shared_ptr<transport::Writer>> publishers_ BATON_GUARDED_BY(mutex_);
  std::set<Gid> ignored_ BATON_GUARDED_BY(mutex_);
  std::deque<DdsMessage> waiting_ BATON_GUARDED_BY(mutex_);
  std::size_t waiting_bytes_ BATON_GUARDED_BY(mutex_) = 0;
};

}  // namespace baton::link::ros2
