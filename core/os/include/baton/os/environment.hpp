// SPDX-License-Identifier: Apache-2.0
// The environment variables that this process may obey. Every other file reads them by these two functions
// (tests/house/documents_match_test.py).
// Thread rules: as getenv(3): any thread, while no thread changes the environment.
#pragma once

namespace baton::os {

/// The value of a variable; null if it is not set. Null, too, in a program with rights that its caller lacks (set-user-ID,
/// set-group-ID, capabilities of its file: AT_SECURE in getauxval(3)): its caller must not choose the program's files,
/// libraries or memory. The string is the environment's own.
const char* environment(const char* name) noexcept;

/// The same, and also in such a program: for what chooses no file, library or memory (the domain's number, the level of
/// logs).
const char* harmless_environment(const char* name) noexcept;

/// True in a program for which environment() is always null.
bool ignores_environment() noexcept;

}  // namespace baton::os
