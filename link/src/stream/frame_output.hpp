// SPDX-License-Identifier: Apache-2.0
// Writes frames to one connection after the other, in batches of a size that suits the line.
// Thread rules: of the thread that writes.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <vector>

#include "baton/os/tcp_socket.hpp"
#include "flow_sender.hpp"
#include "frames.hpp"
#include "wire.hpp"

namespace baton::link::stream {

/// Frames of one write. Half of them have bytes behind them.
inline constexpr std::size_t kBatchFrames = os::TcpSocket::kMaxParts / 2;

class FrameOutput {
 public:
  /// Bytes of one write. A fast line gets more; a slow line so few that the next chunk is not delayed.
  std::size_t batch_bytes() const noexcept { return batch_bytes_; }
  /// The next frames go over this wire.
  void begin(Wire& wire) const { wire.keep_unsent(batch_bytes_); }
  Result<void> write(Wire& wire, const std::vector<OutgoingFrame>& frames) {
    const auto begun = std::chrono::steady_clock::now();
    for (std::size_t begin = 0; begin < frames.size(); begin += kBatchFrames) {
      const std::size_t end = std::min(frames.size(), begin + kBatchFrames);
      if (Result<void> written = write(wire, &frames[begin], end - begin); !written) return written;
    }
    adapt(wire, std::chrono::steady_clock::now() - begun);
    return {};
  }

 private:
  static constexpr std::size_t kLeastBatch = std::size_t{8} << 10, kMostBatch = kPartBytes;
  static constexpr std::chrono::milliseconds kSlow{50}, kFast{10};

  static Result<void> write(Wire& wire, const OutgoingFrame* frames, std::size_t count) {
    std::array<std::array<std::byte, kFrameBytes>, kBatchFrames> heads;
    std::array<os::IoPart, os::TcpSocket::kMaxParts> parts;
    std::size_t size = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const OutgoingFrame& each = frames[i];
      heads[i] = encode(each.frame);
      parts[size++] = {heads[i].data(), kFrameBytes};
      if (each.chunk) {
        parts[size++] = {const_cast<std::byte*>(each.chunk->bytes) + each.frame.offset, each.frame.size};
      } else if (!each.name.empty()) {
        parts[size++] = {const_cast<char*>(each.name.data()), each.name.size()};
      }
    }
    return wire.write(parts.data(), size);
  }
  void adapt(Wire& wire, std::chrono::nanoseconds taken) {
    const std::size_t before = batch_bytes_;
    if (taken > kSlow) batch_bytes_ = std::max(kLeastBatch, before / 2);
    if (taken < kFast) batch_bytes_ = std::min(kMostBatch, before * 2);
    if (batch_bytes_ != before) wire.keep_unsent(batch_bytes_);
  }
  std::size_t batch_bytes_ = kPartBytes;
};

}  // namespace baton::link::stream
