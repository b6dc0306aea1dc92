// SPDX-License-Identifier: Apache-2.0
// The detector's work: where a picture moved since the one before. Thread rules: one thread per object.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace baton::demo {

/// A rectangle in pixels of the frame.
struct Box {
  std::uint32_t x = 0, y = 0, width = 0, height = 0;
};

/// Compares a sample of each frame's pixels with the frame before. Its cost does not depend on the frame's size.
class MotionDetector {
 public:
  /// `rgb`: rows of `step` bytes, 3 bytes a pixel; read during the call only. Returns the box around the largest connected area
  /// whose brightness changed; nothing for the first frame, or if less than a two-hundredth of the picture changed.
  std::optional<Box> detect(const std::uint8_t* rgb, std::uint32_t width, std::uint32_t height, std::uint32_t step);

 private:
  std::vector<std::uint8_t> before_;
};

}  // namespace baton::demo
