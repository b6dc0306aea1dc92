// SPDX-License-Identifier: Apache-2.0
// The link to other machines: carries the topics of a domain that subscriptions of other hosts want, and brings theirs here
// (docs/guides/machines.md). A role: of the links of one domain on one host, one works and the others wait.
// Thread rules: one thread makes and destroys a Link; state() from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "baton/os/result.hpp"
#include "baton/transport/diagnostic.hpp"

namespace baton::link {

struct Options {
  int domain = -1;                 ///< -1: BATON_DOMAIN, else ROS_DOMAIN_ID, else 0
  std::string runtime_directory;   ///< empty: BATON_RUNTIME_DIR, else the per-user default
  std::vector<std::string> peers;  ///< other hosts, HOST or HOST:PORT; one of two hosts is enough
  std::string interface;           ///< name or address of the network interface; empty: chosen
  std::uint16_t port = 0;          ///< TCP port on which this host listens; 0: 22700 + domain
  std::string host_name;           ///< by which the others know this host; empty: the machine's name
  /// Called by threads of the link; must not block. Empty: dropped.
  std::function<void(const transport::Diagnostic&)> on_diagnostic;
};

class Link {
 public:
  /// Joins the domain and begins to wait for the role; connects once it has the role. Errors: invalid_argument, those of
  /// Participant::join() and of the domain's directory.
  static Result<std::unique_ptr<Link>> start(const Options& options);
  /// Gives up the role. Waits for a write to the network that is under way, a few seconds at most.
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  enum class Phase : std::uint8_t {
    kWaiting,  ///< another process is the link
    kWorking,
    kFailed,  ///< the network cannot be used; the diagnostic says why. It is tried again
  };
  struct State {
    Phase phase = Phase::kWaiting;
    std::vector<std::string> hosts;    ///< names of the hosts that it is connected to
    std::vector<std::string> sending;  ///< topics
    std::vector<std::string> receiving;
    std::uint64_t sent = 0, received = 0, refused = 0;  ///< messages
  };
  State state() const;

  class Impl;  // private to link

 private:
  explicit Link(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace baton::link
