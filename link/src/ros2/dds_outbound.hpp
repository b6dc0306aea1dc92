// SPDX-License-Identifier: Apache-2.0
// From Baton to ROS 2: a local publisher has a DDS writer of its own, so that ROS 2 sees its node, its quality of service and its history.
// The link subscribes to the topic in Baton while the DDS writer has a matched reader that Baton does not serve by another path.
// Thread rules: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ros2/dds.hpp"
#include "ros2/nodes.hpp"
#include "ros2/ros_types.hpp"
#include "ros2/sender.hpp"
#include "ros2/view.hpp"

namespace baton::link::ros2 {

class DdsOutbound {
 public:
  DdsOutbound(std::shared_ptr<transport::Participant> participant, std::shared_ptr<LinkLog> log, RosTypes& types,
              Dds& dds)
      : participant_(std::move(participant)), log_(std::move(log)), types_(types), dds_(dds), sender_(log_) {}
  ~DdsOutbound();
  Result<void> start() { return sender_.start(); }
  /// Announces the DDS writers of linked hosts whose publishers have a proxy here.
  void announce_far(const DomainView& view);
  /// True if something is still being connected: call again soon.
  bool step(const DomainView& view);
  /// The link's own subscriptions in Baton.
  std::set<Gid> readers() const;
  /// Adds the DDS writers to the nodes that they stand for.
  void add_writers(Nodes& nodes) const;

 private:
  struct OutwardWriter {
    std::shared_ptr<DdsWriter> writer;
    std::shared_ptr<transport::Writer> announced;  ///< to rmw_baton_cpp, where there is any
    std::shared_ptr<const RosType> type;
    MatchGroup group;
    std::string node;
    std::uint32_t depth = 1;
    Clock::time_point since;
    bool ready = false;
    std::optional<Clock::time_point> gone;  ///< when its publisher ended; its last messages have not been sent yet
    std::uint64_t empty_before = 0;         ///< Sender::times_empty() then
  };
  struct OutwardTopic {
    Sender::Subscription subscription;
    std::uint32_t depth = 0;
    std::set<Gid> readers;  ///< all readers that it has had
  };
  /// The publishers of one group.
  struct GroupDemand {
    std::uint32_t depth = 0, publishers = 0;
    bool matched = false;
    const OutwardWriter* out = nullptr;
  };
  bool goes_out(const DomainView& view, const transport::EndpointInfo& endpoint) const;
  void open_out(const transport::EndpointInfo& endpoint, Clock::time_point now);
  std::shared_ptr<transport::Writer> announce(const Gid& publisher, const Gid& dds_writer, const RosType& type);
  bool is_done(OutwardWriter& out, Clock::time_point now);
  static std::uint32_t depth_of(const GroupDemand& topic);
  bool is_wanted(const DomainView& view, const OutwardWriter& out) const;
  std::shared_ptr<transport::Reader> make_reader(const MatchGroup& group, const OutwardWriter& out,
                                                 std::uint32_t depth);
  bool subscribe(const MatchGroup& group, const OutwardWriter& out, std::uint32_t depth);
  bool deepen(const MatchGroup& group, const OutwardWriter& out, OutwardTopic& topic, std::uint32_t depth);
  void complain_of_readers(const DomainView& view, const std::map<MatchGroup, GroupDemand>& topics);

  const std::shared_ptr<transport::Participant> participant_;
  const std::shared_ptr<LinkLog> log_;
  RosTypes& types_;
  Dds& dds_;
  std::set<std::pair<MatchGroup, Gid>> misfits_;                     // readers with another definition of a type
  std::map<Gid, OutwardWriter> outs_;                                // by publisher
  std::map<Gid, std::shared_ptr<transport::Writer>> far_announced_;  // by DDS writer, of linked hosts
  std::map<MatchGroup, OutwardTopic> out_topics_;
  Sender sender_;  // ends before the writers
};

}  // namespace baton::link::ros2
