// SPDX-License-Identifier: Apache-2.0
// Which process of Baton's graph is at the other end of a link of roscpp. A name does not say it: a node that hangs and the one
// that took over from it have the same, and a connection's header may have any. The kernel says it (baton/os/tcp_peer.hpp).
//
// Thread rules: any thread. What the kernel said is kept.
// Invariant: only where the kernel says nothing of a connection that lives (another user's process, another network namespace,
// UDPROS) does a name decide.
#pragma once

#include <ros/forwards.h>

#include <boost/weak_ptr.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "baton/os/lock.hpp"
#include "baton/os/tcp_peer.hpp"
#include "baton/transport/transport.hpp"

namespace baton::ros1::detail {

/// A node of Baton's graph and its process.
struct Process {
  std::string node;      ///< as roscpp writes it
  std::int32_t pid = 0;  ///< from the kernel; 0: not visible in this PID namespace

  friend bool operator<(const Process& a, const Process& b) {
    return std::tie(a.node, a.pid) < std::tie(b.node, b.pid);
  }
  friend bool operator==(const Process& a, const Process& b) { return a.node == b.node && a.pid == b.pid; }
};
Process process_of(const transport::EndpointInfo& end);

class RoscppPeer {
 public:
  /// `node`: the name in the connection's header. `socket` is empty if the connection ended before the kernel was asked: then
  /// it is no process of the graph, since any program can say a name and hang up. `connection` may be null.
  RoscppPeer(std::string node, const std::optional<os::TcpPeer>& socket, const ros::ConnectionPtr& connection = {})
      : node_(std::move(node)), socket_(socket), connection_(connection), had_connection_(connection != nullptr) {}
  /// Of a link inside this process.
  explicit RoscppPeer(std::string node) : node_(std::move(node)), is_own_(true) {}

  static std::shared_ptr<const RoscppPeer> of(const ros::SubscriberLinkPtr& link, const std::string& node);

  /// Whether it is this process, as far as is known.
  bool is(const Process& process) const;
  /// Whether something may still come from it. True if that is not known.
  bool is_connected() const;
  /// Empty: only its name says so.
  std::optional<bool> surely(const Process& process) const;

  /// What is kept of the kernel's answers: a node that starts again and again has a new process each time.
  static constexpr std::size_t kMostAnswers = 256;
  std::size_t answers() const {
    const os::Lock lock(mutex_);
    return answers_.size();
  }

 private:
  const std::string node_;
  const std::optional<os::TcpPeer> socket_;
  const boost::weak_ptr<ros::Connection> connection_;
  const bool had_connection_ = false;
  const bool is_own_ = false;
  mutable os::Mutex mutex_;
  /// To surely(), by pid; at most kMostAnswers.
  mutable std::map<std::int32_t, std::optional<bool>> answers_ BATON_GUARDED_BY(mutex_);
};
using PeerPtr = std::shared_ptr<const RoscppPeer>;

/// The peers of a subscription's links, by the headers that come with their messages.
class PublisherPeers {
 public:
  PeerPtr of(const boost::shared_ptr<ros::M_string>& header);

 private:
  os::Mutex mutex_;
  std::vector<std::pair<boost::weak_ptr<ros::M_string>, PeerPtr>> known_ BATON_GUARDED_BY(mutex_);
};

}  // namespace baton::ros1::detail
