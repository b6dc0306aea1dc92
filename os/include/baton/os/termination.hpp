// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM as an ordinary callback. Thread rules: on_termination() once per process; the callback runs on a thread of
// its own, so it may do anything.
#pragma once

#include <functional>

#include "baton/os/result.hpp"

namespace baton::os {

/// Replaces the handlers of SIGINT and SIGTERM; each signal calls `callback`. A second SIGINT after the first takes the default
/// action, so a program that hangs can be ended. A forked child gets the default actions back.
/// Errors: already_exists, system.
Result<void> on_termination(std::function<void()> callback);

}  // namespace baton::os
