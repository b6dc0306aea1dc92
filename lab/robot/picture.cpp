// SPDX-License-Identifier: Apache-2.0
#include "picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

namespace baton::robot {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kLampRadius = 0.04, kLampSpacing = 0.1;  // m
constexpr double kTile = 0.25;                            // m of the floor
constexpr double kPanel = 5;                              // degrees of the wall
constexpr double kNearest = 0.1;                          // m: nearer things are behind the camera

struct Color {
  std::uint8_t red, green, blue;
};
constexpr Color kHousing{28, 30, 34}, kDoor{122, 84, 52}, kSwitch{210, 208, 200};

double focal_length(Size size) { return size.width / (2 * std::tan(kFieldOfView / 2 * kPi / 180)); }

/// A camera that looks along `heading` (degrees, counterclockwise) from (x, 0, kCameraHeight).
class Canvas {
 public:
  Canvas(Size size, std::uint8_t* rgb, double x, double heading)
      : size_(size), rgb_(rgb), x_(x), heading_(heading * kPi / 180), focal_(focal_length(size)) {
    solid_.resize(size.step());
  }

  /// Below the horizon tiles in depth, above it panels by direction.
  void room() {
    std::vector<std::uint8_t> wall(size_.step()), light(size_.step()), dark(size_.step());
    fill(light, {176, 170, 160});
    fill(dark, {150, 145, 137});
    for (std::uint32_t u = 0; u < size_.width; ++u) {
      const double bearing = heading_ * 180 / kPi + std::atan((center_x() - u) / focal_) * 180 / kPi;
      const int panel = static_cast<int>(std::floor(bearing / kPanel));
      const auto shade = static_cast<std::uint8_t>(200 + (panel % 2 == 0 ? 12 : 0) + std::abs(panel * 7 % 11));
      wall[3 * u] = shade;
      wall[3 * u + 1] = shade;
      wall[3 * u + 2] = static_cast<std::uint8_t>(shade - 12);
    }
    for (std::uint32_t v = 0; v < size_.height; ++v) {
      const double below = v + 0.5 - center_y();
      const double ahead = below > 0 ? x_ + kCameraHeight * focal_ / below : 0;
      const auto& row = below <= 0 ? wall : static_cast<long>(std::floor(ahead / kTile)) % 2 == 0 ? light : dark;
      std::memcpy(rgb_ + std::size_t{v} * size_.step(), row.data(), row.size());
    }
  }

  /// A rectangle that faces the camera, from (x, y) on the floor.
  void board(double x, double y, double width, double bottom, double top, Color color) {
    const Place at = place(x, y);
    if (at.scale == 0) return;
    const Columns columns = clipped(at.u - width / 2 * at.scale, at.u + width / 2 * at.scale);
    if (columns.begin == columns.end) return;
    const auto first = rounded(v_of(top, at.scale), size_.height), last = rounded(v_of(bottom, at.scale), size_.height);
    fill(solid_, color);
    for (std::uint32_t v = first; v < last; ++v) paint(v, columns);
  }

  void disc(double x, double y, double z, double radius, Color color) {
    const Place at = place(x, y);
    if (at.scale == 0) return;
    const double middle = v_of(z, at.scale), pixels = radius * at.scale;
    fill(solid_, color);
    const auto last = rounded(middle + pixels, size_.height);
    for (std::uint32_t v = rounded(middle - pixels, size_.height); v < last; ++v) {
      const double from_middle = v + 0.5 - middle;
      const double half = std::sqrt(std::max(0.0, pixels * pixels - from_middle * from_middle));
      paint(v, clipped(at.u - half, at.u + half));
    }
  }

 private:
  struct Place {
    double u, scale;  ///< pixels; pixels per metre, 0: not in front of the camera
  };
  struct Columns {
    std::uint32_t begin, end;
  };

  double center_x() const { return size_.width / 2.0; }
  double center_y() const { return size_.height / 2.0; }
  double v_of(double z, double scale) const { return center_y() - (z - kCameraHeight) * scale; }

