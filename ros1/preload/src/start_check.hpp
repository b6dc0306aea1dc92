// SPDX-License-Identifier: Apache-2.0
// Whether this process's libroscpp, of a build that nobody tried, is what this library expects: its own calls of the functions
// that this library stands before go through the dynamic linker, and its classes lie in memory as the headers say with which this
// library was compiled. A build that fails is used as without Baton.
//
// Thread rules: one call, before roscpp is used. Calls no function by a name that this library stands before.
#pragma once

#include <string>

namespace baton::ros1 {

/// `library`: of dlopen(), with its path. Empty: nothing speaks against this build; else what does, in words.
std::string why_unusable(void* library, const std::string& path);

}  // namespace baton::ros1
