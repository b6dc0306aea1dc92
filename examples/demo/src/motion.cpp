// SPDX-License-Identifier: Apache-2.0
#include "motion.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace baton::demo {
namespace {

constexpr std::uint32_t kColumns = 80, kRows = 45;  // cells of a frame
constexpr std::uint32_t kCells = kColumns * kRows;
constexpr int kChange = 16;                     // of 255
constexpr std::uint32_t kLeast = kCells / 200;  // cells of an area worth a box

// The left neighbour, the right one, the one above and the one below, where the grid has them.
template <class Visit>
void neighbours(std::uint32_t cell, const Visit& visit) {
  if (cell % kColumns > 0) visit(cell - 1);
  if (cell % kColumns + 1 < kColumns) visit(cell + 1);
  if (cell >= kColumns) visit(cell - kColumns);
  if (cell + kColumns < kCells) visit(cell + kColumns);
}

}  // namespace

std::optional<Box> MotionDetector::detect(const std::uint8_t* rgb, std::uint32_t width, std::uint32_t height,
                                          std::uint32_t step) {
  std::vector<std::uint8_t> now(kCells);
  for (std::uint32_t cell = 0; cell < kCells; ++cell) {
    const std::size_t x = (cell % kColumns) * width / kColumns, y = cell / kColumns * height / kRows;
    now[cell] = rgb[y * step + 3 * x + 1];  // green carries most of the brightness
  }
  const bool first = before_.empty();
  before_.swap(now);
  if (first) return std::nullopt;
  std::vector<bool> open(kCells);  // changed, and in no area yet
  for (std::uint32_t cell = 0; cell < kCells; ++cell)
    open[cell] = std::abs(int{before_[cell]} - int{now[cell]}) > kChange;

  std::vector<std::uint32_t> largest, area;
  for (std::uint32_t start = 0; start < kCells; ++start) {
    if (!open[start]) continue;
    area.assign(1, start);
    open[start] = false;
    for (std::size_t next = 0; next < area.size(); ++next)
      neighbours(area[next], [&](std::uint32_t cell) {
        if (!open[cell]) return;
        open[cell] = false;
        area.push_back(cell);
      });
    if (area.size() > largest.size()) largest.swap(area);
  }
  if (largest.size() < kLeast) return std::nullopt;
  std::uint32_t left = kColumns, right = 0, top = kRows, bottom = 0;
  for (const std::uint32_t cell : largest) {
    left = std::min(left, cell % kColumns);
    right = std::max(right, cell % kColumns + 1);
    top = std::min(top, cell / kColumns);
    bottom = std::max(bottom, cell / kColumns + 1);
  }
  Box box;
  box.x = left * width / kColumns;
  box.y = top * height / kRows;
  box.width = right * width / kColumns - box.x;
  box.height = bottom * height / kRows - box.y;
  return box;
}

}  // namespace baton::demo