  Place place(double x, double y) const {
    const double ahead = std::cos(heading_) * (x - x_) + std::sin(heading_) * y;
    const double left = -std::sin(heading_) * (x - x_) + std::cos(heading_) * y;
    if (ahead < kNearest) return {0, 0};
    return {center_x() - left / ahead * focal_, focal_ / ahead};
  }
  static std::uint32_t rounded(double value, std::uint32_t most) {
    return static_cast<std::uint32_t>(std::clamp(std::round(value), 0.0, static_cast<double>(most)));
  }
  Columns clipped(double begin, double end) const { return {rounded(begin, size_.width), rounded(end, size_.width)}; }
  static void fill(std::vector<std::uint8_t>& row, Color color) {
    for (std::size_t i = 0; i < row.size(); i += 3) {
      row[i] = color.red;
      row[i + 1] = color.green;
      row[i + 2] = color.blue;
    }
  }
  void paint(std::uint32_t v, Columns columns) {
    std::memcpy(rgb_ + std::size_t{v} * size_.step() + std::size_t{3} * columns.begin, solid_.data(),
                std::size_t{3} * (columns.end - columns.begin));
  }

  const Size size_;
  std::uint8_t* const rgb_;
  const double x_, heading_, focal_;
  std::vector<std::uint8_t> solid_;
};

/// Red is above the camera's height, yellow on it, green below.
double height_of(Lamp lamp) {
  return kCameraHeight + kLampSpacing * (lamp == Lamp::red ? 1 : lamp == Lamp::yellow ? 0 : -1);
}

void traffic_light(Canvas& canvas, double x, double y, Lamp lit) {
  canvas.board(x, y, 0.03, 0, kCameraHeight, kHousing);
  canvas.board(x, y, 0.14, kCameraHeight - 0.18, kCameraHeight + 0.18, kHousing);
  struct Bulb {
    Lamp lamp;
    Color on, off;
  };
  constexpr std::array<Bulb, 3> kBulbs{Bulb{Lamp::red, {255, 48, 40}, {70, 16, 14}},
                                       Bulb{Lamp::yellow, {255, 214, 40}, {70, 58, 14}},
                                       Bulb{Lamp::green, {40, 240, 96}, {14, 62, 28}}};
  for (const Bulb& bulb : kBulbs)
    canvas.disc(x, y, height_of(bulb.lamp), kLampRadius, bulb.lamp == lit ? bulb.on : bulb.off);
}

/// `x` of the robot, 0 at the line of the laser switch.
void draw_drive(Canvas& canvas, Lamp lit) {
  traffic_light(canvas, kLightDistance, 0, lit);
  for (const double side : {-0.5, 0.5}) {
    canvas.board(0, side, 0.08, 0, 1.2, kDoor);
    canvas.board(0, side, 0.05, 0.08, 0.14, kSwitch);
  }
  canvas.board(0, 0, 1.08, 1.1, 1.2, kDoor);
}

void draw_turn(Canvas& canvas, Lamp lit) {
  struct Furniture {
    double bearing, width, top;
    Color color;
  };
  constexpr std::array<Furniture, 4> kFurniture{Furniture{20, 0.7, 0.9, {122, 84, 52}},
                                                {95, 0.5, 0.5, {60, 96, 150}},
                                                {150, 0.4, 0.7, {188, 158, 96}},
                                                {290, 0.8, 0.4, {90, 130, 84}}};
  for (const Furniture& piece : kFurniture) {
    const double bearing = piece.bearing * kPi / 180;
    canvas.board(3 * std::cos(bearing), 3 * std::sin(bearing), piece.width, 0, piece.top, piece.color);
  }
  const double light = scene(Task::turn).trigger * kPi / 180;
  traffic_light(canvas, kLightDistance * std::cos(light), kLightDistance * std::sin(light), lit);
}

}  // namespace

void draw(const View& view, Size size, std::uint8_t* rgb) {
  const bool drives = view.task == Task::drive;
  Canvas canvas(size, rgb, drives ? view.travelled - scene(Task::drive).trigger : 0, drives ? 0 : view.travelled);
  canvas.room();
  if (drives)
    draw_drive(canvas, view.lit);
  else
    draw_turn(canvas, view.lit);
}

Box region_of_interest(Size size) {
  const std::uint32_t side = size.width / 6;
  return {(size.width - side) / 2, (size.height - side) / 2, side, side};
}

Box lamp_box(Size size, Lamp lamp) {
  const double scale = focal_length(size) / kLightDistance;
  const auto side = static_cast<std::uint32_t>(2 * kLampRadius * scale);
  const double middle = size.height / 2.0 - (height_of(lamp) - kCameraHeight) * scale;
  return {(size.width - side) / 2, static_cast<std::uint32_t>(middle - side / 2.0), side, side};
}

}  // namespace baton::robot
