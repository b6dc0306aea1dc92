// SPDX-License-Identifier: Apache-2.0
// Text for people on a descriptor that the program did not choose (stderr): without ever waiting for its reader.
// Thread rules: all functions are thread-safe. None changes the descriptor, whose flags other processes share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace baton::os {

enum class Output : std::uint8_t {
  kNone,  ///< closed
  kFile,
  kPipe,
  kSocket,
  kTerminal,
  kOther,  ///< another device, e.g. /dev/null
};

Output output_of(int fd) noexcept;

/// Writes as much of `text` as the descriptor takes at once, and returns that many bytes: in one piece if there is room
/// for all. Raises no SIGPIPE for a reader that is gone already. errno is unchanged.
std::size_t write_without_waiting(int fd, Output kind, std::string_view text) noexcept;

}  // namespace baton::os
