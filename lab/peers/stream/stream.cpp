// SPDX-License-Identifier: Apache-2.0
#include "stream.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "baton/os/clock.hpp"

namespace baton::perf {
namespace {

// The first read of a connection takes at most this much: the whole of a small frame, and less than half of a large
// frame, so that nearly all of it is received directly into its place.
constexpr std::size_t kFirstRead = 4095;
constexpr std::size_t kHeader = sizeof(std::uint64_t);

std::size_t padded(std::size_t bytes) { return (bytes + 7) & ~std::size_t{7}; }

/// The subscriber of this thread whose connections are read while a publisher of this thread waits for room.
thread_local StreamReceiver* t_receiver = nullptr;

std::string file_of(const RunPlan& plan, unsigned publisher) {
  return plan.directory + "/" + plan.topic + "_" + std::to_string(publisher);
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Address unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error("the path is too long for a socket: " + path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Address out;
  std::memcpy(&out.storage, &address, sizeof address);
  out.size = sizeof address;
  return out;
}

Address ip_address(const std::string& host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1)
    throw std::runtime_error(host + " is no IPv4 address");
  Address out;
  std::memcpy(&out.storage, &address, sizeof address);
  out.size = sizeof address;
  return out;
}

/// Unless the run is about what the kernel does with small messages otherwise (LOT, Fig. 6d).
void no_delay(const RunPlan& plan, int fd) {
  if (plan.variant == "nagle") return;
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

/// Buffers: a Unix socket is fastest with the default (about 200 KB, which fit in the cache). TCP gets as much as the
/// system allows, up to 4 MB, which the kernel's own tuning reaches only slowly.
os::UniqueFd stream_socket(Family family, int flags) {
  os::UniqueFd fd(::socket(family == Family::kUnix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!fd) fail("socket");
  if (family == Family::kTcp) {
    const int bytes = 4 << 20;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  }
  return fd;
}

}  // namespace

void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

void Buffer::reserve(std::size_t bytes, std::size_t keep) {
  if (bytes <= capacity_) return;
  const std::size_t rounded = (bytes + 63) & ~std::size_t{63};
  std::unique_ptr<std::byte, Free> larger(static_cast<std::byte*>(std::aligned_alloc(64, rounded)));
  if (!larger) throw std::bad_alloc();
  if (keep > 0) std::memcpy(larger.get(), data_.get(), keep);
  data_ = std::move(larger);
  capacity_ = rounded;
}

StreamSender::StreamSender(const RunPlan& plan, unsigned publisher, Family family, Greet greet)
    : plan_(plan),
      family_(family),
      expected_(plan.subscribers),
      greet_(std::move(greet)),
      file_(file_of(plan, publisher)) {
  listener_ = stream_socket(family, SOCK_NONBLOCK);
  if (family == Family::kUnix) {
    const Address address = unix_address(file_);
    if (::bind(listener_.get(), address.get(), address.size) != 0) fail(file_);
    if (::listen(listener_.get(), 64) != 0) fail("listen");
    return;
  }
  const Address any_port = ip_address(plan.address(), 0);
  if (::bind(listener_.get(), any_port.get(), any_port.size) != 0) fail("bind");
  if (::listen(listener_.get(), 64) != 0) fail("listen");
  sockaddr_in bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) fail("getsockname");
  // Under another name first: a process that finds the file finds all of it.
  const std::string temporary = file_ + ".new";
  std::ofstream(temporary) << plan.address() << ' ' << ntohs(bound.sin_port) << '\n';
  if (std::rename(temporary.c_str(), file_.c_str()) != 0) fail(file_);
}

StreamSender::~StreamSender() { ::unlink(file_.c_str()); }

void StreamSender::accept_new() {
  while (connections_.size() < expected_) {
    os::UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection) {
      if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
      fail("accept");
    }
    if (family_ == Family::kTcp) no_delay(plan_, connection.get());
    if (greet_) greet_(connection.get());
    connections_.push_back(std::move(connection));
  }
}

void StreamSender::send(const iovec* parts, std::size_t count) {
  static const char zeros[8] = {};
  std::uint64_t size = 0;
  parts_.resize(1);
  for (std::size_t i = 0; i < count; ++i) {
    size += parts[i].iov_len;
    parts_.push_back(parts[i]);
  }
  parts_[0] = {&size, kHeader};
  if (padded(size) != size) parts_.push_back({const_cast<char*>(zeros), padded(size) - size});
  for (std::size_t i = 0; i < connections_.size();) {
    left_ = parts_;
    if (send_to(connections_[i].get())) {
      ++i;
    } else {
      connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i));  // its subscriber has gone
    }
  }
}

