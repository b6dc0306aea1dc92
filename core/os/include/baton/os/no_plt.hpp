// SPDX-License-Identifier: Apache-2.0
// BATON_NO_PLT before the declaration of a function that programs call for every message: their calls go without a stub of the
// linker, which would be one more cache line for each function (`baton perf touch`).
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#define BATON_NO_PLT [[gnu::noplt]]
#else
#define BATON_NO_PLT
#endif
