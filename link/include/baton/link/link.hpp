// SPDX-License-Identifier: Apache-2.0
// The link to other machines: carries the topics of a domain that subscriptions of other hosts want, and brings the topics of other
// hosts here (docs/guides/machines.md). The link is a role: of the links of one domain on one host, one works and the others wait.
// A program that holds a Link is what the program baton_link is.
// Thread rules: one thread makes and destroys a Link; state() from any thread. The functions have no state. In a forked child a Link of
// the parent does nothing: its state is empty, and its destruction leaves the parent's link as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "baton/os/result.hpp"
#include "baton/transport/diagnostic.hpp"
#include "baton/transport/transport.hpp"

namespace baton::link {

using transport::Gid;

struct Options {
  int domain = -1;                ///< -1: BATON_DOMAIN, else ROS_DOMAIN_ID, else 0
  std::string runtime_directory;  ///< empty: BATON_RUNTIME_DIR, else the per-user default
  /// Other hosts: HOST or HOST:PORT, with a name or an address; without a port 22700 + domain. Of two hosts one names the
  /// other. A host that is not reached yet, or not any more, is tried again for ever.
  std::vector<std::string> peers;
  std::string interface;   ///< name or address of the network interface; empty: chosen
  std::uint16_t port = 0;  ///< TCP port on which this host listens; 0: 22700 + domain
  /// Hosts of one network find each other by IPv4 multicast (UDP port 22700 + domain), besides by `peers`.
  bool multicast = true;
  std::string host_name;  ///< by which the others know this host; empty: the machine's name
  /// Folder of an SROS 2 enclave: cert.pem, key.pem, identity_ca.cert.pem. Connections between hosts are encrypted (TLS 1.3), and both ends
  /// show a certificate that the identity CA has signed; others are refused. With `ros2` DDS is secured as well (DDS Security 1.1), which
  /// needs permissions_ca.cert.pem, governance.p7s and permissions.p7s, too. Empty: neither. Only the program baton_link of a build with
  /// OpenSSL can: elsewhere start() returns the error unsupported.
  std::string security;
  /// Joins ROS 2 nodes that have no Baton, too, by DDS over UDP. Only the program baton_link of a build with Cyclone DDS can:
  /// elsewhere start() returns the error unsupported.
  bool ros2 = false;
  int ros2_domain = -1;  ///< of ROS, 0 to 232; -1: ROS_DOMAIN_ID, else 0
  /// Called by a thread of the link's own, one call at a time, also before start() returns and until the Link's destructor has: it may
  /// block for a while and call state(), but must not destroy the Link. Of more than 1000 that wait the newest are left out. Empty: dropped.
  std::function<void(const transport::Diagnostic&)> on_diagnostic;
  /// Also the diagnostics of the domain go to `on_diagnostic`. False: only the link's own, for programs whose nodes say the others.
  bool domain_diagnostics = true;
};

/// Another host, as this one sees it. Counts are of the time since the two have known each other.
struct HostState {
  std::string name;
  std::string address;                  ///< of the newest connection
  Gid id{};                             ///< chosen anew by each link
  bool connected = false;               ///< false: not reached; it is forgotten after 20 s
  std::int64_t connected_since_ns = 0;  ///< CLOCK_MONOTONIC; 0: not connected
  bool encrypted = false;               ///< the connection that it has (Options::security)
  /// Of a frame there and back, the least of the last eight, which are asked for every 500 ms; 0: not known. Half of it stands for the
  /// way of a message, because the clocks of two hosts differ.
  std::int64_t round_trip_ns = 0;
  std::uint64_t sent_messages = 0, sent_bytes = 0;  ///< that it has acknowledged
  std::uint64_t received_messages = 0, received_bytes = 0;
  std::uint64_t sent_again = 0;                         ///< TCP segments
  std::size_t waiting_messages = 0, waiting_bytes = 0;  ///< under way to it, not acknowledged
  /// Messages for it that were overwritten in the queues of the topics that it wants now, or given up, before they were sent.
  std::uint64_t dropped = 0;
  std::string dropped_why;  ///< of the topic, or of what came from it, that has lost most; empty: none
};

/// A host that Options::peers names and that is not reached: never yet, or forgotten since.
struct PeerState {
  std::string peer;           ///< as it was named
  std::int64_t since_ns = 0;  ///< CLOCK_MONOTONIC: since when it is not reached
  std::string why;            ///< the last try did not succeed
};

/// Another host, or another program at its address, that this host refuses or that refuses this host. Or a participant of DDS
/// (Options::ros2) that DDS Security refuses. At most 32 of each, of the last hour, each address once.
struct RefusedState {
  std::string address;      ///< of the host; empty: a participant of DDS
  std::string participant;  ///< its GUID, 32 hexadecimal digits; empty: a host, or the DDS has not said it
  std::string name;         ///< as the host says it, or the subject of a participant's certificate; empty: not known
  std::string why;          ///< the last time
  std::uint64_t times = 0;
  std::int64_t last_ns = 0;  ///< CLOCK_MONOTONIC
};

/// One topic that travels to one host, or comes from any. The counts begin when the topic begins to travel, and begin anew when it
/// has stopped.
struct TopicState {
  std::string topic;
  std::string type_name;
  bool sending = false;            ///< false: receiving
  std::vector<std::string> hosts;  ///< sending: the one that wants it; receiving: all that publish it
  std::uint64_t messages = 0;      ///< sending: handed to the network; receiving: published here
  std::uint64_t bytes = 0;         ///< of these messages as they lie in memory, without their headers
  /// Sending: messages that were overwritten or given up before they were sent. Receiving: messages that came and could not be published.
  std::uint64_t dropped = 0;
  std::string dropped_why;  ///< sending: of most of them; receiving: of the last; empty: none
};

class Link {
 public:
  /// Joins the domain. If no other process has the role, opens the network before it returns; else begins to wait for the role.
  /// Errors: invalid_argument (names the option), unsupported (Options::ros2, Options::security), already_exists (the port is in use), those of
  /// Participant::join() and of the domain's directory. Any other failure of the network is no error of this call: the link is in Phase::kFailed and tries again,
  /// since an interface may appear later.
  static Result<std::unique_ptr<Link>> start(const Options& options);
  /// Gives up the role. Waits for a write to the network that is under way, a few seconds at most.
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  enum class Phase : std::uint8_t {
    kWaiting,  ///< another process is the link
    kWorking,
    kFailed,  ///< the network cannot be used: State::why. It is tried again
  };
  struct State {
    Phase phase = Phase::kWaiting;
    std::string why;        ///< kFailed: the last error; else empty
    std::string host_name;  ///< of this host
    Gid id{};               ///< of this host; zeros unless kWorking
    int domain = 0;
    std::uint16_t port = 0;  ///< on which this host listens; 0 unless kWorking
    bool secured = false;    ///< Options::security: only encrypted connections
    std::vector<HostState> hosts;
    std::vector<PeerState> peers;             ///< that are not reached
    std::vector<RefusedState> refused_hosts;  ///< the newest first
    std::vector<TopicState> topics;           ///< that travel now
    std::vector<std::string> notes;           ///< what does not travel although a subscription wants it, and why
    std::uint64_t sent = 0, received = 0, refused = 0;  ///< messages; refused: of those that came
  };
  State state() const;

  class Impl;  // private to link

 private:
  explicit Link(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
  const std::uint32_t generation_;  // os::fork_generation()
};

/// The state as the text of the file link.state (docs/format/link-state.md). `pid`: of the link's process; `monotonic_ns` and
/// `realtime_ns`: now.
std::string format_state(const Link::State& state, std::int32_t pid, std::int64_t monotonic_ns,
                         std::int64_t realtime_ns);

/// What the link of a domain has written about itself. Any process of the domain may read it.
struct SavedState {
  bool alive = false;               ///< a process has the role now
  std::optional<std::string> text;  ///< of link.state; nothing: no link has worked, or the last one has ended in order
  std::string path;                 ///< of the file
};
/// Reads link.state of a domain of this host; `domain` and `runtime_directory` as in Options. The link writes it every second. Its
/// bytes come from another process: untrusted. Errors: invalid_argument, those of the domain's directory, limit_reached, system.
Result<SavedState> read_state(int domain = -1, const std::string& runtime_directory = {});

}  // namespace baton::link
