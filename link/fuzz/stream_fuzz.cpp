// SPDX-License-Identifier: Apache-2.0
// Feeds frames of another host to both ends of its flows, FlowReceiver and FlowSender, as Session does, without sockets. The input is a
// sequence of {u8 action, operands}; replay_test.cpp runs the seeds in seeds/stream. Bytes of messages are not in the input:
// each byte has a value that follows from its flow, chunk and place.
//
// Checked besides memory safety: (1) a chunk is delivered whole, once and in the order of its flow; (2) no receiver gets more bytes
// than were announced; (3) what waits is counted to the byte, at most kMostUnderWay chunks of a flow, and nothing outlives its flow;
// (4) acknowledgements rise and name nothing that has not come; (5) a part is accepted if, and only if, it is the next one; (6) parts
// that this host sends have bytes, lie inside their chunks and follow each other; (7) only what was sent in full is acknowledged.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "stream/flow_receiver.hpp"
#include "stream/flow_sender.hpp"

namespace {

using namespace baton;
using namespace baton::link;
using namespace baton::link::stream;

constexpr std::size_t kHeader = sizeof(memory::ChunkHeader);
constexpr Gid kFar{1};
constexpr std::size_t kMostMessage = std::size_t{300}
                                     << 10;  // larger ones are refused: the fuzzer has no memory for them
constexpr std::size_t kMostWaiting = std::size_t{1} << 20;  // as Session, which then reads no more

void require(bool condition) {
  if (!condition) std::abort();
}

class Input {
 public:
  Input(const std::uint8_t* bytes, std::size_t size) : at_(bytes), left_(size) {}
  std::size_t left() const { return left_; }
  std::uint8_t byte() { return static_cast<std::uint8_t>(number(1)); }
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes && left_ > 0; ++i, ++at_, --left_) value |= std::uint64_t{*at_} << (8 * i);
    return value;
  }

 private:
  const std::uint8_t* at_;
  std::size_t left_;
};

/// The bytes of messages: byte `place` of chunk `number` is life * 31 + number * 7 + place + (place >> 8). The table has the sum of the last two,
/// which grows by one with each 256 places, so the first two choose where in the table a message begins: one copy, or comparison, does the rest.
const std::byte* content_of(std::uint32_t life, std::uint64_t number, std::size_t place) {
  static const std::vector<std::byte> table = [] {
    std::vector<std::byte> out(255 * 256 + kMostMessage);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i + (i >> 8));
    return out;
  }();
  return &table[256 * static_cast<std::uint8_t>(life * 31 + number * 7) + place];
}

/// Whether a message of `size` bytes has those that content_of() says.
bool is_content(const std::byte* bytes, std::size_t size, std::uint32_t life, std::uint64_t number) {
  return size == 0 || std::memcmp(bytes, content_of(life, number, 0), size) == 0;
}

void fill(std::byte* bytes, std::size_t size, std::uint32_t life, std::uint64_t number, std::size_t begin) {
  if (size != 0) std::memcpy(bytes, content_of(life, number, begin), size);
}

/// What the fuzzer knows of one flow of the other host. `life`: a number that no other flow has had.
struct Model {
  std::uint32_t life = 0;
  std::string channel;
  bool named = true;
  std::uint64_t come = 0, delivered = 0, acknowledged = 0;
  std::uint32_t total = 0;
  std::uint64_t offset = 0;
};

struct Alive {
  std::size_t count = 0, bytes = 0;
};

struct Message final : ArrivingChunk {
  Message(std::size_t size, std::size_t come_bytes, std::uint32_t flow_life, std::uint64_t chunk, Alive& all)
      : life(flow_life), number(chunk), alive(all) {
    require(grow(come_bytes) && come_bytes <= size);
    size_bytes = size;
    ++alive.count;
    alive.bytes += size;
  }
  ~Message() override {
    --alive.count;
    alive.bytes -= size_bytes;
  }
  bool grow(std::size_t come_bytes) override {
    require(!whole);
    if (come_bytes < has) return true;  // the connection broke in a part, and a smaller one begins where that began
    std::unique_ptr<std::byte[]> larger(new std::byte[come_bytes]);
    std::copy_n(memory.get(), has, larger.get());
    memory = std::move(larger);
    message = memory.get();
    has = come_bytes;
    return true;
  }
  void come() override { require(has == size_bytes && !std::exchange(whole, true)); }
  std::unique_ptr<std::byte[]> memory;  // of exactly what has come, so that the sanitizer reports a byte behind it
  std::size_t has = 0;
  bool whole = false;
  const std::uint32_t life;
  const std::uint64_t number;
  Alive& alive;
  bool delivered = false;
};

