// SPDX-License-Identifier: Apache-2.0
// A peer whose libraries are chosen by the environment (preloaded libraries, library paths): its program starts itself
// anew, because the loader reads these variables only at the start.
#pragma once

#include <functional>
#include <string>

#include "plan.hpp"

namespace baton::perf {

/// The first call in a process calls `set_environment`, and starts the program anew with its arguments. In the program
/// that was started so, no call does anything. Other threads wait.
void restart_once(const RunPlan& plan, const std::function<void()>& set_environment);

/// Puts `first` before the value of the environment variable `name`, with a colon if it has a value.
void prepend(const char* name, const std::string& first);

}  // namespace baton::perf
