// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace baton::robot {
namespace {

constexpr double kNanosecond = 1e-9;
constexpr Scene kDrive{{0.6, 0.4}, 1.2, 100'000'000, 1.2 + 2.0};
constexpr Scene kTurn{{100, 150}, 200, 0, 200 + 3 * 360};

}  // namespace

Task task_of(std::string_view name) {
  if (name == "drive") return Task::drive;
  if (name == "turn") return Task::turn;
  throw std::invalid_argument("'" + std::string(name) + "' is no task: drive or turn");
}

double Motion::travelled(Nanoseconds now, Nanoseconds start, Nanoseconds brake) const {
  if (start == kNever || now <= start) return 0;
  const Nanoseconds braked = std::max(start, brake);
  const double cruising = static_cast<double>(std::min(now, braked) - start) * kNanosecond;
  const double braking =
      now <= braked ? 0 : std::min(static_cast<double>(now - braked) * kNanosecond, braking_seconds());
  return speed * cruising + speed * braking - deceleration * braking * braking / 2;
}

Nanoseconds Motion::reached(double distance, Nanoseconds start) const {
  return start == kNever ? kNever : start + static_cast<Nanoseconds>(distance / speed / kNanosecond);
}

Nanoseconds Motion::stopped(Nanoseconds brake) const {
  return brake == kNever ? kNever : brake + static_cast<Nanoseconds>(braking_seconds() / kNanosecond);
}

const Scene& scene(Task task) { return task == Task::drive ? kDrive : kTurn; }

Nanoseconds light_on(Task task, Nanoseconds start, Nanoseconds brake) {
  if (task == Task::turn) return start;
  const Nanoseconds triggered = kDrive.motion.reached(kDrive.trigger, start);
  return triggered == kNever || brake < triggered ? kNever : triggered + kDrive.switch_delay;
}

}  // namespace baton::robot
