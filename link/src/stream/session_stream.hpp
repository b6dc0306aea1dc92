// SPDX-License-Identifier: Apache-2.0
// The flows of one class of traffic between this host and one other, over one TCP connection after the other. The stream's own thread writes; the
// thread that made a connection reads it. The reading thread never waits for the writing thread, so two hosts cannot wait for each other.
// Thread rules: any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "baton/os/lock.hpp"
#include "baton/os/process.hpp"
#include "flow_receiver.hpp"
#include "flow_sender.hpp"
#include "frame_output.hpp"
#include "host_limits.hpp"
#include "host_network.hpp"
#include "receiver_table.hpp"
#include "round_trip.hpp"
#include "wire.hpp"

namespace baton::link::stream {

/// One connection, after its hellos.
struct HostConnection {
  /// Any thread. The threads that read and write the wire notice.
  void end() {
    ended_.store(true, std::memory_order_relaxed);  // orders nothing: shut_down() reaches those that touch the wire
    wire->shut_down();
  }
  bool ended() const { return ended_.load(std::memory_order_relaxed); }
  std::unique_ptr<Wire> wire;
  bool dialed_by_smaller = false;  ///< by the host whose id is the smaller one
  std::optional<ListenAddress>
      dialed;  ///< where this host has reached the other one; empty: the other side made the connection

 private:
  std::atomic<bool> ended_{false};
};

class FrameInput;

class SessionStream {
 public:
  /// What the session does. Called by any thread, without a lock of the stream.
  struct Hooks {
    std::function<void(bool)> changed;               ///< the connection breaks, or is there again
    std::function<void()> leaving;                   ///< take_leaving() has flows
    std::function<void()> unconnected;               ///< there is no connection: again and again, by the writing thread
    std::function<void(std::uint64_t)> bulk_wanted;  ///< the other side asks for the bulk connection, with this key
    /// What take_received() of the other stream gives. By the reading thread.
    std::function<std::optional<FlowReceiver::ReceivedFlow>(std::uint32_t)> continued;
  };
  SessionStream(TrafficClass traffic_class, const Gid& key, std::string address,
                std::shared_ptr<const ReceiverTable> channels, Hooks hooks);
  ~SessionStream() = default;  ///< REQUIRES: ended, or never started
  /// The thread that writes. Once.
  Result<void> start();
  /// Breaks the connection and ends the writing thread, too.
  void end();

  /// Takes this connection. False: the stream keeps the connection that it has (docs/format/link.md, "Two connections"). REQUIRES: the hellos
  /// of both sides had the session's numbers.
  bool attach(const std::shared_ptr<HostConnection>& connection);
  /// Reads until the connection ends, on the calling thread; the reason.
  Error read(const std::shared_ptr<HostConnection>& connection);

  /// The result of `function` of the flows that are sent (a FlowSender), with the stream's lock. Afterwards wake() if there is something to send.
  template <class Function>
  auto with_flows(Function function) {
    const os::Lock lock(mutex_);
    if constexpr (std::is_void_v<decltype(function(sending_))>) {
      function(sending_);
      end_if_clogged();
    } else {
      auto out = function(sending_);
      end_if_clogged();
      return out;
    }
  }
  void wake() { wait_set_.wake(); }

  /// The flows of a stream without a connection, to continue in the other stream. Until unseal() the stream takes no connection: its opens would
  /// not name these flows, and the other side would forget how far they have come. Nothing: there is a connection.
  std::optional<std::vector<MovingFlow>> take_all();
  void unseal();
  /// What has come on a flow of the other side, which continues in the other stream. Ends the connection, and waits for the thread that reads it.
  std::optional<FlowReceiver::ReceivedFlow> take_received(std::uint32_t flow);

  /// Asks the other side for the bulk connection, over each connection from now on.
  void ask_for_bulk(std::uint64_t key);
  struct Presence {
    std::string address;                            ///< of the newest connection
    bool connected = false, was_connected = false;  ///< there is a connection; there is or was one
    std::chrono::steady_clock::time_point since;    ///< connected or not
    std::optional<ListenAddress>
        dialed;  ///< where this host has made the connection; empty: the other side did, or there is none
  };
  Presence presence() const;
  bool carries() const {
    return brings_.load(std::memory_order_relaxed);
  }  ///< a topic has come. A hint: orders nothing
  /// Adds what the stream has sent, received and not sent.
  void add_counts(HostState& state) const;
  /// Of the flows' chunks and sources, about.
  std::size_t waiting_bytes() const;
  /// The address, and what is known of the connection.
  void describe(HostState& state) const;

 private:
  void end_if_clogged() BATON_REQUIRES(mutex_) {
    if (connection_ && sending_.is_clogged()) connection_->end();
  }
  void write();
  void collect(std::vector<OutgoingFrame>& frames, std::shared_ptr<HostConnection>& connection, bool& leaving);
  Result<void> take_frame(FrameInput& input, const std::shared_ptr<HostConnection>& connection)
      BATON_REQUIRES(reading_);
  void detach(const std::shared_ptr<HostConnection>& connection);
  bool current(const std::shared_ptr<HostConnection>& connection) const BATON_REQUIRES(mutex_) {
    return connection_ == connection;
  }

  const TrafficClass class_;
  const Hooks hooks_;
  transport::WaitSet wait_set_;
  std::atomic<bool> stop_{false};
  std::optional<pthread_t> writer_;
  FrameOutput output_;  // of the writing thread

  os::Mutex reading_;  // held by the thread that reads while it has its connection
  FlowReceiver getting_ BATON_GUARDED_BY(reading_);
  bool ready_ BATON_GUARDED_BY(reading_) = false;    // kReady has come over this connection
  Result<void> resumed_ BATON_GUARDED_BY(reading_);  // the first error of a kResume of this connection

  mutable os::Mutex mutex_;
  FlowSender sending_ BATON_GUARDED_BY(mutex_);
  std::shared_ptr<HostConnection> connection_ BATON_GUARDED_BY(mutex_);
  std::vector<HostFrame> control_frames_ BATON_GUARDED_BY(mutex_);  // kResume, kAck and kBulk
  std::optional<HostFrame> asks_for_bulk_ BATON_GUARDED_BY(mutex_);
  bool sealed_ BATON_GUARDED_BY(mutex_) = false;
  bool taking_ BATON_GUARDED_BY(mutex_) = false;       // take_received(), by the one thread that reads the other stream
  std::uint64_t answer_ BATON_GUARDED_BY(mutex_) = 0;  // the other host's question, to be answered; 0: none
  RoundTrip round_trip_ BATON_GUARDED_BY(mutex_);      // of connection_
  std::string address_ BATON_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point since_ BATON_GUARDED_BY(mutex_);   // connected or not
  std::chrono::steady_clock::time_point before_ BATON_GUARDED_BY(mutex_);  // since_, before connection_
  std::int64_t connected_since_ns_ BATON_GUARDED_BY(mutex_) = 0;
  std::uint64_t sent_again_ BATON_GUARDED_BY(mutex_) = 0;      // of connections before
  std::atomic<std::uint64_t> got_messages_{0}, got_bytes_{0};  // counters: order nothing
  std::atomic<bool> brings_{false};                            // a topic has come. A hint: orders nothing
};

}  // namespace baton::link::stream
