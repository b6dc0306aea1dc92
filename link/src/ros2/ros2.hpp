// SPDX-License-Identifier: Apache-2.0
// The link's side towards ROS 2 nodes that have no Baton (`baton link --ros2`): local publishers get a DDS writer each, and DDS
// writers that a local subscription wants get a publisher that stands for them. Only the program baton_link has it, since only it
// needs Cyclone DDS: everywhere else make_ros2_side() is no_ros2.cpp's, which refuses. Reading order: names.hpp, ros_types.hpp, dds.hpp,
// then side.cpp.
// Thread rules: one thread, the one that makes the link's plan.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "baton/link/state.hpp"
#include "baton/os/result.hpp"
#include "baton/transport/transport.hpp"
#include "link_log.hpp"
#include "type_cache.hpp"

namespace baton::link {

struct Ros2Options {
  int domain = 0;  ///< of ROS
  std::vector<std::string>
      peers;              ///< hosts that DDS asks besides its multicast, HOST or HOST:PORT; the port is not used
  std::string interface;  ///< name or address; empty: the DDS's choice
  std::string security;   ///< folder of an enclave of SROS 2 (DDS Security); empty: in the clear
  transport::Gid host{};  ///< this host's id in the link
  std::function<void()> changed;  ///< called by any thread when step() has something to do
};

/// Another host to which the link is connected.
struct LinkedHost {
  transport::Gid host{};
  int ros2_domain = -1;                 ///< of the host's own side towards ROS 2; -1: it has none
  std::set<transport::Gid> publishers;  ///< the ids of its publishers
};

class Ros2Side {
 public:
  virtual ~Ros2Side() = default;
  /// Makes the endpoints of both sides what they should be now. True if something is still being connected: call again soon.
  virtual bool step(const std::vector<LinkedHost>& hosts) = 0;
  /// Its proxies: publishers in Baton for DDS writers. The thread of step().
  virtual const std::set<transport::Gid>& publishers() const = 0;
  /// Participants that DDS Security refuses, as far as the DDS reports them. Any thread.
  virtual std::vector<RefusedState> refused() const = 0;
};

/// Errors: unsupported (this library is built without Cyclone DDS; the text names the program that has it), and with `security`
/// invalid_argument (a file is missing, named).
Result<void> ros2_side_available(const std::string& security);
/// Errors: those of ros2_side_available(), invalid_argument (an option, named), system. `types`: the link's own; after its
/// read_answers() comes step().
Result<std::unique_ptr<Ros2Side>> make_ros2_side(std::shared_ptr<transport::Participant> participant,
                                                 std::shared_ptr<LinkLog> log, std::shared_ptr<TypeCache> types,
                                                 const Ros2Options& options);

}  // namespace baton::link
