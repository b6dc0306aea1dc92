// SPDX-License-Identifier: Apache-2.0
// A process that speaks frames as its test likes.
// Thread rules: the hub's thread fills `peers`, `gone` and `frames` under `mutex`; everything else by the test's thread.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "endpoint_test_support.hpp"
#include "frames.hpp"
#include "hub.hpp"

namespace baton::transport::test {

class RawPeer final : public HubHandler {
 public:
  /// `begins` false: its test calls hub->start().
  explicit RawPeer(const std::string& directory, bool begins = true) {
    HubOptions options;
    options.domain = 0;
    options.runtime_directory = directory;
    hub = std::move(Hub::create(options, *this)).or_throw();
    if (begins) hub->start().or_throw();
  }
  ~RawPeer() override { hub.reset(); }
  void on_peer_up(PeerId peer, const PeerInfo&) override {
    const std::lock_guard<std::mutex> lock(mutex);
    peers.push_back(peer);
    changed.notify_all();
  }
  void on_peer_down(PeerId peer, const Error&) override {
    const std::lock_guard<std::mutex> lock(mutex);
    gone.push_back(peer);
    changed.notify_all();
  }
  Result<void> on_frame(PeerId peer, Frame&& frame) override {
    const std::lock_guard<std::mutex> lock(mutex);
    if (frame.type == static_cast<std::uint16_t>(FrameType::kAnnounce)) {  // one frame for each announcement
      const std::vector<AnnounceFrame> announcements = decode_announcements(frame.payload).or_throw();
      for (const AnnounceFrame& each : announcements) frames.emplace_back(peer, Frame{frame.type, encode(each), {}});
    } else {
      frames.emplace_back(peer, std::move(frame));
    }
    changed.notify_all();
    return {};
  }
  /// An endpoint that another process has announced, with its process.
  std::pair<PeerId, AnnounceFrame> await_announcement() {
    const auto [peer, frame] = await(FrameType::kAnnounce);
    return {peer, decode_announcements(frame.payload).or_throw().front()};
  }
  /// The first frame of `type` with its sender; an empty payload if none comes.
  std::pair<PeerId, Frame> await(FrameType type) {
    std::unique_lock<std::mutex> lock(mutex);
    std::pair<PeerId, Frame> out;
    changed.wait_for(lock, kPatience, [&] {
      for (auto& entry : frames) {
        if (entry.second.type != static_cast<std::uint16_t>(type) || entry.second.payload.empty()) continue;
        out = std::move(entry);
        entry.second.payload.clear();
        return true;
      }
      return false;
    });
    return out;
  }
  std::size_t count(FrameType type) {
    const std::lock_guard<std::mutex> lock(mutex);
    return static_cast<std::size_t>(std::count_if(frames.begin(), frames.end(), [type](const auto& entry) {
      return entry.second.type == static_cast<std::uint16_t>(type);
    }));
  }
  bool await_peers(std::size_t count) {
    std::unique_lock<std::mutex> lock(mutex);
    return changed.wait_for(lock, kPatience, [&] { return peers.size() >= count; });
  }
  bool await_gone() {
    std::unique_lock<std::mutex> lock(mutex);
    return changed.wait_for(lock, kPatience, [&] { return !gone.empty(); });
  }
  void send(PeerId peer, FrameType type, Payload payload, std::vector<os::SharedFd> fds = {}) {
    hub->send(peer, static_cast<std::uint16_t>(type), std::move(payload), std::move(fds));
  }
  /// The id of one of its endpoints.
  Gid id(std::uint16_t number = 0) const {
    Gid gid{};
    std::copy(hub->process_id().begin(), hub->process_id().end(), gid.begin());
    gid[12] ^= 0x55;
    gid[13] ^= static_cast<std::uint8_t>(number);
    gid[14] ^= static_cast<std::uint8_t>(number >> 8);
    return gid;
  }
  /// Announces an endpoint on "t" that looks like make_writer's or make_reader's.
  Gid announce(bool is_writer, const QoS& qos = QoS()) { return announce(id(), is_writer, qos); }
  Gid announce(const Gid& gid, bool is_writer, const QoS& qos = QoS(), bool seldom = false) {
    AnnounceFrame frame;
    frame.gid = gid;
    frame.is_writer = is_writer;
    frame.seldom = seldom;
    frame.topic = "t";
    frame.node = "hostile";
    frame.type_name = number_type().name;
    frame.type_hash = number_type().hash;
    frame.skeleton_bytes = 8;
    frame.qos = qos;
    std::vector<PeerId> to;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      to = peers;
    }
    for (const PeerId peer : to) send(peer, FrameType::kAnnounce, encode(frame));
    return frame.gid;
  }

