// SPDX-License-Identifier: Apache-2.0
// A video file as an endless stream of RGB frames. Thread rules: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace baton::demo {

enum class Scaling { kFast, kSmooth };

/// Decodes with FFmpeg's libraries, the reference implementation of the codecs cameras and phones write.
class Video {
 public:
  /// Opens `path`; frames come out as RGB24 of `width` x `height`. Throws std::runtime_error naming the file.
  Video(const std::string& path, int width, int height, Scaling scaling = Scaling::kFast);
  ~Video();
  Video(const Video&) = delete;
  Video& operator=(const Video&) = delete;

  /// Decodes and converts the next frame straight into `rgb` (3 * width * height bytes); starts over at the end.
  void next(std::uint8_t* rgb);
  std::size_t frame_bytes() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace baton::demo
