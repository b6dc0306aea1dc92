// SPDX-License-Identifier: Apache-2.0
// The state that a link reports: its hosts and topics, as values, and as the text of the file link.state.
// Thread rules: plain values; the functions have no state.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "baton/os/result.hpp"
#include "baton/transport/transport.hpp"

namespace baton::link {

using transport::Gid;

/// Which of the two connections to a host a topic's messages take. Small messages do not wait for the bytes of the bulk connection.
enum class TopicPriority : std::uint8_t {
  kBySize,  ///< the bulk connection if its messages exceed 16 KiB or together 1 MiB in a second, until 10 s later; else the urgent one
  kHigh,    ///< the urgent connection, whatever their size is
  kLow,     ///< the bulk connection
};

/// How long a link remembers a host that is not reached, and how much it keeps for the host meanwhile.
struct AbsenceBudget {
  std::chrono::milliseconds time{60'000};
  std::size_t bytes = std::size_t{256} << 20;
};

/// Another host, as this one sees it. Counts begin when the two hosts get to know each other.
struct HostState {
  std::string name;
  std::string address;     ///< of the newest connection
  Gid id{};                ///< chosen anew by each link
  bool connected = false;  ///< false: the host is not reached; it is forgotten when its absence budget is used up
  std::int64_t connected_since_ns = 0;  ///< CLOCK_MONOTONIC; 0: not connected
  bool encrypted = false;               ///< its connection is encrypted (Options::security)
  std::string certificate;  ///< the subject of its certificate, as RFC 2253 writes it: CN=/robot; empty: none
  /// The shortest of the last eight round trips of a frame, measured every 500 ms; 0: not known. Half of it is shown as the latency of a
  /// message, because the clocks of two hosts differ.
  std::int64_t round_trip_ns = 0;
  std::uint64_t sent_messages = 0, sent_bytes = 0;  ///< that the host has acknowledged
  std::uint64_t received_messages = 0, received_bytes = 0;
  std::uint64_t sent_again = 0;                         ///< TCP segments
  std::size_t waiting_messages = 0, waiting_bytes = 0;  ///< under way to it, not acknowledged
  /// CLOCK_MONOTONIC: since when the second connection, for big messages, is missing, so that they take the first one; 0: it is there, or not
  /// wanted, or missing for less than 5 s.
  std::int64_t bulk_missing_since_ns = 0;
  std::string bulk_missing_why;      ///< why it was not made the last time; empty: it is not missing
  std::int64_t absent_since_ns = 0;  ///< CLOCK_MONOTONIC; 0: connected
  /// Not connected: the part of its absence budget that is used, of time or bytes, whichever is more; 0 to 100.
  int absence_percent = 0;
  /// Messages for the host that were overwritten in the queues of the topics that it wants now, or given up, before they were sent.
  std::uint64_t dropped = 0;
  std::string
      dropped_why;  ///< the reason of the topic, or of the messages from the host, with the greatest loss; empty: no loss
};

/// A host that Options::peers names and that is not reached: it never was, or it has been forgotten since.
struct PeerState {
  std::string peer;           ///< as it was named
  std::int64_t since_ns = 0;  ///< CLOCK_MONOTONIC: since when the host is not reached
  std::string why;            ///< why the last attempt failed
};

/// Another host, or another program at its address, that this host refuses or that refuses this host. At most 32, of the last hour, each
/// address once.
struct RefusedState {
  std::string address;
  std::string name;  ///< the host's own name for itself; empty: not known
  std::string why;   ///< why it was refused the last time
  std::uint64_t times = 0;
  std::int64_t last_ns = 0;  ///< CLOCK_MONOTONIC
};

/// One topic that travels to one host, or that comes from other hosts. The counts begin when the topic begins to travel, and begin anew if it
/// stops and travels again.
struct TopicState {
  std::string topic;
  std::string type_name;
  bool sending = false;            ///< false: receiving
  std::vector<std::string> hosts;  ///< sending: the host that wants it; receiving: all hosts that publish it
  std::uint64_t messages = 0;      ///< sending: handed to the network; receiving: published here
  std::uint64_t bytes = 0;         ///< the sizes of these messages in memory, without headers
  /// Sending: messages that were overwritten or given up before they were sent. Receiving: messages that came and could not be published.
  std::uint64_t dropped = 0;
  std::string dropped_why;  ///< sending: the reason of most of them; receiving: of the last one; empty: no loss
};

/// The phase of a link.
enum class LinkPhase : std::uint8_t {
  kWaiting,  ///< on standby: another process is the leader
  kWorking,
  kFailed,  ///< the network cannot be used, for the reason State::why; the link tries again
};

/// The result of Link::state().
struct LinkState {
  LinkPhase phase = LinkPhase::kWaiting;
  std::string why;        ///< kFailed: the last error; else empty
  std::string host_name;  ///< of this host
  Gid id{};               ///< of this host; zeros unless kWorking
  int domain = 0;
  std::uint16_t port = 0;  ///< the TCP port on which this host listens; 0 unless kWorking
  bool secured = false;    ///< Options::security: only encrypted connections
  AbsenceBudget absence;   ///< Options::absence
  std::vector<HostState> hosts;
  std::vector<PeerState> peers;             ///< named peers that are not reached
  std::vector<RefusedState> refused_hosts;  ///< the newest first
  std::vector<TopicState> topics;           ///< that travel now
  std::vector<std::string> notes;           ///< why messages that a subscription wants do not travel
  std::uint64_t sent = 0, received = 0,
                refused = 0;  ///< messages; refused: messages that came and could not be published
};

/// The state as the text of the file link.state (docs/format/link-state.md). `pid`: of the link's process; `monotonic_ns` and
/// `realtime_ns`: now.
std::string format_state(const LinkState& state, std::int32_t pid, std::int64_t monotonic_ns, std::int64_t realtime_ns);

/// The state that the link of a domain has written to a file. Any process of the domain may read it.
struct SavedState {
  bool alive = false;               ///< a process is the leader now
  std::optional<std::string> text;  ///< of link.state; nothing: no link has worked, or the last one has ended in order
  std::string path;                 ///< of the file
};
/// Reads link.state of a domain of this host; `domain` and `runtime_directory` as in Options. The link writes it every second. Its
/// bytes come from another process: untrusted. Errors: invalid_argument, those of the domain's directory, limit_reached, system.
Result<SavedState> read_state(int domain = -1, const std::string& runtime_directory = {});

}  // namespace baton::link
