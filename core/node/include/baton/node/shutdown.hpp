// SPDX-License-Identifier: Apache-2.0
// The end of a program: signals, and whether the process was asked to end.
// Thread rules: all functions are thread-safe; request_shutdown() is async-signal-safe, too.
#pragma once

#include <initializer_list>

namespace baton {

/// SIGINT and SIGTERM then end every spin() of this process, and ok() returns false. A second signal takes its default
/// action. Call it once, early; it starts one sleeping thread.
void shutdown_on_signals();
/// The same with other signals. With none ({}) only request_shutdown() ends the spin() calls: for programs with their
/// own handlers.
void shutdown_on_signals(std::initializer_list<int> signal_numbers);
/// Has the effect of such a signal. For a signal handler of the program: async-signal-safe (signal-safety(7)), unlike
/// all other functions of Baton. Call shutdown_on_signals() before: without it ok() returns false, but a sleeping
/// spin() stays asleep.
void request_shutdown() noexcept;
/// False after a signal asked this process to end (after shutdown_on_signals()), or after request_shutdown() or
/// shutdown().
bool ok() noexcept;
/// Has the effect of such a signal. For ordinary code; in a signal handler use request_shutdown().
void shutdown();

}  // namespace baton
