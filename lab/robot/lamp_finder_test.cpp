// SPDX-License-Identifier: Apache-2.0
#include "lamp_finder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace baton::robot {
namespace {

constexpr Size kSize(640);

double difference(Lamp wanted, const View& view) {
  static LampFinder red(Lamp::red, kSize), yellow(Lamp::yellow, kSize), green(Lamp::green, kSize);
  std::vector<std::uint8_t> rgb(kSize.bytes());
  draw(view, kSize, rgb.data());
  return (wanted == Lamp::red ? red : wanted == Lamp::yellow ? yellow : green).difference(rgb.data());
}

/// How far a turning robot may look past the light and still have the lamp in its region of interest.
constexpr double kInSight = 4;

TEST(LampFinderTest, ALitLampIsFoundWhereverADrivingRobotMayBeWhenItIsLit) {
  const double trigger = scene(Task::drive).trigger;
  for (double at = trigger; at < trigger + 0.6; at += 0.02)
    EXPECT_LT(difference(Lamp::red, {Task::drive, at, Lamp::red}), 0.12) << at;
}

TEST(LampFinderTest, ALitLampIsFoundInEveryTurnWhileItIsInSight) {
  const double light = scene(Task::turn).trigger;
  for (double at = light - kInSight; at <= light + kInSight; at += 0.25) {
    EXPECT_LT(difference(Lamp::red, {Task::turn, at, Lamp::red}), 0.12) << at;
    EXPECT_LT(difference(Lamp::red, {Task::turn, at + 360, Lamp::red}), 0.12) << at;
  }
}

TEST(LampFinderTest, NothingIsFoundInADriveWhileTheLampIsNotLit) {
  for (double at = 0; at < 3; at += 0.05)
    for (const Lamp wanted : {Lamp::red, Lamp::yellow, Lamp::green})
      EXPECT_GT(difference(wanted, {Task::drive, at, Lamp::none}), 0.2) << at;
}

TEST(LampFinderTest, NothingIsFoundInATurnWhileTheRobotFacesSomethingElse) {
  for (double at = 0; at < 360; at += 1) {
    EXPECT_GT(difference(Lamp::red, {Task::turn, at, Lamp::none}), 0.2) << at;
    if (std::abs(at - scene(Task::turn).trigger) < 20) continue;
    EXPECT_GT(difference(Lamp::red, {Task::turn, at, Lamp::red}), 0.2) << at;
  }
}

TEST(LampFinderTest, ALampOfAnotherColourIsNotFound) {
  const View view = template_view(Lamp::red);
  EXPECT_GT(difference(Lamp::yellow, view), 0.2);
  EXPECT_GT(difference(Lamp::green, view), 0.2);
  EXPECT_LT(difference(Lamp::green, template_view(Lamp::green)), 0.01);
}

}  // namespace
}  // namespace baton::robot
