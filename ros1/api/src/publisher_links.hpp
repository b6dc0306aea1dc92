// SPDX-License-Identifier: Apache-2.0
// Which process gets a publisher's message by which way: by Baton, by a handle on a link of the side topic (mode tzc), or by the bytes on a
// link of the ordinary topic. Also the latched message, and handles for processes whose side link has not come.
//
// Thread rules: externally synchronised. Knows no lock, socket or graph: the caller brings what these say, and writes to the links.
// Invariants: (1) a subscription gets a message once; (2) a process gets the latched message at most once on each of its links; (3) handles
// that wait for a link are as many as roscpp's queue has, and only for processes that have the ordinary link.
#pragma once

#include <ros/serialized_message.h>
#include <ros/subscriber_link.h>

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "baton/ros1/endpoints.hpp"
#include "peer.hpp"

namespace baton::ros1::detail {

struct SubscriberLink {
  ros::SubscriberLinkPtr link;
  PeerPtr peer;
  std::optional<Process> process{};  ///< which it is in Baton's graph, if it is there
  bool got_last = false;             ///< the latched message was written to it
  bool was_awaited = false;          ///< Baton had its time to meet the process, and has not
};

/// What Baton's graph knows of a process's subscriptions of the topic.
struct ProcessSubscriptions {
  std::vector<transport::Gid> readers{};
  std::size_t by_handle = 0;  ///< of them, in mode tzc
  bool stock = false;         ///< its process has stock ones, too
};

class PublisherLinks {
 public:
  using Gids = std::vector<transport::Gid>;
  using Links = std::vector<SubscriberLink>;
  using Processes = std::map<Process, ProcessSubscriptions>;
  using Writes = std::vector<std::pair<ros::SubscriberLinkPtr, ros::SerializedMessage>>;

  /// `most_early`: handles of a process that wait for its link.
  PublisherLinks(Mode mode, bool latch, std::size_t most_early) : mode_(mode), latch_(latch), most_early_(most_early) {}

  // --- what is there ---
  enum class Topic : std::uint8_t { kOrdinary, kSide, kOnlooker };  ///< kOnlooker: on the side topic, with any type
  /// Identifies the link. False: it was there; roscpp may report a link twice while a publisher is added.
  bool add(Topic topic, SubscriberLink& added);
  void remove(const ros::SubscriberLinkPtr& gone);
  /// Baton's graph is now so.
  void set_processes(Processes now);
  const Processes& processes() const noexcept { return processes_; }
  /// Of the ordinary topic.
  const Links& links() const noexcept { return links_; }
  SubscriberLink* find(const ros::SubscriberLinkPtr& link);
  bool empty() const noexcept { return links_.empty() && sides_.empty(); }
  bool has_side_links() const noexcept { return !sides_.empty() || !onlookers_.empty(); }
  /// `matched`, here and below: the readers that Baton serves.
  PublisherSide::Subscribers count(const Gids& matched) const;

  // --- what Baton is to meet ---
  /// A process that Baton serves has no link, and was not given up before. `gives_up`: from now on it is.
  bool misses_links(const Gids& matched, bool gives_up);
  /// All of the process's subscriptions are among `matched`. False if it has none.
  bool all_among(const SubscriberLink& link, const Gids& matched) const;
  const ProcessSubscriptions* of(const SubscriberLink& link) const;

  // --- ways of a message ---
  struct Ways {
    std::vector<ros::SubscriberLinkPtr> there, here;  ///< of the side topic: a handle, without or with the bytes
    std::set<Process> early_there, early_here;        ///< the same, but the link has not come yet
    std::vector<ros::SubscriberLinkPtr> bytes;        ///< of the ordinary topic
  };
  Ways ways(const Gids& served) const;
  /// Baton serves every process with a link, so nobody needs the bytes.
  bool serves_all(const Gids& matched) const;
  /// Of a message to one process alone.
  struct OneWay {
    Gids readers;        ///< that it is handed over to
    bool bytes = false;  ///< its link gets the bytes
    bool trailed =
        false;  ///< with a trailer: its subscriptions that have had handles would take the bytes alone for a double
  };
  OneWay one_way(const SubscriberLink& to, const Gids& matched) const;
  /// Whether the link's process has subscriptions that want handles.
  bool gets_handles(const SubscriberLink& link) const;
  /// Some process with a link gets others of the messages from Baton.
  bool some_have_own() const;
  /// A message that Baton cannot carry, to all links; `trailed` to processes that get others from Baton.
  Writes by_bytes(const ros::SerializedMessage& message, const ros::SerializedMessage& trailed) const;

  // --- handles that wait for a link ---
  /// The message went these ways: `there` and `here` wait for the links that have not come.
  void keep_early(const Ways& ways, const ros::SerializedMessage& there, const ros::SerializedMessage& here);
  /// What waited for links that are there now, in its order.
  Writes take_early();
  /// A handle for one process, behind the latched one if the process has not got that: no handle of a lower number is heard afterwards.
  /// Without its side link it waits.
  Writes handles_of_own(const SubscriberLink& to, const ros::SerializedMessage& handle);

  // --- the latched message ---
  struct Latched {
    ros::SerializedMessage message{}, trailed{}, handle{};
    Gids handed{};          ///< Baton gave it to these
    bool by_bytes = false;  ///< it is not in Baton
  };
  /// `given`: links that it was written to.
  void set_latched(Latched now, const std::vector<ros::SubscriberLinkPtr>& given);
  bool has_latched() const noexcept { return static_cast<bool>(last_.message.buf); }
  /// Gives it to the process's subscriptions of Baton, by hand(reader), if all are in mode lotros and none is roscpp's own. What went over
  /// the link stays with the process's roscpp, for later subscriptions, too.
  template <class Hand>
  void hand_latched(const SubscriberLink& to, const Hand& hand);
  /// For a process that has connected: once, and by the way that it gets messages.
  Writes latched_for(const SubscriberLink& added);

 private:
  static bool is_among(const Gids& gids, const transport::Gid& gid);
  void identify(SubscriberLink& link) const;
  bool has_own(const SubscriberLink& link) const;
  bool handles_alone(const SubscriberLink& link) const;
  bool is_served(const SubscriberLink& link, const Gids& matched) const;
  std::vector<ros::SubscriberLinkPtr> unserved(const Gids& matched) const;
  void keep_early(const Process& process, const ros::SerializedMessage& handle);
  template <class Which>
  void drop_early(const Which& which);

  const Mode mode_;
  const bool latch_;
  const std::size_t most_early_;
  Links links_, sides_, onlookers_;  // the last two of the side topic
  Processes processes_;
  std::set<Process> without_link_;  // of these: misses_links() gave them up
  std::map<Process, std::deque<ros::SerializedMessage>> early_;
  Latched last_;
};

template <class Hand>
void PublisherLinks::hand_latched(const SubscriberLink& to, const Hand& hand) {
  const ProcessSubscriptions* const found = of(to);
  if (found == nullptr || found->stock || found->by_handle > 0 || to.got_last || last_.by_bytes) return;
  for (const transport::Gid& reader : found->readers) {
    if (!is_among(last_.handed, reader) && hand(reader)) last_.handed.push_back(reader);
  }
}

}  // namespace baton::ros1::detail
