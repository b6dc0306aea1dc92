// SPDX-License-Identifier: Apache-2.0
// Events for the user that no call can return, because they are asynchronous.
#pragma once

#include <cstdint>
#include <string>

#include "baton/os/result.hpp"

namespace baton::transport {

/// An asynchronous event that no call can return. The background thread delivers it; the callback must not block.
struct Diagnostic {
  enum class Level : std::uint8_t { kInfo, kWarning, kError } level;
  Errc code;
  std::string text;  ///< names the thing that failed and the way out
};

}  // namespace baton::transport