/// Sends left_; false if the other end is gone.
bool StreamSender::send_to(int fd) {
  msghdr message{};
  message.msg_iov = left_.data();
  message.msg_iovlen = left_.size();
  for (;;) {
    const ssize_t sent = ::sendmsg(fd, &message, MSG_NOSIGNAL | (t_receiver != nullptr ? MSG_DONTWAIT : 0));
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EPIPE || errno == ECONNRESET) return false;
      if (errno != EAGAIN) fail("sendmsg");
      std::vector<pollfd> polled{{fd, POLLOUT, 0}};
      t_receiver->add_to(polled);
      if (::poll(polled.data(), polled.size(), 1000) > 0 && polled[0].revents == 0) t_receiver->drain();
      continue;
    }
    for (std::size_t rest = static_cast<std::size_t>(sent); message.msg_iovlen > 0;) {
      if (rest < message.msg_iov->iov_len) {
        message.msg_iov->iov_base = static_cast<char*>(message.msg_iov->iov_base) + rest;
        message.msg_iov->iov_len -= rest;
        break;
      }
      rest -= message.msg_iov->iov_len;
      ++message.msg_iov;
      --message.msg_iovlen;
    }
    if (message.msg_iovlen == 0) return true;
  }
}

StreamReceiver::StreamReceiver(const RunPlan& plan, Family family, Frame frame, Met met)
    : plan_(plan), family_(family), frame_(std::move(frame)), met_(std::move(met)) {
  for (unsigned i = 0; i < plan.publishers; ++i) missing_.push_back(i);
  // Wait a little for publishers that are about to start, so that subscribers that start one by one connect one by one.
  for (int attempt = 0; attempt < 50; ++attempt) {
    connect();
    if (missing_.empty()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  t_receiver = this;
}

StreamReceiver::~StreamReceiver() {
  if (t_receiver == this) t_receiver = nullptr;
}

void StreamReceiver::connect() {
  missing_.erase(
      std::remove_if(missing_.begin(), missing_.end(), [&](unsigned publisher) { return connect_to(publisher); }),
      missing_.end());
}

bool StreamReceiver::connect_to(unsigned publisher) {
  const std::string file = file_of(plan_, publisher);
  Address address;
  if (family_ == Family::kUnix) {
    address = unix_address(file);
  } else {
    std::string host;
    std::uint16_t port = 0;
    if (!(std::ifstream(file) >> host >> port)) return false;
    address = ip_address(host, port);
  }
  os::UniqueFd fd = stream_socket(family_, 0);
  if (::connect(fd.get(), address.get(), address.size) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED) return false;  // the publisher has not started yet
    fail(file);
  }
  if (family_ == Family::kTcp) no_delay(plan_, fd.get());
  if (plan_.publishers == 1) {  // then it sleeps in recv() itself
    const timeval tenth{0, 100'000};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &tenth, sizeof tenth);
  }
  polled_.push_back({fd.get(), POLLIN, 0});
  connections_.push_back({publisher, std::move(fd), Buffer(kHeader + padded(plan_.bytes) + 2 * kFirstRead)});
  return true;
}

/// One read: the rest of a frame whose size is known, else the available data. Waits as the flags and the socket say.
void StreamReceiver::read_some(Connection& connection, int flags) {
  if (met_ && !connection.met) {
    pollfd polled{connection.fd.get(), POLLIN, 0};
    if (::poll(&polled, 1, flags & MSG_DONTWAIT ? 0 : 100) <= 0) return;
    met_(connection.fd.get(), connection.publisher);
    connection.met = true;
    return;  // no frame may have come yet
  }
  Buffer& buffer = connection.buffer;
  if (connection.begin > 0) {
    // Only after a burst of small frames are bytes left to move.
    std::memmove(buffer.data(), buffer.data() + connection.begin, connection.end - connection.begin);
    connection.end -= connection.begin;
    connection.begin = 0;
  }
  std::size_t wanted = kFirstRead;
  if (connection.end >= kHeader) {
    std::uint64_t size;
    std::memcpy(&size, buffer.data(), kHeader);
    if (const std::size_t whole = kHeader + padded(size); whole > connection.end) {
      wanted = whole - connection.end;
      if (!(flags & MSG_DONTWAIT)) flags |= MSG_WAITALL;
    }
  }
  buffer.reserve(connection.end + wanted, connection.end);
  const ssize_t n = ::recv(connection.fd.get(), buffer.data() + connection.end, wanted, flags);
  if (n > 0) {
    connection.end += static_cast<std::size_t>(n);
  } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
    for (pollfd& polled : polled_)
      if (polled.fd == connection.fd.get()) polled.fd = -1;  // gone: never polled again
  }
}

/// Hands over all complete frames; false if there was none.
bool StreamReceiver::deliver(Connection& connection) {
  bool any = false;
  while (connection.end - connection.begin >= kHeader) {
    std::byte* const at = connection.buffer.data() + connection.begin;
    std::uint64_t size;
    std::memcpy(&size, at, kHeader);
    if (connection.end - connection.begin < kHeader + padded(size)) break;
    frame_(at + kHeader, size, connection.publisher);
    connection.begin += kHeader + padded(size);
    any = true;
  }
  if (connection.begin == connection.end) connection.begin = connection.end = 0;
  return any;
}

void StreamReceiver::receive(std::chrono::nanoseconds timeout) {
  if (!missing_.empty()) {
    connect();
    if (connections_.empty() && timeout.count() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  bool any = false;
  for (Connection& connection : connections_) any |= connection.end > 0 && deliver(connection);
  if (any) return;
  const bool look = timeout.count() == 0, alone = connections_.size() == 1 && plan_.publishers == 1;
  if (!look && !alone && ::poll(polled_.data(), polled_.size(), static_cast<int>(timeout.count() / 1'000'000)) <= 0)
    return;
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    if (polled_[i].fd < 0) {
      if (alone && !look) std::this_thread::sleep_for(timeout);
      continue;
    }
    if (!look && !alone && polled_[i].revents == 0) continue;
    Connection& connection = connections_[i];
    read_some(connection, look ? MSG_DONTWAIT : 0);
    // The rest of a frame that has begun is on its way.
    while (!deliver(connection) && connection.end > 0 && polled_[i].fd >= 0) read_some(connection, 0);
  }
}

void StreamReceiver::drain() {
  for (std::size_t i = 0; i < connections_.size(); ++i)
    if (polled_[i].fd >= 0) {
      Connection& connection = connections_[i];
      Buffer& buffer = connection.buffer;
      buffer.reserve(connection.end + (64 << 10), connection.end);
      const ssize_t n =
          ::recv(polled_[i].fd, buffer.data() + connection.end, buffer.capacity() - connection.end, MSG_DONTWAIT);
      if (n > 0) connection.end += static_cast<std::size_t>(n);
    }
}

namespace {

class BytesPublisher : public PublisherEnd {
 public:
  BytesPublisher(const RunPlan& plan, unsigned index, Family family)
      : sender_(plan, index, family), buffer_(plan.bytes) {}
  std::byte* begin(std::size_t bytes) override {
    sender_.accept_new();
    buffer_.reserve(bytes);
    return buffer_.data();
  }
  void publish(std::size_t bytes) override { sender_.send(buffer_.data(), bytes); }

 private:
  StreamSender sender_;
  Buffer buffer_;
};

class BytesSubscriber : public SubscriberEnd {
 public:
  BytesSubscriber(const RunPlan& plan, Family family, Receiver& receiver)
      : receiver_(plan, family,
                  [&receiver](std::byte* data, std::size_t bytes, unsigned) { receiver.message(data, bytes); }) {}
  void receive(std::chrono::nanoseconds timeout) override { receiver_.receive(timeout); }

 private:
  StreamReceiver receiver_;
};

}  // namespace

std::unique_ptr<PublisherEnd> make_stream_publisher(const RunPlan& plan, unsigned index, Family family) {
  return std::make_unique<BytesPublisher>(plan, index, family);
}
std::unique_ptr<SubscriberEnd> make_stream_subscriber(const RunPlan& plan, Family family, Receiver& receiver) {
  return std::make_unique<BytesSubscriber>(plan, family, receiver);
}

void send_descriptor(int socket, int fd) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  while (::sendmsg(socket, &message, MSG_NOSIGNAL) != 1)
    if (errno != EINTR) fail("sendmsg with a descriptor");
}

os::UniqueFd receive_descriptor(int socket) {
  char byte;
  iovec part{&byte, 1};
  int fd = -1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const std::int64_t end = os::monotonic_ns() + 30'000'000'000;
  while (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1)
    if ((errno != EINTR && errno != EAGAIN) || os::monotonic_ns() > end) fail("recvmsg with a descriptor");
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) throw std::runtime_error("no descriptor came");
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return os::UniqueFd(fd);
}

}  // namespace baton::perf
