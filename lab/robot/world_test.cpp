// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#ifdef BATON_HAS_RAPIDCHECK
#include <rapidcheck/gtest.h>
#endif

namespace baton::robot {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;
const Motion& kDriving = scene(Task::drive).motion;

TEST(WorldTest, ARobotThatWasNotStartedStaysWhereItIs) {
  EXPECT_EQ(kDriving.travelled(5 * kSecond, kNever, kNever), 0);
  EXPECT_EQ(kDriving.travelled(5 * kSecond, 6 * kSecond, kNever), 0);
}

TEST(WorldTest, WithoutBrakesItKeepsItsSpeed) {
  EXPECT_DOUBLE_EQ(kDriving.travelled(3 * kSecond, kSecond, kNever), 1.2);
}

TEST(WorldTest, ItStopsAfterTheBrakingDistance) {
  const Nanoseconds stop = kDriving.stopped(2 * kSecond);
  EXPECT_NEAR(kDriving.travelled(stop, kSecond, 2 * kSecond), 0.6 + kDriving.braking_distance(), 1e-6);
  EXPECT_EQ(kDriving.stopped(kNever), kNever);
}

TEST(WorldTest, TheLightGoesOnAfterTheSwitchAndItsDelay) {
  const Nanoseconds on = light_on(Task::drive, kSecond, kNever);
  const Scene& drive = scene(Task::drive);
  EXPECT_NEAR(drive.motion.travelled(on - drive.switch_delay, kSecond, kNever), drive.trigger, 1e-6);
}

TEST(WorldTest, ARobotThatBrakesBeforeTheSwitchDoesNotTriggerIt) {
  EXPECT_EQ(light_on(Task::drive, kSecond, kSecond + kSecond / 2), kNever);
}

TEST(WorldTest, ATurnsLightIsOnFromTheStart) { EXPECT_EQ(light_on(Task::turn, kSecond, kNever), kSecond); }

TEST(WorldTest, AnUnknownTaskIsAnError) { EXPECT_THROW(task_of("fly"), std::invalid_argument); }

#ifdef BATON_HAS_RAPIDCHECK

struct Story {
  Motion motion;
  Nanoseconds start, brake;
};

Story any_story() {
  const auto tenths = [](int least, int most) { return *rc::gen::inRange(least, most) / 10.0; };
  Story story{{tenths(1, 2000), tenths(1, 3000)}, *rc::gen::inRange<Nanoseconds>(0, 100 * kSecond), kNever};
  if (*rc::gen::arbitrary<bool>()) story.brake = *rc::gen::inRange<Nanoseconds>(0, 200 * kSecond);
  return story;
}

RC_GTEST_PROP(WorldProperty, TheRobotNeverGoesBackAndNeverExceedsItsSpeed, ()) {
  const Story story = any_story();
  const auto at = *rc::gen::inRange<Nanoseconds>(0, 300 * kSecond);
  const auto step = *rc::gen::inRange<Nanoseconds>(1, kSecond);
  const double moved = story.motion.travelled(at + step, story.start, story.brake) -
                       story.motion.travelled(at, story.start, story.brake);
  RC_ASSERT(moved >= -1e-6);
  RC_ASSERT(moved <= story.motion.speed * static_cast<double>(step) * 1e-9 + 1e-6);
}

RC_GTEST_PROP(WorldProperty, TheDistanceIsTheOneUntilTheBrakesAndTheBrakingDistance, ()) {
  Story story = any_story();
  story.brake = story.start + *rc::gen::inRange<Nanoseconds>(0, 50 * kSecond);
  const double until_brakes = story.motion.travelled(story.brake, story.start, story.brake);
  const Nanoseconds stop = story.motion.stopped(story.brake);
  const double whole = story.motion.travelled(stop + 1, story.start, story.brake);
  RC_ASSERT(std::abs(whole - until_brakes - story.motion.braking_distance()) < 1e-5);
  RC_ASSERT(story.motion.travelled(stop + 100 * kSecond, story.start, story.brake) == whole);
}

RC_GTEST_PROP(WorldProperty, BrakingLaterNeverStopsSooner, ()) {
  Story story = any_story();
  story.brake = story.start + *rc::gen::inRange<Nanoseconds>(0, 50 * kSecond);
  const Nanoseconds later = story.brake + *rc::gen::inRange<Nanoseconds>(0, kSecond);
  const auto at = *rc::gen::inRange<Nanoseconds>(0, 300 * kSecond);
  RC_ASSERT(story.motion.travelled(at, story.start, later) + 1e-6 >=
            story.motion.travelled(at, story.start, story.brake));
}

#endif

}  // namespace
}  // namespace baton::robot
