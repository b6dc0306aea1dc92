// SPDX-License-Identifier: Apache-2.0
// Words for code that runs for every message. docs/concepts/hot-path.md says when each is right, and what it saves.
#pragma once

/// A function of the RMW that runs for every message, to lie beside the others. libbaton's are named in cmake/hot_path.ld instead.
#define BATON_HOT [[gnu::hot]]
/// A part of a function that runs for every message, which has a name only to be read. It is compiled into its caller.
#define BATON_HOT_INLINE [[gnu::always_inline]] inline
/// What some messages need: not inside of the code that all need.
#define BATON_HOT_SELDOM [[gnu::noinline]]
/// What runs once, or after a failure: a new connection, a new segment, a lost message. It lies away from the hot code. For an expression:
/// out_of_line() (`baton/os/result.hpp`).
#define BATON_COLD [[gnu::cold, gnu::noinline]]

/// Before the declaration of a function that programs call for every message: their calls go without a stub of the linker, which would be one
/// more cache line for each function.
#if defined(__GNUC__) && !defined(__clang__)
#define BATON_NO_PLT [[gnu::noplt]]
#else
#define BATON_NO_PLT
#endif

namespace baton {

/// The condition; the compiler moves the code for false out of the way.
constexpr bool likely(bool condition) noexcept { return __builtin_expect(static_cast<long>(condition), 1) != 0; }

/// The condition; the compiler moves the code for true out of the way, so that the usual code lies on few cache lines.
constexpr bool unlikely(bool condition) noexcept { return __builtin_expect(static_cast<long>(condition), 0) != 0; }

}  // namespace baton
