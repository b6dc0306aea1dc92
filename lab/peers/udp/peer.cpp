// SPDX-License-Identifier: Apache-2.0
// Bytes over loopback UDP, unicast to each subscriber. Messages are cut into the largest datagrams that loopback
// carries whole (its MTU is 64 KB), sent many per system call, and received many per system call directly into their
// place. Nothing is sent again: a datagram that does not fit into the socket's buffer is lost, and its message, too.
// The buffer is as large as the system allows.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>

#include "stream.hpp"

namespace baton::perf {
namespace {

struct Header {
  std::uint64_t message;  ///< counts from 1
  std::uint64_t bytes;    ///< of the whole message
  std::uint64_t fragment;
};
constexpr std::size_t kFragment = 65507 - sizeof(Header);
constexpr std::size_t kBatch = 32;

std::size_t fragments_of(std::size_t bytes) { return bytes <= kFragment ? 1 : (bytes + kFragment - 1) / kFragment; }

/// The file in which subscriber `subscriber` writes the port on which it receives from publisher `publisher`.
std::string file_of(const RunPlan& plan, unsigned publisher, unsigned subscriber) {
  return plan.directory + "/" + plan.topic + "_" + std::to_string(publisher) + "_" + std::to_string(subscriber);
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

os::UniqueFd udp_socket() {
  os::UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) fail("socket");
  return fd;
}

/// Room for some messages; more than the system's limit only if that is permitted. The kernel doubles the given size,
/// for its bookkeeping.
void set_buffer(int fd, int option, int force, const RunPlan& plan) {
  const auto bytes =
      static_cast<int>(std::clamp<std::size_t>(plan.bytes * std::min(plan.depth, 4U), 4 << 20, 128 << 20));
  if (::setsockopt(fd, SOL_SOCKET, force, &bytes, sizeof bytes) != 0)
    ::setsockopt(fd, SOL_SOCKET, option, &bytes, sizeof bytes);
}

class UdpPublisher : public PublisherEnd {
 public:
  UdpPublisher(const RunPlan& plan, unsigned index)
      : plan_(plan), index_(index), buffer_(plan.bytes), headers_(kBatch), parts_(2 * kBatch), batch_(kBatch) {
    for (unsigned i = 0; i < plan.subscribers; ++i) missing_.push_back(i);
  }
  std::byte* begin(std::size_t bytes) override {
    if (!missing_.empty()) find();
    buffer_.reserve(bytes);
    return buffer_.data();
  }
  void publish(std::size_t bytes) override {
    ++count_;
    const std::size_t fragments = fragments_of(bytes);
    for (const os::UniqueFd& to : sockets_)
      for (std::size_t first = 0; first < fragments; first += kBatch)
        send(to.get(), bytes, first, std::min(kBatch, fragments - first));
  }

 private:
  void find() {
    const auto found = [&](unsigned subscriber) {
      std::uint16_t port = 0;
      if (!(std::ifstream(file_of(plan_, index_, subscriber)) >> port)) return false;
      os::UniqueFd fd = udp_socket();
      set_buffer(fd.get(), SO_SNDBUF, SO_SNDBUFFORCE, plan_);
      const sockaddr_in address = loopback(port);
      if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("connect");
      sockets_.push_back(std::move(fd));
      return true;
    };
    missing_.erase(std::remove_if(missing_.begin(), missing_.end(), found), missing_.end());
  }
  void send(int fd, std::size_t bytes, std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t begin = (first + i) * kFragment;
      headers_[i] = {count_, bytes, first + i};
      parts_[2 * i] = {&headers_[i], sizeof(Header)};
      parts_[2 * i + 1] = {buffer_.data() + begin, std::min(kFragment, bytes - begin)};
      batch_[i] = {};
      batch_[i].msg_hdr.msg_iov = &parts_[2 * i];
      batch_[i].msg_hdr.msg_iovlen = 2;
    }
    for (std::size_t sent = 0; sent < count;) {
      const int n = ::sendmmsg(fd, batch_.data() + sent, static_cast<unsigned>(count - sent), 0);
      if (n > 0) sent += static_cast<std::size_t>(n);
      if (n < 0 && errno == ECONNREFUSED) return;  // the subscriber has gone
      if (n < 0 && errno != EINTR) fail("sendmmsg");
    }
  }

