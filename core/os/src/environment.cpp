// SPDX-License-Identifier: Apache-2.0
#include "baton/os/environment.hpp"

#include <sys/auxv.h>

#include <cstdlib>

namespace baton::os {

// Not secure_getenv(3), which is the same, because musl lacks it.
bool ignores_environment() noexcept { return ::getauxval(AT_SECURE) != 0; }

const char* environment(const char* name) noexcept {
  return ignores_environment() ? nullptr : harmless_environment(name);
}

const char* harmless_environment(const char* name) noexcept { return std::getenv(name); }

}  // namespace baton::os
