// SPDX-License-Identifier: Apache-2.0
// The simulated world of TZC's two applications (TZC IV-E): a TurtleBot that drives towards a traffic light, and one that
// turns in situ. Pure functions of time: no clock, no process.
//
// The paper states the speed (60 cm/s) and the results (63 and 53 cm; 60 and 30 degrees). The other constants here are
// assumptions: the delay of the laser switch and the deceleration make L1 + L4 the 51 cm that the paper's 53 cm leave;
// the turn's speed and deceleration make a stop without losses about 30 degrees behind the light.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace baton::robot {

using Nanoseconds = std::int64_t;  ///< of CLOCK_MONOTONIC
inline constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

enum class Task : std::uint8_t { drive, turn };
/// "drive" or "turn"; throws std::invalid_argument.
Task task_of(std::string_view name);

/// One degree of freedom: metres of a drive, degrees of a turn.
struct Motion {
  double speed;         ///< per second, until the brakes engage
  double deceleration;  ///< per second squared, constant
  double braking_seconds() const { return speed / deceleration; }
  double braking_distance() const { return speed * speed / (2 * deceleration); }
  /// What lies behind the robot at `now`.
  double travelled(Nanoseconds now, Nanoseconds start, Nanoseconds brake) const;
  /// When the robot is at `distance`, unless it brakes before.
  Nanoseconds reached(double distance, Nanoseconds start) const;
  /// When the robot stands still; kNever if it does not brake.
  Nanoseconds stopped(Nanoseconds brake) const;
};

/// Everything that differs between the two tasks. Distances are those of Motion.
struct Scene {
  Motion motion;
  double trigger;            ///< drive: the line of the laser switch; turn: the direction of the light
  Nanoseconds switch_delay;  ///< from the trigger until the light is on (T1); a turn's light is always on
  double end;                ///< a run ends here at the latest
};
const Scene& scene(Task task);

/// When the red light goes on; kNever if the robot brakes before it triggers the switch.
Nanoseconds light_on(Task task, Nanoseconds start, Nanoseconds brake);

inline constexpr double kCameraHeight = 0.3;   ///< m
inline constexpr double kLightDistance = 2.4;  ///< m, from the line of the laser switch, or from the turning robot
inline constexpr double kFieldOfView = 58;     ///< degrees, horizontal: an Xtion PRO's
inline constexpr Nanoseconds kFramePeriod = 1'000'000'000 / 30;

}  // namespace baton::robot