  const RunPlan plan_;
  const unsigned index_;
  std::vector<unsigned> missing_;
  std::vector<os::UniqueFd> sockets_;
  Buffer buffer_;
  std::uint64_t count_ = 0;
  std::vector<Header> headers_;
  std::vector<iovec> parts_;
  std::vector<mmsghdr> batch_;
};

class UdpSubscriber : public SubscriberEnd {
 public:
  UdpSubscriber(const RunPlan& plan, unsigned index, Receiver& receiver)
      : receiver_(receiver), scratch_(kBatch * kFragment) {
    for (unsigned i = 0; i < plan.publishers; ++i) {
      Source source{udp_socket(), Buffer(plan.bytes)};
      set_buffer(source.fd.get(), SO_RCVBUF, SO_RCVBUFFORCE, plan);
      sockaddr_in address = loopback(0);
      socklen_t size = sizeof address;
      if (::bind(source.fd.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) fail("bind");
      if (::getsockname(source.fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) fail("getsockname");
      // Under another name first: a process that finds the file finds all of it.
      const std::string file = file_of(plan, i, index), temporary = file + ".new";
      std::ofstream(temporary) << ntohs(address.sin_port) << '\n';
      if (std::rename(temporary.c_str(), file.c_str()) != 0) fail(file);
      polled_.push_back({source.fd.get(), POLLIN, 0});
      sources_.push_back(std::move(source));
    }
  }

  void receive(std::chrono::nanoseconds timeout) override {
    if (timeout.count() > 0 &&
        ::poll(polled_.data(), polled_.size(), static_cast<int>(timeout.count() / 1'000'000)) <= 0)
      return;
    for (std::size_t i = 0; i < sources_.size(); ++i)
      if (timeout.count() == 0 || polled_[i].revents != 0)
        while (read(sources_[i])) {
        }
  }

 private:
  struct Source {
    os::UniqueFd fd;
    Buffer buffer;
    std::uint64_t message = 0;  ///< the message being assembled
    std::size_t bytes = 0;      ///< its size
    std::size_t next = 0;  ///< the fragment that is expected; loopback keeps the order. 0: the first of a new message
  };

  /// Reads the available fragments of one message; false if there was none.
  bool read(Source& source) {
    // The first fragment says how many follow. If none is missing, they are received directly into their place.
    const std::size_t wanted = source.next == 0 ? 1 : std::min(kBatch, fragments_of(source.bytes) - source.next);
    source.buffer.reserve((source.next + wanted) * kFragment, source.next * kFragment);
    for (std::size_t i = 0; i < wanted; ++i) {
      parts_[2 * i] = {&headers_[i], sizeof(Header)};
      parts_[2 * i + 1] = {source.buffer.data() + (source.next + i) * kFragment, kFragment};
      batch_[i] = {};
      batch_[i].msg_hdr.msg_iov = &parts_[2 * i];
      batch_[i].msg_hdr.msg_iovlen = 2;
    }
    const int n = ::recvmmsg(source.fd.get(), batch_, static_cast<unsigned>(wanted), MSG_DONTWAIT, nullptr);
    if (n <= 0) return false;
    const std::size_t expected = source.next;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      const std::size_t got = batch_[i].msg_len - sizeof(Header);
      const bool right =
          headers_[i].fragment == expected + i && (expected == 0 || headers_[i].message == source.message);
      if (!right) {
        elsewhere(source, expected, i, static_cast<std::size_t>(n));
        break;
      }
      accept(source, headers_[i], got);
    }
    return true;
  }

  /// Accepts a fragment that lies in its place.
  void accept(Source& source, const Header& header, std::size_t bytes) {
    if (header.fragment == 0) {
      source.message = header.message;
      source.bytes = header.bytes;
    }
    const bool last = header.fragment + 1 == fragments_of(header.bytes);
    source.next = last ? 0 : header.fragment + 1;
    if (last && header.fragment * kFragment + bytes == header.bytes)
      receiver_.message(source.buffer.data(), header.bytes);
  }

  /// A fragment was lost: the fragments from number `from` of the batch on lie in the wrong places. Only the beginning
  /// of a new message is still useful.
  void elsewhere(Source& source, std::size_t expected, std::size_t from, std::size_t count) {
    source.next = 0;
    std::size_t start = from;
    while (start < count && headers_[start].fragment != 0) ++start;
    for (std::size_t i = start; i < count; ++i)
      std::memcpy(scratch_.data() + i * kFragment, source.buffer.data() + (expected + i) * kFragment,
                  batch_[i].msg_len - sizeof(Header));
    for (std::size_t i = start; i < count; ++i) {
      if (headers_[i].fragment != source.next || (source.next > 0 && headers_[i].message != source.message))
        return void(source.next = 0);
      source.buffer.reserve((source.next + 1) * kFragment, source.next * kFragment);
      std::memcpy(source.buffer.data() + source.next * kFragment, scratch_.data() + i * kFragment,
                  batch_[i].msg_len - sizeof(Header));
      accept(source, headers_[i], batch_[i].msg_len - sizeof(Header));
    }
  }

  Receiver& receiver_;
  std::vector<Source> sources_;
  std::vector<pollfd> polled_;
  Buffer scratch_;
  Header headers_[kBatch];
  iovec parts_[2 * kBatch];
  mmsghdr batch_[kBatch];
};

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{"UDP",
                "kernel",
                "loopback unicast, 64 KB datagrams by sendmmsg()/recvmmsg(), buffers for 4 messages where permitted "
                "(else the system's limit), poll()",
                {"unicast"}};
  info.can_spin = true;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned index) {
  return std::make_unique<UdpPublisher>(plan, index);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned index, Receiver& receiver) {
  return std::make_unique<UdpSubscriber>(plan, index, receiver);
}

}  // namespace baton::perf
