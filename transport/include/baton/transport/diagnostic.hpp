// SPDX-License-Identifier: Apache-2.0
// News for the user that no call can return, because it happens by itself.
#pragma once

#include <cstdint>
#include <string>

#include "baton/os/result.hpp"

namespace baton::transport {

/// Something the user should know and no call can return (asynchronous). Called from the background thread; must not block.
struct Diagnostic {
  enum class Level : std::uint8_t { kInfo, kWarning, kError } level;
  Errc code;
  std::string text;  ///< names the thing and the way out
};

}  // namespace baton::transport
