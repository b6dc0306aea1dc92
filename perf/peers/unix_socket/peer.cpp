// SPDX-License-Identifier: Apache-2.0
// Bytes over a Unix stream socket, one connection per subscriber: the least that a serializing middleware over sockets does.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

#include "baton/os/unique_fd.hpp"
#include "peer.hpp"

namespace baton::perf {
namespace {

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

sockaddr_un address_of(const Plan& plan, unsigned publisher) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = plan.directory + "/" + plan.topic + "_" + std::to_string(publisher);
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error("the path is too long for a socket: " + path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

void send_all(int fd, const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::send(fd, at, bytes, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("send");
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

class SocketPublisher : public PublisherEnd {
 public:
  SocketPublisher(const Plan& plan, unsigned index) : buffer_(plan.bytes) {
    listener_ = os::UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = address_of(plan, index);
    if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail(address.sun_path);
    if (::listen(listener_.get(), 64) != 0) fail("listen");
    for (unsigned i = 0; i < plan.subscribers; ++i) {
      connections_.emplace_back(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!connections_.back()) fail("accept");
    }
  }
  std::byte* begin(std::size_t bytes) override {
    buffer_.resize(bytes);
    return buffer_.data();
  }
  void publish(std::size_t bytes) override {
    const std::uint64_t size = bytes;
    for (const os::UniqueFd& connection : connections_) {
      send_all(connection.get(), &size, sizeof size);
      send_all(connection.get(), buffer_.data(), bytes);
    }
  }

 private:
  os::UniqueFd listener_;
  std::vector<os::UniqueFd> connections_;
  std::vector<std::byte> buffer_;
};

class SocketSubscriber : public SubscriberEnd {
 public:
  SocketSubscriber(const Plan& plan, Receiver& receiver) : plan_(plan), receiver_(receiver), buffer_(plan.bytes) {}

  void receive(std::chrono::nanoseconds timeout) override {
    if (polled_.empty()) connect();
    if (::poll(polled_.data(), polled_.size(), static_cast<int>(timeout.count() / 1'000'000)) <= 0) return;
    for (const pollfd& connection : polled_) {
      if (!(connection.revents & POLLIN)) continue;
      std::uint64_t size = 0;
      if (!receive_all(connection.fd, &size, sizeof size)) continue;
      buffer_.resize(size);
      if (receive_all(connection.fd, buffer_.data(), size)) receiver_.message(buffer_.data(), size);
    }
  }

 private:
  void connect() {
    for (unsigned i = 0; i < plan_.publishers; ++i) {
      const sockaddr_un address = address_of(plan_, i);
      for (;;) {
        os::UniqueFd connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
          polled_.push_back({connection.get(), POLLIN, 0});
          connections_.push_back(std::move(connection));
          break;
        }
        if (errno != ENOENT && errno != ECONNREFUSED) fail(address.sun_path);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // it is not there yet
      }
    }
  }
  static bool receive_all(int fd, void* data, std::size_t bytes) {
    char* at = static_cast<char*>(data);
    while (bytes > 0) {
      const ssize_t n = ::recv(fd, at, bytes, MSG_WAITALL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      at += n;
      bytes -= static_cast<std::size_t>(n);
    }
    return true;
  }

  const Plan plan_;
  Receiver& receiver_;
  std::vector<os::UniqueFd> connections_;
  std::vector<pollfd> polled_;
  std::vector<std::byte> buffer_;
};

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{"Unix socket", "kernel", "blocking stream socket per subscriber, poll()", {"stream"}};
  info.can_spin = true;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const Plan& plan, unsigned index) {
  return std::make_unique<SocketPublisher>(plan, index);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const Plan& plan, unsigned, Receiver& receiver) {
  return std::make_unique<SocketSubscriber>(plan, receiver);
}

}  // namespace baton::perf
