// SPDX-License-Identifier: Apache-2.0
// What a host sends after its hellos, to a Session without a socket: the bytes of the input, in pieces whose sizes the first byte of the input
// chooses. The session sends two flows, which the frames may acknowledge and resume, and receives two channels.
//
// Checked besides memory safety: (1) the session reads until the bytes end or break a rule; (2) nothing is left of what has come once the session
// is gone; (3) a message is delivered with the size that was announced.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "stream/session.hpp"

namespace {

using namespace baton;
using namespace baton::link;
using namespace baton::link::stream;

void require(bool condition) {
  if (!condition) std::abort();
}

std::size_t g_arriving = 0;  // messages that live

/// The input as a connection whose other end closes it after the last byte.
class InputWire final : public Wire {
 public:
  InputWire(const std::uint8_t* bytes, std::size_t size, std::size_t piece) : at_(bytes), left_(size), piece_(piece) {}
  Result<void> open(std::chrono::milliseconds) override { return {}; }
  bool wait_readable(std::chrono::milliseconds) override { return true; }
  Result<std::size_t> read(const os::IoPart* parts, std::size_t count) override {
    if (left_ == 0) return Error{Errc::system, "the other end has closed the connection"};
    std::size_t total = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t now = std::min({parts[i].size, left_, piece_ - total});
      std::memcpy(parts[i].bytes, at_, now);
      at_ += now;
      left_ -= now;
      total += now;
    }
    return total;
  }
  Result<void> write(const os::IoPart*, std::size_t) override { return {}; }
  void keep_unsent(std::size_t) override {}
  void mark(std::uint8_t) override {}
  void shut_down() override {}
  const std::string& address() const override { return address_; }
  bool encrypted() const override { return false; }
  os::TcpSocket::Measured measured() const override { return {}; }

 private:
  const std::string address_ = "10.0.0.1";
  const std::uint8_t* at_;
  std::size_t left_;
  const std::size_t piece_;
};

struct Message final : ArrivingChunk {
  explicit Message(std::size_t size) : bytes(size + 1) {
    message = bytes.data();
    size_bytes = size;
    ++g_arriving;
  }
  ~Message() override { --g_arriving; }
  std::vector<std::byte> bytes;
};

class Receiver final : public ChunkReceiver {
 public:
  std::unique_ptr<ArrivingChunk> begin(const Gid&, const memory::ChunkHeader&, std::size_t size,
                                       std::size_t come) override {
    require(come <= size);
    if (size > (std::size_t{1} << 20)) return nullptr;  // no memory for it
    return std::make_unique<Message>(size);
  }
  bool deliver(const Gid&, ArrivingChunk& arriving) override {
    require(arriving.size_bytes + 1 == dynamic_cast<Message&>(arriving).bytes.size());
    return ++offers_ % 3 != 0;  // some are offered again
  }

 private:
  unsigned offers_ = 0;
};

class NoChunks final : public ChunkSource {
 public:
  NextChunk next(std::shared_ptr<const OutgoingChunk>&) override { return NextChunk::kNothing; }
  bool empty() const override { return true; }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = std::size_t{1} << (data[0] % 16);
  const TrafficClass of = data[0] < 128 ? TrafficClass::kUrgent : TrafficClass::kBulk;
  const auto channels = std::make_shared<ReceiverTable>();
  const auto words = channels->add("baton/1/words", std::make_shared<Receiver>());
  const auto topic = channels->add("t", std::make_shared<Receiver>());
  HostHello hello;
  hello.name = "fuzz";
  auto session = std::make_shared<Session>(
      Session::Identity{Gid{1}, hello, 1, 2, 3, "10.0.0.1"}, channels, [](bool) {},
      [](const std::shared_ptr<Session>&, const ListenAddress&, std::uint64_t) {
        require(false);
        return std::string();
      },
      std::chrono::milliseconds(1000));
  {
    const auto first = session->open_flow("baton/1/words", std::make_shared<NoChunks>(), TopicPriority::kHigh);
    const auto second = session->open_flow("x", std::make_shared<NoChunks>(), TopicPriority::kHigh);
    const auto connection = std::make_shared<HostConnection>();
    connection->wire = std::make_unique<InputWire>(data + 1, size - 1, piece);
    require(session->attach(of, connection));
    const Error reason = session->read(of, connection);
    require(reason.code == Errc::system || reason.code == Errc::protocol_violation);
    static_cast<void>(session->state());
    static_cast<void>(session->known());
  }
  session->end();
  require(session.use_count() == 1);
  session.reset();
  require(g_arriving == 0);
  return 0;
}
