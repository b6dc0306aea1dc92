// SPDX-License-Identifier: Apache-2.0
#include "peer.hpp"

#include <ros/connection.h>
#include <ros/intraprocess_publisher_link.h>
#include <ros/transport_subscriber_link.h>

#include <algorithm>
#include <boost/pointer_cast.hpp>
#include <optional>

#include "baton/os/process.hpp"
#include "graph_names.hpp"
#include "private_members.hpp"

namespace baton::ros1::detail {
namespace {

/// Empty: the connection has ended.
std::optional<os::TcpPeer> socket_of(const ros::ConnectionPtr& connection) {
  const auto tcp = boost::dynamic_pointer_cast<ros::TransportTCP>(connection->getTransport());
  if (!tcp) return os::TcpPeer();
  // Without TransportTCP's mutex, which roscpp's poll thread may hold while it waits for a mutex that our caller holds: a publisher is
  // added while a subscriber of the topic hangs up. roscpp says that it closes the socket before it does.
  const os::TcpPeer peer(__atomic_load_n(&((*tcp).*member_of(SocketOfTransport())), __ATOMIC_RELAXED));
  // Relaxed: the system calls of TcpPeer lie between the two loads.
  if (__atomic_load_n(&((*tcp).*member_of(ClosedOfTransport())), __ATOMIC_RELAXED)) return std::nullopt;
  return peer.was_connected() ? std::optional(peer) : std::nullopt;
}

/// A link has the header of its connection, the same object.
ros::ConnectionPtr connection_of(const boost::shared_ptr<ros::M_string>& header) {
  const ros::ConnectionManagerPtr& manager = ros::ConnectionManager::instance();
  const boost::mutex::scoped_lock lock((*manager).*member_of(ConnectionsMutexOfManager()));
  for (const ros::ConnectionPtr& each : (*manager).*member_of(ConnectionsOfManager())) {
    if (each->getHeader().getValues() == header) return each;
  }
  return {};
}

/// Whether a link inside this process has this header, the same object.
bool is_of_own_link(const boost::shared_ptr<ros::M_string>& header) {
  const ros::TopicManagerPtr& manager = ros::TopicManager::instance();
  const boost::mutex::scoped_lock lock((*manager).*member_of(SubscriptionsMutexOfManager()));
  for (const ros::SubscriptionPtr& each : (*manager).*member_of(SubscriptionsOfManager())) {
    const boost::mutex::scoped_lock lock_links((*each).*member_of(LinksMutexOfSubscription()));
    for (const ros::PublisherLinkPtr& link : (*each).*member_of(LinksOfSubscription())) {
      if (boost::dynamic_pointer_cast<ros::IntraProcessPublisherLink>(link) &&
          ((*link).*member_of(HeaderOfLink())).getValues() == header) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

Process process_of(const transport::EndpointInfo& end) { return {ros_name(end.node), end.local_pid}; }

PeerPtr RoscppPeer::of(const ros::SubscriberLinkPtr& link, const std::string& node) {
  const auto over_socket = boost::dynamic_pointer_cast<ros::TransportSubscriberLink>(link);
  if (!over_socket) return std::make_shared<RoscppPeer>(node);
  return std::make_shared<RoscppPeer>(node, socket_of(over_socket->getConnection()));
}

std::optional<bool> RoscppPeer::surely(const Process& process) const {
  if (process.node != node_) return false;
  if (!is_own_ && !socket_) return false;
  if (process.pid == 0) return std::nullopt;
  if (is_own_) return process.pid == os::process_id();
  const os::Lock lock(mutex_);
  if (answers_.size() >= kMostAnswers && answers_.count(process.pid) == 0) answers_.clear();  // asked again
  const auto [known, is_new] = answers_.try_emplace(process.pid);
  if (is_new) known->second = socket_->is(process.pid);
  return known->second;
}

bool RoscppPeer::is_connected() const {
  const ros::ConnectionPtr connection = connection_.lock();
  return connection ? !connection->isDropped() : !had_connection_;
}

bool RoscppPeer::is(const Process& process) const { return surely(process).value_or(true); }

PeerPtr PublisherPeers::of(const boost::shared_ptr<ros::M_string>& header) {
  const os::Lock lock(mutex_);
  for (const auto& [known, peer] : known_) {
    if (known.lock() == header) return peer;
  }
  known_.erase(std::remove_if(known_.begin(), known_.end(), [](const auto& each) { return each.first.expired(); }),
               known_.end());
  const auto callerid = header->find("callerid");
  const std::string node = callerid == header->end() ? std::string() : callerid->second;
  const ros::ConnectionPtr connection = connection_of(header);
  PeerPtr peer;
  if (connection) {
    peer = std::make_shared<RoscppPeer>(node, socket_of(connection), connection);
  } else if (is_of_own_link(header)) {
    peer = std::make_shared<RoscppPeer>(node);
  } else {
    peer = std::make_shared<RoscppPeer>(node, std::nullopt);
  }
  known_.emplace_back(header, peer);
  return peer;
}

}  // namespace baton::ros1::detail
