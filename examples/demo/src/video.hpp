// SPDX-License-Identifier: Apache-2.0
// A file of RGB frames as an endless stream of frames of another size. Thread rules: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace baton::demo {

struct FrameSize {
  std::size_t width = 0, height = 0;
  std::size_t bytes() const noexcept { return 3 * width * height; }
};

/// Frames that `baton demo` has drawn beforehand (cli/baton_cli/demo_scene.py): no measured process draws.
class Video {
 public:
  /// Opens `path`: frames of `stored`, RGB24, one after the other. They come out as frames of `wanted`. Throws std::runtime_error
  /// that names the file.
  Video(const std::string& path, FrameSize stored, FrameSize wanted);

  /// Reads the next frame and enlarges it (nearest neighbour) straight into `rgb`, `wanted.bytes()` bytes; starts over at the end.
  void next(std::uint8_t* rgb);

 private:
  std::string path_;
  std::ifstream file_;
  FrameSize stored_, wanted_;
  std::size_t frames_ = 0, position_ = 0;
  std::vector<std::uint8_t> frame_;
  std::vector<std::size_t> columns_;  // where a row of a stored frame has the pixel of each wanted column
};

}  // namespace baton::demo