class Shelf final : public ChunkReceiver {
 public:
  std::unique_ptr<ArrivingChunk> begin(const Gid& host, const memory::ChunkHeader&, std::size_t message_bytes,
                                       std::size_t come_bytes) override {
    require(host == kFar && expected != nullptr && message_bytes == expected_bytes);
    if (refuses || message_bytes > kMostMessage) return nullptr;
    return std::make_unique<Message>(message_bytes, come_bytes, expected->life, expected_number, alive);
  }
  bool deliver(const Gid& host, ArrivingChunk& arriving) override {
    require(host == kFar);
    auto& message = static_cast<Message&>(arriving);
    if (full) return false;
    require(message.whole && !message.delivered && message.number > last[message.life]);
    last[message.life] = message.number;
    message.delivered = true;
    require(is_content(message.message, message.size_bytes, message.life, message.number));
    return true;
  }
  Alive alive;
  std::map<std::uint32_t, std::uint64_t> last;  // delivered, by life
  const Model* expected = nullptr;              // of the part that begins a chunk
  std::uint64_t expected_number = 0;
  std::size_t expected_bytes = 0;
  bool refuses = false, full = false;
};

struct Chunk final : OutgoingChunk {
  explicit Chunk(std::size_t size) : memory(new std::byte[size]()) {
    bytes = memory.get();
    size_bytes = size;
  }
  const std::unique_ptr<std::byte[]> memory;
};

class Well final : public ChunkSource {
 public:
  NextChunk next(std::shared_ptr<const OutgoingChunk>& chunk) override {
    if (left == 0) return NextChunk::kNothing;
    --left;
    chunk = std::make_shared<Chunk>(kHeader + left % 3 * 1000);
    ++given;
    return NextChunk::kChunk;
  }
  bool empty() const override { return left == 0; }
  std::size_t left = 0;
  std::uint64_t given = 0;
};

class Fuzzed {
 public:
  Fuzzed() {
    registrations_[0] = *channels_->add("a", shelf_);
    registrations_[1] = *channels_->add("b", shelf_);
    for (std::uint32_t i = 0; i < 2; ++i) own_[sending_.open("own", wells_[i], TrafficClass::kUrgent)] = {};
  }
  void run(Input& in) {
    connect();
    while (in.left() != 0) {
      step(in);
      check();
    }
    for (const auto& well : wells_) well->left = 0;
  }
  const Alive& alive() const { return shelf_->alive; }
  std::shared_ptr<Shelf> shelf() const { return shelf_; }

 private:
  /// What was sent of one of this host's flows.
  struct Own {
    std::uint64_t number = 1, offset = 0;  // of the next part
    std::uint64_t acknowledged = 0;
  };

  void step(Input& in) {
    const std::uint8_t action = in.byte();
    switch (action % 12) {
      case 0: {  // 32 bytes as they come
        std::array<std::byte, kFrameBytes> bytes;
        for (std::byte& each : bytes) each = static_cast<std::byte>(in.byte());
        const Result<HostFrame> frame = decode_frame(bytes.data());
        if (!frame) {
          require(frame.error().code == Errc::protocol_violation);
          connect();
          break;
        }
        require(encode(*frame) == encode(*decode_frame(encode(*frame).data())));
        take(*frame, in);
        break;
      }
      case 1: {
        HostFrame open = frame_of(FrameKind::kOpen, in);
        open.size = 1;
        take(open, in);
        break;
      }
      case 2:
        take(frame_of(FrameKind::kClose, in), in);
        break;
      case 3: {
        HostFrame ready = frame_of(FrameKind::kReady, in);
        ready.number = ready.flow == 3 ? connection_ : connection_ + 1;
        take(ready, in);
        break;
      }
      case 4:
        connect();
        break;
      case 5:  // the receiver has room, or not; refuses, or not; ends
        shelf_->full = (action & 16) != 0;
        shelf_->refuses = (action & 32) != 0;
        if ((action & 64) != 0) registrations_[0].reset();
        offer();
        break;
      case 6:
        acknowledge();
        break;
      case 7: {  // of this host's flows
        HostFrame ack = frame_of((action & 16) != 0 ? FrameKind::kResume : FrameKind::kAck, in);
        ack.number = in.byte();
        ack.offset = (action & 32) != 0 ? in.number(2) : 0;
        take(ack, in);
        break;
      }
      case 8:
        for (const auto& well : wells_) well->left += in.byte();
        send(1 + in.number(2));
        break;
      case 9: {  // a part of any numbers
        HostFrame part = frame_of(FrameKind::kPart, in);
        part.number = in.byte();
        part.offset = in.number(3);
        part.size = static_cast<std::uint32_t>(in.number(3));
        part.total = static_cast<std::uint32_t>(in.number(4));
        const Result<HostFrame> decoded = decode_frame(encode(part).data());
        if (decoded) take(*decoded, in);
        break;
      }
      default: {  // the next part of a flow
        HostFrame part = frame_of(FrameKind::kPart, in);
        const auto known = flows_.find(part.flow);
        if (known == flows_.end()) break;
        const Model& flow = known->second;
        part.number = flow.come + 1;
        part.offset = flow.offset;
        part.total =
            flow.offset != 0 ? flow.total : static_cast<std::uint32_t>(kHeader + in.number(action & 16 ? 3 : 1));
        const std::uint64_t wish =
            std::max<std::uint64_t>(in.number(action & 32 ? 3 : 1), part.offset == 0 ? kHeader : 1);
        part.size = static_cast<std::uint32_t>(std::min<std::uint64_t>({wish, kPartBytes, part.total - part.offset}));
        take(part, in);
        break;
      }
    }
  }

