// SPDX-License-Identifier: Apache-2.0
// What the robot's camera sees: a room with a door and a traffic light, drawn into RGB pixels. The same view gives the same
// bytes. No clock, no process, no allocation that outlives the call.
#pragma once

#include <cstdint>

#include "world.hpp"

namespace baton::robot {

enum class Lamp : std::uint8_t { none, red, yellow, green };

struct View {
  Task task;
  double travelled;  ///< Motion's
  Lamp lit;
};

/// A picture's size; 16:9.
struct Size {
  std::uint32_t width, height;
  explicit constexpr Size(std::uint32_t wide) : width(wide), height(wide * 9 / 16) {}
  constexpr std::uint32_t step() const { return 3 * width; }
  constexpr std::uint32_t bytes() const { return step() * height; }
};

/// Writes every one of size.bytes() at `rgb`.
void draw(const View& view, Size size, std::uint8_t* rgb);

struct Box {
  std::uint32_t x, y, width, height;
};
/// Where recognition looks: a square in the picture's middle.
Box region_of_interest(Size size);
/// The lamp and a little of its housing in the picture of a robot on the line of the laser switch: what recognition looks for.
Box lamp_box(Size size, Lamp lamp);
/// That robot's view.
inline View template_view(Lamp lit) { return {Task::drive, scene(Task::drive).trigger, lit}; }

}  // namespace baton::robot