  std::unique_ptr<Hub> hub;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<PeerId> peers, gone;
  std::vector<std::pair<PeerId, Frame>> frames;
};

/// A process with many publishers of "t", as frames, which publish nothing but the messages with these `numbers`.
class CrowdOfPublishers {
 public:
  explicit CrowdOfPublishers(const std::string& directory) : peer_(directory) {}
  Gid add(std::uint16_t number) {
    const Gid gid = peer_.id(number);
    add(gid);
    return gid;
  }
  /// `first_sequence`: of the messages that it will publish. `depth`: of its reader.
  void add(const Gid& gid, std::uint64_t first_sequence = 1, const std::vector<std::uint64_t>& numbers = {},
           std::uint32_t depth = QoS().depth) {
    announce(gid);
    serve(asked(), first_sequence, numbers, depth);
  }
  void announce(const Gid& gid, bool seldom = false) {
    ASSERT_TRUE(peer_.await_peers(1));
    peer_.announce(gid, true, QoS(), seldom);
  }
  void call(const Gid& publisher, const Gid& reader) {
    peer_.send(peer_.peers[0], FrameType::kCall, encode(PairFrame{publisher, reader}));
  }
  /// The next ATTACH, with its sender.
  struct Asked {
    PeerId from = 0;
    AttachFrame attach;
  };
  Asked asked() {
    const auto [from, frame] = peer_.await(FrameType::kAttach);
    return {from, decode_attach(frame.payload).or_throw()};
  }
  void serve(const Asked& asked, std::uint64_t first_sequence, const std::vector<std::uint64_t>& numbers,
             std::uint32_t depth) {
    constexpr std::uint64_t kPlace = 4096;
    const auto& [reader, attach] = asked;
    const std::uint32_t capacity = memory::ring_capacity(depth);
    os::CreatedSegment events = os::create_segment("event", kEventPageBytes, os::Writers::kOnlyCreator).or_throw();
    os::CreatedSegment ring = os::create_segment("ring", Ring::bytes(capacity), os::Writers::kOnlyCreator).or_throw();
    if (!numbers.empty()) {
      os::CreatedSegment segment = os::create_segment("data", 2 * kPlace, os::Writers::kOnlyCreator).or_throw();
      memory::ChunkHeader header{};
      header.magic = memory::kChunkMagic;
      header.version = memory::kChunkVersion;
      header.byte_order = memory::kNativeByteOrder;
      header.size_bytes = 8;
      std::memcpy(segment.mapping.base() + kPlace, &header, sizeof header);
      SegmentFrame data;
      data.writer = attach.writer;
      data.size_bytes = segment.mapping.size();
      peer_.send(reader, FrameType::kSegment, encode(data),
                 {std::make_shared<const os::UniqueFd>(std::move(segment.fd))});
      const Ring view = Ring::at(ring.mapping.base(), capacity);
      for (std::uint32_t i = 0; i < numbers.size(); ++i) {
        view.slot_table[i].handle.store(kPlace);
        view.slot_table[i].entry.store(memory::make_token(i, i));
        view.slot_table[i].sequence.store(numbers[i]);
      }
      view.head->store(numbers.size());
    }
    AttachedFrame attached;
    attached.writer = attach.writer;
    attached.reader = attach.reader;
    attached.ring_capacity = capacity;
    attached.ring_bytes = ring.mapping.size();
    attached.held = 1;
    attached.first_sequence = first_sequence;
    std::vector<os::SharedFd> fds{std::make_shared<const os::UniqueFd>(std::move(events.fd)),
                                  std::make_shared<const os::UniqueFd>(std::move(ring.fd))};
    peer_.send(reader, FrameType::kAttached, encode(attached), std::move(fds));
  }
  /// Wake sockets that it was given.
  std::size_t sockets() { return peer_.count(FrameType::kWakeSocket); }
  /// Frames arrive in their order: after the reader's withdrawal no socket comes.
  bool reader_left() { return !peer_.await(FrameType::kWithdraw).second.payload.empty(); }

 private:
  RawPeer peer_;
};

}  // namespace baton::transport::test