  static HostFrame frame_of(FrameKind kind, Input& in) {
    HostFrame out;
    out.kind = kind;
    out.flow = in.byte() % 4;
    return out;
  }

  /// As Session::take_frame().
  void take(const HostFrame& frame, Input& in) {
    switch (frame.kind) {
      case FrameKind::kPart:
        take_part(frame, in);
        break;
      case FrameKind::kOpen: {
        const std::string channel(1, static_cast<char>('a' + in.byte() % 3));
        const auto known = flows_.find(frame.flow);
        const bool fits = known == flows_.end() ? flows_.size() < kMostFlows
                                                : !known->second.named && known->second.channel == channel;
        require(static_cast<bool>(getting_.open(frame, channel)) == fits);
        if (!fits) return connect();
        Model& flow = flows_[frame.flow];
        flow.named = true;
        if (flow.life != 0) break;
        flow.life = ++lives_;
        flow.channel = channel;
        break;
      }
      case FrameKind::kClose:
        getting_.close(frame.flow);
        flows_.erase(frame.flow);
        break;
      case FrameKind::kReady: {
        const bool fits = frame.number > connection_ && frame.number - connection_ <= FlowReceiver::kMostUnready;
        require(static_cast<bool>(getting_.ready(frame.number)) == fits);
        if (!fits) return connect();
        connection_ = frame.number;
        for (auto at = flows_.begin(); at != flows_.end();) at = at->second.named ? std::next(at) : flows_.erase(at);
        sending_.ready();
        break;
      }
      case FrameKind::kResume:
      case FrameKind::kAck: {
        const bool ack = frame.kind == FrameKind::kAck;
        if (!(ack ? sending_.acknowledge(frame) : sending_.resume(frame))) return connect();
        const auto own = own_.find(frame.flow);
        if (own == own_.end()) break;
        const std::uint64_t acknowledged = sending_.acknowledged(frame.flow);
        require(acknowledged >= own->second.acknowledged && acknowledged < own->second.number);
        own->second.acknowledged = acknowledged;
        if (ack) break;
        own->second.number = frame.number + 1;
        own->second.offset = frame.offset;
        break;
      }
      case FrameKind::kAlive:
      case FrameKind::kBulk:
        break;
    }
  }

  void take_part(const HostFrame& frame, Input& in) {
    if (getting_.waiting_bytes() > kMostWaiting) return;
    const auto known = flows_.find(frame.flow);
    const bool open = known != flows_.end() && known->second.named;
    const bool next = open && frame.number == known->second.come + 1 && frame.offset == known->second.offset &&
                      (frame.offset == 0 || frame.total == known->second.total) &&
                      frame.number - known->second.delivered <= kMostUnderWay;
    require(static_cast<bool>(getting_.begin_part(frame)) == next);
    if (!next) return connect();
    Model& flow = known->second;
    const std::size_t header = getting_.header_bytes();
    require(header == (frame.offset == 0 ? kHeader : 0) && header <= frame.size);
    const std::uint8_t cut = in.byte();  // the connection breaks in the part
    if (cut == 1) return connect();
    shelf_->expected = frame.offset == 0 ? &flow : nullptr;
    shelf_->expected_number = frame.number;
    shelf_->expected_bytes = frame.total - kHeader;
    std::byte* const place = getting_.place();
    shelf_->expected = nullptr;
    const std::size_t size = getting_.place_bytes();
    require(size + header == frame.size);
    flow.total = frame.total;
    const std::size_t begin = frame.offset + header - kHeader;
    if (place != nullptr) fill(place, size / (cut == 2 ? 2 : 1), flow.life, frame.number, begin);
    if (cut == 2) return connect();
    getting_.end_part();
    flow.offset = frame.offset + frame.size;
    if (flow.offset < flow.total) return;
    flow.offset = 0;
    ++flow.come;
    ++messages_;
    bytes_ += flow.total;
  }

