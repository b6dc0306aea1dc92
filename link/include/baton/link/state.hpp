// SPDX-License-Identifier: Apache-2.0
// What a link says of itself: the hosts and topics that it has, as values, and as the text of the file link.state.
// Thread rules: plain values; the functions have no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "baton/os/result.hpp"
#include "baton/transport/transport.hpp"

namespace baton::link {

using transport::Gid;

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

/// What a link does now.
enum class LinkPhase : std::uint8_t {
  kWaiting,  ///< another process is the link
  kWorking,
  kFailed,  ///< the network cannot be used: State::why. It is tried again
};

/// All that Link::state() says.
struct LinkState {
  LinkPhase phase = LinkPhase::kWaiting;
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

/// The state as the text of the file link.state (docs/format/link-state.md). `pid`: of the link's process; `monotonic_ns` and
/// `realtime_ns`: now.
std::string format_state(const LinkState& state, std::int32_t pid, std::int64_t monotonic_ns, std::int64_t realtime_ns);

/// What the link of a domain has written about itself. Any process of the domain may read it.
struct SavedState {
  bool alive = false;               ///< a process is the leader now
  std::optional<std::string> text;  ///< of link.state; nothing: no link has worked, or the last one has ended in order
  std::string path;                 ///< of the file
};
/// Reads link.state of a domain of this host; `domain` and `runtime_directory` as in Options. The link writes it every second. Its
/// bytes come from another process: untrusted. Errors: invalid_argument, those of the domain's directory, limit_reached, system.
Result<SavedState> read_state(int domain = -1, const std::string& runtime_directory = {});

}  // namespace baton::link
