// SPDX-License-Identifier: Apache-2.0
// The link to other machines: sends topics of a domain to other hosts whose subscriptions want them, and publishes topics of other hosts in
// the domain (docs/guides/machines.md). Of the links of one domain on one host, one is the leader and works; the others are on standby.
// A program that holds a Link does the same as the program baton_link.
// Thread rules: one thread makes and destroys a Link; state() from any thread. The functions have no state. In a forked child a Link of
// the parent does nothing: its state is empty, and its destruction leaves the parent's link as it is.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "baton/link/state.hpp"
#include "baton/os/result.hpp"
#include "baton/transport/diagnostic.hpp"
#include "baton/transport/transport.hpp"

namespace baton::link {

struct Options {
  int domain = -1;                ///< -1: BATON_DOMAIN, else ROS_DOMAIN_ID, else 0
  std::string runtime_directory;  ///< empty: BATON_RUNTIME_DIR, else the per-user default
  /// Other hosts: HOST or HOST:PORT, with a name or an address; without a port 22700 + domain. It is enough that one of two hosts names the
  /// other. The link tries again for ever to reach a host that it does not reach yet, or not any more.
  std::vector<std::string> peers;
  std::string interface;   ///< name or address of the network interface; empty: chosen
  std::uint16_t port = 0;  ///< TCP port on which this host listens; 0: 22700 + domain
  /// Besides `peers`, hosts of one network find each other by IPv4 multicast (UDP port 22700 + domain).
  bool multicast = true;
  std::string host_name;  ///< the name of this host that other hosts see; empty: the machine's name
  /// Folder of an SROS 2 enclave: cert.pem, key.pem, identity_ca.cert.pem, and if it is there the revocation list identity_ca.crl.pem. Connections
  /// between hosts are encrypted (TLS 1.3), and both ends show a certificate that the identity CA has signed; others are refused. The files are
  /// read again when they change. Empty: in the clear. start() returns the error unsupported where the system has no libssl.so.3 (OpenSSL 3),
  /// or the build found no headers of it.
  std::string security;
  /// By topic: which connection the messages of a topic take to other hosts; topics without an entry: TopicPriority::kBySize. The name is that
  /// of the domain (with the leading slash of a ROS topic).
  std::map<std::string, TopicPriority> priorities;
  /// What is kept for a host that is not reached any more: how long, and how many bytes wait for it (estimated from the sizes of the messages that
  /// each topic has sent before). Beyond either the host is forgotten, with what waits for it. Each of two hosts has its own budget, and what one
  /// has forgotten is lost for both. At least 1 s and 1 MiB, at most a day.
  AbsenceBudget absence;
  /// Called by a thread of the link's own, one call at a time. Calls may come before start() returns, and until the Link's destructor has
  /// returned. The function may block for a while and call state(), but must not destroy the Link. If more than 1000 diagnostics wait, the
  /// newest are left out. Empty: diagnostics are dropped.
  std::function<void(const transport::Diagnostic&)> on_diagnostic;
  /// The diagnostics of the domain go to `on_diagnostic`, too. False: only the link's own, for programs whose nodes report the others.
  bool domain_diagnostics = true;
};

class Link {
 public:
  /// Joins the domain. If no other process is the leader, opens the network before it returns; else the link is on standby.
  /// Errors: invalid_argument (names the option), unsupported (Options::security), already_exists (the port is in use), those of
  /// Participant::join() and of the domain's directory. Any other failure of the network is no error of this call: the link is in Phase::kFailed
  /// and tries again, since an interface may appear later.
  static Result<std::unique_ptr<Link>> start(const Options& options);
  /// Releases the leader lock. Waits for a write to the network that is under way, a few seconds at most.
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  using Phase = LinkPhase;
  using State = LinkState;
  State state() const;

  class Impl;  // private to link

 private:
  explicit Link(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
  const std::uint32_t generation_;  // os::fork_generation()
};

}  // namespace baton::link