  void connect() {
    std::vector<HostFrame> frames;
    getting_.connected(frames);
    require(frames.size() == flows_.size());
    for (const HostFrame& each : frames) {
      const Model& flow = flows_.at(each.flow);
      require(each.kind == FrameKind::kResume && each.number == flow.come && each.offset == flow.offset);
    }
    for (auto& [id, flow] : flows_) flow.named = false;
    sending_.disconnected();
    sending_.connected();
    for (auto& [id, own] : own_) own.number = own.acknowledged + 1, own.offset = 0;
  }

  void offer() {
    const bool waits = getting_.offer_again();
    require(waits || getting_.waiting_bytes() == 0);
    require(!waits || shelf_->full);
  }

  void acknowledge() {
    std::vector<HostFrame> frames;
    getting_.acknowledgements(frames);
    std::set<std::uint32_t> said;
    for (const HostFrame& each : frames) {
      Model& flow = flows_.at(each.flow);
      require(each.kind == FrameKind::kAck && said.insert(each.flow).second);
      require(each.number >= flow.acknowledged && each.number <= flow.come && each.number > 0);
      flow.acknowledged = flow.delivered = each.number;
    }
    for (auto& [id, flow] : flows_) require(flow.come - flow.acknowledged <= kMostUnderWay);
  }

  void send(std::size_t bytes) {
    std::vector<OutgoingFrame> frames;
    sending_.next(bytes, 64, {}, frames);
    for (const OutgoingFrame& each : frames) {
      if (!each.chunk) continue;
      Own& own = own_.at(each.frame.flow);
      require(each.frame.size > 0 && each.frame.total == each.chunk->size_bytes);
      require(each.frame.number == own.number && each.frame.offset == own.offset);
      require(decode_frame(encode(each.frame).data()).ok());
      own.offset += each.frame.size;
      if (own.offset < each.frame.total) continue;
      own.offset = 0;
      ++own.number;
    }
  }

  void check() {
    // Acknowledgements say what was delivered; the model has it from them.
    acknowledge();
    require(getting_.messages() == messages_ && getting_.bytes() == bytes_);
    // Each message that waits weighs more than its bytes, also one that was refused, which is not alive.
    const std::size_t most_beside = flows_.size() * kMostUnderWay * FlowReceiver::kWaitingMessageBytes;
    require(shelf_->alive.bytes + most_beside >= getting_.waiting_bytes());
    require(shelf_->alive.bytes <= getting_.waiting_bytes() + flows_.size() * kMostMessage);
    require(shelf_->alive.count <= flows_.size() * (kMostUnderWay + 1));
    std::uint64_t given = 0, known = 0;
    for (const auto& well : wells_) given += well->given;
    const FlowSender::Totals totals = sending_.totals();
    known = totals.messages + totals.waiting_messages;
    require(known == given && totals.waiting_messages <= own_.size() * kMostUnderWay);
  }

  std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
  std::shared_ptr<ReceiverTable> channels_ = std::make_shared<ReceiverTable>();
  std::array<std::shared_ptr<void>, 2> registrations_;
  std::array<std::shared_ptr<Well>, 2> wells_{std::make_shared<Well>(), std::make_shared<Well>()};
  FlowReceiver getting_{kFar, channels_};
  transport::WaitSet wait_set_;
  FlowSender sending_{wait_set_, TrafficClass::kUrgent};
  std::map<std::uint32_t, Model> flows_;
  std::map<std::uint32_t, Own> own_;
  std::uint64_t connection_ = 0;  // number of the last kReady
  std::uint32_t lives_ = 0;
  std::uint64_t messages_ = 0, bytes_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::shared_ptr<Shelf> shelf;
  {
    Fuzzed fuzzed;
    Input in(data, size);
    fuzzed.run(in);
    shelf = fuzzed.shelf();
  }
  require(shelf->alive.count == 0 && shelf->alive.bytes == 0);
  return 0;
}
