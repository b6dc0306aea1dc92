// SPDX-License-Identifier: Apache-2.0
// The functions that a transport must offer to be measured. A folder of lab/peers/ implements these for one system.
// The runner (runner.cpp) does the rest, equally for all: process layout, schedule, clocks, fill, counting, files.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace baton::perf {

/// The definition of a measurement: every process of a run reads it from the same file (plan.cpp).
struct RunPlan {
  std::string variant;            ///< one of PeerInfo::variants
  std::string directory;          ///< fresh directory of this run: sockets, configuration files, and other files of a
                                  ///< peer
  std::string topic = "perf";     ///< unique to the run where `id` is part of it: names may be machine-wide
  std::string message = "bytes";  ///< message type; a peer without types sends as many bytes
  std::size_t bytes = 64;         ///< payload of a message, at least sizeof(Stamp); varying sizes are at most this
  bool varying = false;           ///< sizes between 50 % and 100 % of `bytes`
  unsigned publishers = 1, subscribers = 1;
  unsigned messages = 100;   ///< per publisher, after the warm-up
  double rate = 30;          ///< messages per second and publisher; 0: the next message when all have received the last
                             ///< one
  bool spin = false;         ///< the subscriber polls instead of sleeping
  bool read_all = false;     ///< the subscriber reads every byte
  bool round_trip = false;   ///< subscriber 0 answers; one publisher, one subscriber
  bool echo = true;          ///< the answer has all bytes; false: only its stamp and last byte, no copy by the runner
  double answer_s = 1;       ///< a round trip, or a message of a closed loop, that takes longer counts as lost
  bool one_process = false;  ///< all ends are threads of one process
  unsigned depth = 10;       ///< queue depth, KEEP_LAST; 0: KEEP_ALL
  bool reliable = true;
  bool transient = false;  ///< transient local
  int priority = 0;        ///< of SCHED_FIFO; above 0 memory is locked, and peers that can prepare their memory do so
  // As performance_test (live.cpp): no schedule of a fixed length, one report a second.
  bool live = false;
  unsigned own_publishers = 1, own_subscribers = 1;  ///< threads of this process; `publishers` and `subscribers` count
                                                     ///< the whole topic's
  double max_runtime = 0;                            ///< seconds; 0: until a signal
  double ignore = 0;                                 ///< seconds at the start that are not reported
  int expected_publishers = -1, expected_subscribers = -1;  ///< waits for this many; -1: does not wait
  double matched_timeout = 30;                              ///< seconds
  int domain = 0;
  std::map<std::string, std::string> settings;  ///< peer-specific, from the command line
  // Two hosts (lab/baton_perf/network.py): publishers run on the first, subscribers on the second. They share the file
  // system with `directory` and the process ids, and nothing else.
  std::vector<std::string> hosts;  ///< their IPv4 addresses; empty: all ends are on this host
  unsigned host = 0;               ///< this process's, an index of `hosts`
  unsigned publishers_host = 0;    ///< of the topic's publishers; of the way back it is 1
  unsigned process = 0;            ///< this process's number in the run: publishers, then subscribers

  /// The address at which this process can be reached by the others.
  std::string address() const { return address_of(host); }
  /// The address of the topic's publishers.
  std::string publishers_address() const { return address_of(publishers_host); }
  /// The address of the run's process with that number, an index as of `process`.
  std::string process_address(unsigned number) const { return address_of(number < publishers ? 0 : 1); }

 private:
  std::string address_of(unsigned which) const { return hosts.empty() ? "127.0.0.1" : hosts.at(which); }
};

/// The first bytes of every payload, written by the runner. Times are CLOCK_MONOTONIC in ns.
struct Stamp {
  static constexpr std::uint32_t kMagic = 0x4e544142;  // "BATN"
  std::uint32_t magic;
  std::uint32_t publisher;
  std::uint64_t sequence;     ///< counts from 0; the warm-up has its highest bit set
  std::int64_t construct_ns;  ///< before begin(): ROS-SF's clock starts here
  std::int64_t fill_ns;       ///< before the payload is written
  std::int64_t publish_ns;    ///< before publish()
  std::uint64_t payload_bytes;
};
constexpr std::size_t kSmallestPayload = 64;
static_assert(sizeof(Stamp) <= kSmallestPayload);

/// Receives the messages; implemented by the runner. Called on one thread at a time per subscriber, which may be a
/// thread of the peer's library.
class Receiver {
 public:
  virtual ~Receiver() = default;
  /// `data` is readable until this returns.
  virtual void message(const std::byte* data, std::size_t bytes) = 0;
};

class PublisherEnd {
 public:
  virtual ~PublisherEnd() = default;
  /// The place for the payload of the next message: a loan if the peer has loans, else a buffer of the peer. Includes
  /// all work that a user must do before writing the payload, for example constructing the message. May throw.
  virtual std::byte* begin(std::size_t bytes) = 0;
  /// Sends the message of begin(). Includes serialization. May throw.
  virtual void publish(std::size_t bytes) = 0;
  /// Subscribers that are connected now; -1: the peer does not know.
  virtual int matched() { return -1; }
};

class SubscriberEnd {
 public:
  virtual ~SubscriberEnd() = default;
  /// Delivers the messages that have come, waiting at most `timeout` for the first; 0: does not wait. A peer with
  /// callbacks on a thread of its own waits in this function and delivers in the callback.
  virtual void receive(std::chrono::nanoseconds timeout) = 0;
  /// Publishers that are connected now; -1: the peer does not know.
  virtual int matched() { return -1; }
};

struct PeerInfo {
  std::string name, version, how;     ///< `how`: one line on the choices for it (wait primitive, settings)
  std::vector<std::string> variants;  ///< at least one
  std::vector<std::string> one_process_variants{};  ///< of these, the ones that work within one process only
  std::vector<std::string> polling_variants{};  ///< of these, the ones that always poll: compared in runs in which all
                                                ///< peers poll
  std::vector<std::string> network_variants{};  ///< of `variants`, the ones whose ends may be on two hosts
  bool can_spin = false;
  bool has_qos = false;            ///< honours reliable, KEEP_ALL and transient
  std::size_t largest = SIZE_MAX;  ///< larger payloads are not tried
  unsigned most_subscribers = 64;
};

// The functions that a peer's folder defines. They may throw; the exception is reported as the run's failure.
PeerInfo peer_info();
std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned index);
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned index, Receiver& receiver);

}  // namespace baton::perf
