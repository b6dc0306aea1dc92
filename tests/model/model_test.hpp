// SPDX-License-Identifier: Apache-2.0
// How a scenario becomes a test: explore it within the bounds of this run, print what was explored, expect no violation (or,
// for a mutant, expect one).
#pragma once

#include <functional>
#include <memory>

#include "engine.hpp"

namespace baton::model {

/// The threads of a scenario with one publisher and one reader.
inline constexpr int kPublisher = 0, kReader = 1;

/// True under --full or BATON_MODEL_FULL=1: larger parameters, minutes to an hour.
bool full_run();

/// Explores, prints one line, and fails the test if a violation was found or the exploration was cut short.
void expect_correct(const char* name, const std::function<std::unique_ptr<Scenario>()>& make, Options options = {});
/// The same program with weakened orderings or a wrong step: fails the test if no violation is found.
void expect_violation(const char* name, const std::function<std::unique_ptr<Scenario>()>& make, Options options = {});

/// A mutation with its name, for parameterized tests.
struct WeakenedOperation {
  const char* name;
  Mutation mutation;
};

template <class S, class... Arguments>
std::function<std::unique_ptr<Scenario>()> scenario(Arguments... arguments) {
  return [=] { return std::make_unique<S>(arguments...); };
}

}  // namespace baton::model
