// SPDX-License-Identifier: Apache-2.0
// Serialized messages: CDR.
// Thread rules: pure functions.
#pragma once

#include "baton/message/cdr_codec.hpp"
#include "rmw/serialized_message.h"

namespace baton::rmw {

/// Writes the SFM message to `serialized`, which it makes large enough, with zeros up to a multiple of `unit` bytes. Errors: malformed_message,
/// out_of_memory.
Result<void> write_cdr(const message::CdrCodec& codec, message::Bytes bytes, rmw_serialized_message_t& serialized,
                       std::size_t unit = 1);

/// What DDS receives comes in whole words, and programs that compare bytes of several RMWs see that.
inline constexpr std::size_t kReceivedUnit = 4;

}  // namespace baton::rmw
