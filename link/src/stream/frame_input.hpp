// SPDX-License-Identifier: Apache-2.0
// The bytes of one connection, as the thread that reads it takes them.
// Thread rules: of that thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>

#include "baton/os/result.hpp"
#include "wire.hpp"

namespace baton::link::stream {

/// A host that sends nothing for so long is not reached.
inline constexpr std::chrono::milliseconds kSilence{3000};

/// Bytes that were read and not used yet. A caller that wants many bytes gets those, and then the rest from the kernel directly.
class FrameInput {
 public:
  explicit FrameInput(Wire& wire) : wire_(wire) {}
  /// `size` bytes to `to`; null: they are dropped.
  Result<void> read(std::byte* to, std::size_t size) {
    while (size > 0) {
      if (begin_ < end_) {
        const std::size_t now = std::min(size, end_ - begin_);
        if (to != nullptr) {
          std::memcpy(to, buffer_ + begin_, now);
          to += now;
        }
        begin_ += now;
        size -= now;
        continue;
      }
      begin_ = end_ = 0;
      if (Result<void> come = wait(kSilence); !come) return come;
      os::IoPart parts[2] = {{to, size}, {buffer_, sizeof buffer_}};
      const bool direct = to != nullptr;
      const Result<std::size_t> got = wire_.read(direct ? parts : parts + 1, direct ? 2 : 1);
      if (!got) return got.error();
      heard_ = Clock::now();
      const std::size_t here = direct ? std::min(*got, size) : 0;
      if (direct) to += here;
      size -= here;
      end_ = *got - here;
    }
    return {};
  }
  bool buffered() const { return begin_ < end_; }
  /// Whether bytes came within `timeout`. Error timed_out: nothing came for too long.
  Result<bool> ready(std::chrono::milliseconds timeout) {
    if (buffered() || wire_.wait_readable(timeout)) return true;
    if (Clock::now() - heard_ >= kSilence) return silent();
    return false;
  }
  void heard() { heard_ = Clock::now(); }

 private:
  using Clock = std::chrono::steady_clock;
  static Error silent() { return {Errc::timed_out, "it has said nothing for 3 s"}; }
  Result<void> wait(std::chrono::milliseconds timeout) {
    if (!wire_.wait_readable(timeout)) return silent();
    return {};
  }
  Wire& wire_;
  Clock::time_point heard_ = Clock::now();
  std::byte buffer_[4096];
  std::size_t begin_ = 0, end_ = 0;
};

}  // namespace baton::link::stream
