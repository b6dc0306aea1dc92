// SPDX-License-Identifier: Apache-2.0
// Whose error an error of take() or wait() is. docs/format/error-codes.md has the table; a test compares the two.
// Thread rules: pure functions.
#pragma once

#include <cstdint>

#include "baton/os/result.hpp"

namespace baton::transport {

enum class Whose : std::uint8_t {
  kProgram,  ///< the caller's: it is returned, or thrown, and ends spin()
  kMessage,  ///< one message's, or the moment's: counted, reported at a bounded rate, and the caller goes on
  kLimit,    ///< of a limit that the caller set for itself: the message waits. take() returns it, an executor goes on
};

/// For every error that Reader::take(), take_from() and WaitSet::wait() return.
constexpr Whose whose(Errc code) noexcept {
  switch (code) {
    case Errc::out_of_memory:
    case Errc::limit_reached:
    case Errc::message_too_large:
    case Errc::out_of_descriptors:
    case Errc::window_exhausted:
    case Errc::protocol_violation:
    case Errc::malformed_message:
    case Errc::disconnected:
    case Errc::system:
      return Whose::kMessage;
    case Errc::held_limit:
      return Whose::kLimit;
    case Errc::invalid_argument:
    case Errc::queue_full:
    case Errc::no_runtime_directory:
    case Errc::foreign_runtime_directory:
    case Errc::version_mismatch:
    case Errc::type_mismatch:
    case Errc::incompatible_qos:
    case Errc::timed_out:
    case Errc::forked:
    case Errc::already_exists:
    case Errc::not_found:
    case Errc::unsupported:
      return Whose::kProgram;
  }
  return Whose::kProgram;
}

}  // namespace baton::transport
