// SPDX-License-Identifier: Apache-2.0
// Signals that ask the process to end, as an ordinary callback. Thread rules: on_termination() once per process. The
// callback runs on a thread of its own, so it may do anything. request_termination() may be called from any thread and
// from a signal handler.
#pragma once

#include <csignal>
#include <functional>
#include <initializer_list>

#include "baton/os/result.hpp"

namespace baton::os {

/// Replaces the handlers of `signals`. Each signal calls `callback`, and so does request_termination(). A second signal
/// of the same number takes the default action, so a program that hangs can be ended. A forked child gets the default
/// actions of `signals` back. Errors: already_exists, system, invalid_argument (a signal that cannot be caught).
Result<void> on_termination(std::function<void()> callback,
                            std::initializer_list<int> signal_numbers = {SIGINT, SIGTERM});

/// Makes on_termination()'s thread call the callback soon. Does nothing without on_termination(). Async-signal-safe
/// (signal-safety(7)): one write(2), no lock, no allocation.
void request_termination() noexcept;

}  // namespace baton::os
