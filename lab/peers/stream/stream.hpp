// SPDX-License-Identifier: Apache-2.0
// Frames over stream sockets, Unix or TCP, one connection per publisher and subscriber. As a careful user would write
// it: one sendmsg(2) per frame and subscriber; small frames are received with one recv(2), large ones directly into
// their place.
// Thread rules: an end is used by the thread that made it.
// Invariants: (1) a frame is a u64 size, the bytes, and padding to 8: every frame that a subscriber sees is aligned to
// 8; (2) a publisher that waits for room meanwhile reads incoming data of the same thread's connections: two ends that
// send to each other do not block each other.
#pragma once

#include <poll.h>
#include <sys/uio.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "baton/os/unique_fd.hpp"
#include "peer.hpp"

namespace baton::perf {

enum class Family { kUnix, kTcp };

/// Throws std::system_error of errno.
[[noreturn]] void fail(const std::string& what);

/// Many bytes that are not zeroed first; aligned to 64.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) { reserve(bytes); }
  std::byte* data() noexcept { return data_.get(); }
  std::size_t capacity() const noexcept { return capacity_; }
  /// Keeps the first `keep` bytes.
  void reserve(std::size_t bytes, std::size_t keep = 0);

 private:
  struct Free {
    void operator()(std::byte* data) const noexcept { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t capacity_ = 0;
};

class StreamSender {
 public:
  /// Called for each new connection before any data is sent on it.
  using Greet = std::function<void(int fd)>;
  StreamSender(const RunPlan& plan, unsigned publisher, Family family, Greet greet = {});
  ~StreamSender();

  /// Accepts new connections. No system call when all subscribers of the plan are connected.
  void accept_new();
  /// Sends one frame made of these parts to every connected subscriber. Returns when the kernel has all of it.
  void send(const iovec* parts, std::size_t count);
  void send(const void* data, std::size_t bytes) {
    const iovec part{const_cast<void*>(data), bytes};
    send(&part, 1);
  }

 private:
  bool send_to(int fd);

  const RunPlan plan_;
  const Family family_;
  const unsigned expected_;
  const Greet greet_;
  std::string file_;
  os::UniqueFd listener_;
  std::vector<os::UniqueFd> connections_;
  std::vector<iovec> parts_, left_;
};

class StreamReceiver {
 public:
  /// Called once for each connection, when its first bytes have come: reads the bytes that the sender's Greet sends.
  using Met = std::function<void(int fd, unsigned publisher)>;
  /// A frame; `data` may be changed and is valid for the call.
  using Frame = std::function<void(std::byte* data, std::size_t bytes, unsigned publisher)>;
  StreamReceiver(const RunPlan& plan, Family family, Frame frame, Met met = {});
  ~StreamReceiver();

  void receive(std::chrono::nanoseconds timeout);
  /// Reads the available data without delivering it.
  void drain();
  /// Adds the connections to `polled`.
  void add_to(std::vector<pollfd>& polled) const { polled.insert(polled.end(), polled_.begin(), polled_.end()); }

 private:
  struct Connection {
    unsigned publisher;
    os::UniqueFd fd;
    Buffer buffer;
    std::size_t begin = 0, end = 0;  ///< the bytes that were read and not delivered
    bool met = false;
  };
  void connect();
  bool connect_to(unsigned publisher);
  void read_some(Connection& connection, int flags);
  bool deliver(Connection& connection);

  const RunPlan plan_;
  const Family family_;
  const Frame frame_;
  const Met met_;
  std::vector<unsigned> missing_;
  std::vector<Connection> connections_;
  std::vector<pollfd> polled_;  ///< one for each of connections_
};

/// Ends that send and receive the payload as it is.
std::unique_ptr<PublisherEnd> make_stream_publisher(const RunPlan& plan, unsigned index, Family family);
std::unique_ptr<SubscriberEnd> make_stream_subscriber(const RunPlan& plan, Family family, Receiver& receiver);

/// One descriptor over a connected Unix socket, before the first frame.
void send_descriptor(int socket, int fd);
os::UniqueFd receive_descriptor(int socket);

}  // namespace baton::perf
